// kernels/conv/dispatch.cc: the table of algorithms and the choice among them.
#include "kernels/conv/dispatch.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conv/depthwise/depthwise.h"
#include "kernels/conv/direct/direct.h"
#include "kernels/conv/gemm/gemm.h"
#include "kernels/conv/grouped/grouped.h"
#include "kernels/conv/per_group.h"
#include "kernels/conv/plan_measure.h"
#include "kernels/conv/pointwise/pointwise.h"
#include "kernels/conv/reference/reference.h"
#include "kernels/conv/splitk/splitk.h"
#include "kernels/conv/via_nhwc.h"
#include "kernels/conv/widthwise/widthwise.h"
#include "kernels/conv/winograd/winograd.h"
#include "kernels/conv/wisdom.h"

namespace rafter {
namespace {

constexpr ConvAlgorithm kAlgorithms[] = {
    {"pointwise", pointwise::Consider, pointwise::MakePlan},
    {"direct", direct::Consider, direct::MakePlan},
    {"depthwise", depthwise::Consider, depthwise::MakePlan},
    {"splitk", splitk::Consider, splitk::MakePlan, SumOrder::kLanes},
    {"grouped", grouped::Consider, grouped::MakePlan, SumOrder::kLanes},
    {"widthwise", widthwise::Consider, widthwise::MakePlan},
    {"gemm", gemm::Consider, gemm::MakePlan},
    {winograd::kFourName, winograd::ConsiderRow<winograd::kFourTile>,
     winograd::MakePlanRow<winograd::kFourName, winograd::kFourTile>, SumOrder::kTiles},
    {winograd::kTwoName, winograd::ConsiderRow<winograd::kTwoTile>,
     winograd::MakePlanRow<winograd::kTwoName, winograd::kTwoTile>, SumOrder::kTiles},
    {winograd::kFourTwoName, winograd::ConsiderRow<winograd::kFourTwoTile>,
     winograd::MakePlanRow<winograd::kFourTwoName, winograd::kFourTwoTile>, SumOrder::kTiles},
    {winograd::kTwoFourName, winograd::ConsiderRow<winograd::kTwoFourTile>,
     winograd::MakePlanRow<winograd::kTwoFourName, winograd::kTwoFourTile>, SumOrder::kTiles},
    {"pointwise+reorder", per_group::ConsiderRow<pointwise::Consider>, per_group::MakePlanRow<pointwise::MakePlan>},
    {"direct+reorder", per_group::ConsiderRow<direct::Consider>, per_group::MakePlanRow<direct::MakePlan>},
    {"depthwise+reorder", via_nhwc::ConsiderRow<depthwise::Consider>,
     via_nhwc::MakePlanRow<depthwise::MakePlan>},
    {"splitk+reorder", via_nhwc::ConsiderRow<splitk::Consider>, via_nhwc::MakePlanRow<splitk::MakePlan>,
     SumOrder::kLanes},
    {"grouped+reorder", via_nhwc::ConsiderRow<grouped::Consider>, via_nhwc::MakePlanRow<grouped::MakePlan>,
     SumOrder::kLanes},
    {"widthwise+reorder", via_nhwc::ConsiderRow<widthwise::Consider, Layout::kNchw>,
     via_nhwc::MakePlanRow<widthwise::MakePlan, Layout::kNchw>},
    {"gemm+reorder", via_nhwc::ConsiderRow<gemm::Consider, Layout::kNchw>,
     via_nhwc::MakePlanRow<gemm::MakePlan, Layout::kNchw>},
    {"reference", reference::Consider, reference::MakePlan},
};

// A forced "direct" also allows "direct+reorder": the same kernels behind a change of layout; "winograd" allows
// every tile: "winograd_f4".
bool Matches(std::string_view name, std::string_view forced) {
  if (!name.starts_with(forced)) return false;
  const std::string_view rest = name.substr(forced.size());
  return rest.empty() || rest == "+reorder" || rest.starts_with("_f");
}

Status UnknownName(std::span<const ConvAlgorithm> table, std::string_view name) {
  std::string message = "algorithm: \"" + std::string(name) + "\" is unknown, allowed:";
  for (const ConvAlgorithm& algorithm : table) {
    message += std::string(&algorithm == table.data() ? " " : ", ") + algorithm.name;
  }
  return Status::InvalidArgument(std::move(message));
}

// Outputs per row and column of the image that settles the order of sums where the layer alone decides.
constexpr int64_t kOrderImage = 28;

// Candidates predicted to take more than this many times as long as the cheapest are not measured.
constexpr double kNotWorthMeasuring = 10;

bool Usable(const Consideration& candidate) {
  return candidate.offer.refusal.empty() && candidate.failure.empty();
}

// The cheapest candidate that has neither refused nor failed.
Consideration* Cheapest(std::vector<Consideration>& considered) {
  Consideration* best = nullptr;
  for (Consideration& candidate : considered) {
    if (!Usable(candidate) || candidate.left_out) continue;
    if (best == nullptr || candidate.offer.predicted_us < best->offer.predicted_us) {
      best = &candidate;
    }
  }
  return best;
}

// One decision on its way.
class Chooser {
 public:
  Chooser(const ConvProblem& problem, const PlanContext& context, const ChoiceOptions& options)
      : problem_(problem), context_(context), options_(options) {}

