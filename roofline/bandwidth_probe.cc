// The footprint sweep; see bandwidth_probe.h.
#include "roofline/bandwidth_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "roofline/median.h"
#include "roofline/stream_kernel.h"
#include "roofline/team_timer.h"
#include "runtime/parallel.h"

namespace rafter::roofline {
namespace {

// Long enough for the clock's 25 ns, short enough to fall between two scheduler ticks; teams need
// more, since their members do not start at the same moment.
constexpr double kBatchNs = 30'000, kTeamBatchNs = 300'000;
// Arrays from twice this size on are timed in slices of about 2 MiB.
constexpr int64_t kSliceBlocks = (int64_t{2} << 20) / kStreamBlockBytes;
constexpr size_t kMinBatches = 3, kMaxBatches = 2'000;
constexpr size_t kHugePage = size_t{2} << 20;

// One mapping with a part for each thread; huge pages are advised, so that page walks do not hide
// the bandwidth of the caches.
class Arena {
 public:
  Arena(int threads, double bytes_per_thread)
      : part_bytes_((static_cast<size_t>(bytes_per_thread) + kStreamSlackBytes + kHugePage - 1) / kHugePage *
                    kHugePage),
        mapped_bytes_(part_bytes_ * static_cast<size_t>(threads) + kHugePage) {
    void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(memory);
    const size_t misalignment = reinterpret_cast<uintptr_t>(memory_) % kHugePage;
    first_part_ = memory_ + (misalignment == 0 ? 0 : kHugePage - misalignment);
    madvise(memory_, mapped_bytes_, MADV_HUGEPAGE);
  }
  ~Arena() {
    if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool ok() const { return memory_ != nullptr; }
  std::byte* part(int thread) const {
    return first_part_ + part_bytes_ * static_cast<size_t>(thread);
  }
  // To be called by the thread itself: the kernel places pages near the first writer. Not zeros,
  // see stream_kernel.cc.
  void Touch(int thread) const { std::memset(part(thread), 1, part_bytes_); }

 private:
  size_t part_bytes_, mapped_bytes_;
  std::byte* memory_ = nullptr;
  std::byte* first_part_ = nullptr;
};

class Sweep {
 public:
  Sweep(const SweepOptions& options, ParallelFor* pool, const Arena& arena)
      : options_(options), arena_(arena), timer_(pool, options.threads) {
    timer_.RunNs([&](int thread) noexcept { arena_.Touch(thread); });
  }

  // Fails only where code cannot be made.
  Result<BandwidthCurve> Curve(Mix mix, bool non_temporal) {
    BandwidthCurve curve{options_.isa, options_.threads, mix, non_temporal, {}};
    Result<jit::KernelPtr> kernel = CompileStream(options_.isa, mix, non_temporal);
    if (!kernel.ok()) return kernel.status();
    for (const double footprint : options_.footprints) {
      if (non_temporal && footprint < options_.non_temporal_from_bytes) continue;
      const BandwidthPoint point = Point((*kernel)->entry<StreamFunction>(), mix, footprint);
      // Rounding to whole blocks may join the smallest footprints.
      if (curve.points.empty() || point.footprint_bytes > curve.points.back().footprint_bytes) {
        curve.points.push_back(point);
      }
      if (options_.progress) options_.progress(++points_done_ / PointsInAll());
    }
    return curve;
  }

 private:
  struct Loop {
    StreamFunction* kernel;
    Mix mix;
    int64_t array_blocks;  // of each array of one thread
  };
  struct PassTimes {
    double best, median;  // ns
  };

  double PointsInAll() const {
    double all = 0;
    for (const double footprint : options_.footprints) {
      const bool both =
          options_.non_temporal_from_bytes > 0 && footprint >= options_.non_temporal_from_bytes;
      all += both ? 8 : 5;  // the mixes, and three of them non-temporal
    }
    return all;
  }

  // One run of all threads over blocks [begin, begin + blocks) of their arrays of `array_blocks`.
  double RunNs(const Loop& loop, int64_t begin, int64_t blocks, int64_t passes) noexcept {
    return timer_.RunNs([&](int thread) noexcept {
      StreamArgs args = StreamSliceFor(arena_.part(thread), loop.mix, loop.array_blocks, begin, blocks, passes);
      loop.kernel(&args);
    });
  }

  void Poll() const {
    if (options_.poll) options_.poll();
  }

  // How many passes fill a batch. Grows from one pass, and looks twice at each step: a single
  // preempted run must not pass for a slow memory.
  int64_t PassesFor(const Loop& loop) {
    constexpr int kSteps = 6;
    constexpr double kMostGrowth = 64;
    const double batch_ns = options_.threads > 1 ? kTeamBatchNs : kBatchNs;
    int64_t passes = 1;
    for (int step = 0; step < kSteps; ++step) {
      Poll();
      const double first = RunNs(loop, 0, loop.array_blocks, passes);
      const double ns = std::min(first, RunNs(loop, 0, loop.array_blocks, passes));
      if (ns >= batch_ns / 2) break;
      const double growth = std::min(kMostGrowth, batch_ns / ns);
      passes = std::llround(std::ceil(static_cast<double>(passes) * growth));
    }
    return passes;
  }

