// kernels/conv/via_nhwc.cc: the inner problem, the scratch, and the three phases of a run. `through` is the layout that
// the inner algorithm runs in: NHWC or NCHW.
#include "kernels/conv/via_nhwc.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/reorder/copier.h"
#include "kernels/sizes.h"
#include "runtime/parallel.h"

namespace rafter::via_nhwc {

namespace {

// A layout in which a group's channels start inside a block counts as foreign too.
bool IsForeign(const TensorFormat& format, int64_t groups, int64_t channels_per_group) {
  if (format.layout == Layout::kNchw) return true;
  return groups > 1 && channels_per_group % ChannelBlock(format.layout) != 0;
}

// Scratch. Pixels of NHWC, or planes of NCHW, that lie a multiple of 1,024 bytes apart would crowd a few L1 sets: one
// line more.
Strides ScratchStrides(Layout through, int64_t c, int64_t h, int64_t w) {
  const auto spread = [](int64_t floats) { return floats * kFloat % 1024 == 0 ? floats + kLineFloats : floats; };
  if (through == Layout::kNchw) {
    const int64_t plane = spread(h * w);
    return {c * plane, plane, w, 1};
  }
  const int64_t pixel = spread(c);
  return {h * w * pixel, 1, w * pixel, pixel};
}

// A 1x1 kernel with a stride uses some pixels only: those are copied. Columns of NCHW lie too close to be picked out.
Size2 PixelSteps(const ConvProblem& problem, Layout through) {
  const ConvDesc& d = problem.desc;
  if (through == Layout::kNchw || d.kernel != Size2{1, 1} || d.pad != Padding{}) return {1, 1};
  return {d.stride.h, d.src.layout == Layout::kNchw ? 1 : d.stride.w};
}

bool IsOnePixel(const TensorFormat& format, const Strides& strides, Size2 image) {
  return format.layout == Layout::kNchw && image == Size2{1, 1} && strides.c == 1;
}

// Whether the same memory can be called NHWC.
bool RenamesSrc(const ConvProblem& problem, Layout through) {
  return through == Layout::kNhwc && IsOnePixel(problem.desc.src, problem.src, problem.desc.in);
}

bool RenamesDst(const ConvProblem& problem, Layout through) {
  const ConvDesc& d = problem.desc;
  const auto fits = [&](const PostOp& op) {
    return op.kind != PostOpKind::kResidualAdd || ResidualStrides(problem, op).c == 1;
  };
  return through == Layout::kNhwc && IsOnePixel(d.dst, problem.dst, {problem.oh, problem.ow}) &&
         std::all_of(d.post_ops.begin(), d.post_ops.end(), fits);
}

// Of images of one pixel.
Strides RenamedStrides(const Strides& nchw, int64_t channels) { return {nchw.n, 1, channels, channels}; }

// Whether the source is copied: it is foreign, or skipped pixels lie between used ones, which often crowd few sets of
// the caches.
bool CopiesSrc(const ConvProblem& problem, Layout through) {
  const ConvDesc& d = problem.desc;
  if (through == Layout::kNchw) return d.src.layout != through;
  if (RenamesSrc(problem, through)) return false;
  return IsForeign(d.src, d.groups, problem.ic_g) || PixelSteps(problem, through) != Size2{1, 1};
}

bool CopiesDst(const ConvProblem& problem, Layout through) {
  const ConvDesc& d = problem.desc;
  if (through == Layout::kNchw) return d.dst.layout != through;
  return IsForeign(d.dst, d.groups, problem.oc_g) && !RenamesDst(problem, through);
}

// The problem that the inner algorithm sees.
ConvProblem InnerProblem(const ConvProblem& problem, Layout through) {
  ConvProblem inner = problem;
  ConvDesc& d = inner.desc;
  if (CopiesSrc(problem, through)) {
    const Size2 steps = PixelSteps(problem, through);
    d.in = {(d.in.h - 1) / steps.h + 1, (d.in.w - 1) / steps.w + 1};
    d.stride = {d.stride.h / steps.h, d.stride.w / steps.w};
    inner.src = ScratchStrides(through, d.ic, d.in.h, d.in.w);
    d.src = {through, inner.src};
  } else if (RenamesSrc(problem, through)) {
    inner.src = RenamedStrides(problem.src, d.ic);
    d.src = {Layout::kNhwc, inner.src};
  }
  if (CopiesDst(problem, through)) {
    inner.dst = ScratchStrides(through, d.oc, problem.oh, problem.ow);
    d.dst = {through, inner.dst};
    for (PostOp& op : d.post_ops) {
      if (op.kind == PostOpKind::kResidualAdd) op.residual_strides = inner.dst;
    }
  } else if (RenamesDst(problem, through)) {
    inner.dst = RenamedStrides(problem.dst, d.oc);
    d.dst = {Layout::kNhwc, inner.dst};
    for (PostOp& op : d.post_ops) {
      if (op.kind != PostOpKind::kResidualAdd) continue;
      op.residual_strides = RenamedStrides(ResidualStrides(problem, op), d.oc);
    }
  }
  return inner;
}

class Plan final : public ConvPlan {
 public:
  Plan(std::unique_ptr<ConvPlan> inner, Layout through, Isa isa)
      : name_(std::string(inner->algorithm()) + "+reorder"),
        through_(through),
        copy_isa_(isa),
        inner_(std::move(inner)) {}

