// rafter/conv.h: 2-D convolution (and 1-D as h = 1), forward, f32.
//
//   rafter::ConvDesc desc{.ic = 64, .oc = 64, .in = {56, 56}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
//   auto conv = rafter::Conv::Create(desc);
//   auto weights = conv->PackWeights(oihw, nullptr);
//   rafter::Status status = conv->Run(src, *weights, dst);
//
// The operation is a cross-correlation, as in every framework:
//   dst[n][g*OC/G+o][y][x] = post_ops(bias[o] + sum over i, kh, kw of
//       src[n][g*IC/G+i][y*stride.h - pad.top + kh*dilation.h][x*stride.w - pad.left + kw*dilation.w]
//       * weights[g*OC/G+o][i][kh][kw]),  inputs outside the image count as zero and are never touched.
// Output size: floor((in + pad - (dilation * (kernel - 1) + 1)) / stride) + 1 in each direction.
//
// The result has the same bits for any thread count and batch split, and, with direct summation by the same algorithm()
// or with Accuracy::kStrict, for any image size around the same window: every sum runs over blocks of input channels,
// kernel rows, kernel columns, channels of the block, starts from zero, and the bias is added last. Algorithms that
// transform (see Accuracy) have tiles, so that a window's bits also depend on where in the image it lies.
#ifndef RAFTER_CONV_H_
#define RAFTER_CONV_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rafter/cost.h"
#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/memory_pool.h"
#include "rafter/post_ops.h"
#include "rafter/status.h"
#include "rafter/tensor.h"
#include "rafter/threads.h"

namespace rafter {

struct Size2 {
  int64_t h = 1, w = 1;
  bool operator==(const Size2&) const = default;
};

struct Padding {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool operator==(const Padding&) const = default;
};

// A convolution problem. Sizes in elements; ic and oc are totals over all groups; dilation 1 is a dense
// kernel (as in ONNX and PyTorch; oneDNN's 0).
struct ConvDesc {
  int64_t n = 1, groups = 1, ic = 0, oc = 0;
  Size2 in{1, 0}, kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  Padding pad{};
  TensorFormat src{}, dst{};
  DataType type = DataType::kF32;
  bool bias = false;   // whether FLOPs and bytes count one; PackWeights accepts a null bias either way
  PostOps post_ops{};  // applied in the order given
};

// Which arithmetic an algorithm may use. kStrict: only direct summation, in an order that layout, channels, kernel and
// groups decide. kDefault: the image's size may decide about the order, too; and algorithms with a published error
// bound (docs/accuracy.md): Winograd's, "winograd_f4", "winograd_f2", "winograd_f4x2", "winograd_f2x4", for kernels of
// 3x3, 1x3 and 3x1 with stride 1. There NaN, infinity and values beyond about 1e36 reach all outputs of the tiles (at
// most 4x4) whose inputs contain them, not only the outputs whose taps touch them.
enum class Accuracy : uint8_t { kDefault, kStrict };

// How the algorithm is chosen. kModel: by predicted times (and wisdom, see rafter/wisdom.h). kMeasure:
// without wisdom about the problem, the candidates are run by turns on random data (about 3 ms each,
// or five runs of longer ones) and the fastest is taken and remembered as wisdom. They run on
// OpenMpThreads() with the plan's thread count, whatever pool the caller passes to Run; measurements of
// one process wait for each other. Not measured: a candidate without rival, what is predicted to take
// ten times as long as the cheapest, and the reference unless it is the cheapest.
enum class Planning : uint8_t { kModel, kMeasure };

struct ConvOptions {
  int threads = 0;               // threads the plan is laid out for; 0 = those of OpenMpThreads()
  Accuracy accuracy = Accuracy::kDefault;
  // Name of the only algorithm to be tried ("direct", "pointwise", "depthwise", "splitk", "grouped",
  // "widthwise", "gemm", "winograd_f4", "reference", …: `rafter list` prints all; a name also allows the form of the
  // algorithm behind a change of layout, "direct+reorder", and "winograd" each of its tiles); empty: the cheapest.
  // kUnsupported when it refuses the problem, kInvalidArgument for an unknown name (the message lists all).
  std::string algorithm{};
  Planning plan = Planning::kModel;
  // kMeasure only: where tensors, weights and scratch for the measurement come from (kOutOfMemory when
  // it has not enough); null: memory that is returned to the system behind the measurement.
  MemoryPool* pool = nullptr;
};

struct PackOptions {
  bool flush_denormals = false;  // denormal weights and biases become zero of the same sign
  MemoryPool* pool = nullptr;    // null: MemoryPool::Default()
};

// Weights in the order in which an algorithm reads them. The format depends on the algorithm, the vector width, groups,
// ic, oc and kernel only: one object serves every batch, thread count and image size for which algorithm() is the same.
// Immutable and shared: copies are cheap, concurrent use is safe.
class RAFTER_EXPORT PackedWeights {
 public:
  PackedWeights() noexcept;
  // The whole object as bytes, with a header that carries format, version and checksum: may be stored
  // and given to FromBytes later, on a machine with the same vector width.
  std::span<const std::byte> bytes() const noexcept;
  // Copies `bytes`. kInvalidArgument when they are not packed weights of this version or are damaged.
  static Result<PackedWeights> FromBytes(std::span<const std::byte> bytes,
                                         MemoryPool* pool = nullptr);
  // For the library's own use.
  struct Rep;
  explicit PackedWeights(std::shared_ptr<const Rep> rep) noexcept;
  const Rep* rep() const noexcept { return rep_.get(); }

