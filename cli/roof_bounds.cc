// cli/roof_bounds.cc: see roof_bounds.h.
#include "cli/roof_bounds.h"

#include <algorithm>

#include "rafter/threads.h"
#include "roofline/bandwidth_probe.h"
#include "roofline/peaks.h"

namespace rafter::cli {
namespace {

constexpr double kProbeUs = 700;
constexpr int kProbesEachSide = 2, kMoreProbes = 8;
// Share of the day's peak: below the first one, probes are repeated; below the second one, they are not believed
// (clocks that wander between light and heavy load stay within 10 %).
constexpr double kCredible = 0.97, kDisturbed = 0.90;
// Of its memory bound: a case this near to it has the bandwidth measured again.
constexpr double kNearMemoryBound = 0.97;
// Footprints from here on are also measured with non-temporal stores, as in the day's sweep.
constexpr double kNonTemporalFromBytes = 16 << 20;

// The day's peak, which may rise; null when there is none.
roofline::FmaPeak* DayPeak(roofline::Roofs& roofs, Isa isa, int threads) {
  for (roofline::FmaPeak& peak : roofs.peaks) {
    if (peak.isa == isa && peak.threads == threads) return &peak;
  }
  return nullptr;
}

}  // namespace

PeakChoice ChoosePeak(double probed, double day, double lowest) noexcept {
  const bool low = probed < kDisturbed * day || probed < std::min(lowest, day);
  return low ? PeakChoice{day, true} : PeakChoice{probed, false};
}

bool ProbeAgain(double probed, double day, double lowest) noexcept {
  return probed < kCredible * day || probed < lowest;
}

// Null where the machine cannot run it.
const roofline::FmaProbe* RoofBounds::ProbeOf(Isa isa, roofline::FmaKind kind) {
  auto found = probes_.find({isa, kind});
  if (found == probes_.end()) {
    Result<roofline::FmaProbe> made = roofline::FmaProbe::Create(isa, kind);
    found = probes_.emplace(std::pair{isa, kind}, std::nullopt).first;
    if (made.ok()) found->second = *std::move(made);
  }
  return found->second ? &*found->second : nullptr;
}

void RoofBounds::Probe(Isa isa, int threads) {
  const roofline::FmaProbe* probe = ProbeOf(isa, roofline::FmaKind::kFma);
  if (probe != nullptr) probed_ = std::max(probed_, probe->Measure(*OpenMpThreads(), threads, kProbeUs));
}

// What is probed before and again after a case.
void RoofBounds::ProbeSide(Isa isa, int threads) {
  for (int i = 0; i < kProbesEachSide; ++i) Probe(isa, threads);
  const roofline::FmaProbe* probe = ProbeOf(isa, roofline::FmaKind::kFmaWithLoad);
  if (probe != nullptr) loaded_.push_back(probe->MeasureTypical(*OpenMpThreads(), threads, kProbeUs));
}

double RoofBounds::CoreShare(const roofline::FmaPeak& day) const noexcept {
  if (loaded_.empty() || !(day.with_load_gflops > 0) || !(probed_ > 0)) return 1;
  double sum = 0;
  for (const double rate : loaded_) sum += rate;
  const double clock = std::min(1.0, probed_ / day.gflops);
  return std::min(1.0, sum / static_cast<double>(loaded_.size()) / (day.with_load_gflops * clock));
}

void RoofBounds::BeginCase(Isa isa, int threads) {
  probed_ = 0;
  loaded_.clear();
  if (DayPeak(machine_.roofs, RoofIsa(isa), threads) == nullptr) return;
  ProbeSide(RoofIsa(isa), threads);
}

bench::BoundResult RoofBounds::EndCase(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                       double time_us, bench::CacheMode mode) {
  isa = RoofIsa(isa);
  roofline::FmaPeak* day = DayPeak(machine_.roofs, isa, threads);
  if (day == nullptr) return {};
  const roofline::Work work = roofline::WorkOf(cost);
  // Effective FLOP/s may exceed any peak.
  const double reached = time_us > 0 ? (own.transforms ? own.flops : work.flops) / time_us * 1e-3 : 0;
  ProbeSide(isa, threads);
  for (int i = 0; i < kMoreProbes && ProbeAgain(probed_, day->gflops, reached); ++i) {
    Probe(isa, threads);
  }
  const PeakChoice peak = ChoosePeak(probed_, day->gflops, reached);
  if (probed_ > 0) peaks_[{isa, threads}].push_back(probed_);
  day->gflops = std::max(day->gflops, probed_);

  const auto bound_now = [&]() -> Result<roofline::Bound> {
    if (mode == bench::CacheMode::kHot) return roofline::BoundOf(machine_, isa, threads, work, peak.gflops);
    return roofline::ColdBoundOf(machine_, isa, threads, cost, mode == bench::CacheMode::kColdWeights, peak.gflops);
  };
  Result<roofline::Bound> bound = bound_now();
  if (bound.ok() && !own.transforms &&
      bound->memory_us > std::max(bound->compute_us, kNearMemoryBound * time_us)) {
    if (mode == bench::CacheMode::kHot) {
      MeasureBandwidthAt(bound->bytes, isa, threads);
    } else if (memory_measured_.insert({isa, threads}).second) {  // takes long: once is enough
      MeasureBandwidthAt(roofline::FootprintInMemory(machine_, isa, threads, bound->bytes), isa, threads);
    }
    bound = bound_now();
  }
  if (!bound.ok()) return {};
  bench::BoundResult result;
  result.bound_us = bound->bound_us;
  result.binding = roofline::BindingName(bound->binding);
  result.compute_us = bound->compute_us;
  result.memory_us = bound->memory_us;
  result.peak_gflops = peak.gflops;
  result.disturbed = peak.disturbed;
  result.core_share = CoreShare(*day);
  if (!own.transforms) return result;
  Result<roofline::Bound> of_algorithm = roofline::BoundOf(machine_, isa, threads, own, peak.gflops);
  if (of_algorithm.ok() && of_algorithm->memory_us > kNearMemoryBound * time_us) {
    MeasureBandwidthAt(of_algorithm->bytes, isa, threads);
    of_algorithm = roofline::BoundOf(machine_, isa, threads, own, peak.gflops);
  }
  if (!of_algorithm.ok()) return result;
  result.own_bound_us = of_algorithm->bound_us;
  result.own_binding = roofline::BindingName(of_algorithm->binding);
  return result;
}

bench::BoundResult RoofBounds::EndPass(const bench::PassBytes& bytes, Isa isa, int threads, double time_us) {
  isa = RoofIsa(isa);
  const roofline::Work work{0, bytes.load_bytes, bytes.store_bytes, bytes.in_place};
  Result<roofline::Bound> bound = roofline::BoundOf(machine_, isa, threads, work, 0);
  if (bound.ok() && bound->memory_us > kNearMemoryBound * time_us) {
    MeasureBandwidthAt(bytes.in_place ? bound->bytes / 2 : bound->bytes, isa, threads);
    bound = roofline::BoundOf(machine_, isa, threads, work, 0);
  }
  if (!bound.ok()) return {};
  return {bound->bound_us,   roofline::BindingName(bound->binding), bound->compute_us, bound->memory_us,
          bound->peak_gflops, false};
}

void RoofBounds::MeasureBandwidthAt(double footprint_bytes, Isa isa, int threads) {
  roofline::SweepOptions sweep;
  sweep.isa = isa;
  sweep.threads = threads;
  sweep.footprints = {footprint_bytes};
  if (footprint_bytes >= kNonTemporalFromBytes) sweep.non_temporal_from_bytes = footprint_bytes;
  Result<std::vector<roofline::BandwidthCurve>> measured = roofline::MeasureBandwidth(sweep);
  if (!measured.ok()) return;  // the day's curves stay
  for (roofline::BandwidthCurve& fresh : *measured) {
    for (roofline::BandwidthCurve& curve : machine_.roofs.curves) {
      const bool same = curve.isa == isa && curve.threads == threads && curve.mix == fresh.mix &&
                        curve.non_temporal == fresh.non_temporal;
      if (same) roofline::RaiseCurve(curve, fresh.points.front());
    }
    bandwidths_.push_back(std::move(fresh));
  }
}

std::vector<PeakSeries> RoofBounds::series() const {
  std::vector<PeakSeries> all;
  for (const auto& [key, gflops] : peaks_) all.push_back({key.first, key.second, gflops});
  return all;
}

}  // namespace rafter::cli