  void Ask(std::span<const ConvAlgorithm> table, std::string_view forced) {
    forced_ = !forced.empty();
    decision_.considered.reserve(table.size());
    for (const ConvAlgorithm& algorithm : table) {
      if (forced_ && !Matches(algorithm.name, forced)) continue;
      Consideration& added = decision_.considered.emplace_back();
      added.algorithm = &algorithm;
      added.offer = algorithm.consider(problem_, context_);
    }
  }

  // Each of these three leaves a plan, or none when the next one has to choose. kOutOfMemory.
  Status ByWisdom();
  Status ByMeasurement();
  Status ByModel();

  void SettleOrder();
  std::optional<ConvProblem> ProblemForOrder() const;
  const Consideration* BestOfOneImage() const;
  bool any_considered() const { return !decision_.considered.empty(); }
  bool decided() const { return decision_.plan != nullptr; }
  Result<Decision> Take();

 private:
  using PlanPtr = std::unique_ptr<ConvPlan>;

  // Null: the candidate cannot, and has its failure noted.
  Result<PlanPtr> MakePlan(Consideration& candidate);
  void Choose(Consideration& candidate, PlanPtr plan, ChosenBy chosen_by) {
    candidate.chosen = true;
    candidate.chosen_by = chosen_by;
    decision_.plan = std::move(plan);
  }
  std::vector<Consideration*> WorthMeasuring();

