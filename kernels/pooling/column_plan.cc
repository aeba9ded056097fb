// kernels/pooling/column_plan.cc: pooling with columns in the lanes (NCHW): rows of taps into lines on the stack, then
// along the lines; or, for one output, a whole plane to a number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jit/isa.h"
#include "kernels/lane_masks.h"
#include "kernels/pooling/emitter.h"
#include "kernels/pooling/plan.h"
#include "kernels/pooling/segments.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/machine_model.h"

namespace rafter::pooling {
namespace {

// 16 KB: half of a first-level cache. Several lines at a time take 2 KB: more of them, and memory waits while the lines
// are reduced, for a tensor that comes from there even with more than one.
constexpr int64_t kMostLineFloats = 4096, kLinesFloats = 512;
constexpr int64_t kMostUnrolledCols = 8;
constexpr int64_t kMostLanes = 16;

// Outputs that one line serves: all of a row, but for very wide images.
struct Cut {
  Range outputs;
  int64_t first = 0;            // column of the image that the line begins at, may be negative
  int64_t columns = 0;          // of the line
  int64_t begin = 0, end = 0;   // those of the image within the line
};

class ColumnPlan final : public Plan {
 public:
  ColumnPlan(const PoolingProblem& problem, Isa isa)
      : problem_(problem), isa_(isa), lanes_(jit::GetIsaInfo(isa).vec_lanes()),
        max_(problem.desc.kind == PoolingKind::kMax) {}

  Status Prepare() {
    Result<std::vector<RowSegment>> segments = RowSegmentsOf(problem_);
    if (!segments.ok()) return segments.status();
    segments_ = std::move(segments).value();
    if (Status status = CutRow(); !status.ok()) return status;
    if (Status status = CountTaps(); !status.ok()) return status;
    const int64_t row_bytes = problem_.desc.in.w * kFloat * problem_.h.stride;
    rows_per_item_ = std::clamp<int64_t>(kItemBytes / std::max<int64_t>(row_bytes, 1), 1, problem_.h.out);
    items_per_plane_ = (problem_.h.out + rows_per_item_ - 1) / rows_per_item_;
    return GetKernels();
  }

  const std::string& kernel_name() const noexcept override { return name_; }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override { return problem_.desc.n * problem_.desc.c * items_per_plane_; }

  void Run(const float* src, float* dst, Range items) const noexcept override {
    alignas(64) float lines[kMostLineFloats];
    alignas(64) float counts[kMostLineFloats + kMostLanes];
    for (int64_t i = 0; i < cuts_; ++i) {
      const Cut cut = CutAt(i);
      FillPadding(cut, lines);
      const float* const own = counts_.empty() ? counts : counts_.data();
      if (counts_.empty()) FillCounts(cut.outputs, counts);
      for (int64_t item = items.begin; item < items.end; ++item) {
        const int64_t plane = item / items_per_plane_;
        const int64_t n = plane / problem_.desc.c, c = plane % problem_.desc.c;
        RunRows(cut, src + n * problem_.src.n + c * problem_.src.c, dst + n * problem_.dst.n + c * problem_.dst.c,
                SplitRange(problem_.h.out, items_per_plane_, item % items_per_plane_), lines, own);
      }
    }
  }

 private:
  // As many outputs per line as one holds, as many lines as there is room for.
  Status CutRow() {
    const PoolAxis& w = problem_.w;
    reach_ = w.dilation * (w.kernel - 1) + 1;
    // Whole vectors are read beyond the last output of a line, and columns begin at a line of the cache.
    const int64_t slack = kMostLanes * (w.stride + 1) + kMostLanes;
    const int64_t room =
        w.stride >= kMostLineFloats || reach_ >= kMostLineFloats ? 0 : (kMostLineFloats - slack - reach_) / w.stride;
    if (room < 1) return Status(StatusCode::kUnsupported, "kernel.w: no line holds a window");
    cut_outputs_ = std::min(std::max(room / lanes_ * lanes_, int64_t{1}), w.out);
    cuts_ = CeilDiv(w.out, cut_outputs_);
    const Cut first = CutAt(0);  // no other one has more columns, or more of them in the padding at the left
    margin_ = RoundUp(first.begin, kMostLanes);
    pitch_ = RoundUp(first.columns + slack + margin_, kMostLanes);
    if (pitch_ > kMostLineFloats) return Status(StatusCode::kUnsupported, "pad.left: no line holds it");
    const bool from_memory = StoresPastCaches(BytesOf(problem_), CurrentMachineModel());
    lines_ = from_memory ? 1 : std::clamp<int64_t>(kLinesFloats / pitch_, 1, problem_.h.out);
    return {};
  }

  Cut CutAt(int64_t index) const noexcept {
    const PoolAxis& w = problem_.w;
    const int64_t begin = index * cut_outputs_;
    Cut cut;
    cut.outputs = {begin, std::min(begin + cut_outputs_, w.out)};
    cut.first = begin * w.stride - w.pad_begin;
    cut.columns = (cut.outputs.end - begin - 1) * w.stride + reach_;
    cut.begin = std::clamp<int64_t>(-cut.first, 0, cut.columns);
    cut.end = std::clamp(w.in - cut.first, cut.begin, cut.columns);
    return cut;
  }

