// cli/explanation.h: why a convolution runs as it does: choice of the algorithm, cost by
// arithmetic, and its place under the roofs. Nothing is executed.
#ifndef RAFTER_CLI_EXPLANATION_H_
#define RAFTER_CLI_EXPLANATION_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/descriptor.h"
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
  std::optional<DenseNeighbour> dense;  // of depthwise layers
};

// `machine` may lack roofs. Errors: those of Conv::Create.
Result<Explanation> ExplainConv(const ExplainRequest& request, const roofline::Machine& machine);

std::string ToText(const Explanation& explanation);
nlohmann::ordered_json ToJson(const Explanation& explanation);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_EXPLANATION_H_