  Status AddReorders(const ConvProblem& problem, const ConvProblem& inner_problem);

  const char* algorithm() const noexcept override { return name_.c_str(); }
  const std::string& kernel_name() const noexcept override { return inner_->kernel_name(); }
  Isa isa() const noexcept override { return inner_->isa(); }
  size_t scratch_bytes() const noexcept override { return scratch_bytes_ + inner_->scratch_bytes(); }
  int threads() const noexcept override { return inner_->threads(); }
  PackedHeader packed_header() const noexcept override { return inner_->packed_header(); }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    inner_->Pack(oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  AlgorithmWork work() const noexcept override { return inner_->work(); }
  std::string Describe() const override;

 private:
  struct Copy {
    reorder::Copier copier;
    size_t scratch_offset = 0;
  };
  // `scratch`: strides of the one that takes part.
  Status AddCopy(const TensorShape& shape, const reorder::Side& from, const reorder::Side& to, const Strides& scratch,
                 std::vector<Copy>& copies);
  static int CopyThreads(const ConvCall& call, const Copy& copy);
  static void CopyIn(const ConvCall& call, const Copy& copy, const float* tensor, float* scratch);

  const std::string name_;
  const Layout through_;
  const Isa copy_isa_;
  std::unique_ptr<ConvPlan> inner_;
  size_t scratch_bytes_ = 0;
  std::vector<Copy> src_, dst_, residuals_;  // src and dst: none or one
};

Status Plan::AddCopy(const TensorShape& shape, const reorder::Side& from, const reorder::Side& to,
                     const Strides& scratch, std::vector<Copy>& copies) {
  Result<reorder::Copier> copier = reorder::Copier::Make(shape, from, to, copy_isa_);
  if (!copier.ok()) return copier.status();
  copies.push_back({std::move(copier).value(), scratch_bytes_});
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.n * kFloat, scratch.n, &bytes)) return Status::OutOfMemory();
  scratch_bytes_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
  return {};
}

Status Plan::AddReorders(const ConvProblem& problem, const ConvProblem& inner_problem) {
  const ConvDesc &d = problem.desc, &inner = inner_problem.desc;
  if (CopiesSrc(problem, through_)) {
    const Size2 steps = PixelSteps(problem, through_);
    Strides strides = problem.src;
    strides.h *= steps.h, strides.w *= steps.w;
    Status status = AddCopy({d.n, d.ic, inner.in.h, inner.in.w}, {d.src.layout, strides},
                            {through_, inner_problem.src}, inner_problem.src, src_);
    if (!status.ok()) return status;
  }
  if (!CopiesDst(problem, through_)) return {};
  const TensorShape shape{d.n, d.oc, problem.oh, problem.ow};
  const reorder::Side scratch{through_, inner_problem.dst};
  Status status = AddCopy(shape, scratch, {d.dst.layout, problem.dst}, inner_problem.dst, dst_);
  for (const PostOp& op : d.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd || !status.ok()) continue;
    status = AddCopy(shape, {d.dst.layout, ResidualStrides(problem, op)}, scratch, inner_problem.dst, residuals_);
  }
  return status;
}

