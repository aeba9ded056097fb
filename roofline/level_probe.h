// roofline/level_probe.h: what one level of the caches, or memory, delivers at the moment: a batch of some tens of
// microseconds, cheap enough to be repeated between the samples of a benchmark. For comparing moments with each other
// and with the day's curve at the same footprint (bandwidth_probe.h), not for roofs.
#ifndef RAFTER_ROOFLINE_LEVEL_PROBE_H_
#define RAFTER_ROOFLINE_LEVEL_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/threads.h"
#include "roofline/bandwidth_curve.h"
#include "roofline/stream_kernel.h"

namespace rafter::roofline {

class LevelProbe {
 public:
  // On `threads` threads of `pool`, which outlives the probe; `footprint_bytes` for all threads and arrays together.
  // kUnsupported: no such ISA, or no executable memory; kOutOfMemory.
  static Result<LevelProbe> Create(Isa isa, ParallelFor& pool, int threads, Mix mix, double footprint_bytes);

  // GB/s of explicit bytes of one batch: as many passes as fit into 20 us (60 us for a team), where a pass takes longer
  // the next slice of it. Small footprints are loaded once before.
  double Measure() noexcept;

  double footprint_bytes() const noexcept;

 private:
  struct FreeMemory {
    void operator()(std::byte* memory) const noexcept;
  };

  LevelProbe() = default;
  double RunNs(int64_t begin, int64_t blocks, int64_t passes) noexcept;

  ParallelFor* pool_ = nullptr;
  int threads_ = 1;
  Mix mix_ = Mix::kLoad;
  jit::KernelPtr kernel_;
  std::unique_ptr<std::byte, FreeMemory> memory_;
  size_t part_bytes_ = 0;      // of one thread
  int64_t array_blocks_ = 0;   // of each array of one thread
  int64_t slice_blocks_ = 0;   // array_blocks_, or less where those take too long
  int64_t passes_ = 1, next_ = 0;
};

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_LEVEL_PROBE_H_
