// kernels/pooling/column_plan.cc: pooling with columns in the lanes (NCHW): rows of taps into a line on the stack, then
// along the line; or, for one output, a whole plane to a number.
#include <algorithm>
#include <utility>
#include <vector>

#include "jit/isa.h"
#include "kernels/lane_masks.h"
#include "kernels/pooling/emitter.h"
#include "kernels/pooling/plan.h"

namespace rafter::pooling {
namespace {

constexpr int64_t kFloat = sizeof(float);
// 16 KB: half of a first-level cache.
constexpr int64_t kLineFloats = 4096;
constexpr int64_t kMostCols = 8;
constexpr int64_t kMostLanes = 16;

class ColumnPlan final : public Plan {
 public:
  ColumnPlan(const PoolingProblem& problem, Isa isa)
      : problem_(problem), isa_(isa), lanes_(jit::GetIsaInfo(isa).vec_lanes()),
        max_(problem.desc.kind == PoolingKind::kMax) {
    const PoolAxis& w = problem.w;
    const int64_t reach = w.dilation * (w.kernel - 1) + 1;
    // Beyond the last output of a line whole vectors are read.
    const int64_t slack = kMostLanes * (w.stride + 1);
    line_outputs_ = w.stride >= kLineFloats || reach >= kLineFloats ? 0 : (kLineFloats - slack - reach) / w.stride;
  }

  Status Prepare() {
    const PoolAxis& w = problem_.w;
    if (line_outputs_ < 1) return Status(StatusCode::kUnsupported, "kernel.w: no line holds a window");
    line_outputs_ = std::min(std::max(line_outputs_ / lanes_ * lanes_, int64_t{1}), w.out);
    counts_.resize(static_cast<size_t>(w.out + kMostLanes), 1.0f);
    for (int64_t o = 0; o < w.out; ++o) {
      counts_[static_cast<size_t>(o)] = static_cast<float>(DivisorTaps(problem_.desc, w, o));
    }
    Result<jit::KernelPtr> kernel = GetVerticalKernel({isa_, max_});
    if (!kernel.ok()) return kernel.status();
    vertical_ = std::move(kernel).value();
    HorizontalSpec spec{isa_, max_, static_cast<uint8_t>(w.stride <= 2 ? w.stride : 0),
                        static_cast<uint8_t>(w.kernel <= kMostCols ? w.kernel : 0)};
    kernel = GetHorizontalKernel(spec);
    if (!kernel.ok()) return kernel.status();
    horizontal_ = std::move(kernel).value();
    return {};
  }

  const std::string& kernel_name() const noexcept override { return horizontal_->name(); }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override { return problem_.desc.n * problem_.desc.c * problem_.h.out; }

  void Run(const float* src, float* dst, Range items) const noexcept override {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t plane = item / problem_.h.out, h = item % problem_.h.out;
      const int64_t n = plane / problem_.desc.c, c = plane % problem_.desc.c;
      const float* image = src + n * problem_.src.n + c * problem_.src.c;
      float* row = dst + n * problem_.dst.n + c * problem_.dst.c + h * problem_.dst.h;
      for (int64_t o = 0; o < problem_.w.out; o += line_outputs_) {
        RunLine(image, row, h, {o, std::min(o + line_outputs_, problem_.w.out)});
      }
    }
  }

 private:
  void RunLine(const float* image, float* row, int64_t h, Range outputs) const noexcept {
    alignas(64) float line[kLineFloats];
    const PoolAxis &high = problem_.h, &wide = problem_.w;
    const TapRange taps = high.Taps(h);
    const float outside = max_ ? -std::numeric_limits<float>::infinity() : 0.0f;
    // The line begins at this column and has so many.
    const int64_t first = outputs.begin * wide.stride - wide.pad_begin;
    const int64_t columns = (outputs.end - outputs.begin - 1) * wide.stride + (wide.kernel - 1) * wide.dilation + 1;
    const int64_t begin = std::clamp<int64_t>(-first, 0, columns);
    const int64_t end = taps.end > taps.begin ? std::clamp(wide.in - first, begin, columns) : begin;
    if (end > begin) {
      const int64_t y = h * high.stride - high.pad_begin + taps.begin * high.dilation;
      VerticalArgs args{image + y * problem_.src.h + first + begin,
                        line + begin,
                        end - begin,
                        taps.end - taps.begin,
                        high.dilation * problem_.src.h * kFloat,
                        FirstLanes((end - begin) % lanes_)};
      vertical_->entry<VerticalFunction>()(&args);
    }
    std::fill(line, line + begin, outside);
    std::fill(line + end, line + columns, outside);
    HorizontalArgs args{line,
                        row + outputs.begin,
                        outputs.end - outputs.begin,
                        wide.kernel,
                        wide.dilation * kFloat,
                        wide.stride,
                        counts_.data() + outputs.begin,
                        FirstLanes((outputs.end - outputs.begin) % lanes_),
                        static_cast<float>(DivisorTaps(problem_.desc, high, h))};
    horizontal_->entry<HorizontalFunction>()(&args);
  }

  const PoolingProblem problem_;
  const Isa isa_;
  const int64_t lanes_;
  const bool max_;
  int64_t line_outputs_ = 0;
  std::vector<float> counts_;
  jit::KernelPtr vertical_, horizontal_;
};

class PlanePlan final : public Plan {
 public:
  PlanePlan(const PoolingProblem& problem, Isa isa) : problem_(problem), isa_(isa) {}

  Status Prepare() {
    Result<jit::KernelPtr> kernel = GetPlaneKernel({isa_, problem_.desc.kind == PoolingKind::kMax});
    if (!kernel.ok()) return kernel.status();
    kernel_ = std::move(kernel).value();
    const PoolAxis &h = problem_.h, &w = problem_.w;
    const TapRange rows = h.Taps(0), columns = w.Taps(0);
    args_.count = columns.end - columns.begin;
    args_.rows = rows.end - rows.begin;
    args_.row_step = h.dilation * problem_.src.h * kFloat;
    args_.divisor = static_cast<float>(DivisorTaps(problem_.desc, h, 0)) *
                    static_cast<float>(DivisorTaps(problem_.desc, w, 0));
    begin_ = (rows.begin * h.dilation - h.pad_begin) * problem_.src.h + columns.begin - w.pad_begin;
    if (args_.row_step == args_.count * kFloat) {  // rows that follow each other are one
      args_.count *= args_.rows;
      args_.rows = 1;
    }
    args_.mask = FirstLanes(args_.count % jit::GetIsaInfo(isa_).vec_lanes());
    return {};
  }

  const std::string& kernel_name() const noexcept override { return kernel_->name(); }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override { return problem_.desc.n * problem_.desc.c; }

  void Run(const float* src, float* dst, Range items) const noexcept override {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t n = item / problem_.desc.c, c = item % problem_.desc.c;
      PlaneArgs args = args_;
      args.src = src + n * problem_.src.n + c * problem_.src.c + begin_;
      args.dst = dst + n * problem_.dst.n + c * problem_.dst.c;
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
