// kernels/conv/depthwise/width_plan.cc: decides everything and gets the kernels.
#include "kernels/conv/depthwise/width_plan.h"

#include <algorithm>
#include <utility>

#include "jit/isa.h"
#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/prediction.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/conv/describe.h"
#include "kernels/lane_masks.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

namespace {

int64_t RowsInFlight(const Axis& rows) { return CeilDiv(rows.kernel(), rows.step()); }

// Rows that are shorter than a vector of 8 leave less of it idle.
Isa WidthIsa(const Axis& columns, Isa isa) {
  return columns.out() <= 8 ? std::min(isa, Isa::kAvx2) : isa;
}

// Whether a large kernel goes in bands rather than in tiles of one vector, or transposed.
bool TakesBands(const Geometry& g) {
  const int64_t least = g.multiplier > 1 ? kLeastBandColumns : kLeastWideBandColumns;
  return g.kw > 1 && g.kh <= kMaxWideBandRows && g.kh * g.kw >= kManyTaps && g.columns.out() >= least;
}

// Whether tiles do not roll: the registers have no room for so many output rows in flight, or some output rows reach no
// input row of their own.
bool UsesBands(const Geometry& g, Isa isa) {
  const Axis& rows = g.rows;
  if (rows.step() > rows.kernel() || !CanRoll(rows, rows.outputs(0))) return true;
  const int vecs = MaxWidthVecs(jit::GetIsaInfo(isa).num_vecs, TileOf(g, static_cast<int>(RowsInFlight(rows)), 1));
  return vecs < 1 || (vecs < 2 && TakesBands(g));
}

// Output rows of a band, and vectors of its tiles.
WidthTile BandTile(const Geometry& g, Isa isa) {
  return ChooseBandTile(jit::GetIsaInfo(isa).num_vecs, TileOf(g, 1, 1), static_cast<int>(g.rows.step()));
}

WidthShape BandShape(const Geometry& g, Isa isa) {
  isa = WidthIsa(g.columns, isa);
  return {jit::GetIsaInfo(isa).vec_lanes(), BandTile(g, isa).vecs, !g.has_residual()};
}

WidthShape LineShape(const Geometry& g, Isa isa) {
  const jit::IsaInfo& info = jit::GetIsaInfo(WidthIsa(g.columns, isa));
  return {info.vec_lanes(), LineVecs(info.num_vecs, TileOf(g, 1, 1)), !g.has_residual()};
}

// Whether kernels of one row go along it.
bool UsesLines(const Geometry& g, Isa isa, const MachineModel& machine) {
  if (g.kh > 1 || g.columns.dilation() > 1) return false;
  const WidthShape shape = LineShape(g, isa);
  const bool several = g.columns.out() > shape.vecs * shape.lanes;
  if (!UsesBands(g, isa) && !(several && (g.rows.out() == 1 || g.n * g.image_bytes > machine.l2_bytes))) return false;
  const std::optional<WidthProgram> program = MakeWidthProgram(g.columns, shape);
  return program && program->runs.size() <= kMaxBandRuns;
}

}  // namespace

int WidthVecs(const ConvProblem& problem, Isa isa) {
  const Geometry g = GeometryOf(problem, false);
  return MaxWidthVecs(jit::GetIsaInfo(WidthIsa(g.columns, isa)).num_vecs,
                      TileOf(g, static_cast<int>(RowsInFlight(g.rows)), 1));
}

bool PrefersBands(const ConvProblem& problem) { return TakesBands(GeometryOf(problem, false)); }

const char* WidthRefusal(const ConvProblem& problem, Isa isa) {
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNchw || d.dst.layout != Layout::kNchw)
    return "one tensor is NCHW, the other one not";
  if (d.stride.w > 2) return "NCHW with a horizontal stride beyond 2";
  if (d.kernel.h > kMaxBandRows || d.kernel.w > kMaxWidthTaps)
    return "NCHW with a kernel beyond 31 rows or 13 columns";
  const Geometry g = GeometryOf(problem, false);
  if (!UsesBands(g, WidthIsa(g.columns, isa))) return "";
  if (d.kernel.h * d.kernel.w == 1) return "NCHW with one tap that leaves out rows";  // widthwise is faster
  if (d.kernel.h * d.kernel.w > kMaxWidthTaps * kMaxWidthTaps) return "NCHW with a kernel of more than 169 taps";
  const std::optional<WidthProgram> program = MakeWidthProgram(g.columns, BandShape(g, isa));
  return program && program->runs.size() <= kMaxBandRuns ? "" : "NCHW with padding over too many vectors of the row";
}

