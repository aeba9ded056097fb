// tests/kernels/conv/dispatch_test.cc: the choice among algorithms, with a table of made-up ones.
#include "kernels/conv/dispatch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv/reference/reference.h"
#include "kernels/conv/wisdom.h"
#include "runtime/machine_model.h"

namespace rafter {
namespace {

Offer Costs(double us) { return {.refusal = {}, .predicted_us = us}; }

ConvAlgorithm Working(const char* name, Offer (*consider)(const ConvProblem&, const PlanContext&)) {
  return {name, consider, reference::MakePlan};
}

Offer Cheap(const ConvProblem&, const PlanContext&) { return Costs(1); }
Offer Medium(const ConvProblem&, const PlanContext&) { return Costs(20); }
Offer Dear(const ConvProblem&, const PlanContext&) { return Costs(812.4); }
Offer Refuses(const ConvProblem&, const PlanContext&) {
  return {.refusal = "kernel is 3x3, not 1x1", .predicted_us = 0};
}
Result<std::unique_ptr<ConvPlan>> Breaks(const ConvProblem&, const PlanContext&) {
  return Status::Internal("label is redefined");
}
Result<std::unique_ptr<ConvPlan>> RunsOut(const ConvProblem&, const PlanContext&) {
  return Status::OutOfMemory();
}

const ConvProblem& Problem() {
  static const ConvProblem problem = *Validate({.ic = 4, .oc = 4, .in = {5, 5}, .kernel = {3, 3}});
  return problem;
}
PlanContext Context() { return {.machine = &CurrentMachineModel()}; }

Result<Decision> DecideAmong(const std::vector<ConvAlgorithm>& table, const char* forced = "",
                             const ChoiceOptions& options = {}) {
  return Decide(table, Problem(), Context(), forced, options);
}

TEST(Decide, CheapestWins) {
  const std::vector<ConvAlgorithm> table{Working("dear", Dear), Working("cheap", Cheap),
                                         Working("medium", Medium), Working("none", Refuses)};
  const auto decision = DecideAmong(table);
  ASSERT_TRUE(decision.ok());
  ASSERT_NE(decision->plan, nullptr);
  EXPECT_EQ(DescribeConsiderations(decision->considered),
            "dear: not chosen, predicted 812 us\n"
            "cheap: chosen, predicted 1.00 us\n"
            "medium: not chosen, predicted 20.00 us\n"
            "none: refused: kernel is 3x3, not 1x1\n");
}

TEST(Decide, FirstRowWinsATie) {
  const std::vector<ConvAlgorithm> table{Working("first", Cheap), Working("second", Cheap)};
  const auto decision = DecideAmong(table);
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->considered[0].chosen);
}

TEST(Decide, FallsBackWhenAPlanCannotBeMade) {
  const std::vector<ConvAlgorithm> table{{"broken", Cheap, Breaks}, Working("dear", Dear)};
  const auto decision = DecideAmong(table);
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(DescribeConsiderations(decision->considered),
            "broken: failed: kInternal: label is redefined\n"
            "dear: chosen, predicted 812 us\n");
}

// Algorithms with other bits: one image on one thread decides, whatever the problem's own times are.
Offer FastAlone(const ConvProblem& problem, const PlanContext& context) {
  return Costs(problem.desc.n == 1 && context.threads == 1 ? 5 : 900);
}
Offer FastTogether(const ConvProblem& problem, const PlanContext& context) {
  return Costs(problem.desc.n == 1 && context.threads == 1 ? 900 : 1);
}

TEST(Decide, BatchAndThreadsDoNotDecideAboutTransforms) {
  ConvDesc desc = Problem().desc;
  desc.n = 8;
  const ConvProblem batch = *Validate(desc);
  PlanContext context = Context();
  context.threads = 4;
  for (const SumOrder order : {SumOrder::kLanes, SumOrder::kTiles}) {
    const auto chosen = [&](Offer (*other)(const ConvProblem&, const PlanContext&)) {
      const std::vector<ConvAlgorithm> table{Working("direct", Medium), {"other", other, reference::MakePlan, order}};
      const auto decision = Decide(table, batch, context, "");
      EXPECT_TRUE(decision.ok());
      return std::string(decision->considered[decision->considered[0].chosen ? 0 : 1].algorithm->name);
    };
    EXPECT_EQ(chosen(FastAlone), "other");
    EXPECT_EQ(chosen(FastTogether), "direct");
  }
}

// Finishes the plan that Consider has begun.
class Begun final : public PlanDraft {
 public:
  Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem& problem,
                                           const PlanContext& context) override {
    return reference::MakePlan(problem, context);
  }
};
Offer Begins(const ConvProblem&, const PlanContext&) {
  Offer offer = Costs(2);
  offer.draft = std::make_unique<Begun>();
  return offer;
}

