// kernels/conv/depthwise/width_plan.cc: decides everything and gets the kernels.
#include "kernels/conv/depthwise/width_plan.h"

#include <algorithm>
#include <utility>

#include "jit/isa.h"
#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/prediction.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

namespace {

int64_t RowsInFlight(const Axis& rows) { return CeilDiv(rows.kernel(), rows.step()); }

// Rows that are shorter than a vector of 8 leave less of it idle.
Isa WidthIsa(const Axis& columns, Isa isa) {
  return columns.out() <= 8 ? std::min(isa, Isa::kAvx2) : isa;
}

}  // namespace

const char* WidthRefusal(const ConvProblem& problem, Isa isa) {
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNchw || d.dst.layout != Layout::kNchw)
    return "one tensor is NCHW, the other one not";
  if (d.stride.w > 2) return "NCHW with a horizontal stride beyond 2";
  if (d.kernel.h > kMaxWidthTaps || d.kernel.w > kMaxWidthTaps)
    return "NCHW with a kernel beyond 13 rows or columns";
  const Axis rows(d.in.h, problem.oh, d.kernel.h, d.stride.h, d.dilation.h, d.pad.top);
  if (rows.step() > d.kernel.h || !CanRoll(rows, rows.outputs(0))) {
    return "NCHW with output rows that reach no input row of their own";
  }
  const int registers = jit::GetIsaInfo(isa).num_vecs;
  if (MaxWidthVecs(registers, static_cast<int>(RowsInFlight(rows)), d.stride.w == 2) < 1) {
    return "NCHW with more output rows in flight than registers";
  }
  return "";
}

WidthBlocking ChooseWidthBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                  int threads) {
  WidthBlocking b;
  b.isa = WidthIsa(g.columns, isa);
  const jit::IsaInfo& info = jit::GetIsaInfo(b.isa);
  b.rows = static_cast<int>(RowsInFlight(g.rows));
  b.shape.lanes = info.vec_lanes();
  b.shape.vecs = MaxWidthVecs(info.num_vecs, b.rows, g.columns.stride() == 2);
  b.shape.may_overlap = !g.has_residual();
  b.tile_rows = g.rows.outputs(0);
  const double plane =
      static_cast<double>(g.rows.in() * g.columns.in() + g.rows.out() * g.columns.out()) * kFloat;
  const auto in_l1 =
      static_cast<int64_t>(static_cast<double>(machine.l1d_bytes) * kWidthL1Share / plane);
  b.channels = std::clamp<int64_t>(in_l1, 1, kBlock);
  if (g.multiplier > 1) b.channels = std::min(b.channels, std::min(g.multiplier, kBlock));
  // A call stays within a block of weights and the outputs of one input channel.
  while (kBlock % b.channels != 0 || (g.multiplier > 1 && g.multiplier % b.channels != 0))
    --b.channels;
  b.threads = static_cast<int>(
      std::min<int64_t>(threads, g.n * CeilDiv(g.oc, b.channels) * g.rows.phases()));
  b.threads = std::max(b.threads, 1);
  const double cycles = PredictWidthCycles(g, b, machine);
  b.predicted_us = cycles / b.threads / (machine.clock_ghz * 1000) + machine.call_us +
                   (b.threads > 1 ? machine.fork_join_us : 0);
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

Status WidthPlan::Compile() {
  const Geometry& g = geometry_;
  std::optional<WidthProgram> program = MakeWidthProgram(g.columns, blocking_.shape);
  if (!program) return Status::Unsupported("padding covers too many vectors of the row");
  program_ = std::move(*program);
  int64_t most = 0;
  for (const WidthRun& run : program_.runs) {
    WidthSpec spec{};
    spec.isa = blocking_.isa;
    spec.kh = static_cast<uint8_t>(g.kh), spec.kw = static_cast<uint8_t>(g.kw);
    spec.row_stride = static_cast<uint8_t>(g.rows.step());
    spec.rows = static_cast<uint8_t>(blocking_.rows), spec.vecs = static_cast<uint8_t>(run.vecs);
    if (g.columns.stride() == 2) spec.flags |= WidthSpec::kStride2;
    if (g.columns.dilation() > 1) spec.flags |= WidthSpec::kDilated;
    if (run.edge) spec.flags |= WidthSpec::kEdge;
    spec.first_taps = run.first_taps, spec.last_taps = run.last_taps;
    if (run.last_lanes > 0) spec.flags |= WidthSpec::kPartial;
    for (size_t i = 0; i < g.post_ops.size(); ++i) {
      spec.post_ops |= static_cast<uint64_t>(g.post_ops[i].kind) << (8 * i);
    }
    Result<jit::KernelPtr> kernel = GetWidthKernel(spec);
    if (!kernel.ok()) return kernel.status();
    functions_.push_back((*kernel)->entry<WidthFunction>());
    kernels_.push_back(*kernel);
    if (run.tiles * run.vecs > most) most = run.tiles * run.vecs, main_kernel_ = kernel->get();
  }
  return {};
}

std::string WidthPlan::Describe() const {
  std::string text;
  const auto line = [&](const std::string& s) { text += s + "\n"; };
  line("lanes: columns of a row, " + std::to_string(blocking_.shape.lanes) + " per vector");
  line("tile: at most " + std::to_string(blocking_.shape.vecs) + " vectors, rolling down " +
       std::to_string(blocking_.tile_rows) + " rows with " + std::to_string(blocking_.rows) +
       " in registers");
  line("order of the sum: kernel rows, kernel columns");
  line("channels per kernel call: " + std::to_string(blocking_.channels));
  line("threads: " + std::to_string(blocking_.threads) + " over channels and images");
  std::vector<std::string> names;
  for (const jit::KernelPtr& k : kernels_) names.push_back(k->name());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  line("kernels: " + std::to_string(names.size()));
  for (const std::string& name : names) line("kernel: " + name);
  return text;
}

}  // namespace rafter::depthwise
