// The bound and what it is made of; see model.h.
#include "roofline/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace rafter::roofline {
namespace {

// The faster of plain and non-temporal stores at one footprint; 0 without a curve.
double BestOfStores(const Roofs& roofs, Isa isa, int threads, Mix mix, double footprint) noexcept {
  double best = 0;
  if (const BandwidthCurve* curve = FindCurve(roofs, isa, threads, mix)) {
    best = WindowMaximum(*curve, footprint);
  }
  const BandwidthCurve* past_caches = FindCurve(roofs, isa, threads, mix, true);
  // Measured for large footprints only; what it would be in a cache is not known.
  if (past_caches != nullptr && !past_caches->points.empty() &&
      1.25 * footprint >= past_caches->points.front().footprint_bytes) {
    best = std::max(best, WindowMaximum(*past_caches, footprint));
  }
  return best;
}

std::string KnownRoofs(const Roofs& roofs) {
  std::string known;
  for (const FmaPeak& peak : roofs.peaks) {
    if (!known.empty()) known += "; ";
    known += std::string(IsaName(peak.isa)) + ", " + std::to_string(peak.threads) +
             (peak.threads == 1 ? " thread" : " threads");
  }
  return known.empty() ? "none" : known;
}

bool Sound(const Work& work) {
  const auto fine = [](double value) { return std::isfinite(value) && value >= 0; };
  return fine(work.flops) && fine(work.load_bytes) && fine(work.store_bytes);
}

Binding BindingOf(Level level) {
  switch (level) {
    case Level::kL1:
      return Binding::kL1;
    case Level::kL2:
      return Binding::kL2;
    case Level::kL3:
      return Binding::kL3;
    case Level::kDram:
      return Binding::kDram;
  }
  return Binding::kDram;
}

LevelCapacities CapacitiesFor(const Roofs& roofs, Isa isa, int threads) {
  const LevelEnds* ends = FindLevels(roofs, isa, threads);
  return ends != nullptr ? ends->effective : LevelCapacities{};
}

}  // namespace

Work WorkOf(const ConvCost& cost) noexcept {
  return {cost.flops_valid, cost.src_bytes + cost.weights_bytes + cost.residual_bytes,
          cost.dst_bytes, false};
}

const char* BindingName(Binding binding) noexcept {
  switch (binding) {
    case Binding::kCompute:
      return "compute";
    case Binding::kL1:
      return "L1";
    case Binding::kL2:
      return "L2";
    case Binding::kL3:
      return "L3";
    case Binding::kDram:
      return "DRAM";
  }
  return "unknown";
}

double MixBandwidth(const Roofs& roofs, Isa isa, int threads, double store_share,
                    double footprint_bytes, bool in_place) noexcept {
  if (in_place) {
    const double own = BestOfStores(roofs, isa, threads, Mix::kInPlace, footprint_bytes);
    if (own > 0) return own;
  }
  // Walks the measured mixes by rising share of stores until the pair around `store_share` is
  // found.
  double left_share = 0, left_time = 0;  // time per byte; 0 = no mix yet
  for (const Mix mix : {Mix::kLoad, Mix::kTwoToOne, Mix::kCopy, Mix::kStore}) {
    const double bandwidth = BestOfStores(roofs, isa, threads, mix, footprint_bytes);
    if (bandwidth <= 0) continue;
    const double share = StoreShare(mix), time = 1 / bandwidth;
    if (share >= store_share) {
      if (left_time <= 0 || share == store_share) return bandwidth;
      const double part = (store_share - left_share) / (share - left_share);
      return 1 / (left_time + part * (time - left_time));
    }
    left_share = share;
    left_time = time;
  }
  return left_time > 0 ? 1 / left_time : 0;
}

Result<Bound> BoundOf(const Machine& machine, Isa isa, int threads, const Work& work,
                      double peak_gflops_now) {
  if (!Sound(work))
    return Status::InvalidArgument("work: FLOPs and bytes must be finite and not negative");
  const Roofs& roofs = machine.roofs;
  const FmaPeak* peak = FindPeak(roofs, isa, threads);
  Bound bound;
  bound.bytes = work.load_bytes + work.store_bytes;
  const double store_share = bound.bytes > 0 ? work.store_bytes / bound.bytes : 0;
  // An in-place pass touches each line once for a load and a store.
  const double footprint = work.in_place ? bound.bytes / 2 : bound.bytes;
  bound.gb_per_s = MixBandwidth(roofs, isa, threads, store_share, footprint, work.in_place);
  bound.peak_gflops = peak_gflops_now > 0 ? peak_gflops_now : (peak != nullptr ? peak->gflops : 0);
  if (bound.peak_gflops <= 0 || bound.gb_per_s <= 0) {
    return Status::InvalidArgument(std::string("roofs: none for ") + IsaName(isa) + ", " +
                                   std::to_string(threads) +
                                   " threads; known: " + KnownRoofs(roofs));
  }
  // 1 GFLOP/s = 1000 FLOP/us, 1 GB/s = 1000 bytes/us.
  bound.compute_us = work.flops / (bound.peak_gflops * 1000);
  bound.memory_us = bound.bytes / (bound.gb_per_s * 1000);
  bound.bound_us = std::max(bound.compute_us, bound.memory_us);
  bound.level = LevelOf(CapacitiesFor(roofs, isa, threads), footprint);
  bound.binding = bound.compute_us >= bound.memory_us ? Binding::kCompute : BindingOf(bound.level);
  bound.intensity = bound.bytes > 0 ? work.flops / bound.bytes : 0;
  bound.ridge = bound.peak_gflops / bound.gb_per_s;
  return bound;
}