TEST(Decide, FinishesTheDraftOfAnOffer) {
  const std::vector<ConvAlgorithm> table{{"begun", Begins, Breaks}, Working("dear", Dear)};
  const auto decision = DecideAmong(table);
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->considered[0].chosen);
}

TEST(Decide, KeepsNoDraft) {
  const std::vector<ConvAlgorithm> table{Working("cheap", Cheap), {"begun", Begins, Breaks}};
  const auto decision = DecideAmong(table);
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->considered[0].chosen);
  EXPECT_EQ(decision->considered[1].offer.draft, nullptr);
}

TEST(Decide, OutOfMemoryIsNotHidden) {
  const std::vector<ConvAlgorithm> table{{"greedy", Cheap, RunsOut}, Working("dear", Dear)};
  const auto decision = DecideAmong(table);
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code(), StatusCode::kOutOfMemory);
}

TEST(Decide, LastFailureWhenNothingIsLeft) {
  const std::vector<ConvAlgorithm> table{{"broken", Cheap, Breaks}};
  const auto decision = DecideAmong(table);
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code(), StatusCode::kInternal);
  EXPECT_EQ(decision.status().message(), "label is redefined");
}

TEST(Decide, ForcedAlgorithmIsTheOnlyOneTried) {
  const std::vector<ConvAlgorithm> table{Working("cheap", Cheap), Working("dear", Dear)};
  const auto decision = DecideAmong(table, "dear");
  ASSERT_TRUE(decision.ok());
  ASSERT_EQ(decision->considered.size(), 1u);
  EXPECT_STREQ(decision->considered[0].algorithm->name, "dear");
}

TEST(Decide, ForcedAlgorithmMayRefuse) {
  const std::vector<ConvAlgorithm> table{Working("cheap", Cheap), Working("picky", Refuses)};
  const auto decision = DecideAmong(table, "picky");
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(decision.status().message(), "algorithm: \"picky\" refused: kernel is 3x3, not 1x1");
}

TEST(Decide, UnknownNameListsTheKnownOnes) {
  const std::vector<ConvAlgorithm> table{Working("cheap", Cheap), Working("dear", Dear)};
  const auto decision = DecideAmong(table, "winograd");
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(decision.status().message(),
            "algorithm: \"winograd\" is unknown, allowed: cheap, dear");
}

// Choices that differ from the model's. Every test starts and ends without wisdom.
class DecideByTimeTest : public ::testing::Test {
 protected:
  void SetUp() override { ForgetWisdom(); }
  void TearDown() override { ForgetWisdom(); }
  static void Know(const char* algorithm) {
    StoreWisdom(MakeWisdomKey(Problem(), Context()), algorithm, 700.5);
  }
  static std::string Known() {
    const auto known = FindWisdom(MakeWisdomKey(Problem(), Context()));
    return known ? known->algorithm : "";
  }
  // A decision points into its table, so tables live as long as the test.
  Result<Decision> Among(std::vector<ConvAlgorithm> table, const char* forced = "",
                         const ChoiceOptions& options = {}) {
    return DecideAmong(*tables_.emplace_back(
                           std::make_unique<std::vector<ConvAlgorithm>>(std::move(table))),
                       forced, options);
  }
  Result<Decision> Measure(std::vector<ConvAlgorithm> table, const char* forced = "") {
    return Among(std::move(table), forced, {.plan = Planning::kMeasure});
  }

