// kernels/conv/gemm/plan.cc: decides everything and gets the kernels.
#include <algorithm>
#include <utility>

#include "kernels/conv/describe.h"
#include "kernels/conv/gemm/emitter.h"
#include "kernels/conv/gemm/gemm.h"
#include "kernels/conv/gemm/gemm_plan.h"
#include "kernels/conv/gemm/tuning.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

namespace {

int64_t RoundToLine(int64_t floats) { return (floats + kLineFloats - 1) / kLineFloats * kLineFloats; }

bool PlanesAreDense(const Strides& s, const ConvProblem& p) { return p.oh == 1 || s.h == p.ow; }

// Padding, strides and dilations beyond this are left to others: byte offsets stay far within 64 bits.
constexpr int64_t kMaxStep = int64_t{1} << 32;
// There is a table of the kernel's columns.
constexpr int64_t kMaxColumns = int64_t{1} << 16;

const char* Refuse(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return "needs AVX2 and executable memory";
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNchw) return "src is not NCHW: the pixels of a row are not together";
  if (d.dst.layout != Layout::kNchw) return "dst is not NCHW: the pixels of a row are not together";
  if (!PlanesAreDense(problem.dst, problem)) return "planes of dst have gaps between their rows";
  for (const PostOp& op : d.post_ops) {
    if (op.kind == PostOpKind::kResidualAdd && !PlanesAreDense(ResidualStrides(problem, op), problem)) {
      return "planes of a residual have gaps between their rows";
    }
  }
  if (d.kernel.w > kMaxColumns) return "the kernel has more than 65536 columns";
  for (const int64_t step : {d.pad.top, d.pad.left, d.pad.bottom, d.pad.right, d.stride.h, d.stride.w,
                             d.dilation.h, d.dilation.w, d.in.h, d.in.w, problem.oh, problem.ow}) {
    if (step > kMaxStep) return "padding, strides or dilations lead beyond 64-bit byte offsets";
  }
  return nullptr;
}

std::vector<Strides> AllResidualStrides(const ConvProblem& problem) {
  std::vector<Strides> strides;
  for (const PostOp& op : problem.desc.post_ops) strides.push_back(ResidualStrides(problem, op));
  return strides;
}

}  // namespace

GemmPlan::GemmPlan(const ConvProblem& problem, const Blocking& blocking, Isa isa)
    : problem_(problem),
      residuals_(AllResidualStrides(problem)),
      isa_(isa),
      weights_(LayOutWeights(problem)),
      columns_(problem),
      blocking_(blocking),
      pixels_(problem.oh * problem.ow) {
  const int lanes = jit::GetIsaInfo(isa).vec_lanes();
  tiles_ = CutPixels(blocking.segment_pixels, lanes);
  last_tiles_ = CutPixels(pixels_ - (blocking.segments - 1) * blocking.segment_pixels, lanes);
  for (const PostOp& op : problem.desc.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
  }
}

