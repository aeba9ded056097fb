// Tests of cli/arguments.h: values, and that each error names option, value and what is allowed.
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <string>

namespace rafter::cli {
namespace {

template <typename T>
void ExpectRefused(const Result<T>& result, const std::string& option, const std::string& value,
                   const std::string& allowed) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  const std::string message(result.status().message());
  EXPECT_EQ(message.find(option + ": '" + value + "' is not allowed; allowed: "), 0u) << message;
  EXPECT_NE(message.find(allowed), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Arguments, IntegersWithinLimits) {
  EXPECT_EQ(*ParseInteger("--mb", "0", 0, 9), 0);
  EXPECT_EQ(*ParseInteger("--mb", "9", 0, 9), 9);
  for (const char* text : {"-1", "10", "", "x", "1x", "1.5", " 1", "99999999999999999999"}) {
    ExpectRefused(ParseInteger("--mb", text, 0, 9), "--mb", text, "0 to 9");
  }
}

TEST(Arguments, Threads) {
  EXPECT_EQ(*ParseThreads("1", 4), (std::vector<int>{1}));
  EXPECT_EQ(*ParseThreads("2,1,4", 4), (std::vector<int>{2, 1, 4}));
  for (const char* text : {"0", "5", "1,0", "1,", "", "-1", "two", "1,1"}) {
    ExpectRefused(ParseThreads(text, 4), "--threads", text,
                  text[0] == '1' && text[2] == '1' ? "each number once" : "1 to 4");
  }
  ExpectRefused(ParseThreads("2", 1), "--threads", "2", "1 (this process may use one CPU)");
}

TEST(Arguments, LayoutsInAnyCase) {
  EXPECT_EQ(*ParseLayout("nhwc"), Layout::kNhwc);
  EXPECT_EQ(*ParseLayout("NCHW"), Layout::kNchw);
  EXPECT_EQ(*ParseLayout("nChw16c"), Layout::kNchw16c);
  EXPECT_EQ(*ParseLayout("nchw8c"), Layout::kNchw8c);
  ExpectRefused(ParseLayout("nchw4c"), "--layout", "nchw4c", "nhwc, nchw, nchw16c, nchw8c");
}

TEST(Arguments, IsaOfThisMachineOnly) {
  EXPECT_EQ(*ParseIsaOption("none"), Isa::kNone);
  EXPECT_EQ(*ParseIsaOption(IsaName(DetectedIsa())), DetectedIsa());
  ExpectRefused(ParseIsaOption("sse9"), "--isa", "sse9", "none");
  if (DetectedIsa() < Isa::kAvx512) {
    ExpectRefused(ParseIsaOption("avx512"), "--isa", "avx512", IsaName(DetectedIsa()));
  }
}

TEST(Arguments, AccuracyAndAlgorithm) {
  EXPECT_EQ(*ParseAccuracy("strict"), Accuracy::kStrict);
  EXPECT_EQ(*ParseAccuracy("default"), Accuracy::kDefault);
  ExpectRefused(ParseAccuracy("fast"), "--accuracy", "fast", "default, strict");
  EXPECT_EQ(*ParseAlgorithm(""), "");
  EXPECT_EQ(*ParseAlgorithm("reference"), "reference");
  ExpectRefused(ParseAlgorithm("magic"), "--algorithm", "magic", "reference");
}

TEST(Arguments, Durations) {
  EXPECT_DOUBLE_EQ(*ParseDuration("--budget", "90s"), 90e6);
  EXPECT_DOUBLE_EQ(*ParseDuration("--budget", "3m"), 180e6);
  EXPECT_DOUBLE_EQ(*ParseDuration("--budget", "1.5h"), 5400e6);
  EXPECT_DOUBLE_EQ(*ParseDuration("--budget", "250ms"), 250e3);
  for (const char* text :
       {"", "90", "s", "-1s", "0s", "nans", "infs", "25h", "1d", "1e9s", "3 m"}) {
    ExpectRefused(ParseDuration("--budget", text), "--budget", text, "90s, 3m");
  }
}

TEST(Arguments, Filters) {
  EXPECT_TRUE(std::regex_search("resnet_50:res2a", *ParseFilter("res2.$")));
  ExpectRefused(ParseFilter("[a"), "--filter", "[a", "regular expression");
}

TEST(Arguments, Tile) {
  EXPECT_EQ(*ParseTile("", Isa::kAvx2), TileChoice());
  EXPECT_EQ(*ParseTile("6x2", Isa::kAvx2), (TileChoice{6, 2}));
  EXPECT_EQ(*ParseTile("5x2", Isa::kAvx2), (TileChoice{5, 2}));
  EXPECT_EQ(*ParseTile("14x2", Isa::kAvx512), (TileChoice{14, 2}));
  for (const char* text : {"7x2", "0x2", "6x7", "6", "6x", "x2", "6x2x1", "axb", "6x-2"}) {
    ExpectRefused(ParseTile(text, Isa::kAvx2), "--tile", text, "at most the pixels of 12x1 6x2");
  }
  ExpectRefused(ParseTile("6x2", Isa::kNone), "--tile", "6x2", "nothing");
}

TEST(Arguments, PostOps) {
  EXPECT_TRUE(ParsePostOps("", 4)->empty());
  const Result<PostOps> ops = ParsePostOps("sum+clip:-1:2.5+leaky_relu:0.2+channel_scale+silu", 4);
  ASSERT_TRUE(ops.ok());
  ASSERT_EQ(ops->size(), 5u);
  EXPECT_EQ((*ops)[0].kind, PostOpKind::kResidualAdd);
  EXPECT_EQ((*ops)[1].kind, PostOpKind::kClip);
  EXPECT_EQ((*ops)[1].alpha, -1.0f);
  EXPECT_EQ((*ops)[1].beta, 2.5f);
  EXPECT_EQ((*ops)[2].alpha, 0.2f);
  EXPECT_EQ((*ops)[3].scale.size(), 4u);
  EXPECT_EQ((*ops)[4].alpha, 1.0f);
  EXPECT_EQ((*ParsePostOps("relu6", 4))[0].beta, 6.0f);
  const Result<PostOps> commas = ParsePostOps("relu,add", 4);
  ASSERT_TRUE(commas.ok());
  EXPECT_EQ((*commas)[1].kind, PostOpKind::kResidualAdd);
  EXPECT_EQ((*ParsePostOps("hard_sigmoid", 4))[0].beta, 0.5f);
  const std::string nine = "relu+relu+relu+relu+relu+relu+relu+relu+relu";
  for (const std::string& text :
       {std::string("rely"), std::string("relu+"), std::string("clip"), std::string("clip:1"),
        std::string("relu:1"), std::string("elu:x"), nine}) {
    ExpectRefused(ParsePostOps(text, 4), "--post-ops", text, "up to 8 of relu");
  }
}

TEST(Arguments, CacheModes) {
  using bench::CacheMode;
  EXPECT_EQ(ParseCacheModes("hot").value(), std::vector<CacheMode>{CacheMode::kHot});
  EXPECT_EQ(ParseCacheModes("cold,cold-weights").value(),
            (std::vector<CacheMode>{CacheMode::kCold, CacheMode::kColdWeights}));
  for (const char* text : {"", "warm", "hot,hot", "hot,"}) EXPECT_FALSE(ParseCacheModes(text).ok()) << text;
}

TEST(Arguments, Percentages) {
  EXPECT_DOUBLE_EQ(ParsePercent("--fail-above", "3%").value(), 0.03);
  EXPECT_DOUBLE_EQ(ParsePercent("--fail-above", "0.5%").value(), 0.005);
  for (const char* text : {"", "3", "%", "-1%", "1e9%", "nan%", "3 %"}) {
    EXPECT_FALSE(ParsePercent("--fail-above", text).ok()) << text;
  }
}

}  // namespace
}  // namespace rafter::cli
