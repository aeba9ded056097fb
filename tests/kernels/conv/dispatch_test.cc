// tests/kernels/conv/dispatch_test.cc: the choice among algorithms, with a table of made-up ones.
#include "kernels/conv/dispatch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/conv/reference/reference.h"
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

Result<Decision> DecideAmong(const std::vector<ConvAlgorithm>& table, const char* forced = "") {
  static const ConvProblem problem = *Validate({.ic = 4, .oc = 4, .in = {5, 5}, .kernel = {3, 3}});
  return Decide(table, problem, {.machine = &CurrentMachineModel()}, forced);
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