  std::vector<std::unique_ptr<std::vector<ConvAlgorithm>>> tables_;
  const std::vector<ConvAlgorithm> table_{Working("dear", Dear), Working("cheap", Cheap),
                                          Working("none", Refuses)};
};

TEST_F(DecideByTimeTest, WisdomWins) {
  Know("dear");
  for (const Planning plan : {Planning::kModel, Planning::kMeasure}) {
    const auto decision = DecideAmong(table_, "", {.plan = plan});
    ASSERT_TRUE(decision.ok());
    EXPECT_NE(decision->plan, nullptr);
    EXPECT_EQ(DescribeConsiderations(decision->considered),
              "dear: chosen by wisdom, 700 us (predicted 812)\n"
              "cheap: not chosen, predicted 1.00 us\n"
              "none: refused: kernel is 3x3, not 1x1\n");
  }
}

TEST_F(DecideByTimeTest, WisdomOfNoUseFallsBackToTheModel) {
  for (const char* algorithm : {"none", "of the past", "cheap+reorder"}) {
    Know(algorithm);
    const auto decision = DecideAmong(table_);
    ASSERT_TRUE(decision.ok());
    EXPECT_EQ(DescribeConsiderations(decision->considered),
              "dear: not chosen, predicted 812 us\n"
              "cheap: chosen, predicted 1.00 us\n"
              "none: refused: kernel is 3x3, not 1x1\n");
  }
}

TEST_F(DecideByTimeTest, WisdomAboutABrokenPlanFallsBackToTheModel) {
  Know("broken");
  const auto decision =
      Among({{"broken", Dear, Breaks}, Working("medium", Medium), Working("cheap", Cheap)});
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(DescribeConsiderations(decision->considered),
            "broken: failed: kInternal: label is redefined\n"
            "medium: not chosen, predicted 20.00 us\n"
            "cheap: chosen, predicted 1.00 us\n");
}

TEST_F(DecideByTimeTest, OutOfMemoryByWisdomIsNotHidden) {
  Know("greedy");
  const auto decision = Among({{"greedy", Dear, RunsOut}, Working("cheap", Cheap)});
  EXPECT_EQ(decision.status().code(), StatusCode::kOutOfMemory);
}

TEST_F(DecideByTimeTest, WisdomObeysTheForcedName) {
  Know("dear");
  const auto other = DecideAmong(table_, "cheap");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(DescribeConsiderations(other->considered), "cheap: chosen, predicted 1.00 us\n");
  const auto same = DecideAmong(table_, "dear");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->considered[0].chosen_by, ChosenBy::kWisdom);
}

TEST_F(DecideByTimeTest, WisdomOfOtherContextsIsNotUsed) {
  PlanContext context = Context();
  context.threads = 2;
  StoreWisdom(MakeWisdomKey(Problem(), context), "dear", 1);
  const auto decision = DecideAmong(table_);
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->considered[1].chosen);
}

