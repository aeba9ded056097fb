// kernels/conv/tile/tile_plan.cc: decides everything and gets the kernels.
#include "kernels/conv/tile/tile_plan.h"

#include <algorithm>
#include <cstring>

#include "jit/isa.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/tile/emitter.h"
#include "kernels/conv/tile/tuning.h"
#include "kernels/sizes.h"

namespace rafter::tile {

namespace {

constexpr int64_t kMaxEndStretches = 64;

bool HasPieces(const Geometry& g) { return ChannelBlock(g.src_layout) > 1; }

}  // namespace

TilePlan::TilePlan(const char* algorithm, Geometry geometry, Blocking blocking, Isa isa)
    : algorithm_(algorithm),
      geometry_(blocking.staging.used() ? StagedGeometry(geometry, blocking.staging) : geometry),
      source_(geometry.src),
      source_stride_(geometry.stride),
      isa_(isa),
      panels_(LayOutPanels(geometry_, jit::GetIsaInfo(isa).vec_lanes())),
      blocking_(std::move(blocking)) {}

Result<std::unique_ptr<ConvPlan>> TilePlan::Make(const char* algorithm, Geometry geometry,
                                                 const PlanContext& context) {
  Blocking blocking = ChooseBlocking(geometry, jit::GetIsaInfo(context.isa), *context.machine,
                                     context.threads, context.tile);
  return Make(algorithm, std::move(geometry), std::move(blocking), context.isa);
}

Result<std::unique_ptr<ConvPlan>> TilePlan::Make(const char* algorithm, Geometry geometry,
                                                 Blocking blocking, Isa isa) {
  std::unique_ptr<TilePlan> plan(
      new TilePlan(algorithm, std::move(geometry), std::move(blocking), isa));
  plan->ShapeSums();
  if (Status status = plan->CutStretches(); !status.ok()) return status;
  if (Status status = plan->CompileKernels(); !status.ok()) return status;
  if (Status status = plan->GetCopy(); !status.ok()) return status;
  plan->CopyScales();
  const Geometry& g = plan->geometry_;
  plan->prefetches_outputs_ = g.groups > 1 && g.dst_layout == Layout::kNhwc && g.dst.w >= kFarPixels * g.oc_g &&
                              plan->blocking_.stores == Stores::kCached;
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

// Long rows are cut into stretches; those at the ends of the row, where taps fall outside, get programs of
// their own, all inner ones share two.
Status TilePlan::CutStretches() {
  const Geometry& g = geometry_;
  Stretches& s = stretches_;
  s.pixels = g.out.w;
  s.grain = std::min(MaxPixels(jit::GetIsaInfo(isa_), blocking_.channels[0].oc_vecs), blocking_.px_cap);
  const int64_t tiles = (g.out.w + s.grain - 1) / s.grain;
  s.count = std::min(blocking_.segments, tiles);
  s.width = tiles / s.count, s.wide = tiles % s.count;
  s.head = s.count == 1 ? 1 : 0;
  const auto few = [&] { return s.head + s.tail <= kMaxEndStretches; };
  while (few() && s.head < s.count && s.begin(s.head) * g.stride.w < g.pad_left) ++s.head;
  const auto inside = [&](int64_t i) {
    return (s.end(i) - 1) * g.stride.w - g.pad_left + (g.kernel.w - 1) * g.dilation.w < g.in.w;
  };
  if (s.count > 1 && g.out.w % s.grain != 0) s.tail = 1;
  while (few() && s.head + s.tail < s.count && !inside(s.count - 1 - s.tail)) ++s.tail;
  if (!few()) {
    return Status::Unsupported("padding covers too many stretches of the row");
  }
  return {};
}

// Copies pixels of the groups that are staged together, or of a block, or the outputs of a chunk.
Status TilePlan::GetCopy() {
  const Staging& s = blocking_.staging;
  if (!s.used() && !stages_outputs()) return {};
  stage_floats_ = StageFloats();
  const int64_t run = !s.used() ? reorder::kMaxBakedRun + 1 : s.gathers() ? s.block : s.groups * geometry_.ic_g;
  Result<jit::KernelPtr> made = reorder::GetCopyKernel(reorder::SpecOfRun(isa_, run, stages_outputs()));
  if (!made.ok()) return made.status();
  copy_ = std::move(made).value();
  return {};
}

int64_t TilePlan::StageFloats() const {
  const Staging& s = blocking_.staging;
  if (s.copies_rows()) return s.in_rows * s.row;
  const int64_t widest = (stretches_.width + (stretches_.wide > 0)) * stretches_.grain;
  const int64_t pixels = std::min(blocking_.units_per_chunk, units()) * std::min(widest, stretches_.pixels);
  if (s.gathers()) return pixels * s.pixel;
  return CeilDiv(pixels * geometry_.dst.w, kLineFloats) * kLineFloats + kLineFloats;
}

Status TilePlan::CompileKernels() {
  channels_.reserve(blocking_.channels.size());
  kernels_.reserve(2 * blocking_.channels.size());  // often an interior one and one for both edges
  for (const ChannelRun& run : blocking_.channels) {
    channels_.push_back({run, {}});
    channel_tiles_ += run.count;
    if (Status status = MakeRows(channels_.back()); !status.ok()) return status;
  }
  return {};
}

Status TilePlan::MakeRows(ChannelPlan& channels) {
  const Stretches& s = stretches_;
  const int px_max =
      std::min(MaxPixels(jit::GetIsaInfo(isa_), channels.run.oc_vecs), blocking_.px_cap);
  InlineVector<int64_t, 8> samples;  // one stretch of each kind, in the order of Stretches::kind
  for (int64_t i = 0; i < s.head; ++i) samples.push_back(i);
  for (int64_t i = s.count - s.tail; i < s.count; ++i) samples.push_back(i);
  if (s.head + s.tail < s.count) {
    samples.push_back(std::min(s.head, s.count - s.tail - 1));
    samples.push_back(s.count - s.tail - 1);
  }
  const TileSpec spec = SpecOf(channels.run);
  channels.rows.resize(samples.size());
  for (size_t kind = 0; kind < samples.size(); ++kind) {
    RowSteps& rows = channels.rows[kind];
    const int64_t begin = s.begin(samples[kind]), end = s.end(samples[kind]);
    std::optional<RowProgram> program = MakeRowProgram(geometry_, begin, end, px_max);
    if (!program) program = MakeRowProgram(geometry_, begin, end, 1);
    if (!program) return Status::Unsupported("padding covers too many tiles of the row");
    rows.program = std::move(*program);
    if (Status status = MakeSteps(spec, rows); !status.ok()) return status;
  }
  return {};
}

Status TilePlan::MakeSteps(const TileSpec& spec, RowSteps& rows) {
  for (const TileRun& run : rows.program.runs) {
    Result<TileFunction*> kernel = Kernel(spec, run.px, run.is_edge());
    if (!kernel.ok()) return kernel.status();
    const uint8_t* columns = run.is_edge() ? rows.program.columns.data() + run.columns : nullptr;
    rows.steps.push_back({run.begin, run.px, run.tiles, columns, *kernel});
  }
  return {};
}

TileSpec TilePlan::SpecOf(const ChannelRun& run) const {
  TileSpec spec{};
  spec.isa = isa_;
  spec.oc_vecs = static_cast<uint8_t>(run.oc_vecs);
  spec.tail = run.tail;
  spec.dst_order = DstOrderOf(geometry_.dst_layout, static_cast<int>(panels_.lanes));
  if (run.oc_vecs == 1 && spec.dst_order == DstOrder::kPairs) spec.dst_order = DstOrder::kContiguous;
  if (HasPieces(geometry_)) spec.flags |= TileSpec::kPieces;
  if (blocking_.inputs == InputPrefetch::kNextTile) spec.flags |= TileSpec::kAhead;
  if (blocking_.stores == Stores::kStreamed) spec.flags |= TileSpec::kStream;
  if (blocking_.channel_blocks_per_pass < edge_.blocks) spec.flags |= TileSpec::kPartial;
  spec.post_ops = jit::PostOpChain(geometry_.post_ops);
  return spec;
}

Result<TileFunction*> TilePlan::Kernel(TileSpec spec, int px, bool edge) {
  const SumShape& sum = edge ? edge_ : interior_;
  spec.px = static_cast<uint8_t>(px);
  const int64_t steps = 4 * sum.last.k_by_4_last + sum.last.k_rest;
  if (sum.blocks == 1 && !HasPieces(geometry_) && steps <= kMaxUnrolledSteps) {
    spec.steps = static_cast<uint32_t>(steps);
  } else if (sum.last.k_rest > 0) {
    spec.flags |= TileSpec::kRest;
  }
  if (blocking_.prefetches_planes && !edge) {
    const int64_t bytes = px * ChannelBlock(geometry_.src_layout) * kFloat;
    spec.next_lines = static_cast<uint32_t>(CeilDiv(bytes, kLineBytes));
  }
  if (edge) {
    const EdgeSkips skips = EdgeSkipsFor(geometry_, px);
    spec.flags |= TileSpec::kEdge;
    spec.skip_first = skips.first, spec.skip_last = skips.last;
  }
  // Both ends of a row, and stretches of it, tend to need the same.
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (std::memcmp(&specs_[i], &spec, sizeof spec) == 0) return kernels_[i]->entry<TileFunction>();
  }
  Result<jit::KernelPtr> made = GetTileKernel(spec);
  if (!made.ok()) return made.status();
  jit::KernelPtr kernel = std::move(made).value();
  // The first interior kernel of the first channel run does most of the work.
  if (main_kernel_ == nullptr || (!edge && main_is_edge_)) {
    main_kernel_ = kernel.get();
    main_is_edge_ = edge;
  }
  specs_.push_back(spec);
  kernels_.push_back(std::move(kernel));
  return kernels_.back()->entry<TileFunction>();
}

void TilePlan::ShapeSums() {
  edge_ = ShapeSum(false);
  interior_ = ShapeSum(ColumnsJoin(geometry_));
}

SumShape TilePlan::ShapeSum(bool join_columns) const {
  const Geometry& g = geometry_;
  SumShape s;
  // A 1x1 kernel has no other order than its channels': one block of any length.
  const int64_t step = g.taps() == 1 ? g.ic_g : SumBlock(g.ic_g);
  s.blocks = (g.ic_g + step - 1) / step;
  s.columns_count = join_columns ? 1 : g.kernel.w;
  FillBlock(s.full, step, join_columns);
  FillBlock(s.last, g.ic_g - (s.blocks - 1) * step, join_columns);
  s.src_row_step = (g.dilation.h * g.src.h - g.kernel.w * g.dilation.w * g.src.w) * kFloat;
  const int64_t block = ChannelBlock(g.src_layout);
  s.src_block_step = (block == 1 ? step : step / block * g.src.c) * kFloat;
  s.weights_block_step = g.taps() * step * panels_.lanes * kFloat;
  return s;
}

// Steps of one channel block; see BlockParams.
void TilePlan::FillBlock(BlockParams& params, int64_t channels, bool join_columns) const {
  const Geometry& g = geometry_;
  const int64_t columns = join_columns ? g.kernel.w : 1;
  const int64_t piece = HasPieces(g) ? ChannelBlock(g.src_layout) : channels * columns;
  params.pieces = (channels * columns + piece - 1) / piece;
  const int64_t last = channels * columns - (params.pieces - 1) * piece;
  params.k_by_4 = piece / 4;
  params.k_by_4_last = last / 4, params.k_rest = last % 4;
  params.src_piece_step = HasPieces(g) ? (g.src.c - piece) * kFloat : 0;
  params.src_skip = (channels * columns) * kFloat + params.pieces * params.src_piece_step;
  params.src_kw_step = columns * g.dilation.w * g.src.w * kFloat - params.src_skip;
  params.weights_skip = channels * columns * panels_.lanes * kFloat;
}

void TilePlan::CopyScales() {
  const Geometry& g = geometry_;
  for (const PostOp& op : g.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
    std::vector<float>& padded = scales_.emplace_back();
    if (op.kind != PostOpKind::kChannelScale) continue;
    padded.assign(g.groups * panels_.panels * panels_.lanes, 0.0f);
    for (int64_t group = 0; group < g.groups; ++group) {
      std::copy_n(op.scale.data() + group * g.oc_g, g.oc_g, padded.data() + panels_.bias(group, 0));
    }
  }
}

std::string TilePlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  for (const ChannelPlan& c : channels_) {
    line("tile: " + std::to_string(c.run.count * geometry_.groups) + " x " +
         std::to_string(c.run.oc_vecs) + " vectors of " + std::to_string(panels_.lanes) +
         " output channels" + (c.run.tail == Tail::kNone ? "" : ", the last one partly filled") +
         ", at most " + std::to_string(MaxPixels(jit::GetIsaInfo(isa_), c.run.oc_vecs)) + " pixels");
  }
  line("order of the sum: blocks of " + std::to_string(SumBlock(geometry_.ic_g)) +
       " input channels, kernel rows, kernel columns, channels");
  line("rows per pass over the channels: " + std::to_string(blocking_.units_per_chunk) + " of " +
       std::to_string(geometry_.n * geometry_.out.h * stretches_.count));
  line("threads: " + std::to_string(blocking_.threads) + ", which share " + std::to_string(work_items()) +
       " items of work (chunks of rows" +
       (blocking_.takes_whole_chunks ? ")" : " x channel tiles x " + std::to_string(blocking_.parts) + ")"));
  if (const Staging& s = blocking_.staging; s.used()) {
    line("inputs: copied first, " +
         (s.gathers() ? "all channels of the pixels of a pass"
                      : std::to_string(s.in_rows) + " rows of " + std::to_string(s.groups) + " groups at a time") +
         ", " + std::to_string(stage_floats_ * kFloat) + " bytes");
  }
  if (blocking_.stores != Stores::kCached) {
    line(std::string("outputs: stored past the caches") +
         (!stages_outputs() ? "" : ", collected first, " + std::to_string(stage_floats_ * kFloat) + " bytes"));
  }
  return text + DescribeKernels(kernels_);
}

namespace {

class TileDraft final : public PlanDraft {
 public:
  TileDraft(const char* algorithm, Geometry geometry, Blocking blocking)
      : algorithm_(algorithm), geometry_(std::move(geometry)), blocking_(std::move(blocking)) {}
  Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem&, const PlanContext& context) override {
    return TilePlan::Make(algorithm_, std::move(geometry_), std::move(blocking_), context.isa);
  }

 private:
  const char* const algorithm_;
  Geometry geometry_;
  Blocking blocking_;
};

}  // namespace

Offer ConsiderTiles(const char* algorithm, Geometry geometry, const PlanContext& context) {
  Blocking blocking = ChooseBlocking(geometry, jit::GetIsaInfo(context.isa), *context.machine,
                                     context.threads, context.tile);
  Offer offer;
  offer.predicted_us = blocking.predicted_us;
  offer.draft = std::make_unique<TileDraft>(algorithm, std::move(geometry), std::move(blocking));
  return offer;
}

}  // namespace rafter::tile