int64_t MostPlaneRows(const Geometry& g) {
  return g.taps() > kMaxHeldWidthTaps || g.rows.step() > 1 ? kMaxSparePlaneRows : kMaxPlaneRows;
}

WidthTile TileOf(const Geometry& g, int rows, int vecs) {
  return {static_cast<int>(g.kh), static_cast<int>(g.kw), rows, vecs, g.columns.stride() == 2,
          g.columns.dilation() > 1};
}

namespace {

// Whether the outputs should be stored past the caches, in whole lines: those of a row are none, those of many rows
// together are.
bool Streams(const Geometry& g, const MachineModel& machine) {
  const int64_t image = g.rows.out() * g.columns.out() * g.oc * kFloat;
  const int64_t least = g.columns.out() * kFloat;
  return static_cast<double>(image) > kWidthStreamL3Share * static_cast<double>(machine.l3_bytes) &&
         g.dst.row == g.columns.out() && g.rows.distance() == 1 && least >= reorder::kMinOpenRun * kFloat;
}

// Output rows that are computed, and whose inputs are prefetched, together.
int64_t BlockRows(const Geometry& g, bool bands) {
  const int64_t rows = g.rows.out(), row_bytes = g.columns.out() * kFloat;
  const int64_t bytes = g.kh < kTallRows ? kWidthBlockBytes : 2 * kWidthBlockBytes;
  const int64_t most = std::max(bytes / row_bytes, 2 * g.kh);
  const int64_t block = CeilDiv(rows, CeilDiv(rows, most));
  return bands || CanRoll(g.rows, block) ? block : rows;
}

}  // namespace

WidthBlocking ChooseWidthBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                  int threads) {
  WidthBlocking b;
  b.isa = WidthIsa(g.columns, isa);
  const jit::IsaInfo& info = jit::GetIsaInfo(b.isa);
  b.bands = UsesBands(g, b.isa);
  b.rows = b.bands ? BandTile(g, b.isa).rows : static_cast<int>(RowsInFlight(g.rows));
  b.shape = {info.vec_lanes(), MaxWidthVecs(info.num_vecs, TileOf(g, b.rows, 1)), !g.has_residual()};
  if (b.bands) b.shape = BandShape(g, isa);
  b.lines = UsesLines(g, isa, machine);
  if (b.lines) b.bands = true, b.rows = 1, b.shape = LineShape(g, isa);
  b.streams = Streams(g, machine);
  b.far_ahead = b.streams && !b.bands && g.columns.dilation() == 1;
  b.tile_rows = b.streams ? BlockRows(g, b.bands) : g.rows.outputs(0);
  const double plane =
      static_cast<double>(g.rows.in() * g.columns.in() + g.rows.out() * g.columns.out()) * kFloat;
  const auto in_l1 =
      static_cast<int64_t>(static_cast<double>(machine.l1d_bytes) * kWidthL1Share / plane);
  b.channels = b.streams ? 1 : std::clamp<int64_t>(in_l1, 1, kBlock);
  if (g.multiplier > 1) b.channels = std::min(b.channels, std::min(g.multiplier, kBlock));
  // A call stays within a block of weights and the outputs of one input channel.
  while (kBlock % b.channels != 0 || (g.multiplier > 1 && g.multiplier % b.channels != 0))
    --b.channels;
  const int64_t blocks = b.streams ? CountRowTiles(g.rows, b.tile_rows) : 1;  // at least
  b.threads = static_cast<int>(std::clamp<int64_t>(g.n * CeilDiv(g.oc, b.channels) * blocks, 1, threads));
  const double alone = PredictWidthCycles(g, b, machine) / (machine.clock_ghz * 1000);
  // A small problem must not pay for waking threads.
  if (!machine.TeamPays(alone, b.threads)) b.threads = 1;
  b.predicted_us = alone / b.threads + machine.call_us + (b.threads > 1 ? machine.fork_join_us : 0);
  return b;
}

WidthPlan::WidthPlan(const ConvProblem& problem, const PlanContext& context)
    : header_(BlockHeader(problem)),
      geometry_(GeometryOf(problem, false)),
      blocking_(ChooseWidthBlocking(geometry_, context.isa, *context.machine, context.threads)),
      weights_(LayOutBlocks(geometry_.oc, geometry_.taps())) {
  for (const PostOp& op : geometry_.post_ops) {
    post_params_.push_back(op.alpha);
    post_params_.push_back(op.beta);
  }
}

