// All probes in order; see peaks.h.
#include "roofline/peaks.h"

#include <algorithm>
#include <cmath>

#include "roofline/bandwidth_probe.h"
#include "roofline/fma_probe.h"

namespace rafter::roofline {
namespace {

constexpr double kMiB = 1 << 20;

// Durations in microseconds. The warm-up lets a core reach the clock and licence of the wide units.
struct Pace {
  double warm_up, peak, variant, chain, point, fork_join;
};
constexpr Pace kFull{50'000, 40'000, 10'000, 4'000, 12'000, 20'000};
constexpr Pace kQuick{10'000, 10'000, 2'000, 1'000, 3'000, 5'000};

std::vector<Isa> AllowedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= EffectiveIsa()) isas.push_back(isa);
  }
  return isas;
}

class Measurement {
 public:
  Measurement(const RoofOptions& options, std::vector<Isa> isas, ParallelFor* pool)
      : options_(options),
        isas_(std::move(isas)),
        pool_(pool),
        pace_(options.quick ? kQuick : kFull) {
    roofs_.quick = options.quick;
  }

  Result<Roofs> Run() {
    Result<ClockEstimate> clock = MeasureClock(options_.quick ? 15 : 30);
    if (!clock.ok()) return clock.status();
    roofs_.clock = *clock;
    for (const Isa isa : isas_) {
      for (const int threads : options_.threads) {
        if (Status status = MeasurePair(isa, threads); !status.ok()) return status;
        pairs_done_ += 1;
      }
    }
    for (const int threads : options_.threads) MeasureForkJoins(threads);
    return std::move(roofs_);
  }

 private:
  void Poll() const {
    if (options_.poll) options_.poll();
  }

  void Report(const std::string& what, double pair_done) const {
    if (!options_.progress) return;
    const double pairs = static_cast<double>(isas_.size() * options_.threads.size());
    options_.progress(what, (pairs_done_ + pair_done) / pairs);
  }

  Status MeasurePair(Isa isa, int threads) {
    const std::string name = std::string(IsaName(isa)) + ", " + std::to_string(threads) +
                             (threads > 1 ? " threads" : " thread");
    Report(name + ": FMA peak", 0);
    if (Status status = MeasurePeaks(isa, threads); !status.ok()) return status;
    if (threads == 1) {
      if (Status status = MeasureChains(isa); !status.ok()) return status;
    }
    return MeasureCurves(isa, threads, name + ": bandwidth");
  }

  Status MeasurePeaks(Isa isa, int threads) {
    FmaPeak peak{isa, threads, 0, 0, 0};
    const struct {
      FmaKind kind;
      double* gflops;
      double warm_up_us, us;
    } kinds[] = {{FmaKind::kFma, &peak.gflops, pace_.warm_up, pace_.peak},
                 {FmaKind::kFmaWithLoad, &peak.with_load_gflops, 0, pace_.variant},
                 {FmaKind::kFmaWithAdd, &peak.with_add_gflops, 0, pace_.variant}};
    for (const auto& kind : kinds) {
      Poll();
      const Result<FmaProbe> probe = FmaProbe::Create(isa, kind.kind);
      if (!probe.ok()) return probe.status();
      if (kind.warm_up_us > 0) static_cast<void>(probe->Measure(*pool_, threads, kind.warm_up_us));
      *kind.gflops = probe->Measure(*pool_, threads, kind.us);
    }
    roofs_.peaks.push_back(peak);
    return {};
  }

  Status MeasureChains(Isa isa) {
    for (const int chains : {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24}) {
      if (chains > FullChains(isa)) break;
      Poll();
      const Result<FmaProbe> probe = FmaProbe::Create(isa, FmaKind::kFma, chains);
      if (!probe.ok()) return probe.status();
      roofs_.chains.push_back({isa, chains, probe->Measure(pace_.chain)});
    }
    return {};
  }

  Status MeasureCurves(Isa isa, int threads, const std::string& what) {
    SweepOptions sweep;
    sweep.isa = isa;
    sweep.threads = threads;
    sweep.pool = pool_;
    const double l3 = options_.reported.l3_bytes;
    const double limit =
        options_.memory_limit_bytes > 0 ? options_.memory_limit_bytes : 1024 * kMiB;
    sweep.footprints = SweepFootprints(l3, threads, limit, options_.quick);
    sweep.point_us = pace_.point;
    // Where the last cache ends is not known before the sweep: from half of what is reported.
    sweep.non_temporal_from_bytes = std::max(l3 / 2, 16 * kMiB);
    sweep.progress = [&](double done) { Report(what, done); };
    sweep.poll = options_.poll;
    Result<std::vector<BandwidthCurve>> curves = MeasureBandwidth(sweep);
    if (!curves.ok()) return curves.status();
    for (BandwidthCurve& curve : *curves) {
      if (curve.mix == Mix::kLoad) roofs_.levels.push_back(EndsOf(curve));
      roofs_.curves.push_back(std::move(curve));
    }
    return {};
  }

