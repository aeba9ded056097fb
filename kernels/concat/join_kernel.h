// kernels/concat/join_kernel.h: the generated kernel behind concatenations whose inputs meet within short rows: along
// channels in NHWC, along columns in NCHW. It writes each row of the result at once, so that the result is one stream.
//
//   for row in rows
//     dst[0 … runs[0]-1] = src[0][0 … runs[0]-1]; dst[runs[0] … ] = src[1][0 … runs[1]-1]; …
//     src[i] += src_row_bytes[i], dst += dst_row_bytes
#ifndef RAFTER_KERNELS_CONCAT_JOIN_KERNEL_H_
#define RAFTER_KERNELS_CONCAT_JOIN_KERNEL_H_

#include <array>
#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::concat {

// Inputs have a register each. Rows are written out: at most so many floats.
inline constexpr int kMostJoined = 8, kMostJoinedRow = 512;

struct JoinSpec {
  int32_t isa = 0;           // an Isa other than kNone
  int32_t inputs = 0;        // 1 … kMostJoined
  int32_t non_temporal = 0;  // all runs are multiples of 16 floats, dst and dst_row_bytes of 64 bytes; the caller
                             // orders the stores (FinishStores in kernels/store_choice.h)
  std::array<int32_t, kMostJoined> runs{};  // floats, at least 1 each, together at most kMostJoinedRow
};

struct JoinArgs {
  std::array<const float*, kMostJoined> src{};
  std::array<int64_t, kMostJoined> src_row_bytes{};
  float* dst = nullptr;
  int64_t rows = 0;  // at least 1
  int64_t dst_row_bytes = 0;
};
using JoinFunction = void(const JoinArgs*);

Result<jit::KernelPtr> GetJoinKernel(const JoinSpec& spec);

}  // namespace rafter::concat

#endif  // RAFTER_KERNELS_CONCAT_JOIN_KERNEL_H_
