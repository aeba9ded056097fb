// kernels/conv/depthwise/channel_plan.cc: decides everything and gets the kernels.
#include "kernels/conv/depthwise/channel_plan.h"

#include <algorithm>
#include <utility>

#include "jit/isa.h"
#include "kernels/conv/depthwise/channel_emitter.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/describe.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

namespace {

// A kernel of one column slides along the columns of the image.
bool Exchanges(const ConvProblem& problem) {
  return problem.desc.kernel.w == 1 && problem.desc.kernel.h > 1;
}

// What is true of all blocks of output rows, of every phase.
uint8_t BlocksOf(const Geometry& g, int64_t tile_rows) {
  const int64_t most_of_short = RollingShortRows(static_cast<int>(g.kh), static_cast<int>(g.rows.step()));
  int64_t least = tile_rows, most = 0;
  for (int64_t phase : {int64_t{0}, g.rows.phases() - 1}) {
    const int64_t outputs = g.rows.outputs(phase), rest = outputs % tile_rows;
    least = std::min(least, rest > 0 ? rest : tile_rows);
    most = std::max(most, std::min(outputs, tile_rows));
  }
  if (least > most_of_short) return ChannelSpec::kLongBlocks;
  return most <= most_of_short ? ChannelSpec::kShortBlocks : 0;
}

}  // namespace

const char* TransposedRefusal(const ConvProblem& problem, Isa isa) {
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNchw || d.dst.layout != Layout::kNchw)
    return "one tensor is NCHW, the other one not";
  const Geometry g = TransposedGeometryOf(problem);
  if (g.multiplier > 1 || g.ic < jit::GetIsaInfo(isa).vec_lanes())
    return "NCHW with a channel multiplier, or with fewer channels than lanes";
  if (g.rows.distance() > 1 || g.rows.dilation() > 1 || g.has_residual())
    return "NCHW with a vertical dilation or a residual";
  const bool short_rows = g.columns.out() < kTransposed;
  if (g.columns.in() < 4 || (short_rows && (g.dst.row != g.columns.out() ||
                                            g.rows.out() * g.columns.out() < kTransposed))) {
    return "NCHW with fewer outputs together than a transposition takes";
  }
  return "";
}

ChannelPlan::ChannelPlan(const ConvProblem& problem, const PlanContext& context)
    : header_(BlockHeader(problem)),
      geometry_(problem.desc.src.layout == Layout::kNchw
                    ? TransposedGeometryOf(problem)
                    : GeometryOf(problem, Exchanges(problem))),
      isa_(ChannelIsa(geometry_, context.isa)),
      blocking_(ChooseChannelBlocking(geometry_, isa_, *context.machine, context.threads)),
      units_(geometry_.n * CountRowTiles(geometry_.rows, blocking_.tile_rows)),
      weights_(LayOutBlocks(geometry_.oc, geometry_.taps())) {}

