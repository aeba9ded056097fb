// kernels/reorder/copier_run.cc: how a copier runs: the places of a piece of work, and the calls of kernels for it. How
// it is made: copier.cc.
#include <xmmintrin.h>

#include <algorithm>

#include "kernels/reorder/copier.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/reorder/transpose_kernel.h"
#include "kernels/reorder/tuning.h"
#include "kernels/sizes.h"

namespace rafter::reorder {

namespace {

// Rows of floats, into the second-level cache.
void Prefetch(const float* rows, int64_t count, int64_t stride, int64_t floats) noexcept {
  for (int64_t i = 0; i < count; ++i, rows += stride) {
    for (int64_t at = 0; at < floats; at += kLineFloats) {
      // May lie behind the tensor: a prefetch never faults.
      _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(rows) +
                                                 static_cast<uintptr_t>(at * kFloat)), _MM_HINT_T1);
    }
  }
}

}  // namespace

Copier::Piece Copier::PieceOf(int64_t unit) const noexcept {
  int64_t part = 0, index = 0, n = 0, y = 0;
  if (unit > 0) {  // small tensors have one unit: no divisions
    const int64_t pixels = unit / channel_pieces_, row = pixels / pixel_pieces_;
    part = unit % channel_pieces_, index = pixels % pixel_pieces_;
    n = row / shape_.h, y = row % shape_.h;
  }
  Range x = pixel_pieces_ == 1 ? Range{0, shape_.w} : SplitRange(shape_.w, pixel_pieces_, index);
  if (way_ != Way::kPlanar) {
    x.begin = index * piece_pixels_, x.end = std::min(x.begin + piece_pixels_, shape_.w);  // whole lines
  }
  Piece piece;
  piece.pixels = x.end - x.begin;
  piece.first_period = part * periods_per_piece_;
  piece.periods = std::min(periods_per_piece_, periods_ - piece.first_period);
  piece.rest = part == channel_pieces_ - 1 && !rest_.empty();
  const auto offset = [&](const Strides& s, int64_t period) {
    return n * s.n + y * s.h + x.begin * s.w + piece.first_period * period;
  };
  piece.src = offset(src_.strides, src_period_), piece.dst = offset(dst_.strides, dst_period_);
  return piece;
}

void Copier::Run(const float* src, float* dst, Range units) const noexcept {
  const bool past_caches = reinterpret_cast<uintptr_t>(dst) % kLineBytes == 0;
  Piece piece = PieceOf(units.begin);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const Piece next = unit + 1 < units.end ? PieceOf(unit + 1) : piece;
    RunPiece(piece, src + piece.src, dst + piece.dst, src + next.src, past_caches);
    piece = next;
  }
}

void Copier::RunPiece(const Piece& piece, const float* src, float* dst, const float* next,
                      bool past_caches) const noexcept {
  if (piece.periods > 0) {
    if (way_ == Way::kPlanar) {
      RunPlanar(piece, src, dst, past_caches);
    } else if (blocks_) {
      blocks_->Run(src, dst, piece.periods, piece.pixels, past_caches);
    } else {
      for (size_t i = 0; i < full_.size(); ++i) {
        const float* const then = i + 1 < full_.size() ? src + full_[i + 1].src : next;
        RunChannels(full_[i], piece.periods, piece.pixels, src + full_[i].src, dst + full_[i].dst, then, past_caches);
      }
    }
  }
  if (!piece.rest) return;
  src += piece.periods * src_period_, dst += piece.periods * dst_period_;
  for (const ChannelRun& run : rest_) {
    RunChannels(run, 1, piece.pixels, src + run.src, dst + run.dst, next, past_caches);
  }
}

void Copier::RunPlanar(const Piece& piece, const float* src, float* dst, bool past_caches) const noexcept {
  const ChannelRun& run = full_[0];
  const CopyArgs args{src, dst, piece.periods, src_period_ * kFloat, dst_period_ * kFloat,
                      piece.pixels * run.channels * kFloat, nullptr};
  (past_caches && run.past_caches ? run.past_caches : run.plain)->entry<CopyFunction>()(&args);
}

void Copier::RunChannels(const ChannelRun& run, int64_t periods, int64_t pixels, const float* src, float* dst,
                         const float* next, bool past_caches) const noexcept {
  if (way_ == Way::kTransposed) {
    Transpose(run, periods, pixels, src, dst, next, past_caches);
    return;
  }
  constexpr float kZero = 0.0f;
  for (int64_t i = 0; i < periods; ++i, src += src_period_, dst += dst_period_) {
    if (way_ == Way::kLoops) {
      CopyByLoops(run, pixels, src, dst);
      continue;
    }
    const CopyArgs args{src,   dst, pixels, src_.strides.w * kFloat, dst_.strides.w * kFloat, run.channels * kFloat,
                        &kZero};
    (past_caches && run.past_caches ? run.past_caches : run.plain)->entry<CopyFunction>()(&args);
  }
}

