// kernels/conv/dispatch.h: which algorithm takes a problem. Every row of the table is asked; wisdom
// or, when asked for, a measurement decides; without either the cheapest by prediction that manages
// to make its plan wins. Refusals and failures keep their reason for Explain.
#ifndef RAFTER_KERNELS_CONV_DISPATCH_H_
#define RAFTER_KERNELS_CONV_DISPATCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "rafter/conv.h"
#include "rafter/memory_pool.h"

namespace rafter {

enum class ChosenBy : uint8_t { kModel, kWisdom, kMeasurement };

// What one algorithm answered.
struct Consideration {
  const ConvAlgorithm* algorithm = nullptr;
  Offer offer;
  std::string
      failure;  // why making the plan failed although the algorithm accepted; empty otherwise
  bool left_out = false;  // not for this problem, so that batch and threads do not change results
  bool chosen = false;
  ChosenBy chosen_by = ChosenBy::kModel;  // valid when chosen
  double measured_us = 0;  // now, or when the wisdom was found; 0: never
};

struct Decision {
  std::unique_ptr<ConvPlan> plan;
  std::vector<Consideration> considered;  // in the order of the table
};

// The table of this library. The last row takes everything.
std::span<const ConvAlgorithm> ConvAlgorithms() noexcept;

// How to choose, beyond what the plan itself depends on.
struct ChoiceOptions {
  Planning plan = Planning::kModel;
  MemoryPool* pool = nullptr;  // of measurements; null: one of their own
};

// Chooses among `table`; `forced` names the only algorithm to be tried, empty: all. Errors:
// kInvalidArgument: no such name (lists the names); kUnsupported: the forced one refused;
// kOutOfMemory; otherwise the last failure. May throw bad_alloc.
Result<Decision> Decide(std::span<const ConvAlgorithm> table, const ConvProblem& problem,
                        const PlanContext& context, std::string_view forced,
                        const ChoiceOptions& options = {});

// One line per algorithm: "direct: chosen, predicted 812 us", "direct: chosen by measurement, 790 us
// (predicted 812)" or "pointwise: refused: kernel is 3x3".
std::string DescribeConsiderations(std::span<const Consideration> considered);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_DISPATCH_H_
