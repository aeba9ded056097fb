// Dependent chains; see clock_probe.h.
//
// Times of n and of 2n instructions: the fixed costs (call, clock reading, loop entry) cancel out.
// The minimum of each length is taken separately: a preempted sample then harms nothing, while the
// median of the differences would be biased.
#include "roofline/clock_probe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "jit/assembler.h"
#include "jit/compile.h"
#include "jit/isa.h"
#include "rafter/cpu.h"
#include "roofline/wall_clock.h"

namespace rafter::roofline {
namespace {

constexpr int kUnroll = 100;
constexpr int64_t kCyclesOfShortChain = 60'000;  // 15 µs at 4 GHz
constexpr int kImulLatency = 3, kAddLatency = 1;
constexpr double kAgreement = 0.02;

struct ChainArgs {
  int64_t rounds;  // of kUnroll instructions
};
using ChainFunction = void(const ChainArgs*);

Result<jit::KernelPtr> CompileChain(bool multiply) {
  // No vector register is touched: the row of the first set serves every machine.
  const jit::IsaInfo& info = jit::GetIsaInfo(Isa::kAvx2);
  return jit::Compile(multiply ? "probe_clock_imul" : "probe_clock_add", info,
                      [multiply](jit::Assembler& as) {
                        as.mov(as.rcx, as.ptr[as.rdi + offsetof(ChainArgs, rounds)]);
                        as.mov(as.eax, 3);
                        as.mov(as.edx, 5);
                        as.align(64);
                        jit::Label round;
                        as.L(round);
                        for (int i = 0; i < kUnroll; ++i) {
                          if (multiply) {
                            as.imul(as.rax, as.rdx);
                          } else {
                            as.add(as.rax, as.rdx);
                          }
                        }
                        as.dec(as.rcx);
                        as.jnz(round, jit::Assembler::T_NEAR);
                        as.ret();
                      });
}

double GhzByChain(ChainFunction* chain, int latency, int repetitions) {
  const int64_t rounds = kCyclesOfShortChain / latency / kUnroll;
  const ChainArgs one{rounds}, two{2 * rounds};
  const auto time = [&](const ChainArgs& args) {
    const int64_t start = NowNs();
    chain(&args);
    return static_cast<double>(NowNs() - start);
  };
  double best_one = std::numeric_limits<double>::infinity(), best_two = best_one;
  time(two);
  for (int i = 0; i < repetitions; ++i) {
    best_one = std::min(best_one, time(one));
    best_two = std::min(best_two, time(two));
  }
  const double ns = best_two - best_one;
  return ns > 0 ? static_cast<double>(rounds * kUnroll * latency) / ns : 0;
}

}  // namespace

ClockEstimate CombineClocks(double imul_ghz, double add_ghz) noexcept {
  ClockEstimate estimate{0, imul_ghz, add_ghz};
  const double mean = (imul_ghz + add_ghz) / 2;
  if (imul_ghz > 0 && add_ghz > 0 && std::abs(imul_ghz - add_ghz) <= kAgreement * mean) {
    estimate.ghz = mean;
  }
  return estimate;
}

Result<ClockEstimate> MeasureClock(int repetitions) {
  Result<jit::KernelPtr> imul = CompileChain(true);
  if (!imul.ok()) return imul.status();
  Result<jit::KernelPtr> add = CompileChain(false);
  if (!add.ok()) return add.status();
  const int times = std::max(1, repetitions);
  return CombineClocks(GhzByChain((*imul)->entry<ChainFunction>(), kImulLatency, times),
                       GhzByChain((*add)->entry<ChainFunction>(), kAddLatency, times));
}

}  // namespace rafter::roofline
