// Which dimensions of a chain become the kernel's rows and runs.
#include "kernels/eltwise/loops.h"

#include <gtest/gtest.h>

namespace rafter::eltwise {
namespace {

EltwiseProblem ProblemOf(Layout layout, EltwiseOps ops) {
  EltwiseDesc desc{.n = 2, .c = 32, .h = 5, .w = 7, .ops = std::move(ops)};
  desc.src.layout = desc.dst.layout = layout;
  return Validate(desc).value();
}

TEST(EltwiseLoops, DenseTensorsAreOneRun) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    const int64_t blocks = layout == Layout::kNchw16c ? 2 : layout == Layout::kNchw8c ? 4 : 32;
    const Loops loops = MakeLoops(ProblemOf(layout, {EltwiseOp::Add()}), blocks, false);
    EXPECT_EQ(loops.run, 2 * 32 * 35);
    EXPECT_EQ(loops.rows, 1);
    EXPECT_TRUE(loops.outer.empty());
  }
}

TEST(EltwiseLoops, ChannelValuesGoAlongWithTheLayout) {
  const Loops nhwc = MakeLoops(ProblemOf(Layout::kNhwc, {EltwiseOp::Relu()}), 32, true);
  EXPECT_EQ(nhwc.run, 32);
  EXPECT_EQ(nhwc.rows, 70);
  EXPECT_EQ(nhwc.tables.mode, Mode::kFull);
  const Loops nchw = MakeLoops(ProblemOf(Layout::kNchw, {EltwiseOp::Relu()}), 32, true);
  EXPECT_EQ(nchw.run, 35);
  EXPECT_EQ(nchw.rows, 32);
  EXPECT_EQ(nchw.outer, std::vector<int64_t>{2});
  EXPECT_EQ(nchw.tables.mode, Mode::kScalar);
  const Loops blocked = MakeLoops(ProblemOf(Layout::kNchw16c, {EltwiseOp::Relu()}), 2, true);
  EXPECT_EQ(blocked.run, 35 * 16);
  EXPECT_EQ(blocked.rows, 2);
  EXPECT_EQ(blocked.tables.mode, Mode::kBlock);
  EXPECT_EQ(blocked.tables.steps[1], 1);  // a piece per block
}

TEST(EltwiseLoops, BroadcastOperands) {
  const EltwiseOps gate = {EltwiseOp::Mul({.one_h = true, .one_w = true})};
  EXPECT_EQ(MakeLoops(ProblemOf(Layout::kNchw, gate), 32, false).operands[0].mode, Mode::kScalar);
  EXPECT_EQ(MakeLoops(ProblemOf(Layout::kNhwc, gate), 32, false).operands[0].mode, Mode::kFull);
  EXPECT_EQ(MakeLoops(ProblemOf(Layout::kNchw8c, gate), 4, false).operands[0].mode, Mode::kBlock);
  const Loops one = MakeLoops(ProblemOf(Layout::kNhwc, {EltwiseOp::Mul({true, true, true, true})}), 32, false);
  EXPECT_EQ(one.operands[0].mode, Mode::kScalar);
  EXPECT_EQ(one.run, 2 * 32 * 35);
}

}  // namespace
}  // namespace rafter::eltwise
