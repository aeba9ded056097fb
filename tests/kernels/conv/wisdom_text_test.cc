// tests/kernels/conv/wisdom_text_test.cc: lines of wisdom: there and back, and every kind of damage.
#include "kernels/conv/wisdom_text.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/machine_model.h"

namespace rafter {
namespace {

constexpr const char* kLine =
    "AuthenticAMD-25-1-1 avx2 threads=2 default "
    "n=2,g=1,ic=64,oc=32,in=56x57,kernel=3x5,stride=1x2,dilation=1x1,pad=1:2:1:2 "
    "src=NHWC:204288:1:3648:64 dst=NCHW16c:53312:26656:464:16 post=residual_add+relu "
    "direct+reorder 812.400";

TEST(WisdomText, CpuNamesHaveNoBlanks) {
  EXPECT_EQ(WisdomCpuName("AuthenticAMD", 25, 1, 1), "AuthenticAMD-25-1-1");
  EXPECT_EQ(WisdomCpuName("  Shanghai  ", 7, 91, 2), "__Shanghai__-7-91-2");
  EXPECT_EQ(WisdomCpuName("", 0, 0, 0), "-0-0-0");
}

TEST(WisdomText, TimesAreRoundedToNanosecondsWithinLimits) {
  EXPECT_EQ(RoundWisdomUs(1.23456), 1.235);
  EXPECT_EQ(RoundWisdomUs(0), 0.001);
  EXPECT_EQ(RoundWisdomUs(-1), 0.001);
  EXPECT_EQ(RoundWisdomUs(1e300), 1e12);
}

TEST(WisdomText, LineOfAProblem) {
  ConvDesc desc{.n = 2, .ic = 64, .oc = 32, .in = {56, 57}, .kernel = {3, 5}, .stride = {1, 2}};
  desc.pad = {1, 2, 1, 2};
  desc.dst = {Layout::kNchw16c, Strides{53312, 26656, 464, 16}};
  desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
  const auto problem = Validate(desc);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const PlanContext context{
      .isa = Isa::kAvx2, .threads = 2, .machine = &CurrentMachineModel()};
  const WisdomKey key = MakeWisdomKey(*problem, context);
  EXPECT_EQ(PrintWisdomLine("AuthenticAMD-25-1-1", key, {"direct+reorder", 812.4}), kLine);

  const auto entry = ParseWisdomLine(kLine);
  ASSERT_TRUE(entry.ok()) << entry.status().message();
  EXPECT_EQ(entry->cpu, "AuthenticAMD-25-1-1");
  EXPECT_EQ(entry->key, key);
  EXPECT_EQ(WisdomKeyHash()(entry->key), WisdomKeyHash()(key));
  EXPECT_EQ(entry->choice, (WisdomChoice{"direct+reorder", 812.4}));
}

TEST(WisdomText, EverySettingSurvives) {
  for (const char* text : {
           "X-1-2-3 none threads=1 strict "
           "n=1,g=1,ic=1,oc=1,in=1x1,kernel=1x1,stride=1x1,dilation=1x1,pad=0:0:0:0 "
           "src=NHWC:1:1:1:1 dst=NHWC:1:1:1:1 post=none an-algorithm_of.2040 0.001",
           "X-1-2-3 avx512 threads=1024 default "
           "n=1,g=4,ic=8,oc=8,in=9x9,kernel=3x3,stride=2x2,dilation=2x3,pad=0:0:0:9 "
           "src=NCHW:648:81:9:1 dst=NCHW8c:144:144:48:8 "
           "post=relu+leaky_relu+clip+hard_swish+hard_sigmoid+sigmoid+swish+tanh x 1000000000000.000",
           "X-1-2-3 avx512 threads=7 default "
           "n=1,g=4,ic=8,oc=8,in=9x9,kernel=3x3,stride=2x2,dilation=2x3,pad=0:0:0:9 "
           "src=NCHW:648:81:9:1 dst=NCHW8c:144:144:48:8 "
           "post=gelu+elu+residual_add+channel_scale x 12345.678",
       }) {
    const auto entry = ParseWisdomLine(text);
    ASSERT_TRUE(entry.ok()) << entry.status().message();
    EXPECT_EQ(PrintWisdomLine(entry->cpu, entry->key, entry->choice), text);
  }
}

// kLine with `from` replaced.
std::string Damaged(const std::string& from, const std::string& to) {
  std::string line = kLine;
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(WisdomText, RefusesDamage) {
  const struct {
    std::string line, words;
  } cases[] = {
      {"", "\"\" has 1 fields, allowed: 10"},
      {std::string(kLine) + " ", "has 11 fields"},
      {Damaged(" avx2", "  avx2"), "has 11 fields"},
      {Damaged(" avx2", "\tavx2"), "has 9 fields"},
      {Damaged("AuthenticAMD", "Authentic\xC3\xA4"), "CPU: \"Authentic?\?-25-1-1\" is not valid"},
      {Damaged("AuthenticAMD", std::string(99, 'a')), "CPU: \"aaa"},
      {Damaged("avx2", "avx10"), "ISA: \"avx10\" is not valid, allowed: none, avx2, avx512"},
      {Damaged("threads=2", "threads=0"), "allowed: threads=1 to threads=1024"},
      {Damaged("threads=2", "threads=1025"), "threads: \"threads=1025\""},
      {Damaged("threads=2", "threads="), "threads: \"threads=\""},
      {Damaged("default", "Default"), "accuracy: \"Default\" is not valid, allowed: default, strict"},
      {Damaged("n=2", "n=-2"), "sizes: \"n=-2,g"},
      {Damaged("n=2", "n=99999999999999999999"), "sizes: \"n=9999"},
      {Damaged("ic=64,", ""), "allowed: n=N,g=N,ic=N"},
      {Damaged("ic=64", "ic=64.0"), "sizes: "},
      {Damaged("pad=1:2:1:2", "pad=1:2:1"), "sizes: "},
      {Damaged("pad=1:2:1:2", "pad=1:2:1:2:0"), "sizes: "},
      {Damaged("src=NHWC", "src=nhwc"), "src: \"src=nhwc:204288:1:3648:64\" is not valid, allowed: src="},
      {Damaged("src=NHWC:", "src=NHWC"), "src: "},
      {Damaged("dst=NCHW16c", "dst=NCHW32c"), "dst: \"dst=NCHW32c:"},
      {Damaged("dst=NCHW16c:53312", "dst=NCHW16c"), "dst: "},
      {Damaged("post=residual_add+relu", "post="), "post-ops: \"post=\""},
      {Damaged("post=residual_add+relu", "post=relu+"), "post-ops: "},
      {Damaged("post=residual_add+relu", "post=none+relu"), "post-ops: "},
      {Damaged("post=residual_add+relu", "past=relu"), "post-ops: "},
      {Damaged("post=residual_add", "post=relu+relu+relu+relu+relu+relu+relu+relu"), "up to 8 kinds"},
      {Damaged("direct+reorder", "direct/reorder"), "algorithm: \"direct/reorder\""},
      {Damaged("812.400", "0.000"), "microseconds: \"0.000\" is not valid, allowed: 0.001"},
      {Damaged("812.400", "nan"), "microseconds: "},
      {Damaged("812.400", "-1.000"), "microseconds: "},
      {Damaged("812.400", "1e3"), "microseconds: "},
      {Damaged("812.400", "812.400\r"), "microseconds: \"812.400?\""},
      {Damaged("812.400", "812.4"), "allowed: \"00\" there"},
      {Damaged("812.400", "812.4004"), "number: "},
      {Damaged("ic=64", "ic=064"), "number: \"064,oc=32"},
      // No such problem.
      {Damaged("g=1", "g=3"), "ic: 64 is not divisible by groups = 3"},
      {Damaged("oc=32", "oc=0"), "oc: 0 is too small"},
      {Damaged("204288:1:", "4:1:"), "src.strides.n: 4"},
      {Damaged("n=2", "n=1"), "strides: one of a dimension of size 1 differs"},
  };
  for (const auto& [line, words] : cases) {
    const auto entry = ParseWisdomLine(line);
    ASSERT_FALSE(entry.ok()) << line;
    EXPECT_EQ(entry.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(entry.status().message().find(words), std::string::npos)
        << "\"" << entry.status().message() << "\" lacks \"" << words << "\"";
  }
}

TEST(WisdomText, EveryCutIsNoticed) {
  const std::string line = kLine;
  for (size_t length = 0; length < line.size(); ++length) {
    EXPECT_FALSE(ParseWisdomLine(line.substr(0, length)).ok()) << length;
  }
}

// Whatever one byte becomes: refused, or an entry that prints as it was read.
TEST(WisdomText, ChangedBytesAreRefusedOrMeanSomethingElse) {
  for (size_t at = 0; at < std::string(kLine).size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string line = kLine;
      line[at] = static_cast<char>(byte);
      const auto entry = ParseWisdomLine(line);
      if (entry.ok()) {
        ASSERT_EQ(PrintWisdomLine(entry->cpu, entry->key, entry->choice), line);
      }
    }
  }
}

TEST(WisdomText, QuotesAreShortAndPrintable) {
  EXPECT_EQ(QuotedWisdom("a\nb"), "\"a?b\"");
  EXPECT_EQ(QuotedWisdom(std::string(500, 'x')), '"' + std::string(80, 'x') + "…\"");
}

}  // namespace
}  // namespace rafter
