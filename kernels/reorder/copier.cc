// kernels/reorder/copier.cc: how a copier is made: cuts channels into runs and tensors into pieces, gets the kernels.
// What it does when it runs: copier_run.cc.
#include "kernels/reorder/copier.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/reorder/copy_kernel.h"
#include "kernels/reorder/transpose_kernel.h"
#include "kernels/reorder/tuning.h"
#include "kernels/sizes.h"
#include "runtime/machine_model.h"

namespace rafter::reorder {

namespace {

// Channels that lie together at least: all of them in NHWC, one block of a blocked layout, one in NCHW.
int64_t TogetherIn(Layout layout, int64_t c) {
  return layout == Layout::kNhwc ? c : ChannelBlock(layout);
}

bool SameLine(int64_t floats) { return floats % kLineFloats == 0; }

}  // namespace

Result<Copier> Copier::Make(const TensorShape& shape, const Side& src, const Side& dst, Isa isa, bool zero_behind,
                            bool non_temporal, int64_t pixels) {
  Copier copier;
  copier.shape_ = shape, copier.src_ = src, copier.dst_ = dst, copier.isa_ = isa;
  copier.JoinRows();
  copier.ChoosePeriod();
  const int64_t c = copier.shape_.c, period = copier.period_;
  // Whole periods; what is left, or a last one that ends inside a block whose other lanes become zero, is the rest.
  int64_t full = c / period;
  const bool ends_inside = (c + dst.first_lane) % ChannelBlock(dst.layout) != 0;
  if (full > 0 && full * period == c && zero_behind && ends_inside) --full;
  copier.periods_ = full;
  if (full > 0) copier.full_ = copier.RunsOf(0, period, false);
  if (full * period < c) copier.rest_ = copier.RunsOf(full * period, c - full * period, zero_behind);
  copier.ExchangeRowsAndPlanes();
  copier.ChoosePieces(pixels, non_temporal);
  if (copier.way_ != Way::kLoops) {
    if (Status status = copier.GetKernels(non_temporal); !status.ok()) return status;
  }
  return copier;
}

// Rows of pixels that follow each other in both tensors make one row, and planes of NCHW too.
void Copier::JoinRows() noexcept {
  if (src_.strides.h == shape_.w * src_.strides.w && dst_.strides.h == shape_.w * dst_.strides.w) {
    shape_.w *= shape_.h;
    shape_.h = 1;
  }
  const bool planes = src_.layout == Layout::kNchw && dst_.layout == Layout::kNchw && shape_.h == 1;
  if (planes && src_.strides.c == shape_.w && dst_.strides.c == shape_.w) {
    shape_.w *= shape_.c;
    shape_.c = 1;
  }
}

// Rows of planes (concatenated columns) are copied row after row within a plane, several by one call of a kernel, whose
// rows are otherwise the same row of all planes, each in another page.
void Copier::ExchangeRowsAndPlanes() noexcept {
  if (way_ != Way::kPlanar || shape_.h == 1 || !rest_.empty()) return;
  if (periods_ > 1 && dst_.strides.h >= dst_period_) return;
  std::swap(shape_.h, periods_);
  std::swap(src_.strides.h, src_period_);
  std::swap(dst_.strides.h, dst_period_);
}

// Channels after which the pattern of runs repeats, and the way to copy.
void Copier::ChoosePeriod() noexcept {
  const bool planes_in = src_.layout == Layout::kNchw, planes_out = dst_.layout == Layout::kNchw;
  const int64_t in = TogetherIn(src_.layout, shape_.c), out = TogetherIn(dst_.layout, shape_.c);
  const bool same_blocks = src_.layout == dst_.layout && src_.first_lane == 0 && dst_.first_lane == 0;
  if (planes_in && planes_out) {
    way_ = Way::kPlanar, period_ = 1;
  } else if (planes_in != planes_out) {
    // A transposition wants many columns: channels, if they come from the other side.
    way_ = Way::kTransposed, period_ = std::max<int64_t>(16, ChannelBlock(planes_in ? dst_.layout : src_.layout));
    if (planes_out && src_.layout == Layout::kNhwc) period_ = kTransposedChannels;
  } else {
    way_ = Way::kPixelWise;
    const bool blocked = ChannelBlock(src_.layout) > 1 || ChannelBlock(dst_.layout) > 1;
    period_ = blocked ? std::max(ChannelBlock(src_.layout), ChannelBlock(dst_.layout)) : shape_.c;
    if (same_blocks && src_.strides.w == in && dst_.strides.w == out) way_ = Way::kPlanar;  // pixels without gaps
  }
  period_ = std::max<int64_t>(period_, 1);
  if (isa_ == Isa::kNone) way_ = Way::kLoops;
  const auto period_floats = [&](const Side& side) {
    return side.layout == Layout::kNhwc ? period_ : period_ / ChannelBlock(side.layout) * side.strides.c;
  };
  src_period_ = period_floats(src_), dst_period_ = period_floats(dst_);
}

int64_t Copier::OffsetOf(const Side& side, int64_t channel) const noexcept {
  if (side.layout == Layout::kNhwc) return channel;
  const int64_t block = ChannelBlock(side.layout), lane = channel + side.first_lane;
  return lane / block * side.strides.c + lane % block - side.first_lane;
}

// Cuts channels [first, first + channels) where a block of either side ends; offsets count from `first`.
std::vector<Copier::ChannelRun> Copier::RunsOf(int64_t first, int64_t channels, bool zero_behind) const {
  std::vector<ChannelRun> runs;
  const auto left_in_block = [&](const Side& side, int64_t channel) {
    const int64_t block = ChannelBlock(side.layout);
    return block == 1 ? channels : block - (channel + side.first_lane) % block;
  };
  for (int64_t at = 0; at < channels;) {
    const int64_t channel = first + at;
    int64_t count = std::min({channels - at, left_in_block(src_, channel), left_in_block(dst_, channel)});
    if (way_ == Way::kTransposed && dst_.layout != Layout::kNchw) count = std::min<int64_t>(count, kTransposeRows);
    if (way_ == Way::kPlanar && src_.layout == Layout::kNchw) count = 1;
    ChannelRun run;
    run.src = OffsetOf(src_, channel) - OffsetOf(src_, first);
    run.dst = OffsetOf(dst_, channel) - OffsetOf(dst_, first);
    run.channels = count;
    runs.push_back(std::move(run));
    at += count;
  }
  if (zero_behind && !runs.empty() && ChannelBlock(dst_.layout) > 1) {
    const int64_t lanes = (first + channels + dst_.first_lane) % ChannelBlock(dst_.layout);
    if (lanes != 0) runs.back().zeros = ChannelBlock(dst_.layout) - lanes;
  }
  return runs;
}

void Copier::ChoosePieces(int64_t wished_pixels, bool staged) noexcept {
  int64_t pixels = kPieceFloats, piece_periods = 1;  // of one piece
  switch (way_) {
    case Way::kTransposed: {
      piece_periods = std::max<int64_t>(1, kTransposedChannels / period_);
      const int64_t rows = shape_.n * shape_.h * std::max<int64_t>(1, periods_ / piece_periods);
      pixels = kMostPixels;
      if (dst_.layout == Layout::kNchw && staged) {
        pixels = kStagedFloats / std::clamp<int64_t>(std::min(period_, shape_.c), 1, kTransposedChannels);
        pixels = std::min(pixels, kMostStagedPixels);
        if (PacksPlanes()) {
          pixels = RoundUp(shape_.w, kTransposeRows);
          break;
        }
      }
      while (pixels > kFewestPixels && rows * CeilDiv(shape_.w, pixels) < kUnitsToShare) pixels /= 2;
      pixels = pixels / kTransposeRows * kTransposeRows;
      break;
    }
    case Way::kPlanar: {
      const int64_t lanes = TogetherIn(src_.layout, shape_.c);
      // More where enough are left to share: each piece is a call.
      constexpr int64_t kPiecesToShare = 12, kMostPieceFloats = 16 * kPieceFloats;
      const int64_t floats = std::clamp(shape_.n * shape_.h * shape_.w * (periods_ + (rest_.empty() ? 0 : 1)) *
                                            lanes / kPiecesToShare, kPieceFloats, kMostPieceFloats);
      pixels = std::max<int64_t>(1, floats / lanes);
      piece_periods = std::max<int64_t>(1, floats / std::max<int64_t>(1, lanes * std::min(pixels, shape_.w)));
      break;
    }
    case Way::kPixelWise:
    case Way::kLoops:
      // Past the caches 5 to 10 % faster in larger pieces.
      pixels = (staged ? 4 : 1) * kPieceFloats / std::max<int64_t>(1, shape_.c);
      pixels = RoundUp(std::max<int64_t>(8, pixels), 2);  // lines of 8 channels
      piece_periods = (staged ? 4 : 1) * kPieceFloats / (period_ * std::min(pixels, std::max<int64_t>(1, shape_.w)));
      piece_periods = std::max<int64_t>(1, piece_periods);
      break;
  }
  if (wished_pixels > 0) pixels = way_ == Way::kTransposed ? CeilDiv(wished_pixels, kTransposeRows) * kTransposeRows
                                                            : wished_pixels;
  piece_pixels_ = pixels;
  pixel_pieces_ = CeilDiv(shape_.w, pixels);
  periods_per_piece_ = std::max<int64_t>(1, std::min(piece_periods, periods_));
  channel_pieces_ = std::max<int64_t>(1, CeilDiv(periods_, periods_per_piece_));
}

// Whether rows and images of dst begin at the same place of a line.
bool Copier::RowsMatch() const noexcept {
  const Strides& d = dst_.strides;
  return (shape_.n == 1 || SameLine(d.n)) && (shape_.h == 1 || SameLine(d.h)) && dst_.first_lane == 0;
}

// Whether places that are this far apart do, in all directions of dst.
bool Copier::LinesMatch(int64_t floats) const noexcept {
  return RowsMatch() && SameLine(floats) && (periods_ <= 1 || SameLine(dst_period_));
}

// Whether planes of dst, and the pieces of them, begin where lines do.
bool Copier::StreamsPlanes() const noexcept { return LinesMatch(0) && SameLine(dst_.strides.c); }

// Whether planes of dst are small and follow each other, so that several of them are one stretch.
bool Copier::PacksPlanes() const noexcept {
  const bool small = shape_.w >= kMinOpenRun && shape_.w <= kMostStagedPixels;
  return small && !StreamsPlanes() && shape_.h == 1 && dst_.strides.c == shape_.w;
}

Status Copier::GetKernels(bool non_temporal) {
  for (std::vector<ChannelRun>* runs : {&full_, &rest_}) {
    for (ChannelRun& run : *runs) {
      const bool planar = way_ == Way::kPlanar && runs == &full_;
      Status status = way_ == Way::kTransposed ? GetTransposeKernels(run, non_temporal)
                                               : GetCopyKernels(run, planar, non_temporal);
      if (!status.ok()) return status;
      if (name_.empty()) name_ = run.plain->name();
    }
  }
  return way_ == Way::kPixelWise && !full_.empty() ? GetBlocks(non_temporal) : Status();
}

// Whole blocks of 8 or 16 channels, in place of the kernels of `full_`.
Status Copier::GetBlocks(bool non_temporal) {
  const int64_t run = full_[0].channels;
  const bool along_periods = full_.size() == 1, two_halves = full_.size() == 2 && full_[1].channels == run;
  if ((run != 8 && run != 16) || (!along_periods && !two_halves)) return {};
  BlockMover::Places places;
  places.run = run, places.along_periods = along_periods;
  places.src_pixel = src_.strides.w, places.dst_pixel = dst_.strides.w;
  places.src_period = src_period_, places.dst_period = dst_period_;
  places.src_block = along_periods ? src_period_ : full_[1].src;
  places.dst_block = along_periods ? dst_period_ : full_[1].dst;
  // In NHWC two blocks of 8 channels make a line, as long as all of them are moved.
  const bool all_blocks = dst_.layout == Layout::kNhwc && channel_pieces_ == 1;
  places.past_caches = non_temporal && full_[0].dst == 0 && (all_blocks ? RowsMatch() : LinesMatch(0));
  const int64_t last = periods_ % periods_per_piece_;
  Result<BlockMover> made = BlockMover::Make(isa_, places, {periods_per_piece_, last});
  if (!made.ok()) return made.status();
  blocks_ = std::move(made).value();
  name_ = blocks_->kernel_name();
  return {};
}

Status Copier::GetCopyKernels(ChannelRun& run, bool planar, bool non_temporal) {
  const bool partial = run.zeros > 0;
  // Pieces of a long row are nearly equal, so an open kernel never meets a short one.
  const int64_t floats = !planar ? run.channels : pixel_pieces_ > 1 ? kPieceFloats : shape_.w * run.channels;
  CopySpec spec = SpecOfRun(isa_, floats, false);
  if (partial) spec.border = Border::kFill, spec.after = static_cast<int32_t>(run.zeros);
  Result<jit::KernelPtr> kernel = GetCopyKernel(spec);
  if (!kernel.ok()) return kernel.status();
  run.plain = std::move(kernel).value();
  constexpr int64_t kLongRun = 256;  // floats: incomplete lines at the ends of a row matter little from here on
  const bool whole_lines = LinesMatch(planar ? 0 : dst_.strides.w) && SameLine(floats);
  if (!non_temporal || partial || !(spec.run == 0 ? floats >= kLongRun : whole_lines)) return {};
  spec.non_temporal = 1;
  kernel = GetCopyKernel(spec);
  if (!kernel.ok()) return kernel.status();
  run.past_caches = std::move(kernel).value();
  return {};
}

Status Copier::GetTransposeKernels(ChannelRun& run, bool non_temporal) {
  const bool to_planes = dst_.layout == Layout::kNchw;
  const int64_t last_pixels = shape_.w % kTransposeRows;  // pieces are multiples of 16 pixels but the last
  // Blocks within the second-level cache, whose lines are read in order, are slower for it (NCHW8c 7.0 to 8.7 us).
  const int64_t bytes = 2 * kFloat * shape_.n * shape_.c * shape_.h * shape_.w;
  const bool fetches = src_.layout == Layout::kNhwc || non_temporal || bytes > CurrentMachineModel().l2_bytes;
  TransposeSpec spec;
  spec.isa = static_cast<int32_t>(isa_);
  const auto get = [&](int64_t rows, int64_t columns, bool past_caches, jit::KernelPtr& kernel) -> Status {
    if (rows == 0 || columns == 0) return {};
    spec.rows = static_cast<int32_t>(rows);
    spec.zeros = to_planes ? 0 : static_cast<int32_t>(run.zeros);
    spec.few_columns = columns < 4 ? static_cast<int32_t>(columns) : 0;
    spec.non_temporal = past_caches ? 1 : 0;
    // NCHW to NHWC: 0.8 MB 37 to 28 us (Zen 3); planes, whose next lines follow, and blocks gain nothing.
    spec.fetch_ahead = to_planes && rows == kTransposeRows && fetches ? 1 : 0;
    spec.fetch_rows = !past_caches && dst_.layout == Layout::kNhwc && dst_.strides.w > kLineFloats ? 1 : 0;
    Result<jit::KernelPtr> made = GetTransposeKernel(spec);
    if (!made.ok()) return made.status();
    kernel = std::move(made).value();
    return {};
  };
  Status status;
  if (to_planes) {
    status = get(kTransposeRows, run.channels, false, run.plain);
    if (status.ok() && non_temporal && StreamsPlanes()) {
      status = get(kTransposeRows, run.channels, true, run.past_caches);
    } else if (status.ok() && non_temporal) {
      CopySpec stage = SpecOfRun(isa_, kMaxBakedRun + 1, true);
      Result<jit::KernelPtr> made = GetCopyKernel(stage);
      if (!made.ok()) return made.status();
      run.stage = std::move(made).value();
    }
    if (status.ok()) status = get(last_pixels, run.channels, false, run.rest_plain);
    return status;
  }
  const int64_t lanes = run.channels + run.zeros;
  const bool lines = dst_.layout == Layout::kNchw8c ? lanes == 8 && dst_.first_lane == 0
                                                    : lanes == 16 && LinesMatch(dst_.strides.w);
  const int64_t piece = std::min(shape_.w, piece_pixels_);
  status = get(run.channels, piece, false, run.plain);
  if (status.ok() && non_temporal && lines) status = get(run.channels, piece, true, run.past_caches);
  // The last piece may have fewer than four columns.
  const int64_t last = shape_.w % piece_pixels_;
  if (status.ok() && shape_.w > piece_pixels_ && last < 4) status = get(run.channels, last, false, run.few);
  return status;
}

}  // namespace rafter::reorder
