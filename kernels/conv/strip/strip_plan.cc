// kernels/conv/strip/strip_plan.cc: decides everything and gets the kernels.
#include "kernels/conv/strip/strip_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "jit/isa.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/strip/emitter.h"
#include "kernels/conv/strip/tuning.h"
#include "kernels/cost/conv_cost.h"
#include "kernels/sizes.h"
#include "runtime/parallel.h"

namespace rafter::strip {

namespace {

// Whether all offsets along an axis stay far from the limits of 64-bit byte offsets.
bool ReachFits(int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation,
               int64_t element_stride) {
  const double reach = static_cast<double>(in) + static_cast<double>(pads) + static_cast<double>(stride) +
                       static_cast<double>(kernel) * static_cast<double>(dilation);
  return reach * static_cast<double>(element_stride) * (kFloat * 64) < 9e18;
}

// Whether a strip's pixels are within reach of 32-bit displacements, and its skips of 16 bits.
bool DisplacementsFit(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  constexpr double kMaxPixels = 32, kMaxPositions = 65535, kMaxBytes = 2e9;
  const double columns = d.kernel.w > kMaxColumns ? 1 : static_cast<double>(d.kernel.w);
  const double positions = kMaxPixels * static_cast<double>(d.stride.w) +
                           columns * static_cast<double>(d.dilation.w);
  return d.stride.w <= 65535 && d.dilation.w <= 65535 && positions <= kMaxPositions &&
         positions * static_cast<double>(problem.src.w) * kFloat < kMaxBytes &&
         kMaxPixels * static_cast<double>(problem.dst.w) * kFloat < kMaxBytes;
}

int PxCap(const ConvProblem& problem, const MachineModel& machine) {
  if (problem.src.w * problem.desc.stride.w * kFloat % kAliasBytes != 0) {
    return std::numeric_limits<int>::max();
  }
  return machine.l1d_bytes > (32 << 10) ? kMaxAliasedPixels : kMaxAliasedPixelsSmallL1;
}

// Share of the taps that fall inside of the image: the others are skipped.
double TapsInside(const ConvProblem& problem) {
  const double taps = static_cast<double>(problem.desc.kernel.h) * static_cast<double>(problem.oh) *
                      static_cast<double>(problem.desc.kernel.w) * static_cast<double>(problem.ow);
  return CountAxis(AxisH(problem)).pairs * CountAxis(AxisW(problem)).pairs / taps;
}

// One where waking more costs what they bring.
int ThreadsWorthWaking(const ConvProblem& problem, const std::vector<Piece>& pieces,
                       PlanContext context) {
  const int threads = context.threads;
  context.threads = 1;
  const double us = PredictUs(problem, pieces, context);
  return context.machine->TeamPays(us, threads) ? threads : 1;
}

}  // namespace

const char* RefusalOf(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNhwc) return "src is not NHWC";
  if (d.dst.layout != Layout::kNhwc) return "dst is not NHWC";
  const bool fits =
      ReachFits(d.in.h, d.pad.top + d.pad.bottom, d.kernel.h, d.stride.h, d.dilation.h, problem.src.h) &&
      ReachFits(d.in.w, d.pad.left + d.pad.right, d.kernel.w, d.stride.w, d.dilation.w, problem.src.w);
  if (!fits) return "padding, strides or dilations lead beyond 64-bit byte offsets";
  if (!DisplacementsFit(problem)) return "a strip's pixels lie more than 2 GB or 65,535 pixels apart";
  return nullptr;
}

ConvProblem JoinRows(const ConvProblem& problem) {
  ConvProblem joined = problem;
  ConvDesc& d = joined.desc;
  if (d.kernel != Size2{1, 1} || d.pad != Padding{} || d.n == 0) return joined;
  std::vector<std::pair<Strides*, Size2>> views = {{&joined.src, d.stride}, {&joined.dst, {1, 1}}};
  for (PostOp& op : d.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    op.residual_strides = ResidualStrides(problem, op);
    views.push_back({&*op.residual_strides, {1, 1}});
  }
  // A used pixel is `stride.w` columns behind the last one also across rows, and images.
  const auto continues = [&](int64_t pixels, bool images) {
    return std::all_of(views.begin(), views.end(), [&](const auto& view) {
      const auto& [strides, step] = view;
      return (images ? strides->n : strides->h * step.h) == strides->w * step.w * pixels;
    });
  };
  if (joined.oh > 1 && !continues(joined.ow, false)) return joined;
  joined.ow *= joined.oh, joined.oh = 1;
  if (d.n > 1 && continues(joined.ow, true)) joined.ow *= d.n, d.n = 1;
  d.in = {1, (joined.ow - 1) * d.stride.w + 1};
  d.stride.h = 1;
  return joined;
}

