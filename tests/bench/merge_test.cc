// Tests of bench/merge: keys, environments, shards.
#include "bench/merge.h"

#include <gtest/gtest.h>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

Json Environment(const std::string& cpu, const std::string& version = "0.1.0") {
  return {{"date", "2025-01-01"},
          {"cpu", {{"model_name", cpu}, {"family", 25}}},
          {"rafter", {{"version", version}, {"isa_used", "avx2"}}}};
}

CaseResult Named(int number) {
  CaseResult result = MakeCase("case " + std::to_string(number), 10, 20);
  result.descriptor = "mb1ic16ih8oc" + std::to_string(16 * (number + 1)) + "kh1";
  return result;
}

NamedReport Shard(int64_t number, int64_t of, int total) {
  NamedReport part{std::to_string(number) + ".json", {}};
  part.report.environment = Environment("A");
  part.report.sweep = {
      {"base", "x"}, {"kind", "product"}, {"axes", Json::array()}, {"shard", {{"number", number}, {"of", of}}}};
  for (int threads : {1, 2}) {
    for (int64_t i = number - 1; i < total; i += of) {
      part.report.cases.push_back(Named(static_cast<int>(i)));
      part.report.cases.back().threads = threads;
    }
  }
  return part;
}

TEST(DoubledCase, NamesWhatIsThereTwice) {
  Report report;
  for (int i = 0; i < 3; ++i) report.cases.push_back(Named(i));
  EXPECT_EQ(DoubledCase(report), "");
  report.cases.push_back(Named(1));
  EXPECT_EQ(DoubledCase(report), report.cases[1].name.empty() ? report.cases[1].descriptor : report.cases[1].name);
  report.cases.back().threads = 7;
  EXPECT_EQ(DoubledCase(report), "") << "with other threads it is another case";
}

TEST(MergeReports, PutsShardsBackInOrder) {
  const std::vector<NamedReport> parts = {Shard(3, 3, 7), Shard(1, 3, 7), Shard(2, 3, 7)};
  const Result<Report> merged = MergeReports(parts, false);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  ASSERT_EQ(merged->cases.size(), 14u);
  for (size_t i = 0; i < 14; ++i) {
    EXPECT_EQ(merged->cases[i].name, "case " + std::to_string(i % 7));
    EXPECT_EQ(merged->cases[i].threads, i < 7 ? 1 : 2);
  }
  EXPECT_FALSE(merged->sweep.contains("shard"));
  EXPECT_EQ(merged->environment["merged_from"].size(), 3u);
  EXPECT_TRUE(merged->complete);
}

TEST(MergeReports, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(MergeReports({}, false).ok());
  const auto refused = [](std::vector<NamedReport> parts, const char* part) {
    const Result<Report> merged = MergeReports(parts, false);
    ASSERT_FALSE(merged.ok()) << part;
    EXPECT_NE(merged.status().message().find(part), std::string::npos) << merged.status().message();
  };
  refused({Shard(1, 3, 7), Shard(2, 3, 7)}, "shard 3/3 is missing");
  refused({Shard(1, 2, 7), Shard(1, 2, 7)}, "is in '1.json', too");
  NamedReport other = Shard(2, 2, 7);
  other.report.environment = Environment("B");
  refused({Shard(1, 2, 7), other}, "processor: A against B");
  EXPECT_TRUE(MergeReports(std::vector<NamedReport>{Shard(1, 2, 7), other}, true).ok());
  NamedReport sweep = Shard(2, 2, 7);
  sweep.report.sweep["base"] = "y";
  refused({Shard(1, 2, 7), sweep}, "another sweep");
}

TEST(MergeReports, PlainReportsFollowEachOther) {
  NamedReport a{"a", {}}, b{"b", {}};
  a.report.cases = {Named(5), Named(1)};
  b.report.cases = {Named(2)};
  b.report.complete = false;
  const Result<Report> merged = MergeReports(std::vector<NamedReport>{a, b}, false);
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(merged->cases.size(), 3u);
  EXPECT_EQ(merged->cases[2].name, "case 2");
  EXPECT_FALSE(merged->complete);
}

TEST(CaseKey, TellsWhatIsMeasured) {
  CaseResult a = Named(1), b = Named(1);
  EXPECT_EQ(CaseKey(a), CaseKey(b));
  b.mode = "cold";
  EXPECT_NE(CaseKey(a), CaseKey(b));
  b = a;
  b.threads = 2;
  EXPECT_NE(CaseKey(a), CaseKey(b));
}

TEST(EnvironmentDifferences, NamesBothValues) {
  EXPECT_TRUE(EnvironmentDifferences(Environment("A"), Environment("A"), true).empty());
  EXPECT_TRUE(EnvironmentDifferences(Environment("A"), Environment("A", "0.2.0"), false).empty());
  const auto differences = EnvironmentDifferences(Environment("A"), Environment("A", "0.2.0"), true);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0], "rafter: 0.1.0 against 0.2.0");
}

}  // namespace
}  // namespace rafter::bench