// A copy of less than this takes about as long as waking a team (3 us at 20 GB/s each way, Zen 3).
int Plan::CopyThreads(const ConvCall& call, const Copy& copy) {
  constexpr int64_t kUnitsForTeam = 8;  // of 16 KB
  return copy.copier.units() < kUnitsForTeam ? 1 : call.threads;
}

void Plan::CopyIn(const ConvCall& call, const Copy& copy, const float* tensor, float* scratch) {
  RunOnThreads(*call.pool, CopyThreads(call, copy), [&](int thread, int team) {
    copy.copier.Run(tensor, scratch, SplitRange(copy.copier.units(), team, thread));
  });
}

void Plan::Run(const ConvCall& call) const noexcept {
  const auto scratch = [&](const Copy& copy) {
    return reinterpret_cast<float*>(call.scratch + copy.scratch_offset);
  };
  ConvCall inner = call;
  inner.scratch = call.scratch + scratch_bytes_;
  if (!src_.empty()) {
    inner.src = scratch(src_[0]);
    CopyIn(call, src_[0], call.src, scratch(src_[0]));
  }
  const float* residuals[kMaxPostOps];
  for (size_t i = 0; i < residuals_.size(); ++i) {
    residuals[i] = scratch(residuals_[i]);
    CopyIn(call, residuals_[i], call.residuals[i], scratch(residuals_[i]));
  }
  if (!residuals_.empty()) inner.residuals = residuals;
  if (!dst_.empty()) inner.dst = scratch(dst_[0]);
  inner_->Run(inner);
  if (dst_.empty()) return;
  const reorder::Copier& out = dst_[0].copier;
  RunOnThreads(*call.pool, CopyThreads(call, dst_[0]), [&](int thread, int team) {
    out.Run(inner.dst, call.dst, SplitRange(out.units(), team, thread));
  });
}

std::string Plan::Describe() const {
  std::string copies;
  if (!src_.empty()) copies += " src";
  if (!dst_.empty()) copies += " dst";
  for (size_t i = 0; i < residuals_.size(); ++i) copies += " residual";
  const std::string layout = through_ == Layout::kNchw ? "NCHW" : "NHWC";
  if (copies.empty()) return "NCHW images of one pixel: the same memory is called NHWC\n" + inner_->Describe();
  return "copied through " + layout + " scratch of " + std::to_string(scratch_bytes_) + " bytes:" + copies + "\n" +
         inner_->Describe();
}

// Puts the inner plan behind its copies.
Result<std::unique_ptr<ConvPlan>> Wrap(Result<std::unique_ptr<ConvPlan>> inner, const ConvProblem& problem,
                                       const ConvProblem& inner_problem, Layout through, Isa isa) {
  if (!inner.ok()) return inner.status();
  auto plan = std::make_unique<Plan>(std::move(inner).value(), through, isa);
  if (Status status = plan->AddReorders(problem, inner_problem); !status.ok()) return status;
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

class Draft final : public PlanDraft {
 public:
  Draft(ConvProblem inner_problem, Layout through, std::unique_ptr<PlanDraft> inner)
      : inner_problem_(std::move(inner_problem)), through_(through), inner_(std::move(inner)) {}
  Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem& problem,
                                           const PlanContext& context) override {
    return Wrap(inner_->Finish(inner_problem_, context), problem, inner_problem_, through_, context.isa);
  }

 private:
  const ConvProblem inner_problem_;
  const Layout through_;
  const std::unique_ptr<PlanDraft> inner_;
};