  // What averages of each output divide by: of one cut they are kept, of several filled in by each call.
  Status CountTaps() {
    Result<std::vector<Segment>> columns = SegmentsOf(problem_.desc, problem_.w);
    if (!columns.ok()) return columns.status();
    columns_ = std::move(columns).value();
    if (cuts_ > 1) return {};
    counts_.resize(static_cast<size_t>(problem_.w.out + kMostLanes));
    FillCounts({0, problem_.w.out}, counts_.data());
    return {};
  }

  // Whole vectors: kMostLanes floats behind the outputs are written, too.
  void FillCounts(Range outputs, float* counts) const noexcept {
    if (max_) return;
    for (const Segment& segment : columns_) {
      const int64_t begin = std::max(outputs.begin, segment.begin);
      const int64_t end = std::min(outputs.end, segment.begin + segment.count);
      if (begin < end) std::fill(counts + begin - outputs.begin, counts + end - outputs.begin,
                                 static_cast<float>(segment.divisor));
    }
    std::fill_n(counts + outputs.end - outputs.begin, kMostLanes, 1.0f);
  }

  // Written-out rows of taps for the longest segment, a loop for the others.
  Status GetKernels() {
    const RowSegment* longest = &segments_.front();
    for (const RowSegment& segment : segments_) {
      if (segment.count > longest->count) longest = &segment;
    }
    const PoolAxis& w = problem_.w;
    RowsSpec spec{isa_,
                  max_ ? Reduction::kFastMax : Reduction::kSum,
                  0,
                  static_cast<uint8_t>(w.kernel <= kMostUnrolledCols ? w.kernel : 0),
                  static_cast<uint8_t>(w.stride <= 2 ? w.stride : 0),
                  w.dilation == 1};
    const auto get = [&](const RowsSpec& wanted, jit::KernelPtr& kernel) -> Status {
      Result<jit::KernelPtr> made = GetRowsKernel(wanted);
      if (made.ok()) kernel = std::move(made).value();
      return made.status();
    };
    Status status;
    if (longest->taps <= kMostBakedRows) {
      RowsSpec baked = spec;
      baked.rows = static_cast<uint8_t>(longest->taps);
      const int64_t columns = CutAt(0).end - CutAt(0).begin;
      if (cuts_ == 1 && w.stride <= 2 && columns > 0 && std::max(columns, w.out) <= kMostBakedColumns) {
        baked.columns = static_cast<uint8_t>(columns), baked.outputs = static_cast<uint8_t>(w.out);
      }
      if (longest->taps > 0) status = get(baked, baked_);
    }
    bool others = false;
    for (const RowSegment& segment : segments_) {
      others |= segment.taps > 0 && !(baked_ && segment.taps == longest->taps);
    }
    if (status.ok() && others) status = get(spec, looped_);
    spec.reduction = Reduction::kExactMax;
    if (status.ok() && max_) status = get(spec, exact_);
    if (!status.ok()) return status;
    baked_taps_ = baked_ ? longest->taps : 0;
    name_ = longest->taps == 0 ? "pool_f32_no_taps" : (baked_ ? baked_ : looped_)->name();
    return {};
  }

  // The ends of all lines, which no kernel writes with anything else.
  void FillPadding(const Cut& cut, float* lines) const noexcept {
    const float outside = max_ ? -std::numeric_limits<float>::infinity() : 0.0f;
    for (int64_t i = 0; i < lines_; ++i) {
      float* const line = lines + i * pitch_ + margin_ - cut.begin;
      std::fill(line, line + cut.begin, outside);
      std::fill(line + cut.end, line + cut.columns, outside);
    }
  }

  void RunRows(const Cut& cut, const float* image, float* plane, Range rows, float* lines,
               const float* counts) const noexcept {
    const PoolAxis &high = problem_.h, &wide = problem_.w;
    for (const RowSegment& segment : segments_) {
      const int64_t begin = std::max(rows.begin, segment.begin);
      const int64_t end = std::min(rows.end, segment.begin + segment.count);
      if (begin >= end) continue;
      float* const to = plane + begin * problem_.dst.h + cut.outputs.begin;
      const int64_t outputs = cut.outputs.end - cut.outputs.begin;
      if (segment.taps == 0) {
        for (int64_t y = 0; y < end - begin; ++y) {
          std::fill_n(to + y * problem_.dst.h, outputs, EmptyWindow(problem_.desc));
        }
        continue;
      }
      const int64_t y = segment.y + (begin - segment.begin) * high.stride;
      RowsArgs args = {};
      args.src = image + y * problem_.src.h + cut.first + cut.begin;
      args.dst = to;
      args.output_rows = end - begin;
      args.src_output_step = high.stride * problem_.src.h * kFloat;
      args.dst_output_step = problem_.dst.h * kFloat;
      args.rows = segment.taps, args.row_step = high.dilation * problem_.src.h * kFloat;
      args.lines = lines + margin_, args.first_tap = -cut.begin * kFloat;
      args.lines_at_once = lines_, args.line_pitch = pitch_ * kFloat;
      args.columns = cut.end - cut.begin, args.outputs = outputs;
      args.cols = wide.kernel, args.col_step = wide.dilation * kFloat, args.stride = wide.stride;
      args.counts = counts;
      args.column_mask = FirstLanes(args.columns % lanes_), args.output_mask = FirstLanes(outputs % lanes_);
      args.divisor_rows = static_cast<float>(segment.divisor);
      RowsArgs again = args;
      (segment.taps == baked_taps_ ? baked_ : looped_)->entry<RowsFunction>()(&args);
      if (max_ && std::isnan(args.sum)) exact_->entry<RowsFunction>()(&again);
    }
  }

