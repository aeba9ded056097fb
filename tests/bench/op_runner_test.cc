// Every kind of operator case runs, is verified, and says what it moved; fresh, pooled and huge pages work.
#include "bench/op_runner.h"

#include <gtest/gtest.h>

#include "bench/op_work.h"
#include "bench/result_pages.h"

namespace rafter::bench {
namespace {

SuiteCase CaseOf(const char* text) {
  auto cases = LoadCases(text);
  EXPECT_TRUE(cases.ok()) << text << ": " << cases.status().message();
  return cases.ok() ? (*cases)[0] : SuiteCase{};
}

CaseOptions Quick() {
  CaseOptions options;
  options.budget_us = 2e3;
  options.creations = 1;
  return options;
}

TEST(OpRunner, EveryOperatorIsVerifiedAndTimed) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
    CaseOptions options = Quick();
    options.layout = layout;
    for (const char* text :
         {"eltwise:relu:1x20x6x6", "eltwise:tanh:1x20x6x6:inplace", "eltwise:add+channel_linear+prelu:2x20x6x6",
          "binary:mul:1x20x6x6:1x20x1x1", "pool:max:k3s2p1:1x20x9x9", "pool:avg:global:1x20x7x7",
          "concat:c:1x20x5x5+1x12x5x5", "concat:w:1x20x5x5+1x20x5x2", "pad:constant:p1:1x20x5x5",
          "pad:reflect:p2:1x20x5x5", "reorder:nchw-nhwc:1x20x5x5", "softmax:2x20x3x3", "scratch:64K"}) {
      const CaseResult result = CaseRunner(options, nullptr, nullptr).Run(CaseOf(text));
      EXPECT_EQ(result.error, "") << text;
      EXPECT_EQ(result.descriptor, text);
      EXPECT_GT(result.time.median, 0) << text;
      EXPECT_GT(result.gb_per_s, 0) << text;
      EXPECT_GT(result.verified_outputs, 0) << text;
      EXPECT_FALSE(result.kernel.empty()) << text;
    }
  }
}

TEST(OpRunner, BytesAreThoseOfTheTensors) {
  const auto bytes = [](const char* text) { return CaseRunner(Quick(), nullptr, nullptr).Run(CaseOf(text)).bytes; };
  EXPECT_EQ(bytes("eltwise:relu:1x16x10x10"), 2 * 4 * 1600);
  EXPECT_EQ(bytes("eltwise:relu:1x16x10x10:inplace"), 2 * 4 * 1600);
  EXPECT_EQ(bytes("binary:add:1x16x10x10"), 3 * 4 * 1600);
  EXPECT_EQ(bytes("concat:c:1x16x10x10+1x8x10x10"), 2 * 4 * 2400);
  EXPECT_EQ(bytes("pad:edge:p1:1x16x10x10"), 4 * (1600 + 16 * 144));
}

TEST(OpRunner, PagesOfEveryKind) {
  for (const Pages pages : {Pages::kFresh, Pages::kPooled, Pages::kHuge}) {
    CaseOptions options = Quick();
    options.pages = pages;
    for (const char* text : {"reorder:nchw-nhwc:1x64x20x20", "scratch:1M"}) {
      const CaseResult result = CaseRunner(options, nullptr, nullptr).Run(CaseOf(text));
      EXPECT_EQ(result.error, "") << text;
      EXPECT_EQ(result.algorithm, PagesName(pages));
    }
    MemoryPool pool;
    const ResultPages memory(pages, 100'000, pool);
    ASSERT_NE(memory.data(), nullptr);
    static_cast<char*>(memory.data())[99'999] = 1;
  }
}

TEST(OpRunner, WrongCasesSayWhy) {
  const CaseResult reflect = CaseRunner(Quick(), nullptr, nullptr).Run(CaseOf("pad:reflect:p5:1x16x5x5"));
  EXPECT_NE(reflect.error.find("up to 4"), std::string::npos) << reflect.error;
  const CaseResult empty = CaseRunner(Quick(), nullptr, nullptr).Run(CaseOf("eltwise:relu:1x0x5x5"));
  EXPECT_NE(empty.error.find("c: 0"), std::string::npos) << empty.error;
}

TEST(OpRunner, TheMemorySuiteHoldsOperatorsOnly) {
  const auto suite = LoadSuite("@memory");
  ASSERT_TRUE(suite.ok());
  EXPECT_GT(suite->size(), 40u);
  for (const SuiteCase& one : *suite) {
    EXPECT_TRUE(one.status.ok()) << one.status.message();
    EXPECT_NE(one.op, nullptr) << one.descriptor.text;
  }
}

}  // namespace
}  // namespace rafter::bench