  // L1 and L2 are taken as private to a core, L3 as shared.
  LevelEnds EndsOf(const BandwidthCurve& curve) const {
    LevelCapacities reported = options_.reported;
    reported.l1_bytes *= curve.threads;
    reported.l2_bytes *= curve.threads;
    LevelEnds ends{curve.isa, curve.threads, MeasuredCapacities(curve, reported), {}};
    ends.effective = CrossCheck(reported, ends.measured);
    // Threads may sit on several L3 caches, of which one is reported: here the measured end is
    // right.
    if (curve.threads > 1 && ends.measured.l3_bytes > 0) {
      ends.effective.l3_bytes = ends.measured.l3_bytes;
    }
    return ends;
  }

  void MeasureForkJoins(int threads) {
    if (threads < 2) return;
    Poll();
    const char* backend = options_.pool == nullptr ? "openmp" : "caller";
    roofs_.fork_joins.push_back(MeasureForkJoin(*pool_, backend, threads, pace_.fork_join));
    Poll();
    Result<std::unique_ptr<WorkerPool>> workers = WorkerPool::Create({.threads = threads});
    // A system that refuses threads has no cost of them to report.
    if (!workers.ok()) return;
    roofs_.fork_joins.push_back(MeasureForkJoin(**workers, "workers", threads, pace_.fork_join));
  }

  const RoofOptions& options_;
  const std::vector<Isa> isas_;
  ParallelFor* pool_;
  const Pace pace_;
  Roofs roofs_;
  double pairs_done_ = 0;
};

// Data sheets name neither ISA nor thread count: their entries fit every question.
template <typename Entry>
bool Fits(const Entry& entry, Isa isa, int threads) noexcept {
  const bool any = entry.isa == Isa::kNone && entry.threads == 0;
  return any || (entry.isa == isa && entry.threads == threads);
}

template <typename Entry>
const Entry* FindIn(const std::vector<Entry>& entries, Isa isa, int threads) noexcept {
  for (const Entry& entry : entries) {
    if (Fits(entry, isa, threads)) return &entry;
  }
  return nullptr;
}

// Drops from `into` what `same` finds again in `from`, then appends `from`.
template <typename Entry, typename Same>
void MergeEntries(const std::vector<Entry>& from, std::vector<Entry>& into, const Same& same) {
  into.erase(std::remove_if(into.begin(), into.end(),
                            [&](const Entry& old) {
                              return std::any_of(from.begin(), from.end(), [&](const Entry& entry) {
                                return same(old, entry);
                              });
                            }),
             into.end());
  into.insert(into.end(), from.begin(), from.end());
}

}  // namespace

Result<Roofs> MeasureRoofs(const RoofOptions& options) {
  std::vector<Isa> isas = options.isas.empty() ? AllowedIsas() : options.isas;
  std::sort(isas.begin(), isas.end());
  isas.erase(std::unique(isas.begin(), isas.end()), isas.end());
  if (isas.empty()) return Status::Unsupported("this machine has no instruction set to measure");
  ParallelFor* pool = options.pool != nullptr ? options.pool : OpenMpThreads();
  for (const int threads : options.threads) {
    if (threads < 1 || (threads > 1 && threads > pool->concurrency())) {
      return Status::InvalidArgument("threads: " + std::to_string(threads) + "; allowed: 1 … " +
                                     std::to_string(pool->concurrency()));
    }
  }
  return Measurement(options, std::move(isas), pool).Run();
}

const FmaPeak* FindPeak(const Roofs& roofs, Isa isa, int threads) noexcept {
  return FindIn(roofs.peaks, isa, threads);
}

const BandwidthCurve* FindCurve(const Roofs& roofs, Isa isa, int threads, Mix mix,
                                bool non_temporal) noexcept {
  for (const BandwidthCurve& curve : roofs.curves) {
    if (curve.mix == mix && curve.non_temporal == non_temporal && Fits(curve, isa, threads)) {
      return &curve;
    }
  }
  return nullptr;
}

const LevelEnds* FindLevels(const Roofs& roofs, Isa isa, int threads) noexcept {
  return FindIn(roofs.levels, isa, threads);
}

void MergeRoofs(const Roofs& from, Roofs& into) {
  const auto same_pair = [](const auto& a, const auto& b) {
    return a.isa == b.isa && a.threads == b.threads;
  };
  MergeEntries(from.peaks, into.peaks, same_pair);
  MergeEntries(from.curves, into.curves, same_pair);
  MergeEntries(from.levels, into.levels, same_pair);
  MergeEntries(from.chains, into.chains,
               [](const ChainPeak& a, const ChainPeak& b) { return a.isa == b.isa; });
  MergeEntries(from.fork_joins, into.fork_joins, [](const ForkJoinCost& a, const ForkJoinCost& b) {
    return a.backend == b.backend && a.threads == b.threads;
  });
  if (from.clock.imul_ghz > 0) into.clock = from.clock;
  into.quick = into.quick || from.quick;
}

}  // namespace rafter::roofline
