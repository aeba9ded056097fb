// tests/kernels/conv/wisdom_test.cc: the store of wisdom and its text as a whole. Lines:
// wisdom_text_test.cc; what planning makes of it: dispatch_test.cc and conv_test.cc.
#include "kernels/conv/wisdom.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "rafter/conv.h"

namespace rafter {
namespace {

// The key of a 1x1 convolution with `ic` input channels.
WisdomKey KeyOf(int64_t ic) {
  const auto problem = Validate({.ic = ic, .oc = 8, .in = {4, 4}});
  return MakeWisdomKey(*problem, {.isa = Isa::kAvx2});
}

std::string Line(const std::string& cpu, int64_t ic, const char* algorithm = "direct",
                 double us = 1.5) {
  return PrintWisdomLine(cpu, KeyOf(ic), {algorithm, us}) + "\n";
}

std::string Title() { return std::string(kWisdomTitle) + "\n"; }

class WisdomTest : public ::testing::Test {
 protected:
  void SetUp() override { ForgetWisdom(); }
  void TearDown() override { ForgetWisdom(); }

  void ExpectRefused(const std::string& text, const std::string& words) {
    const std::string before = ExportWisdom();
    const Status status = ImportWisdom(text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(words), std::string::npos)
        << "\"" << status.message() << "\" lacks \"" << words << "\"";
    EXPECT_EQ(ExportWisdom(), before);
  }
};

TEST_F(WisdomTest, EmptyStore) {
  EXPECT_FALSE(HasWisdom());
  EXPECT_FALSE(FindWisdom(KeyOf(3)));
  EXPECT_EQ(ExportWisdom(), "rafter wisdom 1\n");
  EXPECT_TRUE(ImportWisdom(ExportWisdom()).ok());
  EXPECT_FALSE(HasWisdom());
}

TEST_F(WisdomTest, KeepsTheLatest) {
  StoreWisdom(KeyOf(3), "direct", 7.25);
  StoreWisdom(KeyOf(4), "pointwise", 8.0004);
  StoreWisdom(KeyOf(3), "pointwise", 6.5);
  EXPECT_TRUE(HasWisdom());
  EXPECT_EQ(FindWisdom(KeyOf(3)), (WisdomChoice{"pointwise", 6.5}));
  EXPECT_EQ(FindWisdom(KeyOf(4)), (WisdomChoice{"pointwise", 8}));
  EXPECT_FALSE(FindWisdom(KeyOf(5)));
  ForgetWisdom();
  EXPECT_FALSE(HasWisdom());
  EXPECT_FALSE(FindWisdom(KeyOf(3)));
}

TEST_F(WisdomTest, RoundTrip) {
  for (int64_t ic = 1; ic <= 50; ++ic) {
    StoreWisdom(KeyOf(ic), ic % 2 == 0 ? "direct" : "pointwise", static_cast<double>(ic) * 1.37);
  }
  const std::string text = ExportWisdom();
  ForgetWisdom();
  ASSERT_TRUE(ImportWisdom(text).ok());
  EXPECT_EQ(ExportWisdom(), text);
  EXPECT_EQ(FindWisdom(KeyOf(50)), (WisdomChoice{"direct", 68.5}));
}

TEST_F(WisdomTest, ImportAddsAndReplaces) {
  StoreWisdom(KeyOf(1), "direct", 1);
  StoreWisdom(KeyOf(2), "direct", 1);
  ASSERT_TRUE(
      ImportWisdom(Title() + Line(WisdomCpu(), 2, "pointwise") + Line(WisdomCpu(), 3)).ok());
  EXPECT_EQ(FindWisdom(KeyOf(1))->algorithm, "direct");
  EXPECT_EQ(FindWisdom(KeyOf(2))->algorithm, "pointwise");
  EXPECT_EQ(FindWisdom(KeyOf(3))->algorithm, "direct");
}

TEST_F(WisdomTest, OtherCpusAreKeptButNotUsed) {
  ASSERT_TRUE(ImportWisdom(Title() + Line("Other-1-2-3", 1, "direct")).ok());
  EXPECT_FALSE(HasWisdom());
  EXPECT_FALSE(FindWisdom(KeyOf(1)));
  StoreWisdom(KeyOf(1), "pointwise", 2);
  EXPECT_EQ(FindWisdom(KeyOf(1))->algorithm, "pointwise");
  const std::string text = ExportWisdom();
  EXPECT_NE(text.find(Line("Other-1-2-3", 1, "direct")), std::string::npos) << text;
  EXPECT_NE(text.find(Line(WisdomCpu(), 1, "pointwise", 2)), std::string::npos) << text;
}

TEST_F(WisdomTest, KeysTellProblemsApart) {
  const ConvDesc desc{.n = 2, .ic = 4, .oc = 4, .in = {5, 5}, .kernel = {3, 3}};
  const auto key = [](const ConvDesc& one, const PlanContext& context = {}) {
    const auto problem = Validate(one);
    EXPECT_TRUE(problem.ok()) << problem.status().message();
    return MakeWisdomKey(*problem, context);
  };
  std::vector<WisdomKey> keys{key(desc)};
  keys.push_back(key(desc, {.isa = Isa::kAvx2}));
  keys.push_back(key(desc, {.threads = 2}));
  keys.push_back(key(desc, {.accuracy = Accuracy::kStrict}));
  const auto changed = [&](auto change) {
    ConvDesc other = desc;
    change(other);
    keys.push_back(key(other));
  };
  changed([](ConvDesc& d) { d.n = 3; });
  changed([](ConvDesc& d) { d.groups = 2; });
  changed([](ConvDesc& d) { d.ic = 8; });
  changed([](ConvDesc& d) { d.oc = 8; });
  changed([](ConvDesc& d) { d.in.w = 6; });
  changed([](ConvDesc& d) { d.kernel.h = 2; });
  changed([](ConvDesc& d) { d.stride.w = 2; });
  changed([](ConvDesc& d) { d.dilation.h = 2; });
  changed([](ConvDesc& d) { d.pad.right = 1; });
  changed([](ConvDesc& d) { d.pad.left = 1; });
  changed([](ConvDesc& d) { d.src.layout = Layout::kNchw; });
  changed([](ConvDesc& d) { d.dst.layout = Layout::kNchw; });
  changed([](ConvDesc& d) { d.src.strides = Strides{200, 1, 30, 4}; });
  changed([](ConvDesc& d) { d.dst.strides = Strides{200, 1, 30, 4}; });
  changed([](ConvDesc& d) { d.post_ops = {PostOp::Relu()}; });
  changed([](ConvDesc& d) { d.post_ops = {PostOp::Relu(), PostOp::Tanh()}; });
  changed([](ConvDesc& d) { d.post_ops = {PostOp::Tanh(), PostOp::Relu()}; });
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(keys[i] == keys[j]) << i << " " << j;
      EXPECT_NE(WisdomKeyHash()(keys[i]), WisdomKeyHash()(keys[j])) << i << " " << j;
    }
  }
  // What does not matter.
  ConvDesc same = desc;
  same.bias = true;
  same.src.strides = Strides{100, 1, 20, 4};
  EXPECT_EQ(key(same), keys[0]);
}

