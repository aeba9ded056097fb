// kernels/reorder/copy_kernel.h: the generated kernel behind every copy that keeps the order of elements: rows of
// floats at any distances, with an optional border before and behind each row, plain or non-temporal stores.
//
//   for row in rows
//     dst[-before … -1]      = border            kFill: *fill; kEdge: src[0]; kReflect: src[1], src[2], … backwards
//     dst[run … run+after-1] = border            kFill: *fill; kEdge: src[run-1]; kReflect: src[run-2], …
//     dst[0 … run-1]         = src[0 … run-1]
//     src += src_row_bytes, dst += dst_row_bytes
//
// Lengths up to kMaxBakedRun are part of the code: no loop, no masks; the last vector of a row overlaps the one before.
// Longer rows ("open") are copied in blocks of 256 bytes whose stores are aligned.
#ifndef RAFTER_KERNELS_REORDER_COPY_KERNEL_H_
#define RAFTER_KERNELS_REORDER_COPY_KERNEL_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::reorder {

enum class Border : int32_t { kNone, kFill, kEdge, kReflect };

struct CopySpec {
  int32_t isa = 0;     // an Isa other than kNone
  int32_t run = 0;     // floats of a row, 1 … kMaxBakedRun; 0 = open: CopyArgs::run_bytes
  Border border = Border::kNone;
  int32_t before = 0, after = 0;  // floats, 0 … kMaxBorder each
  // Stores go past the caches. Baked runs: run is a multiple of 16 floats, dst and dst_row_bytes of 64 bytes. Open
  // ones have no such rule: incomplete lines at the ends of a row are stored the plain way. The caller orders them
  // (FinishStores in kernels/store_choice.h) when it is done: a fence per call would wait for the memory each time.
  int32_t non_temporal = 0;
  // Borders that repeat or mirror: floats of a pixel, 1 … kMaxPixel. With more than one, before and after are multiples
  // of it, up to kMaxPixelBorder.
  int32_t pixel = 1;
};

inline constexpr int kMaxBakedRun = 128, kMinOpenRun = 16, kMaxBorder = 64, kMaxPixel = 64,
                     kMaxPixelBorder = 256;

struct CopyArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t rows = 0;  // at least 1
  int64_t src_row_bytes = 0, dst_row_bytes = 0;
  int64_t run_bytes = 0;       // open kernels: a multiple of 4, at least 4 * kMinOpenRun
  const float* fill = nullptr; // kFill only
};
using CopyFunction = void(const CopyArgs*);

// The spec for rows of `run` floats without border.
CopySpec SpecOfRun(Isa isa, int64_t run, bool non_temporal) noexcept;

Result<jit::KernelPtr> GetCopyKernel(const CopySpec& spec);

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_COPY_KERNEL_H_
