// From roofs to the library's cost model: FitMachineModel of model.h.
#include <algorithm>
#include <cmath>

#include "roofline/model.h"

namespace rafter::roofline {
namespace {

int RoundedAtLeastOne(double value) { return std::max(1, static_cast<int>(std::lround(value))); }

// Vector lanes of f32 and bytes, as numbers of a set.
double LanesOf(Isa isa) { return isa >= Isa::kAvx512 ? 16 : 8; }

// The pipes by the narrowest set that was measured: a core that splits wide vectors has as many of
// them.
void FitCompute(const Roofs& roofs, MachineModel& model) {
  const FmaPeak* narrow = FindPeak(roofs, Isa::kAvx2, 1);
  const FmaPeak* wide = FindPeak(roofs, Isa::kAvx512, 1);
  const double per_lane = 2 * model.clock_ghz;
  if (narrow != nullptr) {
    model.fma_pipes = RoundedAtLeastOne(narrow->gflops / (per_lane * LanesOf(Isa::kAvx2)));
  }
  if (wide != nullptr) {
    const double wide_pipes = wide->gflops / (per_lane * LanesOf(Isa::kAvx512));
    if (narrow == nullptr) model.fma_pipes = RoundedAtLeastOne(wide_pipes);
    model.avx512_vec_bytes_per_fma = wide_pipes < 0.75 * model.fma_pipes ? 32 : 64;
  }
}

void FitLatency(const Roofs& roofs, MachineModel& model) {
  for (const ChainPeak& chain : roofs.chains) {
    if (chain.chains != 1 || chain.gflops <= 0) continue;
    model.fma_latency = RoundedAtLeastOne(2 * LanesOf(chain.isa) * model.clock_ghz / chain.gflops);
    return;
  }
}

// Takes the widest set that was measured on one thread.
void FitMemory(const Roofs& roofs, MachineModel& model) {
  const LevelEnds* ends = nullptr;
  for (const LevelEnds& candidate : roofs.levels) {
    if (candidate.threads == 1 && (ends == nullptr || candidate.isa > ends->isa)) ends = &candidate;
  }
  if (ends == nullptr) return;
  const auto take_size = [](double measured, int64_t& bytes) {
    if (measured > 0) bytes = static_cast<int64_t>(measured);
  };
  take_size(ends->effective.l1_bytes, model.l1d_bytes);
  take_size(ends->effective.l2_bytes, model.l2_bytes);
  take_size(ends->effective.l3_bytes, model.l3_bytes);
  const auto per_cycle = [&](Level level) {
    return LevelBandwidth(roofs, ends->isa, 1, level, Mix::kLoad) / model.clock_ghz;
  };
  const auto take = [](double measured, double& value) {
    if (measured > 0) value = measured;
  };
  take(per_cycle(Level::kL2), model.l2_bytes_per_cycle);
  take(per_cycle(Level::kL3), model.l3_bytes_per_cycle);
  take(per_cycle(Level::kDram), model.dram_bytes_per_cycle);
  const double l1_per_cycle = per_cycle(Level::kL1);
  if (l1_per_cycle > 0)
    model.load_ports = RoundedAtLeastOne(l1_per_cycle / (LanesOf(ends->isa) * 4));
}

void FitForkJoin(const Roofs& roofs, MachineModel& model) {
  int most_threads = 0;
  for (const ForkJoinCost& cost : roofs.fork_joins) {
    // The default backend; other pools do not describe what a plain call pays.
    if (cost.backend != "openmp" || cost.threads <= most_threads) continue;
    most_threads = cost.threads;
    model.fork_join_us = cost.median_us;
  }
}

}  // namespace

MachineModel FitMachineModel(const Machine& machine, const MachineModel& base) {
  MachineModel model = base;
  const Roofs& roofs = machine.roofs;
  if (!machine.name.empty()) model.name = machine.name;
  if (roofs.clock.ghz > 0) model.clock_ghz = roofs.clock.ghz;
  FitCompute(roofs, model);
  FitLatency(roofs, model);
  FitMemory(roofs, model);
  FitForkJoin(roofs, model);
  return model;
}

}  // namespace rafter::roofline
