// kernels/conv/winograd/plan.cc: decides everything and gets the kernels.
#include "kernels/conv/winograd/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/conv/describe.h"
#include "kernels/conv/winograd/emitter.h"
#include "kernels/conv/winograd/tuning.h"
#include "kernels/conv/winograd/winograd.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"

namespace rafter::winograd {

namespace {

const char* SplitText(Split split) {
  switch (split) {
    case Split::kBlocks: return ", which take whole blocks";
    case Split::kStages: return ", which share the tiles, then the channels of each block";
    case Split::kChannels: return ", which share the channels of each block";
    case Split::kPositions: return ", which share the inputs, the products and the outputs of each block";
  }
  return "";
}

std::string SumText(int parts) {
  if (parts == 4) return ", even and odd ones of the first 8 and of the others apart";
  return parts == 2 ? ", even and odd ones apart" : "";
}

}  // namespace

WinogradPlan::WinogradPlan(const char* algorithm, const ConvProblem& problem, TileShape shape,
                           const PlanContext& context)
    : algorithm_(algorithm),
      problem_(problem),
      isa_(jit::GetIsaInfo(context.isa)),
      geometry_(Geometry::Of(problem, shape)),
      layout_(LayOut(problem, shape, isa_)),
      blocking_(ChooseBlocking(problem, geometry_, layout_, isa_, context)) {}

Result<std::unique_ptr<ConvPlan>> WinogradPlan::Make(const char* algorithm, const ConvProblem& problem,
                                                     TileShape shape, const PlanContext& context) {
  std::unique_ptr<WinogradPlan> plan(new WinogradPlan(algorithm, problem, shape, context));
  if (Status status = plan->GetKernels(); !status.ok()) return status;
  if (Status status = plan->StageOutputs(*context.machine); !status.ok()) return status;
  plan->LayOutScratch();
  const ConvDesc& d = problem.desc;
  plan->prefetches_ = d.src.layout == Layout::kNhwc && d.dst.layout == Layout::kNhwc &&
                      plan->blocking_.split == Split::kBlocks &&
                      static_cast<double>(d.n * d.in.h * d.in.w * d.ic * kFloat) > kPrefetchL2s *
                          static_cast<double>(context.machine->l2_bytes);
  plan->CopyPostOps();
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

template <typename Function, typename Spec>
Status WinogradPlan::Keep(const Spec& spec, Function*& function) {
  Result<jit::KernelPtr> made = GetKernel(spec);
  if (!made.ok()) return made.status();
  kernels_.push_back(std::move(made).value());
  function = kernels_.back()->entry<Function>();
  return {};
}

Status WinogradPlan::GetKernels() {
  const TileShape& shape = geometry_.shape;
  if (Status status = GetProductKernels(); !status.ok()) return status;
  InputSpec input{isa_.isa, shape.rows, shape.columns, false};
  if (Status status = Keep(input, input_); !status.ok()) return status;
  if (!by_vectors(problem_.desc.src.layout) || vectors_lie_together(problem_.desc.src.layout)) {
    input.scattered = true;
    if (Status status = Keep(input, input_scattered_); !status.ok()) return status;
    zeros_.assign(static_cast<size_t>(blocking_.groups * problem_.ic_g), 0.0f);
  }
  if (Status status = GetOutputKernels(); !status.ok()) return status;
  return GetTransposeKernels();
}

Status WinogradPlan::Transpose(int64_t rows, int64_t zeros, reorder::TransposeFunction*& function) {
  reorder::TransposeSpec spec;
  spec.isa = static_cast<int32_t>(isa_.isa);
  spec.rows = static_cast<int32_t>(rows);
  spec.zeros = static_cast<int32_t>(zeros);
  Result<jit::KernelPtr> made = reorder::GetTransposeKernel(spec);
  if (!made.ok()) return made.status();
  kernels_.push_back(std::move(made).value());
  function = kernels_.back()->entry<reorder::TransposeFunction>();
  return {};
}

Status WinogradPlan::GetTransposeKernels() {
  const int64_t lanes = layout_.lanes;
  const auto to_strip = [&](int64_t channels, ToStrip& kernels) {
    if (Status status = Transpose(lanes, 0, kernels.full); !status.ok()) return status;
    const int64_t rest = channels % lanes;
    return rest == 0 ? Status() : Transpose(rest, lanes - rest, kernels.tail);
  };
  if (problem_.desc.src.layout == Layout::kNchw) {
    if (Status status = to_strip(problem_.ic_g, src_to_strip_); !status.ok()) return status;
  }
  if (problem_.desc.dst.layout != Layout::kNchw) return {};
  for (const PostOp& op : problem_.desc.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    if (Status status = to_strip(problem_.oc_g, residual_to_strip_); !status.ok()) return status;
  }
  const std::array<bool, kStripRows + 1> needed = PixelRows();
  for (size_t rows = 1; rows < needed.size(); ++rows) {
    if (!needed[rows]) continue;
    if (Status status = Transpose(static_cast<int64_t>(rows), 0, from_strip_[rows]); !status.ok()) return status;
  }
  return {};
}

// How many pixels of a strip are transposed together.
std::array<bool, kStripRows + 1> WinogradPlan::PixelRows() const {
  std::array<bool, kStripRows + 1> needed{};
  if (blocking_.grain != geometry_.tiles_w) {  // runs of tiles may end anywhere
    needed.fill(true);
    return needed;
  }
  const auto mark = [&](int64_t pixels) {
    if (pixels >= kStripRows) needed[kStripRows] = true;
    needed[static_cast<size_t>(pixels % kStripRows)] = true;
  };
  const int64_t strip = kStripTiles * geometry_.shape.out_w();
  for (int64_t x = 0; x < std::min(problem_.ow, 2 * strip); x += strip) {
    const int64_t pixels = std::min(strip, problem_.ow - x);
    mark(pixels);
    for (int64_t rows = 2; rows <= geometry_.shape.out_h(); ++rows) {
      if (rows == geometry_.shape.out_h() || rows == problem_.oh % geometry_.shape.out_h()) mark(pixels * rows);
    }
  }
  mark(problem_.ow % strip);
  return needed;
}

Status WinogradPlan::GetOutputKernels() {
  const TileShape& shape = geometry_.shape;
  OutputSpec spec{isa_.isa, shape.rows, shape.columns, Tail::kNone, 0, 0};
  const PostOps& ops = problem_.desc.post_ops;
  for (size_t i = 0; i < ops.size(); ++i) spec.post_ops |= static_cast<uint64_t>(ops[i].kind) << (8 * i);
  if (Status status = Keep(spec, output_); !status.ok()) return status;
  const int64_t rest = problem_.oc_g % layout_.lanes;
  const bool staged = by_vectors(problem_.desc.dst.layout) && !vectors_lie_together(problem_.desc.dst.layout);
  output_tail_ = output_;
  if (rest == 0 || staged) return {};
  if (by_vectors(problem_.desc.dst.layout)) {
    spec.tail = Tail::kZeroed;
  } else {
    spec.tail = Tail::kMasked;
    spec.lanes = static_cast<uint32_t>(rest);
  }
  return Keep(spec, output_tail_);
}

Status WinogradPlan::StageOutputs(const MachineModel& machine) {
  const ConvDesc& d = problem_.desc;
  const double bytes = static_cast<double>(d.n * problem_.oh * problem_.ow * d.oc * kFloat);
  const bool whole_pixels = blocking_.groups == layout_.groups && problem_.dst.w == d.oc;
  if (d.dst.layout != Layout::kNhwc || blocking_.split != Split::kBlocks || !whole_pixels) return {};
  if (!OutputExceedsCaches(bytes, machine)) return {};
  const int64_t tile = geometry_.shape.outputs() * d.oc * kFloat;
  staged_tiles_ = std::clamp<int64_t>(kStagedOutputBytes / tile, 1, geometry_.tiles_w);
  Result<jit::KernelPtr> made =
      reorder::GetCopyKernel(reorder::SpecOfRun(isa_.isa, reorder::kMaxBakedRun + 1, true));
  if (!made.ok()) return made.status();
  kernels_.push_back(std::move(made).value());
  stream_ = kernels_.back()->entry<reorder::CopyFunction>();
  return {};
}

Status WinogradPlan::GetProductKernels() {
  const Blocking& b = blocking_;
  for (const PanelRun& run : layout_.runs) {
    std::vector<ProductCut>& cuts = products_.emplace_back();
    for (int64_t tiles = b.units / b.blocks * b.grain; tiles <= b.max_tiles; tiles += b.grain) {
      if (tiles == 0) continue;
      const int sum_parts = SumParts(layout_.ic_g), most = MaxTiles(run.vecs, sum_parts, isa_);
      const int64_t parts = (tiles + most - 1) / most;
      const int64_t px = (tiles + parts - 1) / parts;
      ProductCut cut{tiles, parts - (px * parts - tiles), px * parts - tiles, nullptr};
      ProductSpec spec{isa_.isa, static_cast<uint8_t>(px), static_cast<uint8_t>(run.vecs),
                       static_cast<uint8_t>(sum_parts), 0, 0};
      const bool is_short = layout_.ic_g <= kMostBakedChannels && most <= kMostParkedTiles;
      if (is_short && !b.prefetches_weights) {
        spec.channels = static_cast<uint8_t>(layout_.ic_g);
      } else if (b.prefetches_weights) {
        // Lines of the next panel per four input channels, spread over the register tiles of this one.
        const int64_t lines = run.vecs * isa_.vec_bytes * 4 / 64;
        spec.prefetches = static_cast<uint8_t>((lines + parts - 1) / parts);
      }
      if (Status status = Keep(spec, cut.kernel); !status.ok()) return status;
      if (kernel_name_.empty()) kernel_name_ = kernels_.back()->name();
      cuts.push_back(cut);
    }
  }
  if (kernel_name_.empty()) kernel_name_ = algorithm_;  // no images
  return {};
}

const ProductCut& WinogradPlan::Cut(size_t run, int64_t tiles) const {
  const std::vector<ProductCut>& cuts = products_[run];
  return cuts.front().tiles == tiles ? cuts.front() : cuts.back();
}

void WinogradPlan::LayOutScratch() {
  const TileShape& shape = geometry_.shape;
  const int64_t tiles = std::max<int64_t>(blocking_.max_tiles, 1);
  v_rows_ = LayOutRows(tiles, blocking_.groups * problem_.ic_g, layout_.lanes);
  m_rows_ = LayOutRows(tiles, blocking_.groups * problem_.oc_g, layout_.lanes);
  v_floats_ = v_rows_.position * shape.positions();
  m_floats_ = m_rows_.position * shape.positions();
  const int64_t strip_px = (kStripTiles - 1) * shape.out_w() + shape.in_w();
  int64_t strips = 1;  // of outputs and residuals
  for (const PostOp& op : problem_.desc.post_ops) strips += op.kind == PostOpKind::kResidualAdd;
  int64_t in_strip = shape.in_h() * strip_px * layout_.lanes;
  if (geometry_.tiles_w <= kStripTiles) {
    const int64_t row = ((geometry_.tiles_w - 1) * shape.out_w() + shape.in_w()) * layout_.lanes;
    const int64_t shared = shape.in_h() - shape.out_h(), most = kStripBytes / (row * kFloat) - shared;
    strip_rows_ = std::clamp<int64_t>(most / shape.out_h(), 1, std::max<int64_t>(1, geometry_.tiles_h));
    in_strip = std::max(in_strip, (strip_rows_ * shape.out_h() + shared) * row);
  }
  const int64_t out_strip = strips * shape.out_h() * kStripTiles * shape.out_w() * layout_.lanes;
  stage_floats_ = RoundUp(std::max({in_strip, out_strip, shape.out_h() * StagedRow()}), kLineFloats);
  const int64_t threads = blocking_.threads, copies = shares_intermediates() ? 1 : threads;
  scratch_bytes_ = static_cast<size_t>((copies * (v_floats_ + m_floats_) + threads * stage_floats_) * kFloat);
}

void WinogradPlan::CopyPostOps() {
  const int64_t padded = layout_.vecs * layout_.lanes;
  for (const PostOp& op : problem_.desc.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
    residuals_.push_back(op.kind == PostOpKind::kResidualAdd ? ResidualStrides(problem_, op) : Strides{});
    std::vector<float>& scale = scales_.emplace_back();
    if (op.kind != PostOpKind::kChannelScale) continue;
    scale.assign(static_cast<size_t>(layout_.groups * padded), 0.0f);
    for (int64_t group = 0; group < layout_.groups; ++group) {
      std::copy_n(op.scale.data() + group * layout_.oc_g, layout_.oc_g, scale.data() + group * padded);
    }
  }
}

std::string WinogradPlan::Describe() const {
  const TileShape& shape = geometry_.shape;
  const auto number = [](int64_t value) { return std::to_string(value); };
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  line("tile: " + number(shape.out_h()) + "x" + number(shape.out_w()) + " outputs from " + number(shape.in_h()) + "x" +
       number(shape.in_w()) + " inputs, " + number(shape.positions()) + " products per pair of channels instead of " +
       number(shape.outputs() * shape.taps()));
  line("accuracy: a transform of inputs and weights; errors in docs/accuracy.md, kStrict excludes it");
  line(std::string("order of the sum: per product all input channels in order") +
       SumText(SumParts(layout_.ic_g)) + ", then the output transform");
  line("blocks: " + number(blocking_.blocks) + " of at most " + number(blocking_.max_tiles) + " tiles, " +
       number(geometry_.tiles) + " in all" +
       (blocking_.groups > 1 ? ", " + number(blocking_.groups) + " groups of channels at a time" : ""));
  for (const PanelRun& run : layout_.runs) {
    line("panels: " + number(run.panels) + " x " + number(run.vecs) + " vectors of " + number(layout_.lanes) +
         " output channels, at most " + number(MaxTiles(run.vecs, SumParts(layout_.ic_g), isa_)) +
         " tiles in registers");
  }
  if (staged_tiles_ > 0) line("outputs: stored past the caches, " + number(staged_tiles_) + " tiles at a time");
  line("threads: " + number(blocking_.threads) +
       SplitText(blocking_.split));
  const AlgorithmWork own = work();
  line("own work: " + number(static_cast<int64_t>(own.flops)) + " FLOPs, " +
       number(static_cast<int64_t>(own.load_bytes + own.store_bytes)) + " bytes with transformed weights, and " +
       number(static_cast<int64_t>(own.intermediate_bytes)) + " bytes of intermediates in blocks of " +
       number(static_cast<int64_t>(own.block_bytes)));
  return text + DescribeKernels(kernels_);
}

namespace {

constexpr int64_t kLeastChannels = 16, kMostChannels = 1 << 20, kMaxPad = 2;

// The tile for the problem's kernel: a kernel of one row or column leaves that axis alone.
TileShape ShapeFor(const ConvProblem& problem, TileShape wanted) {
  if (problem.desc.kernel.h == 1) wanted.rows = Axis::kPlain;
  if (problem.desc.kernel.w == 1) wanted.columns = Axis::kPlain;
  return wanted;
}

// A group whose channels start inside a block.
bool StartsInsideBlock(const TensorFormat& format, int64_t groups, int64_t channels_per_group) {
  return groups > 1 && channels_per_group % ChannelBlock(format.layout) != 0;
}

Refusal RefusalOf(const ConvProblem& problem, TileShape tile, const PlanContext& context) {
  const ConvDesc& d = problem.desc;
  const bool square = d.kernel == Size2{3, 3};
  if (!square && d.kernel != Size2{1, 3} && d.kernel != Size2{3, 1}) {
    return {"the kernel is #x#, not 3x3, 1x3 or 3x1", {d.kernel.h, d.kernel.w}};
  }
  if (!square && tile.rows != tile.columns) return "the kernel is one-dimensional: tiles have no two sides";
  if (d.stride != Size2{1, 1}) return {"the stride is #x#, not 1x1", {d.stride.h, d.stride.w}};
  if (d.dilation != Size2{1, 1}) return "the kernel is dilated";
  if (problem.ic_g < kLeastChannels) {
    return {"# input channels per group, fewer than 16", {problem.ic_g}};
  }
  if (problem.ic_g > kMostChannels || problem.oc_g > kMostChannels) return "more than a million channels";
  if (std::max({d.pad.top, d.pad.left, d.pad.bottom, d.pad.right}) > kMaxPad) return "padding of more than 2";
  if (StartsInsideBlock(d.src, d.groups, problem.ic_g) || StartsInsideBlock(d.dst, d.groups, problem.oc_g)) {
    return "a group's channels start inside a block of the layout";
  }
  if (context.isa == Isa::kNone) return "needs AVX2 and executable memory";
  if (context.accuracy == Accuracy::kStrict) return "accuracy: only direct summation is allowed";
  return {};
}

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context, TileShape tile) {
  Refusal refusal = RefusalOf(problem, tile, context);
  if (!refusal.empty()) return {std::move(refusal), 0};
  const TileShape shape = ShapeFor(problem, tile);
  const jit::IsaInfo& isa = jit::GetIsaInfo(context.isa);
  const Geometry geometry = Geometry::Of(problem, shape);
  return {"", ChooseBlocking(problem, geometry, LayOut(problem, shape, isa), isa, context).predicted_us};
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const char* algorithm, const ConvProblem& problem,
                                           const PlanContext& context, TileShape tile) {
  return WinogradPlan::Make(algorithm, problem, ShapeFor(problem, tile), context);
}

}  // namespace rafter::winograd
