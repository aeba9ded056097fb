// cli/explanation.cc: gathers the facts; explanation_text.cc prints them.
#include "cli/explanation.h"

#include <utility>

#include "cli/roof_bounds.h"
#include "jit/executable_memory.h"
#include "kernels/conv/dispatch.h"
#include "kernels/conv/problem.h"
#include "runtime/machine_model.h"

namespace rafter::cli {
namespace {

// Asks the algorithms as Conv::Create does; the kernels come from its cache.
Result<std::vector<AlgorithmAnswer>> AskAlgorithms(const ConvProblem& problem,
                                                   const ConvOptions& options) {
  PlanContext context;
  context.isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  context.threads = options.threads;
  context.accuracy = options.accuracy;
  context.machine = &CurrentMachineModel();
  Result<Decision> decision = Decide(ConvAlgorithms(), problem, context, options.algorithm);
  if (!decision.ok()) return decision.status();
  std::vector<AlgorithmAnswer> answers;
  for (const Consideration& one : decision->considered) {
    const bool refused = !one.offer.refusal.empty();
    answers.push_back({one.algorithm->name, one.chosen, refused ? 0 : one.offer.predicted_us,
                       refused ? one.offer.refusal.text() : one.failure});
  }
  return answers;
}

// Vector code is bound by the roofs of its set, plain code by those of the best set there are roofs
// for.
Isa RoofIsaFor(Isa kernel, const roofline::Roofs& roofs, int threads) {
  if (kernel != Isa::kNone) return kernel;
  Isa best = Isa::kNone;
  for (const roofline::FmaPeak& peak : roofs.peaks) {
    if (peak.threads == threads && peak.isa > best) best = peak.isa;
  }
  return best;
}

const AlgorithmAnswer* Chosen(const std::vector<AlgorithmAnswer>& answers) {
  for (const AlgorithmAnswer& answer : answers) {
    if (answer.chosen) return &answer;
  }
  return nullptr;
}

// Nothing when the layer is not depthwise, or the dense one cannot be planned.
std::optional<DenseNeighbour> DenseBeside(const ExplainRequest& request, const roofline::Machine& machine,
                                          Isa roof_isa) {
  ConvDesc dense = request.descriptor.desc;
  if (dense.groups != dense.ic || dense.groups == 1) return std::nullopt;
  dense.groups = 1;
  const Result<ConvProblem> problem = Validate(dense);
  if (!problem.ok()) return std::nullopt;
  ConvOptions options = request.options;
  options.algorithm.clear();
  const Result<std::vector<AlgorithmAnswer>> answers = AskAlgorithms(*problem, options);
  const Result<ConvCost> cost = CostOf(dense);
  if (!answers.ok() || !cost.ok()) return std::nullopt;
  const AlgorithmAnswer* chosen = Chosen(*answers);
  if (chosen == nullptr) return std::nullopt;
  DenseNeighbour neighbour{*cost, chosen->name, chosen->predicted_us, std::nullopt};
  const Result<roofline::Bound> bound =
      roofline::BoundOf(machine, roof_isa, options.threads, roofline::WorkOf(*cost));
  if (bound.ok()) neighbour.bound = *bound;
  return neighbour;
}

// Of the direct sum and of the algorithm itself.
void AddBounds(const roofline::Machine& machine, Explanation& result) {
  result.machine = machine.name;
  result.roof_isa = RoofIsaFor(result.isa, machine.roofs, result.threads);
  const auto* peak = roofline::FindPeak(machine.roofs, result.roof_isa, result.threads);
  result.whole_machine = peak != nullptr && peak->threads == 0;
  const Result<roofline::Bound> bound =
      roofline::BoundOf(machine, result.roof_isa, result.threads, roofline::WorkOf(result.cost));
  if (bound.ok()) {
    result.bound = *bound;
  } else {
    result.bound_error = bound.status().message();
  }
  if (!result.own.transforms) return;
  const Result<roofline::Bound> own = roofline::BoundOf(machine, result.roof_isa, result.threads, result.own);
  if (own.ok()) result.own_bound = *own;
}

}  // namespace

Result<Explanation> ExplainConv(const ExplainRequest& request, const roofline::Machine& machine) {
  const ConvDesc& desc = request.descriptor.desc;
  Result<Conv> conv = Conv::Create(desc, request.options);
  if (!conv.ok()) return conv.status();
  Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  Result<std::vector<AlgorithmAnswer>> answers = AskAlgorithms(*problem, request.options);
  if (!answers.ok()) return answers.status();
  Result<ConvCost> cost = CostOf(desc);
  if (!cost.ok()) return cost.status();

  Explanation result;
  result.descriptor = bench::PrintDescriptor(desc, bench::DescriptorForm::kCanonical);
  result.name = request.descriptor.name;
  result.layout = LayoutName(desc.src.layout);
  result.algorithm = conv->algorithm();
  result.kernel = conv->kernel_name();
  result.isa = conv->isa();
  result.threads = request.options.threads;
  result.answers = std::move(answers).value();
  result.plan_text = conv->Explain();
  result.cost = *cost;
  const Size2 out = conv->output_size();
  result.out = out;
  if (desc.bias) result.bias_flops = static_cast<double>(desc.n * desc.oc * out.h * out.w);
  result.own = conv->work();
  AddBounds(machine, result);
  result.dense = DenseBeside(request, machine, result.roof_isa);
  result.desc = desc;
  if (result.bound && !result.whole_machine && result.isa != Isa::kNone) {
    bench::BoundResult at = AsResult(*result.bound);
    if (result.own_bound) {
      at.own_bound_us = result.own_bound->bound_us;
      at.own_binding = roofline::BindingName(result.own_bound->binding);
    }
    result.model = bench::ModelPlan({&*problem, result.algorithm, result.isa, result.threads,
                                     request.options.accuracy}, at);
  }
  return result;
}

}  // namespace rafter::cli