  // Calls round() at least kMinBatches times, then until the time of a point is used up.
  template <typename Round>
  void Repeat(const Round& round) const {
    const int64_t deadline = NowNs() + std::llround(options_.point_us * 1000);
    for (size_t rounds = 0; rounds < kMaxBatches; ++rounds) {
      if (rounds >= kMinBatches && NowNs() >= deadline) return;
      Poll();
      round();
    }
  }

  PassTimes ShortPasses(const Loop& loop) {
    const int64_t passes = PassesFor(loop);
    std::vector<double> times;
    Repeat([&] {
      times.push_back(RunNs(loop, 0, loop.array_blocks, passes) / static_cast<double>(passes));
    });
    return {*std::min_element(times.begin(), times.end()), Median(times)};
  }

  // A pass of several milliseconds never is undisturbed on a busy machine. So it is timed in
  // slices, and the best pass is the sum of each slice's best time; not the best slice, which might
  // lie in a cache.
  PassTimes LongPasses(const Loop& loop) {
    const int64_t slices = loop.array_blocks / kSliceBlocks;
    std::vector<double> best(static_cast<size_t>(slices), std::numeric_limits<double>::infinity());
    std::vector<double> times;
    Repeat([&] {
      double sum = 0;
      for (int64_t s = 0; s < slices; ++s) {
        Poll();
        const Range range = SplitRange(loop.array_blocks, slices, s);
        const double ns = RunNs(loop, range.begin, range.end - range.begin, 1);
        best[static_cast<size_t>(s)] = std::min(best[static_cast<size_t>(s)], ns);
        sum += ns;
      }
      times.push_back(sum);
    });
    return {std::accumulate(best.begin(), best.end(), 0.0), Median(times)};
  }

  BandwidthPoint Point(StreamFunction* kernel, Mix mix, double footprint) {
    const StreamShape shape = ShapeOf(mix);
    const double array_bytes = footprint / options_.threads / shape.arrays;
    const Loop loop{kernel, mix,
                    std::max<int64_t>(1, std::llround(array_bytes / kStreamBlockBytes))};
    RunNs(loop, 0, loop.array_blocks, 1);  // brings the footprint into the caches
    const PassTimes ns =
        loop.array_blocks >= 2 * kSliceBlocks ? LongPasses(loop) : ShortPasses(loop);
    const double pass_bytes =
        static_cast<double>(loop.array_blocks * kStreamBlockBytes) * options_.threads;
    const double explicit_bytes = pass_bytes * shape.streams;  // bytes/ns = GB/s
    return {pass_bytes * shape.arrays, explicit_bytes / ns.best, explicit_bytes / ns.median};
  }

  const SweepOptions& options_;
  const Arena& arena_;
  TeamTimer timer_;
  double points_done_ = 0;
};

}  // namespace

std::vector<double> SweepFootprints(double l3_bytes, int threads, double memory_limit_bytes,
                                    bool quick) {
  constexpr double kMiB = 1 << 20;
  const double first = std::max(8192.0, 4096.0 * threads);
  const double wanted =
      quick ? std::max(2 * l3_bytes, 64 * kMiB) : std::max(4 * l3_bytes, 256 * kMiB);
  const double last = std::max(first, std::min(wanted, memory_limit_bytes));
  const double step = quick ? 2.0 : 1.4;
  std::vector<double> footprints;
  for (double footprint = first; footprint < last / std::sqrt(step); footprint *= step) {
    footprints.push_back(footprint);
  }
  footprints.push_back(last);
  return footprints;
}

Result<std::vector<BandwidthCurve>> MeasureBandwidth(const SweepOptions& options) {
  if (options.footprints.empty()) return Status::InvalidArgument("footprints: empty");
  ParallelFor* pool = options.pool != nullptr ? options.pool : OpenMpThreads();
  if (options.threads < 1 || (options.threads > 1 && options.threads > pool->concurrency())) {
    return Status::InvalidArgument("threads: " + std::to_string(options.threads) +
                                   "; allowed: 1 … " + std::to_string(pool->concurrency()));
  }
  const Arena arena(options.threads, options.footprints.back() / options.threads);
  if (!arena.ok()) return Status::OutOfMemory();
  Sweep sweep(options, pool, arena);
  std::vector<BandwidthCurve> curves;
  const bool with_non_temporal = options.non_temporal_from_bytes > 0;
  for (const bool non_temporal : {false, true}) {
    for (const Mix mix : kAllMixes) {
      if (non_temporal && (!with_non_temporal || mix == Mix::kLoad || mix == Mix::kInPlace))
        continue;
      Result<BandwidthCurve> curve = sweep.Curve(mix, non_temporal);
      if (!curve.ok()) return curve.status();
      if (!curve->points.empty()) curves.push_back(*std::move(curve));
    }
  }
  return curves;
}

}  // namespace rafter::roofline
