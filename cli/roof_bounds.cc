// cli/roof_bounds.cc: see roof_bounds.h.
#include "cli/roof_bounds.h"

#include <algorithm>
#include <cmath>

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
// Between samples: one batch of each kind.
constexpr double kShareProbeUs = 10;
// Footprints from here on are also measured with non-temporal stores, as in the day's sweep.
constexpr double kNonTemporalFromBytes = 16 << 20;

// The day's peak, which may rise; null when there is none.
roofline::FmaPeak* DayPeak(roofline::Roofs& roofs, Isa isa, int threads) {
  for (roofline::FmaPeak& peak : roofs.peaks) {
    if (peak.isa == isa && peak.threads == threads) return &peak;
  }
  return nullptr;
}

// The mix that is measured as it is and comes next to the work's own.
roofline::Mix NearestMix(const roofline::Work& work) {
  if (work.in_place) return roofline::Mix::kInPlace;
  const double bytes = work.load_bytes + work.store_bytes;
  const double share = bytes > 0 ? work.store_bytes / bytes : 0;
  roofline::Mix nearest = roofline::Mix::kLoad;
  for (const roofline::Mix mix : {roofline::Mix::kTwoToOne, roofline::Mix::kCopy, roofline::Mix::kStore}) {
    if (std::abs(StoreShare(mix) - share) < std::abs(StoreShare(nearest) - share)) nearest = mix;
  }
  return nearest;
}

// Transfers took longer for want of the share that is missing; false where the case's own time proves that wrong.
bool Lengthen(double share, double time_us, roofline::Bound& bound) {
  if (!(share > 0) || share >= 1 || bound.memory_us > time_us * share) return false;
  bound.memory_us /= share;
  if (bound.memory_us <= bound.compute_us) return true;
  bound.bound_us = bound.memory_us;
  return true;
}

}  // namespace

bench::BoundResult AsResult(const roofline::Bound& bound) {
  bench::BoundResult result;
  result.bound_us = bound.bound_us;
  result.binding = roofline::BindingName(bound.binding);
  result.compute_us = bound.compute_us;
  result.memory_us = bound.memory_us;
  result.data_level = roofline::LevelName(bound.level);
  result.peak_gflops = bound.peak_gflops;
  return result;
}

PeakChoice ChoosePeak(double share, double probed, double day, double lowest) noexcept {
  const double typical = share * day;
  return typical > 0 && typical >= lowest ? PeakChoice{typical, false} : ChoosePeak(probed, day, lowest);
}

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

// A footprint that the level serves alone, within `largest`; 0 where the levels are not known.
double RoofBounds::LevelFootprint(Isa isa, int threads, roofline::Level level, double largest) const {
  const roofline::LevelEnds* ends = roofline::FindLevels(machine_.roofs, isa, threads);
  if (ends == nullptr) return 0;
  const roofline::LevelCapacities& capacities = ends->effective;
  switch (level) {
    case roofline::Level::kL1:
      return capacities.l1_bytes / 2;
    case roofline::Level::kL2:
      return capacities.l2_bytes / 2;
    case roofline::Level::kL3:
      return std::min(4 * capacities.l2_bytes, capacities.l3_bytes / 2);
    case roofline::Level::kDram:
      return std::min(roofline::FootprintInMemory(machine_, isa, threads, 0), largest);
  }
  return 0;
}

// Null where it cannot be probed.
RoofBounds::LevelRate* RoofBounds::LevelRateOf(Isa isa, int threads, roofline::Level level, roofline::Mix mix) {
  const auto [found, is_new] = levels_.try_emplace({isa, threads, level, mix});
  LevelRate& rate = found->second;
  const roofline::BandwidthCurve* curve = roofline::FindCurve(machine_.roofs, isa, threads, mix);
  if (!is_new || curve == nullptr || curve->points.empty()) return rate.probe ? &rate : nullptr;
  const double footprint = LevelFootprint(isa, threads, level, curve->points.back().footprint_bytes);
  if (footprint > 0) {
    Result<roofline::LevelProbe> made = roofline::LevelProbe::Create(isa, *OpenMpThreads(), threads, mix, footprint);
    if (made.ok()) rate.probe = std::make_unique<roofline::LevelProbe>(std::move(made).value());
    rate.best_gb_per_s = roofline::Interpolate(*curve, footprint);
  }
  return rate.probe ? &rate : nullptr;
}