void Copier::Transpose(const ChannelRun& run, int64_t periods, int64_t pixels, const float* src, float* dst,
                       const float* next, bool past_caches) const noexcept {
  if (dst_.layout != Layout::kNchw) {  // rows are channels, columns are pixels; the kernel goes on to the next periods
    TransposeArgs args{src, dst, src_.strides.c * kFloat, dst_.strides.w * kFloat, pixels, periods,
                       src_period_ * kFloat, dst_period_ * kFloat, 0};
    const jit::KernelPtr& whole = past_caches && run.past_caches ? run.past_caches : run.plain;
    const bool few = run.few && pixels < 4;
    (few ? run.few : whole)->entry<TransposeFunction>()(&args);
    return;
  }
  const bool packed = run.stage && PacksPlanes();
  const bool staged = run.stage && pixels >= kMinOpenRun && pixels <= kMostStagedPixels &&
                      run.channels * pixels <= kStagedFloats;
  for (int64_t i = 0; i < periods; ++i, src += src_period_, dst += dst_period_) {
    if (past_caches && run.past_caches) {
      TransposeStreamed(run, pixels, src, dst, i + 1 < periods ? src + src_period_ : next);
    } else if (packed) {
      TransposePacked(run, src, dst, i + 1 < periods ? src + src_period_ : next);
    } else if (staged) {
      TransposeStaged(run, pixels, src, dst, i + 1 < periods ? src + src_period_ : next);
    } else {
      TransposeToPlanes(run, pixels, src, dst, dst_.strides.c,
                        src + std::max(kNearFloats, kTransposeRows * src_.strides.w));
    }
  }
}

// Whole planes through a buffer in the first-level cache, while what comes next is asked for.
void Copier::TransposePacked(const ChannelRun& run, const float* src, float* dst, const float* next) const noexcept {
  constexpr int64_t kMostRest = 3;  // the kernel wants four columns at least
  alignas(64) float buffer[kStagedFloats + kMostRest * kMostStagedPixels];
  const int64_t pixels = shape_.w, groups = pixels / kTransposeRows, last = pixels % kTransposeRows;
  const int64_t step = src_.strides.w, group = kTransposeRows * step;
  const int64_t at_once = kStagedFloats / pixels / kLineFloats * kLineFloats;
  const float* ahead = next;
  for (int64_t c = 0; c < run.channels;) {
    const int64_t left = run.channels - c, count = left <= at_once + kMostRest ? left : at_once;
    TransposeArgs args{src + c, buffer, step * kFloat, pixels * kFloat, count, groups, group * kFloat,
                       kTransposeRows * kFloat, 0, ahead, AheadStep() * kFloat};
    if (groups > 0) run.plain->entry<TransposeFunction>()(&args);
    if (last > 0) {
      args.src = src + c + groups * group, args.dst = buffer + groups * kTransposeRows;
      args.groups = args.sweeps = 1;
      run.rest_plain->entry<TransposeFunction>()(&args);
    }
    const CopyArgs stretch{buffer, dst + c * pixels, 1, 0, 0, count * pixels * kFloat, nullptr};
    run.stage->entry<CopyFunction>()(&stretch);
    ahead += groups * CeilDiv(count, 4) * AheadStep();
    c += count;
  }
}

// A few planes after the other; the source's lines stay in the first-level cache meanwhile, and as many of pixels
// further on are asked for.
void Copier::TransposeStreamed(const ChannelRun& run, int64_t pixels, const float* src, float* dst,
                               const float* next) const noexcept {
  const int64_t step = src_.strides.w, group = kTransposeRows * step, ahead_step = AheadStep();
  for (int64_t x = 0; x < pixels; x += kStreamedPixels) {
    const int64_t stretch = std::min(kStreamedPixels, pixels - x);
    const int64_t groups = stretch / kTransposeRows, last = stretch % kTransposeRows;
    const float* const from = src + x * step;
    float* const to = dst + x;
    const int64_t distance = std::max(kStreamedPixels, kStreamedAheadFloats / run.channels);
    const float* ahead = x + distance < pixels ? src + (x + distance) * step : next + (x + distance - pixels) * step;
    const auto sweep = [&](int64_t c, int64_t planes, int64_t sweeps) {
      TransposeArgs args{from + c, to + c * dst_.strides.c, step * kFloat, dst_.strides.c * kFloat, planes,
                         groups, group * kFloat, kTransposeRows * kFloat, 0, ahead, ahead_step * kFloat, sweeps,
                         (planes - groups * group) * kFloat,
                         (planes * dst_.strides.c - groups * kTransposeRows) * kFloat, groups};
      run.past_caches->entry<TransposeFunction>()(&args);
      ahead += sweeps * groups * ahead_step;
    };
    // The kernel wants four columns at least.
    const int64_t rest = run.channels % kStreamedPlanes == 0 ? 0 : run.channels % kStreamedPlanes + kStreamedPlanes;
    const int64_t whole = std::max<int64_t>(0, run.channels - rest);
    if (groups > 0 && whole > 0) sweep(0, kStreamedPlanes, whole / kStreamedPlanes);
    if (groups > 0 && whole < run.channels) sweep(whole, run.channels - whole, 1);
    if (last > 0) TransposeToPlanes(run, last, from + groups * group, to + groups * kTransposeRows, dst_.strides.c,
                                    ahead);
  }
}