  const ConvProblem& problem_;
  const PlanContext& context_;
  const ChoiceOptions& options_;
  bool forced_ = false;
  Decision decision_;
  Status last_failure_;
};

Result<Chooser::PlanPtr> Chooser::MakePlan(Consideration& candidate) {
  const std::unique_ptr<PlanDraft> draft = std::move(candidate.offer.draft);
  Result<PlanPtr> plan = draft ? draft->Finish(problem_, context_)
                               : candidate.algorithm->make_plan(problem_, context_);
  if (plan.ok() || plan.status().code() == StatusCode::kOutOfMemory) return plan;
  candidate.failure = StatusCodeName(plan.status().code());
  candidate.failure += ": " + std::string(plan.status().message());
  last_failure_ = plan.status();
  return PlanPtr();
}

Status Chooser::ByWisdom() {
  const std::optional<WisdomChoice> known = FindWisdom(MakeWisdomKey(problem_, context_));
  if (!known) return {};
  for (Consideration& candidate : decision_.considered) {
    if (candidate.algorithm->name != known->algorithm || !Usable(candidate)) continue;
    Result<PlanPtr> plan = MakePlan(candidate);
    if (!plan.ok()) return plan.status();
    if (*plan == nullptr) break;
    candidate.measured_us = known->us;
    Choose(candidate, std::move(plan).value(), ChosenBy::kWisdom);
    break;
  }
  return {};
}

// The reference, which may take seconds, only where it is predicted to be the fastest: tiny problems.
std::vector<Consideration*> Chooser::WorthMeasuring() {
  const Consideration* cheapest = Cheapest(decision_.considered);
  std::vector<Consideration*> candidates;
  for (Consideration& candidate : decision_.considered) {
    if (!Usable(candidate)) continue;
    if (std::string_view(candidate.algorithm->name) == "reference" && &candidate != cheapest) continue;
    if (candidate.offer.predicted_us > kNotWorthMeasuring * cheapest->offer.predicted_us) continue;
    candidates.push_back(&candidate);
  }
  return candidates;
}

Status Chooser::ByMeasurement() {
  const std::lock_guard<std::mutex> alone(MeasuringMutex());
  // Another thread may have measured the same problem in the meantime.
  if (Status status = ByWisdom(); !status.ok() || decided()) return status;
  const std::vector<Consideration*> candidates = WorthMeasuring();
  if (candidates.size() < 2) return {};
  std::vector<PlanPtr> plans;
  std::vector<Contender> contenders;
  std::vector<Consideration*> measured;
  for (Consideration* candidate : candidates) {
    Result<PlanPtr> plan = MakePlan(*candidate);
    if (!plan.ok()) return plan.status();
    if (*plan == nullptr) continue;
    contenders.push_back({plan->get()});
    plans.push_back(std::move(plan).value());
    measured.push_back(candidate);
  }
  if (measured.empty()) return {};
  if (Status status = MeasurePlans(problem_, options_.pool, contenders); !status.ok()) {
    return status;
  }
  size_t best = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    measured[i]->measured_us = contenders[i].us;
    if (contenders[i].us < contenders[best].us) best = i;
  }
  Choose(*measured[best], std::move(plans[best]), ChosenBy::kMeasurement);
  // The best of some is not the best of all.
  if (!forced_) {
    StoreWisdom(MakeWisdomKey(problem_, context_), measured[best]->algorithm->name,
                contenders[best].us);
  }
  return {};
}

// Which order of sums wins, asked about one image on one thread, so that batch and threads do not change results (with
// Accuracy::kStrict the size of the image neither); the others are left out. Nothing to do where all add in the same
// order.
void Chooser::SettleOrder() {
  if (forced_) return;
  bool any = false;
  for (const Consideration& candidate : decision_.considered) {
    any = any || (candidate.algorithm->order != SumOrder::kLayer && Usable(candidate));
  }
  if (!any) return;
  const Consideration* best = BestOfOneImage();
  if (best == nullptr) return;
  const SumOrder order = best->algorithm->order;
  for (Consideration& candidate : decision_.considered) {
    candidate.left_out = order == SumOrder::kTiles ? &candidate != best : candidate.algorithm->order != order;
  }
}

// The problem whose answer settles the order: one image, of its own size, or of one for all where the layer alone may
// decide. Empty: the problem itself.
std::optional<ConvProblem> Chooser::ProblemForOrder() const {
  if (context_.accuracy == Accuracy::kStrict) {
    ConvDesc desc = problem_.desc;
    desc.n = 1, desc.pad = {}, desc.src.strides.reset(), desc.dst.strides.reset();
    for (PostOp& op : desc.post_ops) op.residual_strides.reset();
    const auto inputs = [](int64_t kernel, int64_t stride, int64_t dilation) {
      const double reach = static_cast<double>(kernel) * static_cast<double>(dilation) +
                           static_cast<double>(kOrderImage) * static_cast<double>(stride);
      return reach > 1e6 ? int64_t{0} : (kOrderImage - 1) * stride + (kernel - 1) * dilation + 1;
    };
    desc.in = {inputs(desc.kernel.h, desc.stride.h, desc.dilation.h),
               inputs(desc.kernel.w, desc.stride.w, desc.dilation.w)};
    Result<ConvProblem> problem = Validate(desc);
    if (problem.ok()) return std::move(problem).value();
  }
  if (problem_.desc.n == 1 && context_.threads == 1) return std::nullopt;
  ConvProblem problem = problem_;
  problem.desc.n = 1;
  return problem;
}

// The cheapest candidate for that problem on one thread.
const Consideration* Chooser::BestOfOneImage() const {
  const std::optional<ConvProblem> problem = ProblemForOrder();
  PlanContext context = context_;
  context.threads = 1;
  const Consideration* best = nullptr;
  double best_us = 0;
  for (const Consideration& candidate : decision_.considered) {
    if (!Usable(candidate)) continue;
    double us = candidate.offer.predicted_us;  // asked already, in the simplest case
    if (problem) {
      const Offer offer = candidate.algorithm->consider(*problem, context);
      if (!offer.refusal.empty()) continue;
      us = offer.predicted_us;
    }
    if (best != nullptr && us >= best_us) continue;
    best = &candidate;
    best_us = us;
  }
  return best;
}

Status Chooser::ByModel() {
  SettleOrder();
  while (Consideration* best = Cheapest(decision_.considered)) {
    Result<PlanPtr> plan = MakePlan(*best);
    if (!plan.ok()) return plan.status();
    if (*plan == nullptr) {
      for (Consideration& candidate : decision_.considered) candidate.left_out = false;
      continue;
    }
    Choose(*best, std::move(plan).value(), ChosenBy::kModel);
    return {};
  }
  return {};
}

Result<Decision> Chooser::Take() {
  if (decided()) {
    for (Consideration& other : decision_.considered) other.offer.draft.reset();
    return std::move(decision_);
  }
  if (!last_failure_.ok()) return last_failure_;
  const Consideration& refused = decision_.considered.front();
  return Status::Unsupported("algorithm: \"" + std::string(refused.algorithm->name) +
                             "\" refused: " + refused.offer.refusal.text());
}

// In microseconds.
std::string TimeText(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 100 ? "%.2f" : "%.0f", us);
  return text;
}

