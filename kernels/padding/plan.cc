// kernels/padding/plan.cc: see the header.
#include "kernels/padding/plan.h"

#include <xmmintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/padding/stream_kernel.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"

namespace rafter::padding {

namespace {

using reorder::Border;
using reorder::CopyArgs;
using reorder::CopyFunction;
using reorder::CopySpec;
using reorder::GetCopyKernel;
using reorder::SpecOfRun;

constexpr int64_t kChunkFloats = 4096;  // of the result in one unit of work
constexpr int64_t kStreamChunks = 4;    // times as many for streams, whose first and last lines cost more

// Floats of a border that one float at a time may be worth: mirrored in NCHW.
constexpr int64_t kMaxMirrored = 16;

// Repeats the pattern. By vectors also where the compiler optimizes for size: a float at a time, the rows above and
// below 56x56 images took a fifth of the time of a padding.
template <typename Pattern>
void Fill(const Pattern& pattern, float* to, int64_t floats) noexcept {
  constexpr int64_t kVec = 4;
  const __m128 a = _mm_load_ps(pattern.data()), b = _mm_load_ps(pattern.data() + kVec);
  const __m128 c = _mm_load_ps(pattern.data() + 2 * kVec), d = _mm_load_ps(pattern.data() + 3 * kVec);
  float* const end = to + floats / kPatternFloats * kPatternFloats;
  for (; to != end; to += kPatternFloats) {
    _mm_storeu_ps(to, a), _mm_storeu_ps(to + kVec, b);
    _mm_storeu_ps(to + 2 * kVec, c), _mm_storeu_ps(to + 3 * kVec, d);
  }
  const int64_t rest = floats % kPatternFloats;
  int64_t i = 0;
  for (; i + kVec <= rest; i += kVec) _mm_storeu_ps(to + i, _mm_load_ps(pattern.data() + i));
  for (; i < rest; ++i) to[i] = pattern[static_cast<size_t>(i)];
}

}  // namespace

Result<Plan> Plan::Make(const PadProblem& problem, Isa isa, bool non_temporal) {
  Plan plan;
  plan.problem_ = problem;
  const Layout layout = problem.desc.src.layout;
  plan.lanes_ = layout == Layout::kNhwc ? problem.in.c : ChannelBlock(layout);
  plan.planes_ = layout == Layout::kNhwc ? 1 : BlocksOf(layout, problem.in.c);
  plan.rows_together_ = problem.src.w == plan.lanes_ && problem.dst.w == plan.lanes_;
  plan.rows_per_chunk_ = std::max<int64_t>(1, kChunkFloats / std::max<int64_t>(1, problem.out.w * plan.lanes_));
  plan.chunks_ = (problem.out.h + plan.rows_per_chunk_ - 1) / plan.rows_per_chunk_;
  const int64_t full_lanes = ChannelBlock(layout) > 1 ? problem.in.c % ChannelBlock(layout) : 0;
  plan.fill_.fill(problem.desc.value);
  for (int64_t lane = 0; lane < kPatternFloats; ++lane) {
    if (lane % plan.lanes_ < full_lanes) plan.partial_fill_[static_cast<size_t>(lane)] = problem.desc.value;
  }
  if (Status status = plan.GetKernels(isa, non_temporal); !status.ok()) return status;
  return plan;
}

// Rows of the result that follow each other without gaps, with narrow constant borders.
bool Plan::Streams() const noexcept {
  const PadDesc& desc = problem_.desc;
  const int64_t widest = std::max(desc.pad.left, desc.pad.right) * lanes_;
  return rows_together_ && problem_.dst.h == problem_.out.w * lanes_ && desc.mode == PadMode::kConstant &&
         widest <= kMostStreamBorder && problem_.in.w * lanes_ >= kLeastStreamRun;
}

Status Plan::GetKernels(Isa isa, bool non_temporal) {
  const PadDesc& desc = problem_.desc;
  const auto get = [](const CopySpec& spec, jit::KernelPtr& kernel) -> Status {
    Result<jit::KernelPtr> made = GetCopyKernel(spec);
    if (made.ok()) kernel = std::move(made).value();
    return made.status();
  };
  const int64_t row = problem_.in.w * lanes_, left = desc.pad.left * lanes_, right = desc.pad.right * lanes_;
  CopySpec spec = SpecOfRun(isa, rows_together_ ? row : lanes_, false);
  const int64_t widest = std::max(left, right);
  const bool pixels = desc.mode != PadMode::kConstant && lanes_ > 1;
  const int64_t allowed = pixels && lanes_ > reorder::kMaxPixel ? 0
                          : pixels                              ? reorder::kMaxPixelBorder
                          : desc.mode == PadMode::kReflect      ? kMaxMirrored
                                                                : reorder::kMaxBorder;
  sides_in_kernel_ = rows_together_ && widest > 0 && widest <= allowed;
  if (sides_in_kernel_) {
    spec.border = desc.mode == PadMode::kConstant ? Border::kFill
                  : desc.mode == PadMode::kEdge   ? Border::kEdge
                                                  : Border::kReflect;
    spec.before = static_cast<int32_t>(left), spec.after = static_cast<int32_t>(right);
    if (pixels) spec.pixel = static_cast<int32_t>(lanes_);
  }
  Status status = get(spec, rows_);
  // Incomplete lines at the ends of long rows matter little; short ones go through the caches.
  constexpr int64_t kLongRow = 256;
  if (status.ok() && non_temporal && rows_together_ && spec.run == 0 && row >= kLongRow) {
    spec.non_temporal = 1;
    status = get(spec, rows_past_caches_);
  } else if (status.ok() && non_temporal && Streams()) {
    Result<jit::KernelPtr> made = GetStreamKernel(
        {static_cast<int32_t>(isa), static_cast<int32_t>(left), static_cast<int32_t>(right)});
    if (made.ok()) stream_ = std::move(made).value();
    status = made.status();
    rows_per_chunk_ *= kStreamChunks;
    chunks_ = (problem_.out.h + rows_per_chunk_ - 1) / rows_per_chunk_;
  } else if (status.ok() && non_temporal && rows_together_ && problem_.dst.h == problem_.out.w * lanes_) {
    CopySpec stage = SpecOfRun(isa, kLongRow, true);
    stage.run = 0;
    if (rows_per_chunk_ * problem_.dst.h >= kLongRow) status = get(stage, stage_);
  }
  if (status.ok()) status = get(SpecOfRun(isa, lanes_, false), pixel_);
  const int64_t block = ChannelBlock(desc.src.layout);
  if (!status.ok() || block == 1 || desc.c % block == 0) return status;
  CopySpec partial = SpecOfRun(isa, desc.c % block, false);
  partial.border = Border::kFill;
  partial.after = static_cast<int32_t>(block - desc.c % block);
  return get(partial, partial_pixel_);
}

Plan::Place Plan::PlaceOf(const float* src, float* dst, int64_t n, int64_t plane) const noexcept {
  Place place;
  // In NHWC there is one plane, and strides.c is that between channels.
  place.src = src + n * problem_.src.n + (planes_ > 1 ? plane * problem_.src.c : 0);
  place.dst = dst + n * problem_.dst.n + (planes_ > 1 ? plane * problem_.dst.c : 0);
  place.partial = partial_pixel_ && plane == planes_ - 1;
  return place;
}

void Plan::Run(const float* src, float* dst, bool in_place, Range units) const noexcept {
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t chunk = unit % chunks_, plane = unit / chunks_;
    Place place = PlaceOf(src, dst, plane / planes_, plane % planes_);
    place.image_is_there = in_place;
    const int64_t begin = chunk * rows_per_chunk_, end = std::min(begin + rows_per_chunk_, problem_.out.h);
    const int64_t floats = (end - begin) * problem_.dst.h;
    if (stream_ && !in_place && !place.partial) {
      RunStream(place, begin, end);
    } else if (stage_ && !in_place && floats >= reorder::kMinOpenRun && floats <= kChunkFloats) {
      RunStaged(place, begin, end);
    } else {
      RunRows(place, begin, end);
    }
  }
  if (stream_ || stage_ || rows_past_caches_) FinishStores();
}