 private:
  std::shared_ptr<const Rep> rep_;
};

// What may differ between two calls of the same plan.
struct RunOptions {
  // One pointer per kResidualAdd of the post-ops, in their order.
  std::span<const float* const> residuals{};
  // At least scratch_bytes(), aligned to 64 bytes. Empty: taken from `pool`.
  std::span<std::byte> scratch{};
  MemoryPool* pool = nullptr;       // null: MemoryPool::Default()
  ParallelFor* threads = nullptr;   // null: OpenMpThreads()
  int max_threads = 0;              // upper limit for this call; 0 = the plan's own count
};

// A planned convolution. Results have the same bits for any thread count and batch split, and with the same algorithm()
// for any image size around the same window (see above); between algorithms, instruction sets and layouts the order of
// a sum may differ (Explain names it). Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Conv {
 public:
  // Errors: kInvalidArgument (names field, value, what is allowed), kUnsupported (a forced algorithm
  // refused), kOutOfMemory. Every valid problem gets a plan.
  static Result<Conv> Create(const ConvDesc& desc, const ConvOptions& options = {});

  // Packs dense weights of shape [oc][ic/groups][kernel.h][kernel.w] and `bias` [oc] (null: zeros).
  Result<PackedWeights> PackWeights(const float* oihw, const float* bias,
                                    const PackOptions& options = {}) const;

  // src and dst have the description's shapes, layouts and strides, are aligned to 4 bytes and share no element (slices
  // of one tensor may interleave). Allocates nothing when scratch is given or the pool is warm. n == 0: no work done.
  // kInvalidArgument: a null or misaligned pointer, dst that overlaps src or, in part, a residual, scratch that is too
  // small or overlaps a tensor, weights packed for another layer or vector width, wrong number of residuals.
  Status Run(const float* src, const PackedWeights& weights, float* dst,
             const RunOptions& options = {}) const noexcept;

  // Bytes of scratch that one Run needs (0 for most plans).
  size_t scratch_bytes() const noexcept;
  const ConvDesc& desc() const noexcept;
  Size2 output_size() const noexcept;
  // Name of the chosen algorithm: "direct", "pointwise", "reference", …
  const char* algorithm() const noexcept;
  // Name of the kernel that does most of the work, e.g. "tile_f32_avx2_px4_oc3v_relu".
  const std::string& kernel_name() const noexcept;
  // The instruction set that the kernels use; kNone for the reference.
  Isa isa() const noexcept;
  // What the algorithm itself computes and moves, where it is no direct sum; see rafter/cost.h.
  AlgorithmWork work() const noexcept;
  // Threads that Run uses when nothing limits it.
  int threads() const noexcept;
  // Every algorithm with "chosen", its predicted time, or the reason why it refused; tiles, order of the
  // sum, kernels. Text for people, one fact per line.
  std::string Explain() const;

  struct Impl;  // for the library's own use
  explicit Conv(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

// The same listing without keeping a plan. For an invalid description: the error.
RAFTER_EXPORT Result<std::string> Explain(const ConvDesc& desc, const ConvOptions& options = {});

// Drops all plans and compiled kernels that nobody holds. They are kept for reuse otherwise: the plans of up to 64
// convolutions created lately, and kernels up to 64 MiB of code, of which the least recently used go first.
RAFTER_EXPORT void ClearKernelCache() noexcept;

}  // namespace rafter

#endif  // RAFTER_CONV_H_
