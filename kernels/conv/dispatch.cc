// kernels/conv/dispatch.cc: the table of algorithms and the choice among them.
#include "kernels/conv/dispatch.h"

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conv/depthwise/depthwise.h"
#include "kernels/conv/direct/direct.h"
#include "kernels/conv/grouped/grouped.h"
#include "kernels/conv/pointwise/pointwise.h"
#include "kernels/conv/reference/reference.h"
#include "kernels/conv/splitk/splitk.h"
#include "kernels/conv/via_nhwc.h"
#include "kernels/conv/widthwise/widthwise.h"

namespace rafter {
namespace {

constexpr ConvAlgorithm kAlgorithms[] = {
    {"pointwise", pointwise::Consider, pointwise::MakePlan},
    {"direct", direct::Consider, direct::MakePlan},
    {"depthwise", depthwise::Consider, depthwise::MakePlan},
    {"splitk", splitk::Consider, splitk::MakePlan},
    {"grouped", grouped::Consider, grouped::MakePlan},
    {"widthwise", widthwise::Consider, widthwise::MakePlan},
    {"pointwise+reorder", via_nhwc::ConsiderRow<pointwise::Consider>,
     via_nhwc::MakePlanRow<pointwise::MakePlan>},
    {"direct+reorder", via_nhwc::ConsiderRow<direct::Consider>,
     via_nhwc::MakePlanRow<direct::MakePlan>},
    {"depthwise+reorder", via_nhwc::ConsiderRow<depthwise::Consider>,
     via_nhwc::MakePlanRow<depthwise::MakePlan>},
    {"splitk+reorder", via_nhwc::ConsiderRow<splitk::Consider>, via_nhwc::MakePlanRow<splitk::MakePlan>},
    {"grouped+reorder", via_nhwc::ConsiderRow<grouped::Consider>,
     via_nhwc::MakePlanRow<grouped::MakePlan>},
    {"reference", reference::Consider, reference::MakePlan},
};

// A forced "direct" also allows "direct+reorder": the same kernels behind a change of layout.
bool Matches(std::string_view name, std::string_view forced) {
  return name == forced ||
         (name.starts_with(forced) && name.substr(forced.size()) == "+reorder");
}

Status UnknownName(std::span<const ConvAlgorithm> table, std::string_view name) {
  std::string message = "algorithm: \"" + std::string(name) + "\" is unknown, allowed:";
  for (const ConvAlgorithm& algorithm : table) {
    message += std::string(&algorithm == table.data() ? " " : ", ") + algorithm.name;
  }
  return Status::InvalidArgument(std::move(message));
}

// The cheapest candidate that has neither refused nor failed.
Consideration* Cheapest(std::vector<Consideration>& considered) {
  Consideration* best = nullptr;
  for (Consideration& candidate : considered) {
    if (!candidate.offer.refusal.empty() || !candidate.failure.empty()) continue;
    if (best == nullptr || candidate.offer.predicted_us < best->offer.predicted_us) {
      best = &candidate;
    }
  }
  return best;
}

std::string Microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 100 ? "%.2f us" : "%.0f us", us);
  return text;
}

}  // namespace

std::span<const ConvAlgorithm> ConvAlgorithms() noexcept { return kAlgorithms; }

Result<Decision> Decide(std::span<const ConvAlgorithm> table, const ConvProblem& problem,
                        const PlanContext& context, std::string_view forced) {
  Decision decision;
  decision.considered.reserve(table.size());
  for (const ConvAlgorithm& algorithm : table) {
    if (!forced.empty() && !Matches(algorithm.name, forced)) continue;
    Consideration& added = decision.considered.emplace_back();
    added.algorithm = &algorithm;
    added.offer = algorithm.consider(problem, context);
  }
  if (decision.considered.empty()) return UnknownName(table, forced);

  Status last_failure;
  while (Consideration* best = Cheapest(decision.considered)) {
    const std::unique_ptr<PlanDraft> draft = std::move(best->offer.draft);
    auto plan = draft ? draft->Finish(problem, context)
                      : best->algorithm->make_plan(problem, context);
    if (plan.ok()) {
      best->chosen = true;
      decision.plan = std::move(plan).value();
      for (Consideration& other : decision.considered) other.offer.draft.reset();
      return decision;
    }
    if (plan.status().code() == StatusCode::kOutOfMemory) return plan.status();
    best->failure = StatusCodeName(plan.status().code());
    best->failure += ": " + std::string(plan.status().message());
    last_failure = plan.status();
  }
  if (!last_failure.ok()) return last_failure;
  const Consideration& refused = decision.considered.front();
  return Status::Unsupported("algorithm: \"" + std::string(refused.algorithm->name) +
                             "\" refused: " + refused.offer.refusal.text());
}

std::string DescribeConsiderations(std::span<const Consideration> considered) {
  std::string text;
  for (const Consideration& candidate : considered) {
    text += std::string(candidate.algorithm->name) + ": ";
    if (!candidate.offer.refusal.empty()) {
      text += "refused: " + candidate.offer.refusal.text();
    } else if (!candidate.failure.empty()) {
      text += "failed: " + candidate.failure;
    } else {
      text += (candidate.chosen ? "chosen, predicted " : "not chosen, predicted ") +
              Microseconds(candidate.offer.predicted_us);
    }
    text += '\n';
  }
  return text;
}

}  // namespace rafter