void Plan::RunStream(const Place& place, int64_t begin, int64_t end) const noexcept {
  constexpr int64_t kSeamFloats = 64;
  alignas(64) float seam[kSeamFloats];
  const int64_t top = problem_.desc.pad.top;
  const int64_t first = std::clamp(top, begin, end), last = std::clamp(top + problem_.in.h, begin, end);
  const auto row_at = [&](int64_t row) { return place.dst + row * problem_.dst.h; };
  for (int64_t row = begin; row < first; ++row) FillRow(place, row_at(row), problem_.out.w);
  if (first < last) {
    const StreamArgs args{place.src + (first - top) * problem_.src.h,
                          row_at(first),
                          last - first,
                          problem_.src.h * kFloat,
                          problem_.in.w * lanes_ * kFloat,
                          &problem_.desc.value,
                          seam};
    stream_->entry<StreamFunction>()(&args);
  }
  for (int64_t row = last; row < end; ++row) FillRow(place, row_at(row), problem_.out.w);
}

// The rows are finished in a buffer that lies like the result within a line. While it is written out, what the next
// chunk will read is prefetched: nothing else would ask the memory for it.
void Plan::RunStaged(Place place, int64_t begin, int64_t end) const noexcept {
  constexpr int64_t kParts = 4;
  alignas(64) float buffer[kChunkFloats + kLineFloats];
  float* const target = place.dst + begin * problem_.dst.h;
  const auto within = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target) / sizeof(float) % kLineFloats);
  place.dst = buffer + within;
  place.first_row = begin;
  RunRows(place, begin, end);
  const int64_t floats = (end - begin) * problem_.dst.h, ahead = (end - begin) * problem_.src.h;
  const auto next = reinterpret_cast<uintptr_t>(place.src + (end - problem_.desc.pad.top) * problem_.src.h);
  const int64_t parts = floats >= kParts * reorder::kMinOpenRun * 2 ? kParts : 1;
  for (int64_t part = 0; part < parts; ++part) {
    const Range read = SplitRange(ahead, parts, part);
    for (int64_t at = read.begin; at < read.end; at += kLineFloats) {  // may lie behind the tensor: that never faults
      _mm_prefetch(reinterpret_cast<const char*>(next + static_cast<uintptr_t>(at * kFloat)), _MM_HINT_T1);
    }
    // Cut where lines of the result begin.
    const auto cut = [&](int64_t at) {
      return at == 0 || at == parts ? at * floats / parts
                                    : (at * floats / parts + within) / kLineFloats * kLineFloats - within;
    };
    const Range write{cut(part), cut(part + 1)};
    const CopyArgs args{place.dst + write.begin, target + write.begin, 1, 0, 0, (write.end - write.begin) * kFloat,
                        nullptr};
    stage_->entry<CopyFunction>()(&args);
  }
}

