// Tests of bench/cliffs on made-up sweeps.
#include "bench/cliffs.h"

#include <gtest/gtest.h>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

CaseResult Point(std::vector<std::pair<std::string, int64_t>> sweep, double us_per_mflop) {
  CaseResult result = MakeCase("", 90, 100);
  result.sweep = std::move(sweep);
  result.flops_valid = 1e6 * static_cast<double>(result.sweep[0].second);
  const double us = us_per_mflop * result.flops_valid * 1e-6;
  result.time = {us, us, us, us, us * 0.999, us * 1.001, 50, 0, 1, false};
  return result;
}

TEST(FindCliffs, FlatSweepsHaveNone) {
  EXPECT_TRUE(FindCliffs({}).empty());
  const std::vector<CaseResult> cases = {Point({{"oc", 16}}, 10), Point({{"oc", 32}}, 10.3), Point({{"oc", 48}}, 9.9)};
  EXPECT_TRUE(FindCliffs(cases).empty());
}

TEST(FindCliffs, NamesTheLossThatGrew) {
  std::vector<CaseResult> cases = {Point({{"oc", 64}}, 10), Point({{"oc", 65}}, 12.5), Point({{"oc", 72}}, 12.4)};
  cases[1].losses = {{"idle lanes", 150, "65 channels fill 8.125 of 9 vectors of 8 lanes"}, {"call", 0.1, ""}};
  cases[2].losses = cases[1].losses;
  const std::vector<Cliff> cliffs = FindCliffs(cases);
  ASSERT_EQ(cliffs.size(), 1u);
  EXPECT_EQ(cliffs[0].axis, "oc");
  EXPECT_EQ(cliffs[0].from, 64);
  EXPECT_EQ(cliffs[0].to, 65);
  EXPECT_EQ(cliffs[0].case_index, 1u);
  EXPECT_NEAR(cliffs[0].ratio, 1.25, 1e-9);
  EXPECT_EQ(cliffs[0].cause, "idle lanes");
  EXPECT_NE(cliffs[0].text.find("oc 64 -> 65: each FLOP takes 25 % longer: idle lanes (65 channels"), std::string::npos)
      << cliffs[0].text;
}

TEST(FindCliffs, RoofsAndAlgorithmsAreCauses) {
  std::vector<CaseResult> cases = {Point({{"c", 16}}, 10), Point({{"c", 32}}, 14), Point({{"c", 64}}, 9)};
  cases[1].binding = "L3";
  cases[2].binding = "L3";
  cases[2].algorithm = "pointwise";
  const std::vector<Cliff> cliffs = FindCliffs(cases);
  ASSERT_EQ(cliffs.size(), 2u);
  EXPECT_EQ(cliffs[0].cause, "roof");
  EXPECT_EQ(cliffs[1].cause, "algorithm");
  EXPECT_NE(cliffs[1].text.find("less"), std::string::npos);
}

TEST(FindCliffs, ComparesOnlyWhatDiffersInOneThing) {
  const std::vector<CaseResult> cases = {Point({{"oc", 16}, {"kh", 1}}, 10), Point({{"oc", 16}, {"kh", 3}}, 20),
                                         Point({{"oc", 32}, {"kh", 1}}, 10), Point({{"oc", 32}, {"kh", 3}}, 20)};
  const std::vector<Cliff> cliffs = FindCliffs(cases);
  ASSERT_EQ(cliffs.size(), 2u);
  for (const Cliff& cliff : cliffs) {
    EXPECT_EQ(cliff.axis, "kh");
    EXPECT_EQ(cliff.cause, "unexplained");
  }
  EXPECT_NE(cliffs[0].text.find("(oc=16)"), std::string::npos) << cliffs[0].text;
}

TEST(FindCliffs, ZipsFollowTheirFirstAxis) {
  const std::vector<CaseResult> cases = {Point({{"oc", 16}, {"ic", 64}}, 10), Point({{"oc", 32}, {"ic", 32}}, 10),
                                         Point({{"oc", 64}, {"ic", 64}}, 20)};
  const std::vector<Cliff> cliffs = FindCliffs(cases, true);
  ASSERT_EQ(cliffs.size(), 1u);
  EXPECT_EQ(cliffs[0].axis, "oc");
  EXPECT_EQ(cliffs[0].from, 32);
}

TEST(FindCliffs, WhatOthersTookOfTheCoreIsNoCliff) {
  std::vector<CaseResult> cases = {Point({{"oc", 16}}, 10), Point({{"oc", 32}}, 13)};
  const double excess_us = 0.3 / 1.3 * cases[1].time.median;
  cases[1].losses = {{kSharedCore, excess_us, "others use the core"}};
  EXPECT_TRUE(FindCliffs(cases).empty());
  cases[1].losses = {{"idle lanes", excess_us, "few channels"}};
  ASSERT_EQ(FindCliffs(cases).size(), 1u);
}

TEST(FindCliffs, NoiseIsNoCliff) {
  std::vector<CaseResult> cases = {Point({{"oc", 16}}, 10), Point({{"oc", 32}}, 12)};
  cases[1].time.ci_low = cases[1].time.median * 0.7;
  cases[1].time.ci_high = cases[1].time.median * 1.3;
  EXPECT_TRUE(FindCliffs(cases).empty());
  cases[1].error = "failed";
  EXPECT_TRUE(FindCliffs(cases).empty());
}

}  // namespace
}  // namespace rafter::bench
