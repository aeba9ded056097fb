// runtime/machine_model.h: what the cost model knows of a CPU. Defaults per CPU family; whoever
// measured the machine may replace them. The library itself never measures them.
#ifndef RAFTER_RUNTIME_MACHINE_MODEL_H_
#define RAFTER_RUNTIME_MACHINE_MODEL_H_

#include <cstdint>
#include <string>

#include "rafter/cpu.h"

namespace rafter {

struct Topology;

struct MachineModel {
  std::string name;        // "AMD Zen 3", "generic AVX2"
  double clock_ghz = 3.0;  // core clock under vector load
  // Per core, per clock cycle.
  int fma_pipes = 2;    // vector FMAs of full width per cycle
  int fma_latency = 4;  // cycles
  int load_ports = 2;   // vector loads per cycle
  // Width that one pipe really executes for AVX-512 (32 on Zen 4).
  int avx512_vec_bytes_per_fma = 64;
  int64_t l1d_bytes = 32 << 10, l2_bytes = 512 << 10;
  int64_t l3_bytes = 16 << 20;  // share of this process
  bool l3_shared = false;       // with other guests of the host, which nobody here can see
  double l2_bytes_per_cycle = 32, l3_bytes_per_cycle = 16, dram_bytes_per_cycle = 6;
  double fork_join_us = 1.5;  // waking and joining a team of threads
  double call_us = 0.1;

  // Peak of one core in FLOP per microsecond for f32.
  double PeakFlopsPerUs(Isa isa) const noexcept;

  // Whether `threads` threads save more of work that takes one of them `us` than waking and joining them costs. Twice
  // that must be saved: caches are cold on the other cores. Zen 3, 2 threads, against 1: 1x1 32 to 32 at 14x14 (5 us)
  // 67 to 81 GFLOP/s, 64 to 64 (18 us) 115 to 88.
  bool TeamPays(double us, double threads) const noexcept {
    return threads > 1 && us / threads + 2 * fork_join_us < us;
  }
};

// The default for a machine with this vendor, family, model and these caches.
MachineModel DefaultMachineModel(const Topology& topology);

// The model in use: from CPUID and the cache sizes of runtime/topology until SetMachineModel.
// The reference stays valid for the process's lifetime. Both may be called from any thread.
const MachineModel& CurrentMachineModel() noexcept;
void SetMachineModel(const MachineModel& model);

}  // namespace rafter

#endif  // RAFTER_RUNTIME_MACHINE_MODEL_H_
