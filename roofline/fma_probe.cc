// Chains of FMAs; see fma_probe.h.
//
// Each accumulator does acc = acc * a + b with a slightly below 1, so it converges to b / (1 - a):
// always a normal number, with random mantissas in the lanes (zeros and infinities cost less power,
// and so more clock, on some machines). One round of the loop holds about 96 FMAs:
//
//   round:  acc0 = acc0 * a + b      ┐
//           acc1 = acc1 * a + b      │ all chains, repeated
//           …                        ┘
//           dec rounds; jnz round
#include "roofline/fma_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "jit/assembler.h"
#include "jit/compile.h"
#include "jit/isa.h"
#include "roofline/team_timer.h"

namespace rafter::roofline {
namespace {

constexpr int kFmasPerRound = 96;
constexpr double kBatchUs = 25, kTeamBatchUs = 120;
constexpr size_t kMostBatches = 256;  // 6 ms of them

struct FmaArgs {
  int64_t rounds;
  const float* constants;
};
using FmaFunction = void(const FmaArgs*);

// Vectors of 64 bytes: the factor a, then kAddends vectors b, then start values.
constexpr int kAddends = 4, kStartValues = 32, kConstantVectors = 1 + kAddends + kStartValues;
struct alignas(64) FmaConstants {
  std::array<float, kConstantVectors * 16> values;
};

FmaConstants MakeConstants() {
  FmaConstants constants;
  uint32_t state = 12345;
  for (size_t i = 0; i < constants.values.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const float random = static_cast<float>(state >> 8) / 16777216.0f;  // 0 … 1
    constants.values[i] = i < 16 ? 0.96f + 0.03f * random : 0.5f + random;
  }
  return constants;
}

struct FmaPlan {
  FmaKind kind;
  int fma_chains, add_chains;
  int repeats;  // of the block of all chains, per round
  int block_fmas, block_adds;

  double flops_per_round(int lanes) const {
    return static_cast<double>(repeats) * (2.0 * block_fmas + block_adds) * lanes;
  }
};

FmaPlan MakePlan(FmaKind kind, int chains) {
  FmaPlan plan{kind, chains, 0, std::max(1, kFmasPerRound / chains), chains, 0};
  if (kind == FmaKind::kFmaWithAdd) {
    // As many additions as FMAs. Two thirds of the registers hide the FMA's latency (8 of 12), half
    // as many again the shorter one of the additions (6): both sets go round together after 24
    // instructions.
    plan.fma_chains = std::max(1, chains * 2 / 3);
    plan.add_chains = std::max(1, chains / 2);
    plan.block_fmas = plan.block_adds = plan.fma_chains * 3;
    plan.repeats = std::max(1, kFmasPerRound / plan.block_fmas);
  }
  return plan;
}

class FmaEmitter {
 public:
  FmaEmitter(jit::Assembler& as, const FmaPlan& plan) : as_(as), plan_(plan) {}

  void Emit() {
    as_.EnterKernel();
    as_.mov(rounds(), as_.ptr[as_.rdi + offsetof(FmaArgs, rounds)]);
    as_.mov(constants(), as_.ptr[as_.rdi + offsetof(FmaArgs, constants)]);
    as_.vmovups(factor(), constant_addr(0));
    as_.vmovups(addend(), constant_addr(1));
    for (int c = 0; c < plan_.fma_chains + plan_.add_chains; ++c) {
      as_.vmovups(chain(c), constant_addr(1 + kAddends + c));
    }
    as_.align(64);
    jit::Label round;
    as_.L(round);
    for (int r = 0; r < plan_.repeats; ++r) EmitBlock();
    as_.dec(rounds());
    as_.jnz(round, jit::Assembler::T_NEAR);
    as_.LeaveKernel();
  }

 private:
  void EmitBlock() {
    for (int i = 0; i < plan_.block_fmas; ++i) {
      const jit::Xmm acc = chain(i % plan_.fma_chains);
      if (plan_.kind == FmaKind::kFmaWithLoad) {
        as_.vfmadd213ps(acc, factor(), constant_addr(1 + i % kAddends));
      } else {
        as_.vfmadd213ps(acc, factor(), addend());
      }
      if (i < plan_.block_adds) EmitAdd(i);
    }
  }
  // Up and down in turn: the sum stays where it is.
  void EmitAdd(int i) {
    const jit::Xmm acc = chain(plan_.fma_chains + i % plan_.add_chains);
    if (i / plan_.add_chains % 2 == 0) {
      as_.vaddps(acc, acc, addend());
    } else {
      as_.vsubps(acc, acc, addend());
    }
  }