Result<std::unique_ptr<ConvPlan>> GemmPlan::Make(const ConvProblem& problem, const Blocking& blocking, Isa isa) {
  std::unique_ptr<GemmPlan> plan(new GemmPlan(problem, blocking, isa));
  if (!plan->columns_.is_plain() && Picker::Fits(problem)) {
    Result<Picker> picker = Picker::Make(problem, isa);
    if (!picker.ok()) return picker.status();
    plan->picker_ = std::move(picker).value();
    plan->owned_kernels_.push_back(plan->picker_.kernel());
  }
  if (Status status = blocking.staged ? plan->LayOutStage() : plan->LayOutScratch(); !status.ok()) return status;
  if (Status status = plan->CompileKernels(); !status.ok()) return status;
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

int64_t GemmPlan::part_channels() const {
  const int64_t unit = ChannelUnit(jit::GetIsaInfo(isa_)), units = (weights_.oc_g + unit - 1) / unit;
  return (units + blocking_.channel_parts - 1) / blocking_.channel_parts * unit;
}

Status GemmPlan::LayOutScratch() {
  constexpr double kMaxBytes = 1 << 30;
  const auto& widest = blocking_.segments > 1 ? tiles_ : last_tiles_;
  int64_t width = 0;
  for (const int32_t tile : widest) width += tile;
  line_floats_ = RoundToLine(width);
  const int64_t panel = kMaxVecs * jit::GetIsaInfo(isa_).vec_lanes();
  panel_floats_ = RoundToLine((has_one_panel() ? panel : width) * blocking_.pass) + kLineFloats;  // room for a chunk
  partial_floats_ = has_passes() ? RoundToLine(width * parked_channels()) : 0;
  const int64_t masks = columns_.is_padded() ? panel_floats_ : 0;
  const int64_t floats = line_floats_ + panel_floats_ + masks + partial_floats_;
  if (static_cast<double>(floats) * sizeof(float) > kMaxBytes) {
    return Status::Unsupported("parked sums of a segment are beyond 1 GiB");
  }
  thread_bytes_ = static_cast<size_t>(floats) * sizeof(float);
  return {};
}

Status GemmPlan::LayOutStage() {
  stage_row_ = StageRow(blocking_.segment_pixels);
  stage_floats_ = stage_row_ * problem_.ic_g, out_stage_floats_ = stage_row_ * part_channels();
  thread_bytes_ = static_cast<size_t>(2 * stage_floats_ + out_stage_floats_) * sizeof(float);
  Result<jit::KernelPtr> copy = reorder::GetCopyKernel(
      {.isa = static_cast<int32_t>(isa_), .run = 0, .border = reorder::Border::kNone, .non_temporal = 1});
  if (!copy.ok()) return copy.status();
  copy_out_ = *copy;
  owned_kernels_.push_back(copy_out_);
  return {};
}

// So that all passes over k of a tile of pixels, of all its tiles of channels, copy that tile's lines.
int64_t GemmPlan::CopiesPerPass() const {
  const jit::IsaInfo& isa = jit::GetIsaInfo(isa_);
  const int64_t tiles = CeilDiv(weights_.oc_g, TileChannels(isa, kMaxVecs)), passes = weights_.sum_length() / kUnroll;
  return std::min(CeilDiv(TileLines(kMaxVecs * isa.vec_lanes()), std::max<int64_t>(1, tiles * passes)), kMostCopies);
}

Result<GemmFunction*> GemmPlan::Kernel(int vecs, int ocs, uint8_t flags) {
  GemmSpec spec{};
  spec.isa = isa_;
  spec.vecs = static_cast<uint8_t>(vecs);
  spec.ocs = static_cast<uint8_t>(ocs);
  spec.flags = flags | (has_passes() ? GemmSpec::kPartial : 0) | (is_staged() ? GemmSpec::kStaged : 0);
  spec.unroll = spec.has(GemmSpec::kCareful) ? 1 : kUnroll;
  spec.copies = static_cast<uint16_t>(is_staged() ? CopiesPerPass() : 0);
  spec.post_ops = jit::PostOpChain(problem_.desc.post_ops);
  Result<jit::KernelPtr> kernel = GetGemmKernel(spec);
  if (!kernel.ok()) return kernel.status();
  if (kernel_name_.empty()) kernel_name_ = (*kernel)->name();
  owned_kernels_.push_back(*kernel);
  return (*kernel)->entry<GemmFunction>();
}

// The most used kernel first: it gives the plan its name.
Status GemmPlan::CompileKernels() {
  const jit::IsaInfo& isa = jit::GetIsaInfo(isa_);
  const auto get = [&](int vecs, int ocs, uint8_t flags, GemmFunction*& to) -> Status {
    if (to != nullptr || ocs == 0) return {};
    Result<GemmFunction*> kernel = Kernel(vecs, ocs, flags);
    if (!kernel.ok()) return kernel.status();
    to = *kernel;
    return {};
  };
  const auto get_tile = [&](int32_t pixels, bool tail) -> Status {
    const int vecs = pixels / isa.vec_lanes();
    const uint8_t flags = tail ? GemmSpec::kTail : 0;
    TileKernels& kernels = kernels_[static_cast<size_t>(vecs - 1)][tail ? 1 : 0];
    const int channels = TileChannels(isa, vecs);
    const int rest = static_cast<int>(weights_.oc_g % channels);
    if (weights_.oc_g >= channels) {
      if (Status status = get(vecs, channels, flags, kernels.whole); !status.ok()) return status;
    }
    if (Status status = get(vecs, rest, flags, kernels.rest); !status.ok() || !reads_in_place()) return status;
    const uint8_t in_place = flags | GemmSpec::kInPlace;
    if (weights_.oc_g >= channels) {
      if (Status status = get(vecs, channels, in_place, kernels.first_whole); !status.ok()) return status;
    }
    return get(vecs, rest, in_place, kernels.first_rest);
  };
  for (const auto* tiles : {&tiles_, &last_tiles_}) {
    if (tiles == &tiles_ && blocking_.segments == 1) continue;
    for (size_t i = 0; i < tiles->size(); ++i) {
      const bool tail = tiles == &last_tiles_ && i + 1 == tiles->size() && tail_lanes() > 0;
      if (Status status = get_tile((*tiles)[i], tail); !status.ok()) return status;
    }
  }
  if (!columns_.is_padded()) return {};
  if (Status status = get(1, 1, GemmSpec::kCareful, careful_[0]); !status.ok()) return status;
  if (tail_lanes() == 0) return {};
  return get(1, 1, GemmSpec::kCareful | GemmSpec::kTail, careful_[1]);
}

std::string GemmPlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  const Blocking& b = blocking_;
  const jit::IsaInfo& isa = jit::GetIsaInfo(isa_);
  line("tile: " + std::to_string(kMaxVecs) + " vectors of " + std::to_string(isa.vec_lanes()) + " pixels by " +
       std::to_string(TileChannels(isa, kMaxVecs)) + " output channels");
  line("order of the sum: blocks of " + std::to_string(SumBlock(problem_.ic_g)) +
       " input channels, kernel rows, kernel columns, channels");
  line("segments: " + std::to_string(b.segments) + " of " + std::to_string(b.segment_pixels) + " pixels x " +
       std::to_string(b.channel_parts) + " parts of channels; " + std::to_string(b.pass) + " of " +
       std::to_string(weights_.sum_length()) + " k per pass; blocks of " + std::to_string(b.block_channels) +
       " output channels" + (b.staged ? "; staged" : ""));
  return text + DescribeKernels(owned_kernels_);
}

namespace {

class GemmDraft final : public PlanDraft {
 public:
  explicit GemmDraft(const Blocking& blocking) : blocking_(blocking) {}
  Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem& problem, const PlanContext& context) override {
    return GemmPlan::Make(problem, blocking_, context.isa);
  }

 private:
  const Blocking blocking_;
};

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  Offer offer;
  if (const char* reason = Refuse(problem, context)) {
    offer.refusal = reason;
    return offer;
  }
  const Blocking blocking =
      ChooseBlocking(problem, jit::GetIsaInfo(context.isa), *context.machine, context.threads);
  offer.predicted_us = blocking.predicted_us;
  offer.draft = std::make_unique<GemmDraft>(blocking);
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  const Blocking blocking =
      ChooseBlocking(problem, jit::GetIsaInfo(context.isa), *context.machine, context.threads);
  return GemmPlan::Make(problem, blocking, context.isa);
}

}  // namespace rafter::gemm