void Plan::RunRows(const Place& place, int64_t begin, int64_t end) const noexcept {
  const PadDesc& desc = problem_.desc;
  const int64_t first = std::clamp(desc.pad.top, begin, end);
  const int64_t last = std::clamp(desc.pad.top + desc.in.h, begin, end);
  for (int64_t out = begin; out < end; ++out) {
    if (out >= first && out < last) {
      CopyRows(place, out, out - desc.pad.top, last - first);
      out = last - 1;
      continue;
    }
    const int64_t in = SourceOf(desc.mode, out, desc.pad.top, desc.in.h);
    if (in < 0) {
      FillRow(place, place.dst + (out - place.first_row) * problem_.dst.h, problem_.out.w);
    } else {
      Place row = place;
      row.image_is_there = false;
      CopyRows(row, out, in, 1);
    }
  }
}

void Plan::CopyRows(const Place& place, int64_t out, int64_t in, int64_t rows) const noexcept {
  const PadDesc& desc = problem_.desc;
  const float* from = place.src + in * problem_.src.h;
  float* to = place.dst + (out - place.first_row) * problem_.dst.h + desc.pad.left * problem_.dst.w;
  if (!rows_together_ || place.partial) {
    for (int64_t y = 0; y < rows && !place.image_is_there; ++y) {
      CopyPixels(place, from + y * problem_.src.h, problem_.src.w, to + y * problem_.dst.h, problem_.dst.w, desc.in.w);
    }
    CopySides(place, out, in, rows);
    return;
  }
  if (!place.image_is_there) {
    const CopyArgs args{from, to, rows, problem_.src.h * kFloat, problem_.dst.h * kFloat,
                        desc.in.w * lanes_ * kFloat, &desc.value};
    const jit::KernelPtr& kernel = rows_past_caches_ ? rows_past_caches_ : rows_;
    kernel->entry<CopyFunction>()(&args);
    if (sides_in_kernel_) return;
  }
  CopySides(place, out, in, rows);
}

// The border at the left and right of some rows.
void Plan::CopySides(const Place& place, int64_t out, int64_t in, int64_t rows) const noexcept {
  const PadDesc& desc = problem_.desc;
  float* to = place.dst + (out - place.first_row) * problem_.dst.h;
  const float* from = place.src + in * problem_.src.h;
  const int64_t left = desc.pad.left, behind = left + desc.in.w;
  for (int64_t y = 0; y < rows; ++y, to += problem_.dst.h, from += problem_.src.h) {
    if (desc.mode == PadMode::kConstant) {
      FillRow(place, to, left);
      FillRow(place, to + behind * problem_.dst.w, desc.pad.right);
      continue;
    }
    const bool edge = desc.mode == PadMode::kEdge;
    const int64_t step = edge ? 0 : -problem_.src.w;
    const int64_t last = desc.in.w - 1;
    CopyPixels(place, from + (edge ? 0 : left) * problem_.src.w, step, to, problem_.dst.w, left);
    CopyPixels(place, from + (edge ? last : last - 1) * problem_.src.w, step, to + behind * problem_.dst.w,
               problem_.dst.w, desc.pad.right);
  }
}

// `count` pixels; steps in floats.
void Plan::CopyPixels(const Place& place, const float* from, int64_t from_step, float* to, int64_t to_step,
                      int64_t count) const noexcept {
  if (count == 0) return;
  constexpr float kZero = 0.0f;
  const CopyArgs args{from, to, count, from_step * kFloat, to_step * kFloat, lanes_ * kFloat, &kZero};
  (place.partial ? partial_pixel_ : pixel_)->entry<CopyFunction>()(&args);
}

void Plan::FillRow(const Place& place, float* to, int64_t pixels) const noexcept {
  const Pattern& pattern = place.partial ? partial_fill_ : fill_;
  if (problem_.dst.w == lanes_) return Fill(pattern, to, pixels * lanes_);
  for (int64_t x = 0; x < pixels; ++x) Fill(pattern, to + x * problem_.dst.w, lanes_);
}

}  // namespace rafter::padding
