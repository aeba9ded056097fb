// roofline/level_probe.cc: see level_probe.h.
#include "roofline/level_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "roofline/team_timer.h"

namespace rafter::roofline {
namespace {

constexpr double kShortBatchNs = 20'000, kShortTeamBatchNs = 60'000;
constexpr size_t kPartAlignment = size_t{2} << 20;
// A slice of a long pass, bytes of all arrays of a thread: about 25 us at 40 GB/s.
constexpr int64_t kSliceBytes = int64_t{1} << 20;

}  // namespace

void LevelProbe::FreeMemory::operator()(std::byte* memory) const noexcept { std::free(memory); }

Result<LevelProbe> LevelProbe::Create(Isa isa, ParallelFor& pool, int threads, Mix mix, double footprint_bytes) {
  Result<jit::KernelPtr> kernel = CompileStream(isa, mix, false);
  if (!kernel.ok()) return kernel.status();
  LevelProbe probe;
  probe.pool_ = &pool;
  probe.threads_ = TeamTimer(&pool, threads).threads();
  probe.mix_ = mix;
  probe.kernel_ = *kernel;
  const int arrays = ShapeOf(mix).arrays;
  const double array_bytes = footprint_bytes / probe.threads_ / arrays;
  probe.array_blocks_ = std::max<int64_t>(1, std::llround(array_bytes / kStreamBlockBytes));
  const int64_t slice = std::max<int64_t>(1, kSliceBytes / kStreamBlockBytes / arrays);
  probe.slice_blocks_ = probe.array_blocks_ > 2 * slice ? slice : probe.array_blocks_;
  const size_t bytes = static_cast<size_t>(probe.array_blocks_ * kStreamBlockBytes * arrays) + kStreamSlackBytes;
  probe.part_bytes_ = (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  const size_t all_bytes = probe.part_bytes_ * static_cast<size_t>(probe.threads_);
  probe.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPartAlignment, all_bytes)));
  if (!probe.memory_) return Status::OutOfMemory();
  madvise(probe.memory_.get(), all_bytes, MADV_HUGEPAGE);
  std::byte* memory = probe.memory_.get();
  const size_t part_bytes = probe.part_bytes_;
  // Each thread its own part; not zeros, see stream_kernel.cc.
  TeamTimer(&pool, probe.threads_).RunNs([&](int thread) noexcept {
    std::memset(memory + part_bytes * static_cast<size_t>(thread), 1, part_bytes);
  });
  probe.RunNs(0, probe.slice_blocks_, 1);
  double ns = probe.RunNs(0, probe.slice_blocks_, 1);
  for (int i = 0; i < 2; ++i) ns = std::min(ns, probe.RunNs(0, probe.slice_blocks_, 1));
  const double batch_ns = probe.threads_ > 1 ? kShortTeamBatchNs : kShortBatchNs;
  constexpr double kMostPasses = 1e6;
  probe.passes_ = static_cast<int64_t>(std::clamp(batch_ns / ns, 1.0, kMostPasses));
  return probe;
}

double LevelProbe::RunNs(int64_t begin, int64_t blocks, int64_t passes) noexcept {
  return TeamTimer(pool_, threads_).RunNs([&](int thread) noexcept {
    std::byte* part = memory_.get() + part_bytes_ * static_cast<size_t>(thread);
    StreamArgs args = StreamSliceFor(part, mix_, array_blocks_, begin, blocks, passes);
    kernel_->entry<StreamFunction>()(&args);
  });
}

double LevelProbe::Measure() noexcept {
  // A slice lies where the last round left it; what fits is brought into its caches again.
  const bool is_whole = slice_blocks_ == array_blocks_;
  if (is_whole) RunNs(0, array_blocks_, 1);
  if (next_ + slice_blocks_ > array_blocks_) next_ = 0;
  const int64_t passes = is_whole ? passes_ : 1;
  const double ns = RunNs(next_, slice_blocks_, passes);
  next_ += slice_blocks_;
  return static_cast<double>(slice_blocks_ * kStreamBlockBytes * ShapeOf(mix_).streams * passes * threads_) / ns;
}

double LevelProbe::footprint_bytes() const noexcept {
  return static_cast<double>(array_blocks_ * kStreamBlockBytes) * ShapeOf(mix_).arrays * threads_;
}

}  // namespace rafter::roofline