double FootprintInMemory(const Machine& machine, Isa isa, int threads, double bytes) {
  return std::max(bytes, 4 * CapacitiesFor(machine.roofs, isa, threads).l3_bytes);
}

Result<Bound> ColdBoundOf(const Machine& machine, Isa isa, int threads, const ConvCost& cost, bool weights_only,
                          double peak_gflops_now) {
  Result<Bound> hot = BoundOf(machine, isa, threads, WorkOf(cost), peak_gflops_now);
  if (!hot.ok()) return hot;
  Bound bound = *hot;
  const Roofs& roofs = machine.roofs;
  const double memory = FootprintInMemory(machine, isa, threads, bound.bytes);
  const double load_bytes = cost.src_bytes + cost.residual_bytes, activations = load_bytes + cost.dst_bytes;
  if (weights_only) {
    const double weights_rate = MixBandwidth(roofs, isa, threads, 0, memory);
    const double share = activations > 0 ? cost.dst_bytes / activations : 0;
    const double rate = MixBandwidth(roofs, isa, threads, share, activations);
    const double weights_us = cost.weights_bytes / (weights_rate * 1000), rest_us = activations / (rate * 1000);
    bound.memory_us = weights_us + rest_us;
    if (weights_us >= rest_us) bound.level = Level::kDram;
  } else {
    const double share = bound.bytes > 0 ? cost.dst_bytes / bound.bytes : 0;
    bound.memory_us = bound.bytes / (MixBandwidth(roofs, isa, threads, share, memory) * 1000);
    bound.level = Level::kDram;
  }
  bound.bound_us = std::max(bound.compute_us, bound.memory_us);
  bound.gb_per_s = bound.memory_us > 0 ? bound.bytes / bound.memory_us * 1e-3 : bound.gb_per_s;
  bound.ridge = bound.gb_per_s > 0 ? bound.peak_gflops / bound.gb_per_s : 0;
  bound.binding = bound.compute_us >= bound.memory_us ? Binding::kCompute : BindingOf(bound.level);
  return bound;
}

namespace {

// Intermediates go through the level that holds them, whatever was cold before the call.
Result<Bound> WithIntermediates(const Machine& machine, Isa isa, int threads, const AlgorithmWork& work,
                                Result<Bound> bound) {
  if (!bound.ok()) return bound;
  const double gb_per_s =
      MixBandwidth(machine.roofs, isa, threads, StoreShare(Mix::kCopy), std::max(work.block_bytes, 1.0));
  const double intermediates_us = gb_per_s > 0 ? work.intermediate_bytes / (gb_per_s * 1000) : 0;
  if (intermediates_us <= bound->memory_us) return bound;
  bound->memory_us = intermediates_us;
  bound->gb_per_s = gb_per_s;
  bound->ridge = bound->peak_gflops / gb_per_s;
  bound->level = LevelOf(CapacitiesFor(machine.roofs, isa, threads), work.block_bytes);
  bound->bound_us = std::max(bound->compute_us, bound->memory_us);
  bound->binding = bound->compute_us >= bound->memory_us ? Binding::kCompute : BindingOf(bound->level);
  return bound;
}

}  // namespace

Result<Bound> BoundOf(const Machine& machine, Isa isa, int threads, const AlgorithmWork& work,
                      double peak_gflops_now) {
  return WithIntermediates(machine, isa, threads, work,
                           BoundOf(machine, isa, threads, Work{work.flops, work.load_bytes, work.store_bytes, false},
                                   peak_gflops_now));
}

Result<Bound> ColdBoundOf(const Machine& machine, Isa isa, int threads, const ConvCost& cost, const AlgorithmWork& work,
                          bool weights_only, double peak_gflops_now) {
  ConvCost own = cost;
  own.flops_valid = work.flops;
  own.weights_bytes = std::max(0.0, work.load_bytes - cost.src_bytes - cost.residual_bytes);
  own.dst_bytes = work.store_bytes;
  own.bytes = own.src_bytes + own.weights_bytes + own.dst_bytes + own.residual_bytes;
  return WithIntermediates(machine, isa, threads, work,
                           ColdBoundOf(machine, isa, threads, own, weights_only, peak_gflops_now));
}

double LevelBandwidth(const Roofs& roofs, Isa isa, int threads, Level level, Mix mix) noexcept {
  const LevelCapacities capacities = CapacitiesFor(roofs, isa, threads);
  // Just behind the end of a cache part of the data still comes from it: a level starts at twice the one before.
  const double from = 2 * (level == Level::kDram ? capacities.l3_bytes
                           : level == Level::kL3 ? capacities.l2_bytes
                           : level == Level::kL2 ? capacities.l1_bytes
                                                 : 0);
  double best = 0, anywhere = 0;
  for (const bool non_temporal : {false, true}) {
    const BandwidthCurve* curve = FindCurve(roofs, isa, threads, mix, non_temporal);
    if (curve == nullptr || (non_temporal && level != Level::kDram)) continue;
    for (const BandwidthPoint& point : curve->points) {
      if (LevelOf(capacities, point.footprint_bytes) != level) continue;
      anywhere = std::max(anywhere, point.gb_per_s);
      const bool last = level == Level::kDram && &point == &curve->points.back();
      if (point.footprint_bytes >= from || last) best = std::max(best, point.gb_per_s);
    }
  }
  return best > 0 ? best : anywhere;  // a level smaller than twice the one before has nothing else
}

double RidgePoint(const Roofs& roofs, Isa isa, int threads, Level level, Mix mix) noexcept {
  const FmaPeak* peak = FindPeak(roofs, isa, threads);
  const double bandwidth = LevelBandwidth(roofs, isa, threads, level, mix);
  return peak != nullptr && bandwidth > 0 ? peak->gflops / bandwidth : 0;
}

}  // namespace rafter::roofline
