// kernels/reorder/copier.h: copies a tensor to one of another layout, other strides, or a slice of a bigger tensor:
// the engine behind rafter/reorder.h, rafter/concat.h, and the convolutions that run in another layout than the
// caller's.
//
// Channels are cut where a block of either side begins or ends, which gives a few runs of channels that lie together on
// each side. Then one of three ways:
//   planar      pixels lie together in both (NCHW, or the same blocks): long rows, one per plane or block
//   pixel-wise  channels lie together in both: one short row per pixel and run
//   transposed  channels on one side, columns on the other
#ifndef RAFTER_KERNELS_REORDER_COPIER_H_
#define RAFTER_KERNELS_REORDER_COPIER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/reorder/block_mover.h"
#include "kernels/tensor_shape.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/tensor.h"
#include "runtime/parallel.h"

namespace rafter::reorder {

// One side of a copy. `first_lane`: place of channel 0 in its block, 0 unless the channels are a slice that begins
// inside a block of a blocked layout.
struct Side {
  Layout layout = Layout::kNhwc;
  Strides strides{};
  int64_t first_lane = 0;
};

class Copier {
 public:
  // `zero_behind`: lanes of dst's last block behind the last channel become zero. `isa` kNone: plain loops.
  // `non_temporal`: stores go past the caches where lines can be stored whole.
  // `pixels`: wish for the pixels of one piece; 0 = those that make about 16 KB, or more where that is faster.
  // kUnsupported where executable memory is refused.
  static Result<Copier> Make(const TensorShape& shape, const Side& src, const Side& dst, Isa isa,
                             bool zero_behind = true, bool non_temporal = false, int64_t pixels = 0);

  // Units of work: some pixels of a row times some channels each. Ranges of them may run on different threads. Those of
  // one piece of pixels follow each other.
  int64_t units() const noexcept { return shape_.n * shape_.h * pixel_pieces_ * channel_pieces_; }
  int64_t units_per_pixel_piece() const noexcept { return channel_pieces_; }
  // src and dst point to channel 0 (lane first_lane of its block) of the first pixel.
  void Run(const float* src, float* dst, Range units) const noexcept;
  // Name of the kernel that does most of the work; empty for plain loops.
  const std::string& kernel_name() const noexcept { return name_; }

 private:
  enum class Way { kLoops, kPlanar, kPixelWise, kTransposed };
  // Channels that lie together in both tensors, at these offsets in floats within a period of channels.
  struct ChannelRun {
    int64_t src = 0, dst = 0, channels = 0;
    int64_t zeros = 0;  // lanes behind it in dst that become zero
    jit::KernelPtr plain, past_caches;  // past_caches may be null
    jit::KernelPtr rest_plain;          // transposed to columns: for pixels % 16
    jit::KernelPtr few;                 // the same for fewer than four columns, see driver
    jit::KernelPtr stage;               // transposed to planes past the caches: a buffer's rows to their places
  };
  struct Piece {
    int64_t src = 0, dst = 0;  // offsets in floats
    int64_t pixels = 0;
    int64_t first_period = 0, periods = 0;
    bool rest = false;  // with what follows the last whole period
  };

  void JoinRows() noexcept;
  void ChoosePeriod() noexcept;
  void ExchangeRowsAndPlanes() noexcept;
  std::vector<ChannelRun> RunsOf(int64_t first, int64_t channels, bool zero_behind) const;
  int64_t OffsetOf(const Side& side, int64_t channel) const noexcept;
  void ChoosePieces(int64_t wished_pixels, bool staged) noexcept;
  Status GetKernels(bool non_temporal);
  Status GetBlocks(bool non_temporal);
  Status GetCopyKernels(ChannelRun& run, bool planar, bool non_temporal);
  Status GetTransposeKernels(ChannelRun& run, bool non_temporal);
  bool RowsMatch() const noexcept;
  bool LinesMatch(int64_t floats) const noexcept;
  Piece PieceOf(int64_t unit) const noexcept;
  // `next`: what will be read after the piece, for prefetching; any address.
  void RunPiece(const Piece& piece, const float* src, float* dst, const float* next, bool past_caches) const noexcept;
  void RunPlanar(const Piece& piece, const float* src, float* dst, bool past_caches) const noexcept;
  void RunChannels(const ChannelRun& run, int64_t periods, int64_t pixels, const float* src, float* dst,
                   const float* next, bool past_caches) const noexcept;
  void Transpose(const ChannelRun& run, int64_t periods, int64_t pixels, const float* src, float* dst,
                 const float* next, bool past_caches) const noexcept;
  void TransposeToPlanes(const ChannelRun& run, int64_t pixels, const float* src, float* dst, int64_t dst_plane,
                         const float* ahead) const noexcept;
  int64_t AheadStep() const noexcept;
  bool StreamsPlanes() const noexcept;
  bool PacksPlanes() const noexcept;
  void TransposePacked(const ChannelRun& run, const float* src, float* dst, const float* next) const noexcept;
  void TransposeStreamed(const ChannelRun& run, int64_t pixels, const float* src, float* dst,
                         const float* next) const noexcept;
  void TransposeStaged(const ChannelRun& run, int64_t pixels, const float* src, float* dst,
                       const float* next) const noexcept;
  void CopyByLoops(const ChannelRun& run, int64_t pixels, const float* src, float* dst) const noexcept;

  TensorShape shape_;  // rows that follow each other in both tensors are joined
  Side src_, dst_;
  Isa isa_ = Isa::kNone;
  Way way_ = Way::kLoops;
  int64_t period_ = 1, periods_ = 0;                  // channels of one; whole ones
  int64_t src_period_ = 0, dst_period_ = 0;           // floats from one period to the next
  int64_t pixel_pieces_ = 1, channel_pieces_ = 1;
  int64_t piece_pixels_ = 1;
  int64_t periods_per_piece_ = 1;
  std::vector<ChannelRun> full_, rest_;
  std::optional<BlockMover> blocks_;  // copies whole periods of blocks instead of full_
  std::string name_;
};

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_COPIER_H_
