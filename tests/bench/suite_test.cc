// Tests of bench/suite: tokens, comments, joined lines, positions of errors, the built-in suites.
#include "bench/suite.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

namespace rafter::bench {
namespace {

std::string MessageOf(const SuiteCase& suite_case) {
  return std::string(suite_case.status.message());
}

TEST(Suite, TokensCommentsAndJoinedLines) {
  const auto cases = ParseSuite(
      "# head\n"
      "mb1ic8ih8oc8kh3n\"a\" mb1ic8ih9oc8kh3n\"b\"   # rest mb1ic8ih8oc8kh3\r\n"
      "\n"
      "mb1ic8\\\n"
      "  ih7oc8kh3n\"c\" \\\n"
      "mb1ic8ih6oc8kh3#n\n",
      "list.txt");
  ASSERT_EQ(cases.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(cases[i].status.ok()) << MessageOf(cases[i]);
  EXPECT_EQ(cases[0].descriptor.name, "a");
  EXPECT_EQ(cases[1].descriptor.name, "b");
  EXPECT_EQ(cases[1].origin, "list.txt:2:21");
  EXPECT_EQ(cases[2].descriptor.name, "c");
  EXPECT_EQ(cases[2].descriptor.desc.in.h, 7);
  EXPECT_EQ(cases[2].origin, "list.txt:4:1");
  // '#' inside a token is no comment.
  EXPECT_EQ(MessageOf(cases[3]).rfind("list.txt:6:16: ", 0), 0u) << MessageOf(cases[3]);
}

TEST(Suite, BadTokensKeepTheirPlaceAndOthersGoOn) {
  const auto cases =
      ParseSuite("ic8ih8oc8kh3\n  ic8q1 ic8id8oc8kd3\n--mb=2 ic8\\\nih8oc8kh3q9", "f");
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_TRUE(cases[0].status.ok());
  EXPECT_EQ(MessageOf(cases[1]).rfind("f:2:6: 'ic8q1': position 4: ", 0), 0u)
      << MessageOf(cases[1]);
  EXPECT_EQ(cases[1].status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cases[2].status.code(), StatusCode::kUnsupported);
  EXPECT_NE(MessageOf(cases[3]).find("option"), std::string::npos);
  // The error lies in the second piece of a joined token.
  EXPECT_EQ(MessageOf(cases[4]).rfind("f:4:10: ", 0), 0u) << MessageOf(cases[4]);
  EXPECT_EQ(cases[4].descriptor.text, "ic8ih8oc8kh3q9");
}

TEST(Suite, BuiltInSuitesAreCompleteAndValid) {
  const std::vector<SuiteInfo> suites = ListSuites();
  ASSERT_GE(suites.size(), 20u);
  EXPECT_EQ(suites.back().name, "all");
  for (const SuiteInfo& info : suites) {
    EXPECT_FALSE(info.description.empty()) << info.name;
    const auto cases = LoadSuite("@" + info.name);
    ASSERT_TRUE(cases.ok()) << info.name;
    EXPECT_EQ(static_cast<int>(cases->size()), info.cases) << info.name;
    EXPECT_GT(info.cases, 0) << info.name;
    for (const SuiteCase& suite_case : *cases) {
      EXPECT_TRUE(suite_case.status.ok()) << MessageOf(suite_case);
    }
  }
  EXPECT_EQ(LoadSuite("resnet_50")->size(), 16u);
  EXPECT_EQ(LoadSuite("smoke")->size(), 7u);
  const auto unknown = LoadSuite("@resnet_51");
  EXPECT_EQ(unknown.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.status().message().find("resnet_50, "), std::string_view::npos);
}

TEST(Suite, DuplicatesAndBatch) {
  auto cases =
      ParseSuite("mb1ic8ih8oc8kh3n\"a\" g1mb1ic8ih8iw8oc8kh3kw3n\"b\" mb2ic8ih8oc8kh3 bad", "f");
  ASSERT_EQ(cases.size(), 4u);
  auto by_geometry = cases;
  RemoveDuplicates(by_geometry);
  EXPECT_EQ(by_geometry.size(), 3u);  // the batch counts
  OverrideBatch(cases, 4);
  EXPECT_EQ(cases[0].descriptor.desc.n, 4);
  RemoveDuplicates(cases);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].descriptor.name, "a");
  EXPECT_FALSE(cases[1].status.ok());
}

TEST(Suite, ArgumentsAreSuitesFilesOrDescriptors) {
  EXPECT_EQ(LoadCases("@vgg_19")->size(), 9u);
  EXPECT_EQ(LoadCases("mb1ic8ih8oc8kh3")->size(), 1u);
  EXPECT_EQ(LoadCases("mb1ic8ih8oc8kh3n\"a/b.c\"")->size(), 1u);
  const std::string path = testing::TempDir() + "suite_test.list";
  std::ofstream(path) << "mb1ic8ih8oc8kh3 nonsense\n";
  const auto from_file = LoadCases(path);
  ASSERT_TRUE(from_file.ok());
  EXPECT_EQ(from_file->size(), 2u);
  std::ofstream(path) << "# nothing\n";
  EXPECT_FALSE(LoadCases(path).ok());
  std::remove(path.c_str());
  EXPECT_NE(LoadCases(path).status().message().find("does not exist"), std::string_view::npos);
  EXPECT_NE(LoadCases("no/such/file").status().message().find("does not exist"),
            std::string_view::npos);
  EXPECT_FALSE(LoadCases("ic8q").ok());
  EXPECT_FALSE(LoadCases("@nothing").ok());
  EXPECT_FALSE(LoadCases(testing::TempDir()).ok());
}

}  // namespace
}  // namespace rafter::bench
