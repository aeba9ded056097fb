// kernels/conv/tile/stage_copier.cc: see stage_copier.h.
#include "kernels/conv/tile/stage_copier.h"

#include <algorithm>

#include "kernels/conv/tile/tuning.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"

namespace rafter::tile {

const float* StageCopier::Copy(int64_t chunk, int64_t bundle) {
  if (chunk == chunk_ && bundle == bundle_) return origin_;
  chunk_ = chunk, bundle_ = bundle;
  const Range units = plan_.Chunk(chunk);
  origin_ = plan_.blocking_.staging.gathers() ? GatherPixels(units) : CopyRows(units, bundle);
  return origin_;
}

const float* StageCopier::CopyRows(Range units, int64_t bundle) const {
  const Staging& s = plan_.blocking_.staging;
  const Geometry& g = plan_.geometry_;
  const int64_t first = units.begin / plan_.stretches_.count, last = (units.end - 1) / plan_.stretches_.count;
  const int64_t n = first / g.out.h, reach = (g.kernel.h - 1) * g.dilation.h;
  const int64_t top = std::max<int64_t>(0, first % g.out.h * g.stride.h - g.pad_top);
  const int64_t bottom = std::min(g.in.h, last % g.out.h * g.stride.h - g.pad_top + reach + 1);
  reorder::CopyArgs args;
  args.src_row_bytes = plan_.source_.w * kFloat, args.dst_row_bytes = s.pixel * kFloat;
  args.run_bytes = s.groups * g.ic_g * kFloat;
  const float* from = call_.src + n * plan_.source_.n + bundle * s.groups * g.ic_g;
  auto* copy = plan_.copy_->entry<reorder::CopyFunction>();
  for (int64_t y = top, x = 0; y < bottom;) {
    args.rows = std::min(kStageAhead, g.in.w - x);
    args.src = from + y * plan_.source_.h + x * plan_.source_.w, args.dst = stage_ + (y - top) * s.row + x * s.pixel;
    x += args.rows;
    if (x == g.in.w) x = 0, ++y;
    if (y < bottom) PrefetchInputs(from + y * plan_.source_.h + x * plan_.source_.w, g.in.w - x);
    copy(&args);
  }
  return Shift(stage_, -top * s.row * kFloat);
}

// The next pixels to be copied: they lie on pages of their own, which no prefetcher of the CPU follows.
void StageCopier::PrefetchInputs(const float* from, int64_t pixels) const {
  const Staging& s = plan_.blocking_.staging;
  for (int64_t px = 0; px < std::min(kStageAhead, pixels); ++px) {
    for (int64_t c = 0; c < s.groups * plan_.geometry_.ic_g; c += kLineFloats) {
      __builtin_prefetch(from + px * plan_.source_.w + c);
    }
  }
}

const float* StageCopier::GatherPixels(Range units) const {
  const Staging& s = plan_.blocking_.staging;
  const Geometry& g = plan_.geometry_;
  const Stretches& stretches = plan_.stretches_;
  float* to = stage_;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t stretch = unit % stretches.count, row = unit / stretches.count;
    const int64_t begin = stretches.begin(stretch), pixels = stretches.end(stretch) - begin;
    const float* from = call_.src + row / g.out.h * plan_.source_.n +
                        row % g.out.h * plan_.source_stride_.h * plan_.source_.h +
                        begin * plan_.source_stride_.w * plan_.source_.w;
    Gather(from, pixels, to);
    to += pixels * s.pixel;
  }
  return Shift(stage_, -plan_.FirstPixel(units.begin) * s.pixel * kFloat);
}

// Neighbouring pixels, all blocks.
void StageCopier::Gather(const float* from, int64_t pixels, float* to) const {
  const Staging& s = plan_.blocking_.staging;
  const int64_t blocks = CeilDiv(plan_.geometry_.ic_g, s.block), step = plan_.source_stride_.w * plan_.source_.w;
  auto* copy = plan_.copy_->entry<reorder::CopyFunction>();
  reorder::CopyArgs args;
  args.src_row_bytes = step * kFloat, args.dst_row_bytes = s.pixel * kFloat;
  for (int64_t px = 0; px < pixels; px += kGatheredPixels) {
    args.rows = std::min(kGatheredPixels, pixels - px);
    for (int64_t b = 0; b < blocks; ++b) {
      args.src = from + px * step + b * plan_.source_.c, args.dst = to + px * s.pixel + b * s.block;
      const float* next_plane = args.src + plan_.source_.c;
      for (int64_t f = 0; f < args.rows * step; f += kLineFloats) __builtin_prefetch(next_plane + f);
      copy(&args);
    }
  }
}

}  // namespace rafter::tile
