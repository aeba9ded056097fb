// Tests of bench/case_runner on small cases, with fixed bounds and a fake baseline.
#include "bench/case_runner.h"

#include <gtest/gtest.h>

#include "rafter/conv.h"

namespace rafter::bench {
namespace {

struct FixedBounds : Bounds {
  int refreshed = 0;
  void BeginCase(Isa, int) override { ++refreshed; }
  BoundResult EndCase(const ConvCost& cost, const AlgorithmWork&, Isa, int, const TimeStats& time, CacheMode) override {
    const double time_us = time.median;
    EXPECT_GT(time_us, 0);
    const double us = cost.flops_valid / 1e5;
    BoundResult bound;
    bound.bound_us = bound.compute_us = us;
    bound.binding = "compute";
    bound.peak_gflops = 100;
    return bound;
  }
};

// The "other library" is rafter's reference; it can be told to be wrong or to refuse.
class FakeBaseline : public Baseline {
 public:
  bool wrong = false, refuses_any = false;
  const std::string& name() const noexcept override { return name_; }
  const std::string& version() const noexcept override { return version_; }
  bool too_old() const noexcept override { return false; }
  Result<std::unique_ptr<BaselineRun>> Prepare(const BaselineRequest& request) override;

 private:
  std::string name_ = "fake", version_ = "1.0";
};

class FakeRun : public BaselineRun {
 public:
  FakeRun(const BaselineRequest& request, bool wrong)
      : conv_(Conv::Create(NchwOutput(*request.desc), {.threads = 1, .algorithm = "reference"})
                  .value()),
        packed_(conv_.PackWeights(request.oihw, request.bias).value()),
        src_(request.src),
        dst_(static_cast<size_t>(conv_.desc().n * conv_.desc().oc * conv_.output_size().h *
                                 conv_.output_size().w)),
        wrong_(wrong),
        layout_(BaselineLayoutName(request.layout)) {}
  const std::string& implementation() const noexcept override { return implementation_; }
  const std::string& layout() const noexcept override { return layout_; }
  double create_us() const noexcept override { return 1; }
  void Run() noexcept override { static_cast<void>(conv_.Run(src_, packed_, dst_.data()).ok()); }
  Status status() const override { return {}; }
  void AppendMemory(bool, std::vector<Memory>& memory) const override { memory.push_back(packed_.bytes()); }
  Status ReadOutput(std::vector<float>& nchw) override {
    nchw = dst_;
    if (wrong_) nchw[0] += 1;
    return {};
  }

 private:
  static ConvDesc NchwOutput(ConvDesc desc) {
    desc.dst = {Layout::kNchw, {}};
    return desc;
  }
  Conv conv_;
  PackedWeights packed_;
  const float* src_;
  std::vector<float> dst_;
  bool wrong_;
  std::string implementation_ = "reference", layout_;
};

Result<std::unique_ptr<BaselineRun>> FakeBaseline::Prepare(const BaselineRequest& request) {
  if (refuses_any && request.layout == BaselineLayout::kAny)
    return Status::Unsupported("not today");
  return std::unique_ptr<BaselineRun>(std::make_unique<FakeRun>(request, wrong));
}

SuiteCase CaseOf(const std::string& text) { return LoadCases(text)->front(); }

CaseOptions Quick() {
  CaseOptions options;
  options.budget_us = 20e3;
  options.creations = 2;
  return options;
}

TEST(CaseRunner, MeasuresEveryLayout) {
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    CaseOptions options = Quick();
    options.layout = layout;
    FixedBounds bounds;
    const CaseResult result =
        CaseRunner(options, &bounds, nullptr).Run(CaseOf("mb1ic12ih10oc20kh3ph1n\"x\""));
    ASSERT_EQ(result.error, "") << LayoutName(layout);
    EXPECT_EQ(result.layout, LayoutName(layout));
    EXPECT_EQ(result.name, "x");
    EXPECT_EQ(result.descriptor, "mb1ic12ih10oc20oh10kh3ph1");
    EXPECT_EQ(result.verified_outputs, 20 * 10 * 10);
    EXPECT_GT(result.time.median, 0);
    EXPECT_GT(result.create_us, 0);
    EXPECT_GT(result.gflops, 0);
    EXPECT_FALSE(result.kernel.empty());
    EXPECT_DOUBLE_EQ(result.flops_nominal, 2.0 * 20 * 12 * 9 * 100);
    EXPECT_DOUBLE_EQ(result.efficiency, result.bound_us / result.time.median);
    EXPECT_EQ(bounds.refreshed, 1);
    EXPECT_FALSE(result.vs_same.has_value());
  }
}

TEST(CaseRunner, FusesPostOps) {
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
    CaseOptions options = Quick();
    options.layout = layout;
    options.post_ops = {PostOp::ChannelScale({}), PostOp::ResidualAdd(), PostOp::HardSwish(),
                        PostOp::Gelu(),           PostOp::ResidualAdd(), PostOp::Elu(0.5f)};
    const CaseResult result =
        CaseRunner(options, nullptr, nullptr).Run(CaseOf("mb2ic12ih10oc20kh3ph1"));
    ASSERT_EQ(result.error, "") << LayoutName(layout);
    EXPECT_EQ(result.post_ops, "channel_scale+residual_add+hard_swish+gelu+residual_add+elu");
    EXPECT_GT(result.verified_outputs, 0);
    // Source, weights, bias, output, two residuals.
    const double outputs = 2 * 20 * 10 * 10;
    EXPECT_GE(result.bytes, 4 * (2 * 12 * 10 * 10 + 20 * 12 * 9 + 3 * outputs));
  }
}