Result<std::unique_ptr<ConvPlan>> WidthPlan::Make(const ConvProblem& problem,
                                                  const PlanContext& context) {
  std::unique_ptr<WidthPlan> plan(new WidthPlan(problem, context));
  if (Status status = plan->Compile(); !status.ok()) return status;
  return std::unique_ptr<ConvPlan>(std::move(plan));
}

// Whether what a row stores behind its end is overwritten by the next row of the same tile, and read by nobody before
// that: a residual may be the output itself.
bool WidthPlan::MaySpill(const WidthRun& run) const {
  const Geometry& g = geometry_;
  for (const PostOp& op : g.post_ops) {
    if (op.kind == PostOpKind::kResidualAdd) return false;
  }
  const int64_t row = g.columns.out();
  return run.last_lanes > 0 && run.begin == 0 && run.tiles == 1 && g.rows.distance() == 1 && g.dst.row == row &&
         blocking_.shape.lanes - run.last_lanes <= row;
}

// Whether the code of a tile is that of a whole plane, or of all rows of a phase.
bool WidthPlan::IsPlane(const WidthRun& run, const WidthRows& rows) const {
  const bool phases = geometry_.rows.distance() > 1;
  const bool few = rows.rows <= MostPlaneRows(geometry_) && run.vecs * blocking_.shape.lanes <= kMaxPlaneColumns;
  return few && run.tiles == 1 && (phases || program_.runs.size() == 1) && !blocking_.streams &&
         geometry_.columns.out() > kMostTransposedColumns;
}

namespace {

WidthRows BandRows(const Axis& axis, const RowTile& tile) {
  WidthRows rows{tile.phase, tile.first, tile.rows, 1, {}, 0, 0, 0};
  const int64_t first = axis.input(tile.phase, tile.first), behind = axis.in() - first;
  rows.above = first < 0 ? CeilDiv(-first, axis.dilation()) : 0;
  rows.inside = behind > 0 ? CeilDiv(behind, axis.dilation()) : 0;
  return rows;
}

}  // namespace

void WidthPlan::ListRows() {
  const Axis& axis = geometry_.rows;
  const int64_t tiles = CountRowTiles(axis, blocking_.tile_rows);
  for (int64_t index = 0; index < tiles; ++index) {
    const RowTile tile = FindRowTile(axis, blocking_.tile_rows, index);
    if (blocking_.bands) {
      rows_.push_back(BandRows(axis, tile));
      continue;
    }
    const RollingCounts counts = CountRolling(axis, axis.input(tile.phase, tile.first), tile.rows);
    if (!rows_.empty() && tile.first == 0 && rows_.back().first == 0 && rows_.back().rows == tile.rows &&
        rows_.back().counts == counts) {
      ++rows_.back().phases;
    } else {
      rows_.push_back({tile.phase, tile.first, tile.rows, 1, counts, 0, 0, 0});
    }
  }
}

Status WidthPlan::AddCopy() {
  reorder::CopySpec spec;
  spec.isa = static_cast<int32_t>(blocking_.isa), spec.non_temporal = 1;
  Result<jit::KernelPtr> copy = reorder::GetCopyKernel(spec);
  if (!copy.ok()) return copy.status();
  kernels_.push_back(*copy);
  copy_ = (*copy)->entry<reorder::CopyFunction>();
  return {};
}

Status WidthPlan::Compile() {
  std::optional<WidthProgram> program = MakeWidthProgram(geometry_.columns, blocking_.shape);
  if (!program) return Status::Unsupported("padding covers too many vectors of the row");
  program_ = std::move(*program);
  ListRows();
  if (blocking_.bands) {
    if (Status status = AddBandFunction(); !status.ok()) return status;
    return blocking_.streams ? AddCopy() : Status();
  }
  const bool any_plane = std::any_of(program_.runs.begin(), program_.runs.end(),
                                     [&](const WidthRun& run) { return IsPlane(run, rows_.front()); });
  for (WidthRows& rows : rows_) {
    if (!any_plane && !functions_.empty()) break;
    if (Status status = AddFunctions(rows); !status.ok()) return status;
  }
  return blocking_.streams ? AddCopy() : Status();
}