  const PoolingProblem problem_;
  const Isa isa_;
  const int64_t lanes_;
  const bool max_;
  int64_t reach_ = 0;                     // columns of a window
  int64_t cuts_ = 1, cut_outputs_ = 1;    // of a row; outputs of one, the last may have fewer
  std::vector<RowSegment> segments_;
  std::vector<Segment> columns_;
  std::vector<float> counts_;  // averages of one cut
  int64_t baked_taps_ = 0;  // rows of taps that baked_ is for; 0: none
  int64_t margin_ = 0, pitch_ = 0, lines_ = 1;  // floats before the image's columns in a line, of a line; lines at once
  int64_t rows_per_item_ = 1, items_per_plane_ = 1;
  jit::KernelPtr baked_, looped_, exact_;
  std::string name_;
};

class PlanePlan final : public Plan {
 public:
  PlanePlan(const PoolingProblem& problem, Isa isa) : problem_(problem), isa_(isa) {}

  Status Prepare() {
    const PoolAxis &h = problem_.h, &w = problem_.w;
    const TapRange rows = h.Taps(0), columns = w.Taps(0);
    args_.count = columns.end - columns.begin;
    args_.rows = rows.end - rows.begin;
    args_.src_plane_step = problem_.src.c * kFloat, args_.dst_plane_step = problem_.dst.c * kFloat;
    args_.row_step = h.dilation * problem_.src.h * kFloat;
    args_.divisor = static_cast<float>(DivisorTaps(problem_.desc, h, 0)) *
                    static_cast<float>(DivisorTaps(problem_.desc, w, 0));
    begin_ = (rows.begin * h.dilation - h.pad_begin) * problem_.src.h + columns.begin * w.dilation - w.pad_begin;
    if (args_.row_step == args_.count * kFloat) {  // rows that follow each other are one
      args_.count *= args_.rows;
      args_.rows = 1;
    }
    args_.mask = FirstLanes(args_.count % jit::GetIsaInfo(isa_).vec_lanes());
    const bool baked = args_.rows == 1 && args_.count <= kMostBakedColumns;
    const PlaneSpec spec{isa_, problem_.desc.kind == PoolingKind::kMax,
                         static_cast<uint8_t>(baked ? args_.count : 0)};
    const bool groups = baked && !spec.max && problem_.dst.c == 1;
    Result<jit::KernelPtr> kernel = groups ? GetPlaneGroupKernel(spec) : GetPlaneKernel(spec);
    if (kernel.ok()) kernel_ = std::move(kernel).value();
    return kernel.status();
  }

  const std::string& kernel_name() const noexcept override { return kernel_->name(); }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override { return problem_.desc.n * problem_.desc.c; }

  void Run(const float* src, float* dst, Range items) const noexcept override {
    for (int64_t item = items.begin; item < items.end;) {
      const int64_t n = item / problem_.desc.c, c = item % problem_.desc.c;
      PlaneArgs args = args_;
      args.src = src + n * problem_.src.n + c * problem_.src.c + begin_;
      args.dst = dst + n * problem_.dst.n + c * problem_.dst.c;
      args.planes = std::min(items.end - item, problem_.desc.c - c);  // of this image
      item += args.planes;
      kernel_->entry<PlaneFunction>()(&args);
    }
  }

 private:
  const PoolingProblem problem_;
  const Isa isa_;
  int64_t begin_ = 0;
  PlaneArgs args_ = {};
  jit::KernelPtr kernel_;
};

template <typename Made>
Result<std::unique_ptr<Plan>> Prepared(std::unique_ptr<Made> plan) {
  if (Status status = plan->Prepare(); !status.ok()) return status;
  return std::unique_ptr<Plan>(std::move(plan));
}

}  // namespace

Result<std::unique_ptr<Plan>> MakeColumnPlan(const PoolingProblem& problem, Isa isa) {
  const TapRange rows = problem.h.Taps(0), columns = problem.w.Taps(0);
  const bool taps = rows.end > rows.begin && columns.end > columns.begin;
  const bool together = problem.w.dilation == 1 || columns.end - columns.begin == 1;
  if (problem.h.out == 1 && problem.w.out == 1 && taps && together) {
    return Prepared(std::make_unique<PlanePlan>(problem, isa));
  }
  return Prepared(std::make_unique<ColumnPlan>(problem, isa));
}

}  // namespace rafter::pooling