Result<std::unique_ptr<ConvPlan>> ChannelPlan::Make(const ConvProblem& problem,
                                                    const PlanContext& context) {
  std::unique_ptr<ChannelPlan> plan(new ChannelPlan(problem, context));
  if (Status status = plan->Compile(); !status.ok()) return status;
  plan->ListLanes();
  plan->CopyParams();
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

Status ChannelPlan::Compile() {
  std::vector<uint8_t> done;
  for (const VectorRun& run : blocking_.vectors) {
    if (run.is_padding()) continue;  // the last one
    const auto same = std::find(done.begin(), done.end(), run.flags);
    if (same != done.end()) {
      code_of_run_.push_back(code_of_run_[static_cast<size_t>(same - done.begin())]);
    } else {
      code_of_run_.push_back(codes_.size());
      if (Status status = AddCodes(run.flags); !status.ok()) return status;
    }
    done.push_back(run.flags);
  }
  return blocking_.stages ? AddCopies() : Status();
}

Status ChannelPlan::AddCopies() {
  if (geometry_.transposes) {
    reorder::TransposeSpec spec;
    spec.isa = static_cast<int32_t>(isa_), spec.rows = kTransposed;
    Result<jit::KernelPtr> transpose = reorder::GetTransposeKernel(spec);
    if (!transpose.ok()) return transpose.status();
    kernels_.push_back(*transpose);
    transpose_ = (*transpose)->entry<reorder::TransposeFunction>();
    return {};
  }
  Result<jit::KernelPtr> copy = GetCopyKernel(isa_, kStagedChannels * kFloat);
  if (!copy.ok()) return copy.status();
  kernels_.push_back(*copy);
  copy_ = (*copy)->entry<CopyFunction>();
  return {};
}

Status ChannelPlan::AddCodes(uint8_t flags) {
  for (int rows = blocking_.goes_down() ? blocking_.rows : 1; rows <= blocking_.rows; ++rows) {
    for (int64_t phase = 0; phase < geometry_.columns.phases(); ++phase) {
      Result<RowCode> code = MakeRowCode(flags, rows, phase);
      if (!code.ok()) return code.status();
      codes_.push_back(std::move(code).value());
    }
  }
  return {};
}

Steps ChannelPlan::src_steps() const {
  if (!blocking_.stages) return geometry_.src;
  return {0, 1, geometry_.columns.in() * blocking_.staged_pixel, blocking_.staged_pixel};
}

Steps ChannelPlan::dst_steps() const {
  if (!blocking_.stages) return geometry_.dst;
  return {0, 1, geometry_.columns.out() * blocking_.staged_pixel, blocking_.staged_pixel};
}

// Whether neighbouring outputs, and residuals, lie as far apart as neighbouring columns of the
// window.
bool ChannelPlan::HasSameSteps() const {
  const Geometry& g = geometry_;
  const int64_t step = g.columns.dilation() * src_steps().column;
  bool same = g.columns.distance() * dst_steps().column == step;
  for (size_t op = 0; op < g.post_ops.size(); ++op) {
    if (g.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    same = same && g.columns.distance() * g.residuals[op].column == step;
  }
  return same;
}

Result<RowCode> ChannelPlan::MakeRowCode(uint8_t flags, int rows, int64_t phase) {
  std::optional<ColumnProgram> program =
      MakeColumnProgram(geometry_.columns, phase, blocking_.columns[rows]);
  if (!program) return Status::Unsupported("padding makes too many kinds of tiles");
  RowCode code{std::move(*program), {}};
  const size_t pieces = static_cast<size_t>(code.program.pieces);
  for (size_t run = 0; run < code.program.runs.size(); ++run) {
    for (size_t piece = 0; piece < pieces; ++piece) {
      const Skip& skip = code.program.skips[run * pieces + piece];
      ChannelSpec spec{};
      spec.isa = isa_;
      spec.kw = static_cast<uint8_t>(PieceTaps(geometry_.kw, static_cast<int64_t>(piece)));
      spec.columns = static_cast<uint8_t>(code.program.runs[run].columns);
      spec.stride = spec.columns > 1 ? static_cast<uint8_t>(geometry_.columns.step()) : 0;
      spec.rows = static_cast<uint8_t>(rows);
      spec.skip_first = skip.first, spec.skip_last = skip.last;
      spec.flags = flags | (pieces > 1 ? ChannelSpec::kPartial : 0) |
                   (HasSameSteps() ? ChannelSpec::kSameSteps : 0);
      if (blocking_.goes_down()) {
        spec.flags |= blocking_.rolls ? ChannelSpec::kRolling : ChannelSpec::kHeld;
        spec.kh = static_cast<uint8_t>(geometry_.kh);
        spec.row_stride = static_cast<uint8_t>(geometry_.rows.step());
      }
      spec.prefetch = blocking_.prefetch, spec.ahead = blocking_.ahead;
      spec.access = blocking_.pairs ? ChannelSpec::kPairs : blocking_.in_quarters ? ChannelSpec::kQuarters : 0;
      if (blocking_.rolls) spec.blocks = BlocksOf(geometry_, blocking_.tile_rows);
      if ((flags & ChannelSpec::kMaskedDst) != 0) {
        const int64_t behind = geometry_.columns.outputs(phase) - (code.program.runs[run].begin +
                                code.program.runs[run].tiles * code.program.runs[run].columns);
        spec.exact = static_cast<uint8_t>(std::min<int64_t>(ExactColumns(behind), spec.columns));
      }
      if ((flags & (ChannelSpec::kMaskedDst | ChannelSpec::kZeroedDst)) == 0)
        spec.streams = blocking_.streams;
      for (size_t i = 0; i < geometry_.post_ops.size(); ++i) {
        spec.post_ops |= static_cast<uint64_t>(geometry_.post_ops[i].kind) << (8 * i);
      }
      Result<ChannelFunction*> kernel = Kernel(spec);
      if (!kernel.ok()) return kernel.status();
      code.kernels.push_back(*kernel);
      const int64_t outputs = code.program.runs[run].tiles * spec.columns * rows;
      if (outputs >= main_tiles_) main_tiles_ = outputs, main_kernel_ = kernels_.back().get();
    }
  }
  return code;
}

// Columns at the end of a tile, `behind` columns of its row lie behind it, that must not write whole vectors: where all
// channels of a pixel are one vector that is not full, the outputs behind it are computed later, whatever the order of
// rows, and replace what it has written over them.
int64_t ChannelPlan::ExactColumns(int64_t behind) const {
  const Geometry& g = geometry_;
  const bool together = g.dst_layout == Layout::kNhwc && g.columns.distance() == 1 && g.dst.column == g.oc &&
                        blocking_.vectors.size() == 1 && !g.has_residual() && !blocking_.sideways;
  return together ? std::max<int64_t>(0, CeilDiv(lanes(), g.oc) - 1 - behind) : kMaxColumns;
}

Result<ChannelFunction*> ChannelPlan::Kernel(const ChannelSpec& spec) {
  Result<jit::KernelPtr> kernel = GetChannelKernel(spec);
  if (!kernel.ok()) return kernel.status();
  kernels_.push_back(*kernel);
  return (*kernel)->entry<ChannelFunction>();
}

// Several outputs per input channel: which inputs each vector of outputs loads, and how it spreads
// them.
void ChannelPlan::ListLanes() {
  if (geometry_.multiplier == 1) return;
  const int64_t m = geometry_.multiplier, width = lanes(), loaded = blocking_.in_quarters ? 4 : width;
  const auto input = [&](int64_t oc) { return std::min(oc / m, geometry_.ic - 1); };
  for (const VectorRun& run : blocking_.vectors) {
    if (run.is_padding()) continue;
    for (int64_t vec = 0; vec < run.vecs; ++vec) {
      const int64_t channel = run.first_channel + vec * width;
      int64_t first = input(channel);
      if (geometry_.src_layout == Layout::kNhwc) {
        first = std::max<int64_t>(0, std::min(first, geometry_.ic - loaded));
      } else {
        first -= first % loaded;
      }
      LaneSource& source = lane_sources_.emplace_back();
      source.src = ChannelBytes(geometry_.src_layout, geometry_.src.channel, first);
      for (int64_t lane = 0; lane < width; ++lane) {
        source.lanes[lane] = static_cast<int32_t>(input(channel + lane) - first);
      }
    }
  }
}

void ChannelPlan::CopyParams() {
  const int64_t oc = geometry_.oc, padded = weights_.blocks * kBlock;
  for (const PostOp& op : geometry_.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
    std::vector<float>& scale = scales_.emplace_back();
    if (op.kind != PostOpKind::kChannelScale) continue;
    scale.assign(static_cast<size_t>(padded + kBlock), 0.0f);
    std::copy_n(op.scale.data(), oc, scale.data());
    const int64_t last = std::min(oc, kBlock);
    std::copy_n(op.scale.data() + oc - last, last, scale.data() + padded + kBlock - last);
  }
}

std::string ChannelPlan::Describe() const {
  const ChannelBlocking& b = blocking_;
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  line("lanes: channels, " + std::to_string(lanes()) + " per vector");
  line("tile: at most " + std::to_string(b.rows) + " rows x " +
       std::to_string(LimitColumns(geometry_.columns, b.columns[b.rows])) + " columns of outputs" +
       (b.rolls   ? ", rolling down " + std::to_string(b.tile_rows) + " rows"
        : b.holds ? ", going down " + std::to_string(b.tile_rows) + " rows with weights in registers"
                  : ""));
  line("order of the sum: kernel rows, kernel columns");
  line("strips: " + std::to_string(b.strips) + " of " + std::to_string(b.strip_vecs * lanes()) +
       " channels");
  if (b.streams) line("outputs: stored past the caches");
  if (b.stages)
    line(std::string("staged: ") +
         (geometry_.transposes ? "strips are transposed" : "pixels at a power-of-two distance are copied") +
         " through " + std::to_string(b.staged_bytes) + " bytes");
  line("threads: " + std::to_string(b.unit_threads) + " over rows x " +
       std::to_string(b.strip_threads) + " over strips");
  return text + DescribeKernels(kernels_);
}

}  // namespace rafter::depthwise