TEST(CaseRunner, AlgorithmsThreadsAndEmptyBatches) {
  CaseOptions options = Quick();
  options.algorithm = "reference";
  options.threads = 2;
  CaseResult result = CaseRunner(options, nullptr, nullptr).Run(CaseOf("mb2ic4ih6oc4kh3"));
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.algorithm, "reference");
  EXPECT_EQ(result.threads, 2);
  EXPECT_EQ(result.descriptor.rfind("mb2", 0), 0u);
  result = CaseRunner(options, nullptr, nullptr).Run(CaseOf("mb0ic4ih6oc4kh3"));
  EXPECT_EQ(result.error, "");
  options.algorithm = "no_such";
  EXPECT_NE(CaseRunner(options, nullptr, nullptr).Run(CaseOf("mb2ic4ih6oc4kh3")).error, "");
}

TEST(CaseRunner, FailedCasesCarryTheirError) {
  CaseRunner runner(Quick(), nullptr, nullptr);
  const auto cases = ParseSuite("ic8q1 mb9223372036854775807ic8ih8oc8kh3 ic8id8oc8kd3", "f");
  for (const SuiteCase& suite_case : cases) {
    const CaseResult result = runner.Run(suite_case);
    EXPECT_NE(result.error, "") << suite_case.descriptor.text;
    EXPECT_NE(result.descriptor, "");
  }
  std::atomic<bool> stop{true};
  CaseOptions options = Quick();
  options.stop = &stop;
  EXPECT_EQ(CaseRunner(options, nullptr, nullptr).Run(CaseOf("mb1ic8ih8oc8kh3")).error,
            "interrupted");
}

TEST(CaseRunner, ComparesWithABaseline) {
  FakeBaseline baseline;
  CaseRunner runner(Quick(), nullptr, &baseline);
  CaseResult result = runner.Run(CaseOf("mb1ic8ih8oc8kh3"));
  ASSERT_EQ(result.error, "");
  ASSERT_TRUE(result.vs_same && result.vs_best);
  EXPECT_EQ(result.vs_same->library, "fake");
  EXPECT_EQ(result.vs_same->layout, "same");
  EXPECT_LE(result.vs_best->speedup, result.vs_same->speedup);
  EXPECT_GT(result.vs_same->time_us, 0);
  EXPECT_EQ(result.vs_error, "");
  baseline.refuses_any = true;
  result = runner.Run(CaseOf("mb1ic8ih8oc8kh3"));
  EXPECT_EQ(result.error, "");
  EXPECT_NE(result.vs_error.find("any: not today"), std::string::npos);
  baseline.wrong = true;
  result = runner.Run(CaseOf("mb1ic8ih8oc8kh3"));
  EXPECT_EQ(result.error, "");
  EXPECT_FALSE(result.vs_same.has_value());
  EXPECT_NE(result.vs_error.find("wrong output"), std::string::npos);
  EXPECT_GT(result.time.median, 0);
}

TEST(CaseRunner, EstimatesGrowWithTheWork) {
  const CaseRunner runner(Quick(), nullptr, nullptr);
  EXPECT_GT(runner.EstimateUs(CaseOf("mb1ic64ih56oc64kh3")),
            runner.EstimateUs(CaseOf("mb1ic8ih8oc8kh3")));
  EXPECT_EQ(runner.EstimateUs(ParseSuite("bad", "f").front()), 0);
}

}  // namespace
}  // namespace rafter::bench
