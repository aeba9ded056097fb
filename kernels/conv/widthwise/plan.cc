// kernels/conv/widthwise/plan.cc: decides everything and gets the kernels.
#include <algorithm>
#include <utility>

#include "jit/isa.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/widthwise/emitter.h"
#include "kernels/conv/widthwise/tuning.h"
#include "kernels/conv/widthwise/width_plan.h"
#include "kernels/conv/widthwise/widthwise.h"

namespace rafter::widthwise {

namespace {

// Lines of at most this many taps are written out, longer ones run in passes of 4.
constexpr int64_t kMaxLine = 8;
constexpr int kPassTaps = 4;
// Columns are written out up to this many taps per row.
constexpr int64_t kMaxRowTaps = 32;

const char* Refuse(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return "needs AVX2 and executable memory";
  if (problem.desc.src.layout != Layout::kNchw)
    return "src is not NCHW: the pixels of a row are not together";
  if (problem.desc.dst.layout != Layout::kNchw)
    return "dst is not NCHW: the pixels of a row are not together";
  if (!OffsetsFit(problem)) return "padding, strides or dilations lead beyond 64-bit byte offsets";
  return nullptr;
}

}  // namespace

WidthPlan::WidthPlan(const ConvProblem& problem, Geometry geometry, const Blocking& blocking,
                     Isa isa)
    : geometry_(std::move(geometry)),
      isa_(isa),
      weights_(LayOutWeights(problem)),
      channels_(CutChannels(problem.oc_g)),
      blocking_(blocking) {
  for (const PostOp& op : geometry_.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
  }
}

Result<std::unique_ptr<ConvPlan>> WidthPlan::Make(const ConvProblem& problem, Geometry geometry,
                                                  const Blocking& blocking, Isa isa) {
  std::unique_ptr<WidthPlan> plan(new WidthPlan(problem, std::move(geometry), blocking, isa));
  if (Status status = plan->MakeStage(); !status.ok()) return status;
  if (Status status = plan->CutRows(); !status.ok()) return status;
  if (Status status = plan->CompileKernels(plan->rows_); !status.ok()) return status;
  if (Status status = plan->CompileKernels(plan->careful_rows_); !status.ok()) return status;
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

Status WidthPlan::MakeStage() {
  constexpr double kMaxStageBytes = 1 << 30;
  if (!blocking_.staged) return {};
  const int64_t pixels = blocking_.segment_tiles * tile_pixels() + stage_margin();
  stage_ = Stage(geometry_, blocking_.strip_rows, std::min(pixels, geometry_.out.w), blocking_.segments == 1);
  if (Status status = stage_.UseKernels(geometry_, isa_); !status.ok()) return status;
  if (stage_.kernel() != nullptr) owned_kernels_.push_back(stage_.kernel());
  const double bytes = stage_.floats() * sizeof(float);
  if (bytes > kMaxStageBytes)
    return Status::Unsupported("the inputs of one output row are beyond 1 GiB");
  stage_bytes_ = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  return {};
}

Status WidthPlan::CutRows() {
  const auto cut = [&](const Geometry& g, RowKernels& rows) -> Status {
    std::optional<RowCut> made =
        CutRow(g, jit::GetIsaInfo(isa_).vec_lanes(), blocking_.max_vecs, blocking_.even_ends, sorts_lanes());
    if (!made) return Status::Unsupported("padding covers too many tiles of the row");
    rows.cut = std::move(*made);
    return {};
  };
  if (!has_careful_rows()) return cut(geometry_, rows_);
  if (Status status = cut(geometry_, careful_rows_); !status.ok()) return status;
  Geometry padded = geometry_;
  padded.pad_left = 0;
  padded.in.w = (padded.out.w - 1) * padded.stride.w + (padded.kernel.w - 1) * padded.dilation.w + 1;
  return cut(padded, rows_);
}

int WidthPlan::UnrollOf(Line line) const {
  const Geometry& g = geometry_;
  if (line == Line::kRows) return kPassTaps;  // fewer than all of them at the ends of the image
  const int64_t taps = line == Line::kColumns ? g.kernel.w : blocking_.channels_per_pass;
  return taps <= kMaxLine ? static_cast<int>(taps) : kPassTaps;
}

Status WidthPlan::CompileKernels(RowKernels& all) {
  const jit::IsaInfo& isa = jit::GetIsaInfo(isa_);
  all.kernels.resize(all.cut.columns.size());
  for (size_t i = 0; i < all.kernels.size(); ++i) {
    const Column& column = all.cut.columns[i];
    for (const int narrow : {0, 1}) {
      if (narrow != 0 && channels_.wide == channels_.tiles) continue;
      const int ocs = static_cast<int>(channels_.size) - narrow;
      ColumnKernels& kernels = all.kernels[i][static_cast<size_t>(narrow)];
      kernels.rows = MaxRows(geometry_, isa, column.vecs, ocs);
      for (int rows = 1; rows <= kernels.rows; ++rows) {
        Result<WidthFunction*> kernel = Kernel(all.cut, column, ocs, rows);
        if (!kernel.ok()) return kernel.status();
        kernels.by_rows[static_cast<size_t>(rows) - 1] = *kernel;
      }
    }
  }
  return {};
}

// How the loops over columns and along the line are written.
void WidthPlan::SetLoops(const RowCut& cut, const Column& column, WidthSpec& spec) const {
  const Geometry& g = geometry_;
  const Line line = LineOf(column);
  spec.unroll = static_cast<uint8_t>(UnrollOf(line));
  const int64_t pass = blocking_.channels_per_pass, last = g.ic_g % pass;
  const bool whole = line == Line::kColumns
                         ? g.kernel.w == spec.unroll
                         : line == Line::kChannels && pass == spec.unroll && last == 0;
  const int64_t taps = line == Line::kColumns ? g.kernel.w : pass;
  if (whole) {
    spec.flags |= WidthSpec::kWhole;
  } else if (line == Line::kRows || taps % spec.unroll != 0 ||
             (line == Line::kChannels && last % spec.unroll != 0)) {
    spec.flags |= WidthSpec::kRest;
  }
  const int64_t columns = line == Line::kChannels ? g.kernel.w : 1;
  // Careful rows are rare: their edge kernels serve every padding.
  if (column.is_edge() && &cut == &careful_rows_.cut) {
    spec.columns = 0;
  } else if (columns == 1 || (columns <= kMaxColumns && columns * spec.unroll <= kMaxRowTaps)) {
    spec.columns = static_cast<uint8_t>(columns);
  }
  if (!column.is_edge()) return;
  spec.flags |= WidthSpec::kEdge;
  for (int i = 0; i < spec.columns; ++i) {
    const uint32_t code = cut.codes[static_cast<size_t>(column.codes + i)] & 15u;
    spec.tap_codes |= code << (4 * i);
  }
}

Result<WidthFunction*> WidthPlan::Kernel(const RowCut& cut, const Column& column, int ocs, int rows) {
  WidthSpec spec{};
  spec.isa = isa_;
  spec.vecs = static_cast<uint8_t>(column.vecs);
  spec.ocs = static_cast<uint8_t>(ocs);
  spec.rows = static_cast<uint8_t>(rows);
  if (sorts_lanes()) spec.flags |= WidthSpec::kStride2;
  if (blocking_.staged) spec.flags |= WidthSpec::kTable;
  if (column.shift > 0) spec.flags |= WidthSpec::kShift;
  if (blocking_.channels_per_pass < geometry_.ic_g) spec.flags |= WidthSpec::kPartial;
  if (column.tail_lanes > 0) spec.flags |= WidthSpec::kTail;
  if (rows > 1) spec.row_distance = static_cast<uint8_t>(geometry_.row_distance());
  spec.tiles_ahead = blocking_.prefetches_output && !blocking_.over_channels ? kTilesAhead : 0;
  spec.over_channels = blocking_.over_channels ? 1 : 0;
  SetLoops(cut, column, spec);
  spec.post_ops = jit::PostOpChain(geometry_.post_ops);
  Result<jit::KernelPtr> kernel = GetWidthKernel(spec);
  if (!kernel.ok()) return kernel.status();
  // The largest interior tile does most of the work.
  if (kernel_name_.empty() || (!column.is_edge() && ocs == channels_.size && &cut == &rows_.cut))
    kernel_name_ = (*kernel)->name();
  owned_kernels_.push_back(*kernel);
  return (*kernel)->entry<WidthFunction>();
}

std::string WidthPlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  const Blocking& b = blocking_;
  line("tile: at most " + std::to_string(b.max_vecs) + " vectors of " +
       std::to_string(jit::GetIsaInfo(isa_).vec_lanes()) + " pixels by " +
       std::to_string(channels_.size) + " output channels; rows of " +
       std::to_string(geometry_.out.w) + " pixels");
  line("order of the sum: blocks of " + std::to_string(SumBlock(geometry_.ic_g)) +
       " input channels, kernel rows, kernel columns, channels");
  line("strips: " + std::to_string(b.strips) + " of " + std::to_string(b.strip_rows) + " rows x " +
       std::to_string(b.segments) + " segments x " + std::to_string(b.channel_parts) +
       " parts of channels; " + std::to_string(b.channels_per_pass) + " input channels per pass" +
       (b.over_channels ? "; calls over channels" : ""));
  return text + DescribeKernels(owned_kernels_);
}

namespace {

class WidthDraft final : public PlanDraft {
 public:
  WidthDraft(Geometry geometry, const Blocking& blocking)
      : geometry_(std::move(geometry)), blocking_(blocking) {}
  Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem& problem,
                                           const PlanContext& context) override {
    return WidthPlan::Make(problem, std::move(geometry_), blocking_, context.isa);
  }

 private:
  Geometry geometry_;
  const Blocking blocking_;
};

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  Offer offer;
  if (const char* reason = Refuse(problem, context)) {
    offer.refusal = reason;
    return offer;
  }
  Geometry geometry = GeometryOf(problem);
  const Blocking blocking =
      ChooseBlocking(geometry, jit::GetIsaInfo(context.isa), *context.machine, context.threads);
  offer.predicted_us = blocking.predicted_us;
  offer.draft = std::make_unique<WidthDraft>(std::move(geometry), blocking);
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  Geometry geometry = GeometryOf(problem);
  const Blocking blocking =
      ChooseBlocking(geometry, jit::GetIsaInfo(context.isa), *context.machine, context.threads);
  return WidthPlan::Make(problem, std::move(geometry), blocking, context.isa);
}

}  // namespace rafter::widthwise