double PredictUs(const ConvProblem& problem, const std::vector<Piece>& pieces,
                 const PlanContext& context) {
  const ConvDesc& d = problem.desc;
  const MachineModel& machine = *context.machine;
  const Layer layer = LayerOf(problem, jit::GetIsaInfo(context.isa));
  const int cap = PxCap(problem, machine);
  const Along along{d.stride.w, d.dilation.w, TapsInside(problem)};
  double row_cycles = 0;
  for (const Piece& piece : pieces) {
    const int64_t strips = CeilDiv(problem.ow, std::min(piece.px, cap));
    const int px = static_cast<int>(problem.ow / strips);
    const int64_t wide = problem.ow % strips;
    double cycles = static_cast<double>(strips - wide) * StripCycles(layer, piece, px, along, machine);
    if (wide > 0) {
      cycles += static_cast<double>(wide) * StripCycles(layer, piece, px + 1, along, machine);
    }
    row_cycles += cycles * static_cast<double>(piece.units);
  }
  const double cycles = kOtherLosses * row_cycles * static_cast<double>(d.n * problem.oh);
  const double us = cycles / (machine.clock_ghz * 1000);
  return machine.call_us + std::min(us, us / context.threads + machine.fork_join_us);
}

StripPlan::StripPlan(const char* algorithm, PackedFormat format, const ConvProblem& problem,
                     const std::vector<Piece>& pieces, const PlanContext& context)
    : algorithm_(algorithm),
      format_(format),
      problem_(problem),
      isa_(context.isa),
      layer_(LayerOf(problem, jit::GetIsaInfo(context.isa))),
      pieces_(pieces),
      layout_(LayOut(layer_, pieces)),
      px_cap_(PxCap(problem, *context.machine)),
      l1_bytes_(context.machine->l1d_bytes) {}

