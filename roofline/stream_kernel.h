// roofline/stream_kernel.h: the JIT'ed loops of the bandwidth probe: full-width loads and stores
// over up to three arrays, several cache lines in flight, no arithmetic that could limit them.
#ifndef RAFTER_ROOFLINE_STREAM_KERNEL_H_
#define RAFTER_ROOFLINE_STREAM_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "roofline/bandwidth_curve.h"

namespace rafter::roofline {

// What one turn of the loop covers in each array; array sizes are multiples of it.
inline constexpr int64_t kStreamBlockBytes = 512;

struct StreamArgs {
  // Arrays start on a cache line. Which ones a mix uses: load a; 2:1 a, b, dst; copy a, dst;
  // in-place dst; store dst.
  const std::byte* a;
  const std::byte* b;
  std::byte* dst;
  int64_t blocks;  // per array and pass, at least 1
  int64_t passes;  // at least 1
};
using StreamFunction = void(const StreamArgs*);

struct StreamShape {
  int arrays;   // distinct ones
  int streams;  // loads and stores per element, in explicit bytes
};
StreamShape ShapeOf(Mix mix) noexcept;

// One pass over arrays of `blocks` blocks each in `memory`, moved apart by up to kStreamSlackBytes where stores would
// meet loads of the same address bits.
inline constexpr size_t kStreamSlackBytes = 16 << 10;
StreamArgs StreamArgsFor(std::byte* memory, Mix mix, int64_t blocks) noexcept;
// … `passes` over their blocks [begin, begin + count) only.
StreamArgs StreamSliceFor(std::byte* memory, Mix mix, int64_t blocks, int64_t begin, int64_t count,
                          int64_t passes) noexcept;

// kUnsupported without executable memory. Mixes without a store have no non-temporal variant:
// kInvalidArgument.
Result<jit::KernelPtr> CompileStream(Isa isa, Mix mix, bool non_temporal);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_STREAM_KERNEL_H_