// Bytes per cycle of copies of so many bytes, read and written: within L2, L3, and where L3 is too small for these and
// what others keep in it (1x1 layers of 7x7 to 160x256 pixels, Zen 3; 64 to 512 channels at 56x56, 14 MB: 1.7 ms), or
// too small for them alone (16 to 32 at 640x1024: copies of 170 to 250 MB take 20 to 27 ms). From L3: 64 to 21 at 56x56
// 72 to 80 us, 96 to 45 at 35x35 58 to 72, 192 to 33 at 28x28 60 to 72.
double CopyRate(double bytes, const MachineModel& machine) {
  constexpr double kNear = 1.2, kMiddle = 0.6, kFar = 0.2, kFarShare = 0.125, kBeyond = 0.16;
  if (bytes <= static_cast<double>(machine.l2_bytes)) return machine.l3_bytes_per_cycle * kNear;
  if (bytes > static_cast<double>(machine.l3_bytes)) return machine.l3_bytes_per_cycle * kBeyond;
  const bool far = bytes > static_cast<double>(machine.l3_bytes) * kFarShare;
  return machine.l3_bytes_per_cycle * (far ? kFar : kMiddle);
}

}  // namespace

Offer Consider(ConsiderFunction inner, const ConvProblem& problem, const PlanContext& context, Layout through) {
  const ConvDesc& d = problem.desc;
  if (through == Layout::kNchw && (d.src.layout == through) == (d.dst.layout == through)) {
    return {"not exactly one tensor is NCHW", 0};
  }
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  if (!CopiesSrc(problem, through) && !CopiesDst(problem, through) && !RenamesSrc(problem, through) &&
      !RenamesDst(problem, through)) {
    return {"no tensor needs to be reordered", 0};
  }
  ConvProblem inner_problem = InnerProblem(problem, through);
  Offer offer = inner(inner_problem, context);
  if (!offer.refusal.empty()) return offer;
  // Each copied tensor is read and written once more. The least of copies takes so long (4 to 6 channels of 8 to 50
  // pixels, Zen 3: 0.22 to 0.27 us for both).
  constexpr double kCopyUs = 0.13;
  const ConvDesc& in = inner_problem.desc;
  double bytes = 0;
  constexpr double kSkipping = 3;  // skipped pixels leave the prefetchers guessing
  if (CopiesSrc(problem, through)) {
    const double cost = PixelSteps(problem, through).w > 1 ? kSkipping : 1;
    bytes += cost * 2 * kFloat * static_cast<double>(d.n * d.ic * in.in.h * in.in.w);
    offer.predicted_us += kCopyUs;
  }
  if (CopiesDst(problem, through)) {
    bytes += 2.0 * kFloat * static_cast<double>(d.n * d.oc * problem.oh * problem.ow);
    offer.predicted_us += kCopyUs;
  }
  // Of single rows all channels lie close together: 128 channels of 25 to 100 pixels take a third of the time.
  if (in.in.h == 1 && problem.oh == 1) bytes /= 2;
  offer.predicted_us += bytes / (CopyRate(bytes, *context.machine) * context.machine->clock_ghz * 1000);
  if (offer.draft) {
    offer.draft = std::make_unique<Draft>(std::move(inner_problem), through, std::move(offer.draft));
  }
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(MakePlanFunction inner, const ConvProblem& problem,
                                           const PlanContext& context, Layout through) {
  const ConvProblem inner_problem = InnerProblem(problem, through);
  return Wrap(inner(inner_problem, context), problem, inner_problem, through, context.isa);
}

}  // namespace rafter::via_nhwc