std::string DescribeChoice(const Consideration& candidate) {
  std::string text = candidate.chosen ? "chosen" : "not chosen";
  if (candidate.chosen && candidate.chosen_by == ChosenBy::kWisdom) text += " by wisdom";
  if (candidate.chosen && candidate.chosen_by == ChosenBy::kMeasurement) text += " by measurement";
  const std::string predicted = TimeText(candidate.offer.predicted_us);
  if (candidate.measured_us == 0) return text + ", predicted " + predicted + " us";
  text += candidate.chosen ? ", " : ", measured ";
  return text + TimeText(candidate.measured_us) + " us (predicted " + predicted + ")";
}

}  // namespace

std::span<const ConvAlgorithm> ConvAlgorithms() noexcept { return kAlgorithms; }

Result<Decision> Decide(std::span<const ConvAlgorithm> table, const ConvProblem& problem,
                        const PlanContext& context, std::string_view forced,
                        const ChoiceOptions& options) {
  Chooser chooser(problem, context, options);
  chooser.Ask(table, forced);
  if (!chooser.any_considered()) return UnknownName(table, forced);
  if (HasWisdom()) {
    if (Status status = chooser.ByWisdom(); !status.ok()) return status;
  }
  // Without images there is nothing to run.
  if (!chooser.decided() && options.plan == Planning::kMeasure && problem.desc.n > 0) {
    if (Status status = chooser.ByMeasurement(); !status.ok()) return status;
  }
  if (!chooser.decided()) {
    if (Status status = chooser.ByModel(); !status.ok()) return status;
  }
  return chooser.Take();
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
      text += DescribeChoice(candidate);
    }
    text += '\n';
  }
  return text;
}

}  // namespace rafter