  jit::Reg64 rounds() const { return as_.rcx; }
  jit::Reg64 constants() const { return as_.rdx; }
  jit::Xmm factor() const { return as_.vec(0); }
  jit::Xmm addend() const { return as_.vec(1); }
  jit::Xmm chain(int c) const { return as_.vec(2 + c); }
  jit::Address constant_addr(int vector) const { return as_.ptr[as_.rdx + vector * 64]; }

  jit::Assembler& as_;
  const FmaPlan& plan_;
};

}  // namespace

int FullChains(Isa isa) noexcept { return jit::GetIsaInfo(isa).num_vecs >= 32 ? 24 : 12; }

Result<FmaProbe> FmaProbe::Create(Isa isa, FmaKind kind, int chains) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  if (info.vec_bytes == 0 || isa > DetectedIsa()) {
    return Status::Unsupported(std::string("isa: this machine cannot run ") + IsaName(isa));
  }
  const FmaPlan plan = MakePlan(kind, std::max(1, chains > 0 ? chains : FullChains(isa)));
  const int most = std::min(info.num_vecs - 2, 28);
  if (chains < 0 || plan.fma_chains + plan.add_chains > most) {
    return Status::InvalidArgument("chains: " + std::to_string(chains) + "; allowed: 0 … " +
                                   std::to_string(most) + " accumulators in all");
  }
  static constexpr const char* kKindNames[] = {"", "_load", "_add"};
  const std::string name = std::string("probe_fma") + kKindNames[static_cast<int>(kind)] + "_" +
                           info.name + "_" + std::to_string(plan.fma_chains) + "chains";
  Result<jit::KernelPtr> kernel =
      jit::Compile(name, info, [&](jit::Assembler& as) { FmaEmitter(as, plan).Emit(); });
  if (!kernel.ok()) return kernel.status();
  return FmaProbe(*kernel, plan.flops_per_round(info.vec_lanes()));
}

void FmaProbe::RunRounds(int64_t rounds) const noexcept {
  static const FmaConstants constants = MakeConstants();
  const FmaArgs args{rounds, constants.values.data()};
  kernel_->entry<FmaFunction>()(&args);
}

int64_t FmaProbe::RoundsFor(double batch_us) const noexcept {
  // The first call also wakes the wide units, which run at a fraction of their speed for some 10 µs
  // on some cores; the second one is measured.
  constexpr int64_t kTrial = 200;
  TeamTimer timer(nullptr, 1);
  const auto trial = [&](int) noexcept { RunRounds(kTrial); };
  timer.RunNs(trial);
  // A trial that was interrupted would make the batches far too short, and a team's start takes a part of a short
  // batch: the best of three.
  double ns = timer.RunNs(trial);
  for (int i = 0; i < 2; ++i) ns = std::min(ns, timer.RunNs(trial));
  return std::max<int64_t>(1, std::llround(batch_us * 1000 * kTrial / ns));
}

double FmaProbe::Measure(double budget_us) const noexcept { return Rate(nullptr, 1, budget_us, 1); }

double FmaProbe::Measure(ParallelFor& pool, int threads, double budget_us) const noexcept {
  return Rate(&pool, threads, budget_us, 1);
}

double FmaProbe::MeasureTypical(ParallelFor& pool, int threads, double budget_us) const noexcept {
  return Rate(&pool, threads, budget_us, 0.5);
}

double FmaProbe::Rate(ParallelFor* pool, int threads, double budget_us, double quantile) const noexcept {
  const int64_t deadline = NowNs() + std::llround(budget_us * 1000);
  TeamTimer timer(pool, threads);
  const int64_t rounds = RoundsFor(timer.threads() > 1 ? kTeamBatchUs : kBatchUs);
  const double flops = flops_per_round_ * static_cast<double>(rounds) * timer.threads();
  std::array<double, kMostBatches> rates;
  size_t count = 0;
  do {
    const double ns = timer.RunNs([&](int) noexcept { RunRounds(rounds); });
    const double rate = flops / ns;  // FLOP/ns = GFLOP/s
    if (count < rates.size()) {
      rates[count++] = rate;
    } else {
      rates[0] = std::max(rates[0], rate);  // of a very long measurement the best is still seen
    }
  } while (NowNs() < deadline);
  std::sort(rates.begin(), rates.begin() + static_cast<ptrdiff_t>(count));
  return rates[static_cast<size_t>(quantile * static_cast<double>(count - 1))];
}

}  // namespace rafter::roofline