// Rows are pixels, columns are channels; planes of the result are `dst_plane` floats apart. What lies from `ahead` on
// is asked for.
void Copier::TransposeToPlanes(const ChannelRun& run, int64_t pixels, const float* src, float* dst, int64_t dst_plane,
                               const float* ahead) const noexcept {
  const int64_t groups = pixels / kTransposeRows, last = pixels % kTransposeRows;
  TransposeArgs args{src, dst, src_.strides.w * kFloat, dst_plane * kFloat, run.channels, groups,
                     kTransposeRows * src_.strides.w * kFloat, kTransposeRows * kFloat, 0, ahead,
                     AheadStep() * kFloat};
  if (groups > 0) run.plain->entry<TransposeFunction>()(&args);
  if (last == 0) return;
  args.src = src + groups * kTransposeRows * src_.strides.w, args.dst = dst + groups * kTransposeRows;
  args.groups = args.sweeps = 1;
  run.rest_plain->entry<TransposeFunction>()(&args);
}

// From what is asked for at one step of four channels to the next one's: of pixels with fewer channels several at once.
int64_t Copier::AheadStep() const noexcept {
  constexpr int64_t kAtOnce = kTransposeRows * 4;
  return std::max(src_.strides.w, kAtOnce);
}

// Through a buffer in the first-level cache, from which each plane gets its pixels in one stretch: single lines on many
// planes reach a third of the bandwidth only. The rows of pixels are read in an order that no hardware prefetcher
// follows, and not at all while the buffer is written out: the next piece comes to the second-level cache then, three
// groups of pixels ahead go to the first. A tensor of 51 MB in NHWC becomes NCHW at 0.65 to 0.8 of the bandwidth of a
// copy, at 0.37 without prefetches (Zen 3).
void Copier::TransposeStaged(const ChannelRun& run, int64_t pixels, const float* src, float* dst,
                             const float* next) const noexcept {
  constexpr int64_t kGroupsAhead = 3, kRowsAtOnce = 8;
  alignas(64) float buffer[kStagedFloats + kTransposedChannels * kStagedGap];
  const int64_t pitch = pixels + kStagedGap, step = src_.strides.w, group = kTransposeRows * step;
  const int64_t groups = CeilDiv(pixels, kTransposeRows);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t ahead = g + kGroupsAhead;
    TransposeToPlanes(run, std::min<int64_t>(kTransposeRows, pixels - g * kTransposeRows), src + g * group,
                      buffer + g * kTransposeRows, pitch,
                      ahead < groups ? src + ahead * group : next + (ahead - groups) * group);
  }
  for (int64_t row = 0; row < run.channels; row += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, run.channels - row);
    const Range read{row * pixels / run.channels, (row + rows) * pixels / run.channels};
    Prefetch(next + read.begin * step, read.end - read.begin, step, run.channels);
    const CopyArgs args{buffer + row * pitch, dst + row * dst_.strides.c, rows, pitch * kFloat,
                        dst_.strides.c * kFloat, pixels * kFloat, nullptr};
    run.stage->entry<CopyFunction>()(&args);
  }
}

void Copier::CopyByLoops(const ChannelRun& run, int64_t pixels, const float* src, float* dst) const noexcept {
  const int64_t from = src_.layout == Layout::kNchw ? src_.strides.c : 1;
  const int64_t to = dst_.layout == Layout::kNchw ? dst_.strides.c : 1;
  for (int64_t x = 0; x < pixels; ++x, src += src_.strides.w, dst += dst_.strides.w) {
    for (int64_t c = 0; c < run.channels; ++c) dst[c * to] = src[c * from];
    std::fill_n(dst + run.channels, run.zeros, 0.0f);
  }
}

}  // namespace rafter::reorder