TEST_F(DecideByTimeTest, MeasuresCandidatesAndRemembers) {
  const auto decision = Measure({Working("one", Cheap), Working("dear", Dear),
                                 Working("two", Cheap), Working("reference", Cheap),
                                 {"broken", Cheap, Breaks}, Working("none", Refuses)});
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  ASSERT_NE(decision->plan, nullptr);
  const std::vector<Consideration>& considered = decision->considered;
  int chosen = 0;
  for (const size_t i : {0, 2}) {
    EXPECT_GT(considered[i].measured_us, 0);
    if (!considered[i].chosen) continue;
    ++chosen;
    EXPECT_EQ(considered[i].chosen_by, ChosenBy::kMeasurement);
    EXPECT_LE(considered[i].measured_us, considered[2 - i].measured_us);
    EXPECT_EQ(Known(), considered[i].algorithm->name);
  }
  EXPECT_EQ(chosen, 1);
  for (const size_t i : {1, 3, 4, 5}) {
    EXPECT_FALSE(considered[i].chosen) << i;
    EXPECT_EQ(considered[i].measured_us, 0) << i;
  }
  EXPECT_EQ(considered[4].failure, "kInternal: label is redefined");
  const std::string text = DescribeConsiderations(considered);
  EXPECT_NE(text.find(": chosen by measurement, "), std::string::npos) << text;
  EXPECT_NE(text.find(": not chosen, measured "), std::string::npos) << text;
  EXPECT_NE(text.find(" (predicted 1.00)\n"), std::string::npos) << text;
}

TEST_F(DecideByTimeTest, NothingToMeasureWithoutRivals) {
  // One is refused, the other far dearer.
  const auto decision = Measure(table_);
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->considered[1].chosen_by, ChosenBy::kModel);
  EXPECT_TRUE(decision->considered[1].chosen);
  EXPECT_EQ(Known(), "");
  const auto alone = Measure({Working("reference", Dear), Working("none", Refuses)});
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(alone->considered[0].chosen);
}

TEST_F(DecideByTimeTest, ReferenceIsMeasuredWhereItIsTheCheapest) {
  const auto decision = Measure({Working("reference", Cheap), Working("medium", Cheap)});
  ASSERT_TRUE(decision.ok());
  EXPECT_GT(decision->considered[0].measured_us, 0);
  EXPECT_GT(decision->considered[1].measured_us, 0);
}

TEST_F(DecideByTimeTest, TheBestOfForcedOnesIsNotRemembered) {
  const auto decision =
      Measure({Working("one", Cheap), Working("one+reorder", Cheap), Working("two", Cheap)}, "one");
  ASSERT_TRUE(decision.ok());
  EXPECT_GT(decision->considered[0].measured_us, 0);
  EXPECT_GT(decision->considered[1].measured_us, 0);
  EXPECT_EQ(Known(), "");
}

TEST_F(DecideByTimeTest, MeasuresAgainWhenWisdomIsOfNoUse) {
  Know("of the past");
  const auto decision = Measure({Working("one", Cheap), Working("two", Cheap)});
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(Known() == "one" || Known() == "two") << Known();
}

TEST_F(DecideByTimeTest, OutOfMemoryWhileMeasuringIsNotHidden) {
  MemoryPool none({.limit_bytes = 0});
  const auto decision = Among({Working("one", Cheap), Working("two", Cheap)}, "",
                              {.plan = Planning::kMeasure, .pool = &none});
  EXPECT_EQ(decision.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(Known(), "");
  EXPECT_EQ(Measure({Working("one", Cheap), {"greedy", Cheap, RunsOut}}).status().code(),
            StatusCode::kOutOfMemory);
}

TEST_F(DecideByTimeTest, FailuresOfAllCandidatesLeaveTheRestToTheModel) {
  const auto decision =
      Measure({{"broken", Cheap, Breaks}, {"broken too", Cheap, Breaks}, Working("dear", Dear)});
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->considered[2].chosen);
  EXPECT_EQ(Measure({{"broken", Cheap, Breaks}, {"broken too", Cheap, Breaks}}).status().code(),
            StatusCode::kInternal);
}

TEST(ConvAlgorithms, ReferenceIsLastAndTakesEverything) {
  ASSERT_FALSE(ConvAlgorithms().empty());
  const ConvAlgorithm& last = ConvAlgorithms().back();
  EXPECT_STREQ(last.name, "reference");
  const auto problem = Validate({.n = 0, .ic = 1, .oc = 1, .in = {1, 1}});
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(last.consider(*problem, {.machine = &CurrentMachineModel()}).refusal, "");
}

}  // namespace
}  // namespace rafter