bench::MachineShare RoofBounds::ShareNow(Isa isa, int threads, LevelRate* level) {
  bench::MachineShare share;
  const roofline::FmaPeak* day = DayPeak(machine_.roofs, isa, threads);
  const roofline::FmaProbe* alone = ProbeOf(isa, roofline::FmaKind::kFma);
  const roofline::FmaProbe* loading = ProbeOf(isa, roofline::FmaKind::kFmaWithLoad);
  if (day != nullptr && day->gflops > 0 && alone != nullptr) {
    const double now = alone->Measure(*OpenMpThreads(), threads, kShareProbeUs) / day->gflops;
    if (level == nullptr) share.roof = now;
    if (loading != nullptr && day->with_load_gflops > 0) {
      const double loaded = loading->Measure(*OpenMpThreads(), threads, kShareProbeUs) / day->with_load_gflops;
      share.core = std::min(1.0, loaded / std::min(1.0, now));
    }
  }
  if (level != nullptr) {
    const double now = level->probe->Measure();
    level->best_gb_per_s = std::max(level->best_gb_per_s, now);
    share.roof = now / level->best_gb_per_s;
  }
  return share;
}

bench::ShareProbe RoofBounds::MakeProbe(Isa isa, int threads, const roofline::Bound& bound, roofline::Mix mix,
                                        bool level_too) {
  compute_probed_ = bound.binding == roofline::Binding::kCompute;
  LevelRate* level = !compute_probed_ && level_too ? LevelRateOf(isa, threads, bound.level, mix) : nullptr;
  level_probed_ = level != nullptr;
  return [this, isa, threads, level] { return ShareNow(isa, threads, level); };
}

bench::ShareProbe RoofBounds::ProbeFor(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                       bench::CacheMode mode) {
  isa = RoofIsa(isa);
  const bool hot = mode == bench::CacheMode::kHot;
  const roofline::Work work = roofline::WorkOf(cost);
  const Result<roofline::Bound> bound =
      own.transforms ? BoundOfOwn(cost, own, isa, threads, mode, 0) : HotOrColdBound(cost, isa, threads, mode, 0);
  if (!bound.ok() || DayPeak(machine_.roofs, isa, threads) == nullptr) return {};
  // Where only the weights are to be cold a stream would push out what is to be warm.
  return MakeProbe(isa, threads, *bound, own.transforms ? roofline::Mix::kCopy : NearestMix(work), hot);
}

bench::ShareProbe RoofBounds::ProbeForPass(const bench::PassBytes& bytes, Isa isa, int threads) {
  isa = RoofIsa(isa);
  const roofline::Work work{0, bytes.load_bytes, bytes.store_bytes, bytes.in_place};
  const Result<roofline::Bound> bound = roofline::BoundOf(machine_, isa, threads, work);
  if (!bound.ok()) return {};
  return MakeProbe(isa, threads, *bound, NearestMix(work), true);
}

void RoofBounds::BeginCase(Isa isa, int threads) {
  probed_ = 0;
  compute_probed_ = level_probed_ = false;
  loaded_.clear();
  if (DayPeak(machine_.roofs, RoofIsa(isa), threads) == nullptr) return;
  ProbeSide(RoofIsa(isa), threads);
}

// The peak that bounds a case which reached `reached` GFLOP/s; low probes are repeated. The day's peak may rise.
PeakChoice RoofBounds::PeakOfCase(roofline::FmaPeak& day, Isa isa, int threads, double reached, double share) {
  ProbeSide(isa, threads);
  for (int i = 0; i < kMoreProbes && ProbeAgain(probed_, day.gflops, reached); ++i) Probe(isa, threads);
  const PeakChoice peak = ChoosePeak(share, probed_, day.gflops, reached);
  if (probed_ > 0) peaks_[{isa, threads}].push_back(probed_);
  day.gflops = std::max(day.gflops, probed_);
  return peak;
}

Result<roofline::Bound> RoofBounds::HotOrColdBound(const ConvCost& cost, Isa isa, int threads, bench::CacheMode mode,
                                                   double peak_gflops) const {
  if (mode == bench::CacheMode::kHot) {
    return roofline::BoundOf(machine_, isa, threads, roofline::WorkOf(cost), peak_gflops);
  }
  return roofline::ColdBoundOf(machine_, isa, threads, cost, mode == bench::CacheMode::kColdWeights, peak_gflops);
}