TEST_F(WisdomTest, RefusesDamageAndKeepsTheStore) {
  StoreWisdom(KeyOf(1), "direct", 1);
  const std::string good = Line(WisdomCpu(), 2), other = Line(WisdomCpu(), 3);
  const char* none = nullptr;
  EXPECT_EQ(ImportWisdom({none, 5}).code(), StatusCode::kInvalidArgument);
  ExpectRefused("", "wisdom, line 1: is missing, allowed: \"rafter wisdom 1\"");
  ExpectRefused("rafter wisdom 1", "line 1: \"rafter wisdom 1\" is cut off");
  ExpectRefused("rafter wisdom 2\n" + good, "line 1: \"rafter wisdom 2\" is not valid, allowed: ");
  ExpectRefused("rafter wisdom 1\r\n", "line 1: \"rafter wisdom 1?\"");
  ExpectRefused(std::string("\0\n", 2), "line 1: \"?\"");
  ExpectRefused(good, "line 1: ");
  ExpectRefused(Title() + "\n" + good, "line 2: \"\" has 1 fields, allowed: 10");
  ExpectRefused(Title() + good + other.substr(0, other.size() - 1), "is cut off, allowed: lines");
  ExpectRefused(Title() + good + other + Title(), "wisdom, line 4: \"rafter wisdom 1\" has 3 fields");
  ExpectRefused(Title() + good + Line(WisdomCpu(), 2, "pointwise"), "line 3: ");
  ExpectRefused(Title() + good + Line(WisdomCpu(), 2, "pointwise"), "repeats the problem");
  ExpectRefused(Title() + good + "x avx3 " + other.substr(other.find("threads")),
                "line 3: ISA: \"avx3\" is not valid");
}

// `count` entries of a CPU.
std::string ManyLines(const std::string& cpu, size_t count) {
  std::string text = Title();
  for (size_t i = 1; i <= count; ++i) text += Line(cpu, static_cast<int64_t>(i));
  return text;
}

TEST_F(WisdomTest, IsBounded) {
  const std::string full = ManyLines("Other-1-2-3", kMaxWisdomEntries);
  ExpectRefused(full + Line("Other-4-5-6", 1),
                "line " + std::to_string(kMaxWisdomEntries + 2) + ": is one too many");
  ASSERT_TRUE(ImportWisdom(full).ok());
  ASSERT_TRUE(ImportWisdom(full).ok()) << "replacing needs no room";
  const Status more = ImportWisdom(Title() + Line("Other-4-5-6", 1));
  EXPECT_EQ(more.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(more.message(), "wisdom: 65537 entries with those that are there, allowed: 65536");
  StoreWisdom(KeyOf(1), "direct", 1);
  EXPECT_FALSE(HasWisdom());
}

TEST_F(WisdomTest, ThreadsMayDoEverythingAtOnce) {
  const std::string text = ManyLines(WisdomCpu(), 40);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        switch ((i + t) % 4) {
          case 0:
            EXPECT_TRUE(ImportWisdom(text).ok());
            break;
          case 1:
            EXPECT_TRUE(ExportWisdom().starts_with(Title()));
            break;
          case 2:
            StoreWisdom(KeyOf(i + 1), "pointwise", 3);
            break;
          default:
            if (HasWisdom()) (void)FindWisdom(KeyOf(i + 1));
            if (i % 16 == 3) ForgetWisdom();
        }
      }
    });
  }
  threads.clear();
  ASSERT_TRUE(ImportWisdom(text).ok());
  EXPECT_EQ(FindWisdom(KeyOf(40))->algorithm, "direct");
}

TEST_F(WisdomTest, AChildOfAMeasuringProcessMayMeasure) {
  StoreWisdom(KeyOf(1), "direct", 1);
  const std::lock_guard<std::mutex> measuring(MeasuringMutex());
  const pid_t child = fork();
  if (child == 0) {
    const bool fine = MeasuringMutex().try_lock() && FindWisdom(KeyOf(1)).has_value();
    _exit(fine ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rafter
