// cli/explanation.h: why a convolution runs as it does: choice of the algorithm, cost by
// arithmetic, and its place under the roofs. Nothing is executed.
#ifndef RAFTER_CLI_EXPLANATION_H_
#define RAFTER_CLI_EXPLANATION_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/descriptor.h"
#include "bench/plan_model.h"
#include "bench/statistics.h"
#include "rafter/conv.h"
#include "rafter/cost.h"
#include "rafter/status.h"
#include "roofline/machine.h"
#include "roofline/model.h"

namespace rafter::cli {

struct ExplainRequest {
  bench::Descriptor descriptor;  // its desc complete: layouts, bias, post-ops
  ConvOptions options;           // threads > 0
};

struct AlgorithmAnswer {
  std::string name;
  bool chosen = false;
  double predicted_us = 0;  // 0 when refused
  std::string refusal;      // or why its plan failed; empty: it could
};

// A depthwise layer beside the dense one of the same size (groups = 1): many times fewer FLOPs, but not as many times
// less time, since each FLOP needs more bytes.
struct DenseNeighbour {
  ConvCost cost;
  std::string algorithm;
  double predicted_us = 0;
  std::optional<roofline::Bound> bound;
};

// A layer that differs in one thing, timed in turns with the layer itself.
struct MeasuredNeighbour {
  std::string change;          // "oc 60 -> 64"
  double time_us = 0;
  double flops_ratio = 1;      // of its valid FLOPs to the layer's
  double time_ratio = 1, ci_low = 1, ci_high = 1;  // of its time to the layer's
};

// What running the layer told.
struct MeasuredNow {
  bench::TimeStats time;
  double busy_cpus = -1;
  std::vector<MeasuredNeighbour> neighbours;
};

struct Explanation {
  std::string descriptor, name, layout, algorithm, kernel;
  Isa isa = Isa::kNone;  // of the kernel
  int threads = 1;
  std::vector<AlgorithmAnswer> answers;
  std::string plan_text;  // of Conv::Explain
  ConvCost cost;
  double bias_flops = 0;  // of flops_extra
  std::string machine;
  Isa roof_isa = Isa::kNone;
  bool whole_machine = false;  // roofs of a data sheet, for no set or thread count in particular
  std::optional<roofline::Bound> bound;
  std::string bound_error;  // why there is none
  AlgorithmWork own;        // where the algorithm does something else than the direct sum
  std::optional<roofline::Bound> own_bound;
  std::optional<DenseNeighbour> dense;  // of depthwise layers
  ConvDesc desc;
  Size2 out;
  bench::PlanModel model;  // of this machine's bound; empty under the roofs of another one
  std::optional<MeasuredNow> measured;
};

// Runs the layer and its neighbours for about `budget_us`, and puts the bound of the probes beside into the
// explanation. Nothing where the layer cannot be run. Ends early when the user interrupts.
void MeasureExplanation(const ExplainRequest& request, const roofline::Machine& machine, double budget_us,
                        Explanation& explanation);

// The layers worth comparing `desc` with: one change each.
struct NeighbourLayer {
  std::string change;
  std::vector<ConvDesc> layers;  // executed one after the other: one, or depthwise and 1x1
};
std::vector<NeighbourLayer> NeighboursOf(const ConvDesc& desc);

// The register tile of the kernel as a drawing: pixels across, vectors of channels down; idle lanes as dots. Empty for
// kernels whose name does not tell.
std::string DrawTile(const std::string& kernel, const ConvDesc& desc, int lanes);

// `machine` may lack roofs. Errors: those of Conv::Create.
Result<Explanation> ExplainConv(const ExplainRequest& request, const roofline::Machine& machine);

// One screen; with `verbose` everything that the plan says of itself.
std::string ToText(const Explanation& explanation, bool verbose = false);
nlohmann::ordered_json ToJson(const Explanation& explanation);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_EXPLANATION_H_
