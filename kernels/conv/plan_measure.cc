// kernels/conv/plan_measure.cc: see plan_measure.h.
//
// In a round each contender runs a batch of calls that is long against reading the clock, behind one
// call that is not timed and brings its weights and code back into the caches. The minimum counts:
// what disturbs a measurement makes it longer, never shorter.
#include "kernels/conv/plan_measure.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/conv/packed_weights.h"
#include "rafter/threads.h"

namespace rafter {
namespace {

constexpr double kBatchUs = 100;     // one timed batch; reading the clock takes about 0.05
constexpr int kMostCalls = 1000;     // of one batch
constexpr double kEnoughUs = 3e3;    // timed calls of one contender
constexpr int kFewestRounds = 5;     // however long they take …
constexpr double kTooLongUs = 1e6;   // … unless one contender takes more than this, all rounds together
constexpr double kWarmUpBelowUs = 1e3;  // longer calls warm their caches themselves
constexpr double kTwiceBelowUs = 1e4;   // first estimates beyond this are not repeated
constexpr int kRoundsOfAll = 2;      // then who is slower than the best by this factor is left out:
constexpr double kHopeless = 2;

double NowUs() noexcept {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A block of floats that goes back to its pool.
class Block {
 public:
  Block() noexcept = default;
  Block(MemoryPool& pool, size_t bytes) noexcept
      : pool_(&pool), data_(static_cast<std::byte*>(pool.Allocate(bytes))) {}
  Block(Block&& other) noexcept
      : pool_(other.pool_), data_(std::exchange(other.data_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Block() {
    if (pool_ != nullptr) pool_->Free(data_);
  }
  std::byte* data() const noexcept { return data_; }
  float* floats() const noexcept { return reinterpret_cast<float*>(data_); }

 private:
  MemoryPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
};

// From the first to the last element of a tensor; fits, as the problem is valid.
size_t SpanElements(Layout layout, const Strides& s, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t block = ChannelBlock(layout), blocks = (c + block - 1) / block;
  return static_cast<size_t>((n - 1) * s.n + (blocks - 1) * s.c + (h - 1) * s.h + (w - 1) * s.w +
                             block);
}

// Values in [-1, 1) that are no denormals: a short random sequence, repeated, since only its making
// would take time.
void FillRandom(float* values, size_t count) noexcept {
  constexpr size_t kSequence = 4093;
  uint32_t state = 12345;
  for (size_t i = 0; i < std::min(count, kSequence); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  for (size_t filled = kSequence; filled < count;) {
    const size_t copied = std::min(filled, count - filled);
    std::memcpy(values + filled, values, copied * sizeof(float));
    filled += copied;
  }
}

// What all contenders share.
struct Tensors {
  Block src, dst, residual, weights;
  std::vector<const float*> residuals;
};

Result<Block> RandomBlock(MemoryPool& pool, size_t elements) {
  Block block(pool, elements * sizeof(float));
  if (block.data() == nullptr) return Status::OutOfMemory();
  FillRandom(block.floats(), elements);
  return block;
}

Result<Tensors> MakeTensors(const ConvProblem& problem, MemoryPool& pool) {
  const ConvDesc& desc = problem.desc;
  const auto dst_elements = [&](const Strides& strides) {
    return SpanElements(desc.dst.layout, strides, desc.n, desc.oc, problem.oh, problem.ow);
  };
  size_t residual_elements = 0, residuals = 0;
  for (const PostOp& op : desc.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    ++residuals;
    residual_elements =
        std::max(residual_elements, dst_elements(ResidualStrides(problem, op)));
  }
  Tensors tensors;
  const auto make = [&](Block& block, size_t elements) {
    Result<Block> made = RandomBlock(pool, elements);
    if (made.ok()) block = std::move(made).value();
    return made.ok();
  };
  const bool made =
      make(tensors.src, SpanElements(desc.src.layout, problem.src, desc.n, desc.ic, desc.in.h,
                                     desc.in.w)) &&
      make(tensors.dst, dst_elements(problem.dst)) &&
      make(tensors.residual, residual_elements) &&
      make(tensors.weights,
           static_cast<size_t>(desc.oc * problem.ic_g * desc.kernel.h * desc.kernel.w));
  if (!made) return Status::OutOfMemory();
  tensors.residuals.assign(residuals, tensors.residual.floats());
  return tensors;
}

// One contender with what it needs of its own.
class Runner {
 public:
  static Result<Runner> Make(const Tensors& tensors, MemoryPool& pool, Contender* contender) {
    const ConvPlan& plan = *contender->plan;
    Result<PackedWeights> packed =
        Pack(plan, tensors.weights.floats(), nullptr, PackOptions{.pool = &pool});
    if (!packed.ok()) return packed.status();
    Runner runner;
    runner.contender_ = contender;
    runner.packed_ = std::move(packed).value();
    if (plan.scratch_bytes() > 0) {
      runner.scratch_ = Block(pool, plan.scratch_bytes());
      if (runner.scratch_.data() == nullptr) return Status::OutOfMemory();
    }
    ConvCall& call = runner.call_;
    call.src = tensors.src.floats();
    call.weights = runner.packed_.rep()->payload();
    call.dst = tensors.dst.floats();
    call.residuals = tensors.residuals.data();
    call.scratch = runner.scratch_.data();
    call.pool = OpenMpThreads();
    call.threads = std::max(1, std::min(plan.threads(), call.pool->concurrency()));
    return runner;
  }

  // Touches all memory, then finds out how many calls make a batch.
  void WarmUp() noexcept {
    TimedCalls(1);
    double us = std::max(TimedCalls(1), 0.01);
    // Or was the thread away for a moment?
    if (us < kTwiceBelowUs) us = std::clamp(TimedCalls(1), 0.01, us);
    calls_ = static_cast<int>(std::clamp(kBatchUs / us, 1.0, static_cast<double>(kMostCalls)));
    warm_ = us >= kWarmUpBelowUs;
  }

  void RunRound() noexcept {
    if (!warm_) contender_->plan->Run(call_);
    const double us = TimedCalls(calls_);
    spent_us_ += us;
    best_us_ = std::min(best_us_, us / calls_);
    contender_->us = best_us_;
  }

  double best_us() const noexcept { return best_us_; }
  double spent_us() const noexcept { return spent_us_; }

 private:
  double TimedCalls(int calls) const noexcept {
    const double start = NowUs();
    for (int i = 0; i < calls; ++i) contender_->plan->Run(call_);
    return NowUs() - start;
  }

  Contender* contender_ = nullptr;
  PackedWeights packed_;
  Block scratch_;
  ConvCall call_;
  int calls_ = 1;
  bool warm_ = false;
  double spent_us_ = 0, best_us_ = std::numeric_limits<double>::infinity();
};

// Whether one more round is worth its time.
bool Enough(const std::vector<Runner>& runners, int rounds) noexcept {
  const auto spent = [](double us) {
    return [us](const Runner& runner) { return runner.spent_us() >= us; };
  };
  if (std::any_of(runners.begin(), runners.end(), spent(kTooLongUs))) return true;
  return rounds >= kFewestRounds && std::all_of(runners.begin(), runners.end(), spent(kEnoughUs));
}

void DropHopeless(std::vector<Runner>& runners) {
  double best = std::numeric_limits<double>::infinity();
  for (const Runner& runner : runners) best = std::min(best, runner.best_us());
  std::erase_if(runners,
                [&](const Runner& runner) { return runner.best_us() > kHopeless * best; });
}

}  // namespace

Status MeasurePlans(const ConvProblem& problem, MemoryPool* pool,
                    std::span<Contender> contenders) {
  std::optional<MemoryPool> own_pool;
  if (pool == nullptr) pool = &own_pool.emplace();
  Result<Tensors> tensors = MakeTensors(problem, *pool);
  if (!tensors.ok()) return tensors.status();
  std::vector<Runner> runners;
  runners.reserve(contenders.size());
  for (Contender& contender : contenders) {
    Result<Runner> runner = Runner::Make(*tensors, *pool, &contender);
    if (!runner.ok()) return runner.status();
    runners.push_back(std::move(runner).value());
  }
  for (Runner& runner : runners) runner.WarmUp();
  for (int rounds = 0; !Enough(runners, rounds); ++rounds) {
    if (rounds == kRoundsOfAll) DropHopeless(runners);
    // Another one begins each round, so that none always follows the same neighbour.
    for (size_t i = 0; i < runners.size(); ++i) {
      runners[(i + static_cast<size_t>(rounds)) % runners.size()].RunRound();
    }
  }
  return {};
}

}  // namespace rafter
