// kernels/conv/dispatch.h: which algorithm takes a problem. Every row of the table is asked; the
// cheapest by prediction that manages to make its plan wins; refusals and failures keep their
// reason for Explain.
#ifndef RAFTER_KERNELS_CONV_DISPATCH_H_
#define RAFTER_KERNELS_CONV_DISPATCH_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"

namespace rafter {

// What one algorithm answered.
struct Consideration {
  const ConvAlgorithm* algorithm = nullptr;
  Offer offer;
  std::string
      failure;  // why making the plan failed although the algorithm accepted; empty otherwise
  bool chosen = false;
};

struct Decision {
  std::unique_ptr<ConvPlan> plan;
  std::vector<Consideration> considered;  // in the order of the table
};

// The table of this library. The last row takes everything.
std::span<const ConvAlgorithm> ConvAlgorithms() noexcept;

// Chooses among `table`; `forced` names the only algorithm to be tried, empty: all. Errors:
// kInvalidArgument: no such name (lists the names); kUnsupported: the forced one refused;
// kOutOfMemory; otherwise the last failure. May throw bad_alloc.
Result<Decision> Decide(std::span<const ConvAlgorithm> table, const ConvProblem& problem,
                        const PlanContext& context, std::string_view forced);

// One line per algorithm: "direct: chosen, predicted 812 us" or "pointwise: refused: kernel is
// 3x3".
std::string DescribeConsiderations(std::span<const Consideration> considered);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_DISPATCH_H_