Result<std::unique_ptr<ConvPlan>> StripPlan::Make(const char* algorithm, PackedFormat format,
                                                  const ConvProblem& problem,
                                                  const std::vector<Piece>& pieces,
                                                  const PlanContext& context) {
  std::unique_ptr<StripPlan> plan(new StripPlan(algorithm, format, problem, pieces, context));
  for (size_t i = 0; i < pieces.size(); ++i) {
    Status status = plan->AddPiece(pieces[i], plan->layout_.pieces[i]);
    if (!status.ok()) return status;
  }
  plan->ChooseRows(*context.machine);
  plan->ChooseThreads(ThreadsWorthWaking(problem, pieces, context));
  plan->CopyPostOps();
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

Status StripPlan::AddPiece(const Piece& piece, const PackedPiece& packed) {
  const ConvDesc& d = problem_.desc;
  PiecePlan plan;
  plan.piece = piece, plan.packed = packed;
  const int64_t per_step = ChannelsPerStep(piece.feed, layer_.lanes);
  plan.chunks = layer_.ic_g / per_step;
  plan.rest_lanes = static_cast<int>(HoldsGroups(piece.feed) ? piece.groups * layer_.ic_g
                                                             : layer_.ic_g % per_step);
  plan.column_groups = layer_.kw / ColumnsPerStep(layer_, piece.feed);
  const bool all_columns = plan.column_groups == 1;
  const RowShape row{d.in.w, problem_.ow, d.kernel.w, d.stride.w, d.dilation.w, d.pad.left, all_columns};
  std::optional<RowCut> cut = CutRow(row, std::min(piece.px, px_cap_));
  if (!cut) return Status::Unsupported("padding covers too many strips of the row");
  plan.cut = std::move(*cut);
  plan.down_rows = GoesDownRows(plan);
  ChoosePrefetch(plan);
  if (Status status = AddEdgeKernels(plan, plan.cut.head, plan.head); !status.ok()) return status;
  if (Status status = AddEdgeKernels(plan, plan.cut.tail, plan.tail); !status.ok()) return status;
  for (auto [strips, px, kernel] : {std::tuple{plan.cut.wide, plan.cut.px, &plan.wide},
                                    std::tuple{plan.cut.narrow, plan.cut.px - 1, &plan.narrow}}) {
    if (strips == 0) continue;
    Result<StripFunction*> made = Kernel(plan, px, 0, 0);
    if (!made.ok()) return made.status();
    *kernel = *made;
    if (piece_plans_.empty()) kernel_name_ = kernels_.back()->name();  // most work, as a rule
  }
  if (kernel_name_.empty()) kernel_name_ = kernels_.back()->name();
  piece_plans_.push_back(std::move(plan));
  return {};
}

// Windows of neighbouring rows overlap: going down the rows finds them in L1, if all units together fit there.
bool StripPlan::GoesDownRows(const PiecePlan& plan) const {
  const ConvDesc& d = problem_.desc;
  const Piece& piece = plan.piece;
  if (d.kernel.h == 1 || piece.units == 1) return d.kernel.h > 1;
  const int64_t positions = (plan.cut.px - 1) * d.stride.w + 1 + (d.kernel.w - 1) * d.dilation.w;
  const int64_t floats = d.kernel.h * positions * piece.groups * layer_.ic_g +
                         plan.packed.weights_unit + plan.cut.px * piece.channels;
  return static_cast<double>(piece.units) * static_cast<double>(floats) * kFloat <=
         static_cast<double>(l1_bytes_) * kDownRowsShare;
}

// Down the rows, each strip reads one new row (or more, with a stride), which the hardware does not foresee: its lines
// are fetched during the steps of the strip before. Over units, each fetches its own next row; along a row, the next
// line of every pixel.
void StripPlan::ChoosePrefetch(PiecePlan& plan) {
  const ConvDesc& d = problem_.desc;
  const int64_t last_row = (d.kernel.h - 1) * d.dilation.h * problem_.src.h;
  const int64_t next_row = last_row + d.stride.h * problem_.src.h;
  if (plan.piece.units > 1) {
    plan.prefetch = kPrefetchUnits;
    plan.prefetch_offset = plan.down_rows ? next_row * kFloat : last_row * kFloat + kLineBytes;
    plan.dst_prefetch_offset = plan.down_rows ? problem_.dst.h * kFloat : kLineBytes;
    return;
  }
  if (!plan.down_rows) return;
  plan.prefetch_offset = next_row * kFloat;
  const int64_t positions = (plan.cut.px - 1) * d.stride.w + 1 + (d.kernel.w - 1) * d.dilation.w;
  const int64_t steps = d.kernel.h * plan.column_groups * std::max<int64_t>(1, plan.chunks);
  plan.prefetch_step =
      std::min(CeilDiv(positions * problem_.src.w * kFloat, steps), kMaxPrefetchLines * kLineBytes);
  plan.prefetch = static_cast<uint16_t>(CeilDiv(plan.prefetch_step, kLineBytes));
}

Status StripPlan::AddEdgeKernels(PiecePlan& plan, const std::vector<EdgeStrip>& strips,
                                 std::vector<StripFunction*>& kernels) {
  for (const EdgeStrip& strip : strips) {
    Result<StripFunction*> made = Kernel(plan, strip.px, strip.skip_first, strip.skip_last);
    if (!made.ok()) return made.status();
    kernels.push_back(*made);
  }
  return {};
}

Result<StripFunction*> StripPlan::Kernel(const PiecePlan& plan, int px, int64_t skip_first,
                                         int64_t skip_last) {
  const Piece& piece = plan.piece;
  StripSpec spec{};
  spec.isa = isa_, spec.feed = piece.feed;
  spec.px = static_cast<uint8_t>(px), spec.vecs = static_cast<uint8_t>(piece.vecs);
  spec.columns = static_cast<uint8_t>(ColumnsPerStep(layer_, piece.feed));
  spec.groups = static_cast<uint8_t>(piece.groups);
  if (HoldsGroups(piece.feed)) {
    spec.ic = static_cast<uint8_t>(layer_.ic_g);
  } else {
    spec.rest = static_cast<uint8_t>(plan.rest_lanes);
  }
  spec.skip_first = static_cast<uint16_t>(skip_first);
  spec.skip_last = static_cast<uint16_t>(skip_last);
  // Where they place nothing they are no part of the key.
  spec.stride = static_cast<uint16_t>(px > 1 ? problem_.desc.stride.w : 1);
  spec.dilation = static_cast<uint16_t>(spec.columns > 1 ? problem_.desc.dilation.w : 1);
  spec.src_px = static_cast<int32_t>(problem_.src.w * kFloat);
  spec.channels = static_cast<uint16_t>(piece.channels);
  spec.prefetch = plan.prefetch;
  spec.dst_px = problem_.dst.w * kFloat;
  spec.post_ops = jit::PostOpChain(problem_.desc.post_ops);
  Result<jit::KernelPtr> kernel = GetStripKernel(spec);
  if (!kernel.ok()) return kernel.status();
  kernels_.push_back(*kernel);
  return (*kernel)->entry<StripFunction>();
}

Strip PiecePlan::StripAt(int64_t item) const {
  const auto heads = static_cast<int64_t>(cut.head.size());
  const int64_t interior = item - heads;
  if (interior >= 0 && interior < cut.interior()) {
    return {cut.at(interior), 0, column_groups, true, interior < cut.wide ? wide : narrow};
  }
  const bool is_head = item < heads;
  const int64_t at = is_head ? item : interior - cut.interior();
  const EdgeStrip& edge = is_head ? cut.head[at] : cut.tail[at];
  StripFunction* kernel = is_head ? head[at] : tail[at];
  if (column_groups == 1) return {edge.x, 0, 1, edge.has_taps, kernel};
  return {edge.x, edge.column_begin, edge.column_end - edge.column_begin, edge.has_taps, kernel};
}

// Several pieces read the same rows one after the other: their inputs should still be in L2.
void StripPlan::ChooseRows(const MachineModel& machine) {
  rows_per_block_ = std::max<int64_t>(1, problem_.oh);
  if (pieces_.size() == 1) return;
  if (problem_.oh == 1 && problem_.desc.kernel == Size2{1, 1}) {
    const double bytes = static_cast<double>(problem_.ow * problem_.src.w) *
                         static_cast<double>(problem_.desc.stride.w) * kFloat;
    const double parts = bytes / (static_cast<double>(machine.l1d_bytes) * kL1Share);
    segments_ = std::clamp<int64_t>(static_cast<int64_t>(parts), 1, CeilDiv(problem_.ow, kMinSegment));
    return;
  }
  const double row_bytes = static_cast<double>(problem_.desc.in.w) * static_cast<double>(problem_.src.w) *
                           static_cast<double>(problem_.desc.stride.h) * kFloat;
  const double rows = static_cast<double>(machine.l2_bytes) * kL2Share / row_bytes;
  if (rows < static_cast<double>(rows_per_block_)) {
    rows_per_block_ = std::max<int64_t>(1, static_cast<int64_t>(rows));
  }
}

// Rows first; parts of rows where there are too few, channels where even those are.
void StripPlan::ChooseThreads(int threads) {
  const int64_t rows = problem_.desc.n * problem_.oh;
  int64_t items = std::numeric_limits<int64_t>::max(), units = 0;
  for (const PiecePlan& plan : piece_plans_) {
    items = std::min(items, plan.cut.items());
    units += plan.piece.units;
  }
  if (threads > 1 && rows > 0 && rows * segments_ < threads * kUnitsPerThread) {
    segments_ = std::min(CeilDiv(threads * kUnitsPerThread, rows), std::max<int64_t>(1, items));
  }
  const int64_t parts = std::max<int64_t>(1, rows * segments_);
  double best = std::numeric_limits<double>::infinity();
  for (int over_rows = threads; over_rows >= 1; --over_rows) {
    const int over_channels = threads / over_rows;
    const double share = static_cast<double>(CeilDiv(parts, over_rows)) *
                         static_cast<double>(CeilDiv(units, over_channels));
    if (share * (over_channels > 1 ? kChannelSplitCost : 1) >= best * 0.999) continue;
    best = share;
    row_threads_ = over_rows, channel_threads_ = over_channels;
  }
}

void StripPlan::CopyPostOps() {
  for (const PostOp& op : problem_.desc.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
    residuals_.push_back(ResidualStrides(problem_, op));
    std::vector<float>& scale = scales_.emplace_back();
    if (op.kind != PostOpKind::kChannelScale) continue;
    scale.assign(static_cast<size_t>(layout_.bias_floats), 0.0f);
    PackPerChannel(layer_, pieces_, layout_, op.scale.data(), scale.data());
  }
}

std::string StripPlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  static constexpr const char* kFeeds[] = {
      "one input channel in all lanes", "lanes split among 2 input channels",
      "lanes split among neighbouring input channels", "lanes hold groups, permuted in quarters",
      "lanes hold groups, permuted", "lanes hold groups, broadcast one by one"};
  for (const Piece& p : pieces_) {
    line("piece: " + std::to_string(p.units) + " x " + std::to_string(p.channels) +
         " output channels of " + std::to_string(p.groups) + " groups in " + std::to_string(p.vecs) +
         " vectors, at most " + std::to_string(p.px) + " pixels, " + kFeeds[static_cast<int>(p.feed)]);
  }
  line("order of the sum: kernel rows, input channels in steps of 1, 2 or a vector, kernel columns; then the "
       "parts of a step, added as a tree");
  line("threads: " + std::to_string(row_threads_) + " over rows x " + std::to_string(channel_threads_) +
       " over channels; parts per row: " + std::to_string(segments_));
  return text + DescribeKernels(kernels_);
}

}  // namespace rafter::strip
