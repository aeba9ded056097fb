// kernels/eltwise/loops.h: the loops of an element-wise chain over one region of a tensor: dimensions that lie together
// in every tensor are joined, the innermost ones become the kernel's rows and runs. Pure.
#ifndef RAFTER_KERNELS_ELTWISE_LOOPS_H_
#define RAFTER_KERNELS_ELTWISE_LOOPS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/spec.h"

namespace rafter::eltwise {

// Dimensions from the outermost to the innermost; blocked layouts have the lanes of a block as the fifth.
inline constexpr size_t kMostDims = 5;

// A tensor along the loops. Steps in elements of the tensor; those of tables in pieces: the tables of a block of
// channels, or of one channel in NCHW.
struct Stream {
  Mode mode = Mode::kFull;
  std::array<int64_t, kMostDims> steps{};  // as EltwiseLoops::outer, then rows
};

struct Loops {
  std::vector<int64_t> outer;    // sizes, outermost first; the driver's loops
  int64_t rows = 1, run = 1;     // the kernel's
  Stream src, dst, tables;
  std::vector<Stream> operands;

  int64_t outer_count() const noexcept {
    int64_t count = 1;
    for (const int64_t size : outer) count *= size;
    return count;
  }
};

// `blocks`: how many blocks of channels (channels in NHWC and NCHW) the region has; its first one is where the
// pointers point. `tables`: whether the kernel reads any; otherwise they keep no dimensions apart.
Loops MakeLoops(const EltwiseProblem& problem, int64_t blocks, bool tables);

}  // namespace rafter::eltwise

#endif  // RAFTER_KERNELS_ELTWISE_LOOPS_H_