// Of the direct sum; a bandwidth that it seems to beat is measured again.
Result<roofline::Bound> RoofBounds::DirectBound(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                                double time_us, bench::CacheMode mode, double peak_gflops) {
  Result<roofline::Bound> bound = HotOrColdBound(cost, isa, threads, mode, peak_gflops);
  const bool beaten = bound.ok() && !own.transforms &&
                      bound->memory_us > std::max(bound->compute_us, kNearMemoryBound * time_us);
  if (!beaten) return bound;
  if (mode == bench::CacheMode::kHot) {
    MeasureBandwidthAt(bound->bytes, isa, threads);
  } else if (memory_measured_.insert({isa, threads}).second) {  // takes long: once is enough
    MeasureBandwidthAt(roofline::FootprintInMemory(machine_, isa, threads, bound->bytes), isa, threads);
  }
  return HotOrColdBound(cost, isa, threads, mode, peak_gflops);
}

// Of an algorithm that does something else than the direct sum.
Result<roofline::Bound> RoofBounds::OwnBound(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                             double time_us, bench::CacheMode mode, double peak_gflops) {
  Result<roofline::Bound> bound = BoundOfOwn(cost, own, isa, threads, mode, peak_gflops);
  const bool again = bound.ok() && bound->memory_us > kNearMemoryBound * time_us;
  if (!again || mode != bench::CacheMode::kHot) return bound;
  MeasureBandwidthAt(bound->bytes, isa, threads);
  return BoundOfOwn(cost, own, isa, threads, mode, peak_gflops);
}

Result<roofline::Bound> RoofBounds::BoundOfOwn(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                               bench::CacheMode mode, double peak_gflops) const {
  if (mode == bench::CacheMode::kHot) return roofline::BoundOf(machine_, isa, threads, own, peak_gflops);
  return roofline::ColdBoundOf(machine_, isa, threads, cost, own, mode == bench::CacheMode::kColdWeights, peak_gflops);
}

bench::BoundResult RoofBounds::EndCase(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                       const bench::TimeStats& time, bench::CacheMode mode) {
  isa = RoofIsa(isa);
  roofline::FmaPeak* day = DayPeak(machine_.roofs, isa, threads);
  if (day == nullptr) return {};
  const double time_us = time.median;
  // Effective FLOP/s may exceed any peak.
  const double flops = own.transforms ? own.flops : cost.flops_valid;
  const double share = compute_probed_ ? time.roof_share : 0, by_share = share * day->gflops;
  const PeakChoice peak = PeakOfCase(*day, isa, threads, time_us > 0 ? flops / time_us * 1e-3 : 0, share);
  Result<roofline::Bound> bound = DirectBound(cost, own, isa, threads, time_us, mode, peak.gflops);
  if (!bound.ok()) return {};
  const double level_share = level_probed_ ? time.roof_share : 0;
  const bool lengthened = !own.transforms && Lengthen(level_share, time_us, *bound);
  bench::BoundResult result = AsResult(*bound);
  result.roof_share = share > 0 && peak.gflops == by_share ? share : lengthened ? level_share : 0;
  result.disturbed = peak.disturbed;
  result.core_share = time.core_share > 0 ? time.core_share : CoreShare(*day);
  if (!own.transforms) return result;
  Result<roofline::Bound> of_algorithm = OwnBound(cost, own, isa, threads, time_us, mode, peak.gflops);
  if (!of_algorithm.ok()) return result;
  if (Lengthen(level_share, time_us, *of_algorithm)) result.roof_share = level_share;
  result.own_bound_us = of_algorithm->bound_us;
  result.own_binding = roofline::BindingName(of_algorithm->binding);
  return result;
}

bench::BoundResult RoofBounds::EndPass(const bench::PassBytes& bytes, Isa isa, int threads,
                                       const bench::TimeStats& time) {
  isa = RoofIsa(isa);
  const double time_us = time.median;
  const roofline::Work work{0, bytes.load_bytes, bytes.store_bytes, bytes.in_place};
  Result<roofline::Bound> bound = roofline::BoundOf(machine_, isa, threads, work, 0);
  if (bound.ok() && bound->memory_us > kNearMemoryBound * time_us) {
    MeasureBandwidthAt(bytes.in_place ? bound->bytes / 2 : bound->bytes, isa, threads);
    bound = roofline::BoundOf(machine_, isa, threads, work, 0);
  }
  if (!bound.ok()) return {};
  const double share = level_probed_ && Lengthen(time.roof_share, time_us, *bound) ? time.roof_share : 0;
  bench::BoundResult result = AsResult(*bound);
  result.roof_share = share;
  return result;
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