WidthSpec WidthPlan::CommonSpec() const {
  const Geometry& g = geometry_;
  WidthSpec spec{};
  spec.isa = blocking_.isa;
  spec.kh = static_cast<uint8_t>(g.kh), spec.kw = static_cast<uint8_t>(g.kw);
  spec.row_stride = static_cast<uint8_t>(g.rows.step());
  spec.rows = static_cast<uint8_t>(blocking_.rows);
  if (g.columns.stride() == 2) spec.flags |= WidthSpec::kStride2;
  if (g.columns.dilation() > 1) spec.flags |= WidthSpec::kDilated;
  spec.post_ops = jit::PostOpChain(g.post_ops);
  return spec;
}

// One for all runs.
Status WidthPlan::AddBandFunction() {
  WidthSpec spec = CommonSpec();
  for (const WidthRun& run : program_.runs) {
    uint8_t flags = run.edge ? WidthSpec::kEdge : 0;
    if (run.last_lanes > 0) flags |= WidthSpec::kPartial;
    spec.runs[spec.band_runs++] = {static_cast<uint8_t>(run.vecs), flags, run.first_taps, run.last_taps};
    spec.vecs = std::max(spec.vecs, static_cast<uint8_t>(run.vecs));
    band_runs_.push_back({run.tiles, run.begin * geometry_.columns.stride() * kFloat, run.begin * kFloat,
                          run.vec_step * kFloat, program_.masks.data() + run.masks, FirstLanes(run.last_lanes),
                          run.last_lanes});
  }
  Result<jit::KernelPtr> kernel = GetWidthKernel(spec);
  if (!kernel.ok()) return kernel.status();
  functions_.push_back((*kernel)->entry<WidthFunction>());
  kernels_.push_back(*kernel);
  main_kernel_ = kernel->get();
  return {};
}

Status WidthPlan::AddFunctions(WidthRows& rows) {
  const Geometry& g = geometry_;
  rows.functions = functions_.size();
  for (const WidthRun& run : program_.runs) {
    WidthSpec spec = CommonSpec();
    spec.vecs = static_cast<uint8_t>(run.vecs);
    if (run.edge) spec.flags |= WidthSpec::kEdge;
    if (blocking_.far_ahead) spec.flags |= WidthSpec::kFarAhead;
    spec.first_taps = run.first_taps, spec.last_taps = run.last_taps;
    if (run.last_lanes > 0) spec.flags |= WidthSpec::kPartial;
    if (MaySpill(run)) spec.flags |= WidthSpec::kSpills;
    const bool whole_row = program_.runs.size() == 1 && run.tiles == 1 && g.rows.distance() == 1;
    if (whole_row && !blocking_.far_ahead && !IsPlane(run, rows)) spec.flags |= WidthSpec::kWholeRow;
    if (IsPlane(run, rows)) {
      spec.plane_rows = static_cast<uint8_t>(rows.rows);
      spec.first_row = static_cast<uint8_t>(rows.counts.first_row);
      spec.last_rows = static_cast<uint8_t>(rows.counts.last_rows);
      if (g.rows.distance() > 1) spec.flags |= WidthSpec::kPhases;
    }
    Result<jit::KernelPtr> kernel = GetWidthKernel(spec);
    if (!kernel.ok()) return kernel.status();
    functions_.push_back((*kernel)->entry<WidthFunction>());
    kernels_.push_back(*kernel);
    const int64_t vecs = run.tiles * run.vecs * rows.rows * rows.phases;
    if (vecs > main_vecs_) main_vecs_ = vecs, main_kernel_ = kernel->get();
  }
  return {};
}

std::string WidthPlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  line("lanes: columns of a row, " + std::to_string(blocking_.shape.lanes) + " per vector");
  const std::string rows = std::to_string(blocking_.rows);
  line("tile: at most " + std::to_string(blocking_.shape.vecs) + " vectors, " +
       (blocking_.bands ? "along bands of " + rows + (blocking_.rows == 1 ? " row" : " rows")
                        : "rolling down " + std::to_string(blocking_.tile_rows) + " rows with " + rows +
                              " in registers"));
  line("order of the sum: kernel rows, kernel columns");
  if (blocking_.streams) {
    line("outputs: past the caches, through a buffer of " + std::to_string(streamed_bytes()) + " bytes per thread");
  }
  line("channels per kernel call: " + std::to_string(blocking_.channels));
  line("threads: " + std::to_string(blocking_.threads) + " over images, channels and rows");
  return text + DescribeKernels(kernels_);
}

}  // namespace rafter::depthwise
