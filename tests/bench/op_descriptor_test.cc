// The notation of memory-bound operators: what each part means, and what is refused.
#include "bench/op_descriptor.h"

#include <gtest/gtest.h>

namespace rafter::bench {
namespace {

template <typename Desc>
Desc Parse(const char* text) {
  Result<OpCase> op = ParseOp(text);
  EXPECT_TRUE(op.ok()) << text << ": " << op.status().message();
  if (!op.ok() || !std::holds_alternative<Desc>(op->desc)) {
    ADD_FAILURE() << text;
    return {};
  }
  EXPECT_EQ(op->text, text);
  return std::get<Desc>(op->desc);
}

TEST(OpDescriptor, Eltwise) {
  const auto relu = Parse<EltwiseDesc>("eltwise:relu:2x64x56x28");
  ASSERT_EQ(relu.ops.size(), 1u);
  EXPECT_EQ(relu.ops[0].kind, EltwiseKind::kRelu);
  EXPECT_EQ(relu.n, 2);
  EXPECT_EQ(relu.c, 64);
  EXPECT_EQ(relu.h, 56);
  EXPECT_EQ(relu.w, 28);
  const auto chain = Parse<EltwiseDesc>("eltwise:add+clip=-1=2.5:1x8x4x4");
  ASSERT_EQ(chain.ops.size(), 2u);
  EXPECT_EQ(chain.ops[1].alpha, -1.0f);
  EXPECT_EQ(chain.ops[1].beta, 2.5f);
  EXPECT_EQ(Parse<EltwiseDesc>("eltwise:silu:1x8x4x4").ops[0].alpha, 1.0f);
  EXPECT_TRUE(ParseOp("eltwise:relu:1x8x4x4:inplace")->in_place);
  const auto broadcast = Parse<EltwiseDesc>("binary:mul:1x8x4x4:1x8x1x1");
  EXPECT_FALSE(broadcast.ops[0].operand.one_c);
  EXPECT_TRUE(broadcast.ops[0].operand.one_h);
  EXPECT_TRUE(broadcast.ops[0].operand.one_w);
}

TEST(OpDescriptor, Pool) {
  const auto max = Parse<PoolingDesc>("pool:max:k3s2p1:1x64x112x112");
  EXPECT_EQ(max.kernel, (Size2{3, 3}));
  EXPECT_EQ(max.stride, (Size2{2, 2}));
  EXPECT_EQ(max.pad, (Padding{1, 1, 1, 1}));
  const auto avg = Parse<PoolingDesc>("pool:avg:k3x1s2x1p1x0d2x1ceilcip:1x64x112x112");
  EXPECT_EQ(avg.kernel, (Size2{3, 1}));
  EXPECT_EQ(avg.dilation, (Size2{2, 1}));
  EXPECT_EQ(avg.pad, (Padding{1, 0, 1, 0}));
  EXPECT_TRUE(avg.ceil_mode);
  EXPECT_TRUE(avg.count_include_pad);
  for (const char* flags : {"ceilcip", "cipceil"}) {
    const auto both = Parse<PoolingDesc>((std::string("pool:avg:k3s2") + flags + ":1x64x112x112").c_str());
    EXPECT_TRUE(both.ceil_mode && both.count_include_pad);
  }
  EXPECT_EQ(Parse<PoolingDesc>("pool:avg:global:1x64x7x5").kernel, (Size2{7, 5}));
}

TEST(OpDescriptor, Copies) {
  const auto concat = Parse<ConcatDesc>("concat:c:2x16x4x5+2x32x4x5");
  EXPECT_EQ(concat.axis, Axis::kC);
  ASSERT_EQ(concat.inputs.size(), 2u);
  EXPECT_EQ(concat.inputs[1].size, 32);
  EXPECT_EQ(concat.n, 2);
  EXPECT_EQ(concat.w, 5);
  EXPECT_EQ(Parse<ConcatDesc>("concat:h:1x16x4x5+1x16x3x5").inputs[1].size, 3);
  const auto pad = Parse<PadDesc>("pad:reflect:p1x2x3x4:1x16x9x9");
  EXPECT_EQ(pad.mode, PadMode::kReflect);
  EXPECT_EQ(pad.pad, (Padding{1, 2, 3, 4}));
  EXPECT_EQ(Parse<PadDesc>("pad:edge:p2:1x16x9x9").pad, (Padding{2, 2, 2, 2}));
  const auto reorder = Parse<ReorderDesc>("reorder:NCHW-nchw16c:1x16x9x8");
  EXPECT_EQ(reorder.src.layout, Layout::kNchw);
  EXPECT_EQ(reorder.dst.layout, Layout::kNchw16c);
  EXPECT_EQ(reorder.w, 8);
  EXPECT_EQ(Parse<SoftmaxDesc>("softmax:1x1000x1x1").c, 1000);
  EXPECT_EQ(Parse<ScratchDesc>("scratch:8M").bytes, 8 << 20);
  EXPECT_EQ(Parse<ScratchDesc>("scratch:100").bytes, 100);
}

TEST(OpDescriptor, WrongOnesNameThePart) {
  for (const char* text :
       {"eltwise", "eltwise:relu", "eltwise:nonsense:1x2x3x4", "eltwise:relu:1x2x3", "eltwise:relu:1x2x3xq",
        "eltwise:clip=a:1x2x3x4", "eltwise:clip=1=2=3:1x2x3x4", "binary:add:1x8x4x4:1x3x1x1", "pool:min:k3:1x2x3x4",
        "pool:max:s2:1x2x3x4", "pool:max:k3k5:1x2x3x4", "pool:max:k3ceilceil:1x2x3x4", "binary:relu:1x2x3x4", "pool",
        "eltwise", "softmax", "pool:max:k3x3x3:1x2x3x4", "pool:max:x:1x2x3x4", "concat:q:1x2x3x4",
        "concat:c:1x2x3x4+1x2x9x4", "pad:mirror:p1:1x2x3x4", "pad:edge:1:1x2x3x4", "pad:edge:p1x2:1x2x3x4",
        "reorder:nchw:1x2x3x4", "reorder:nchw-foo:1x2x3x4", "softmax:1x2", "scratch:0", "scratch:", "scratch:99999999M",
        "eltwise:relu:99999999999999999999x1x1x1", ""}) {
    const Result<OpCase> op = ParseOp(text);
    ASSERT_FALSE(op.ok()) << text;
    EXPECT_EQ(op.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(op.status().message().find("allowed"), std::string_view::npos) << text;
  }
}

TEST(OpDescriptor, IsToldFromConvolutions) {
  EXPECT_TRUE(LooksLikeOp("pool:max"));
  EXPECT_FALSE(LooksLikeOp("mb1ic64ih56oc64oh56kh3ph1"));
  EXPECT_TRUE(LooksLikeOp("pool")) << "an operator without what it needs";
  EXPECT_FALSE(LooksLikeOp("pools"));
  EXPECT_FALSE(LooksLikeOp("resnet:pool"));
}

TEST(OpDescriptor, ImpossibleSizesAreRefused) {
  for (const char* text : {"eltwise:relu:1x9223372036854775807x4x4", "eltwise:prelu:1x9223372036854775807x4x4",
                           "pool:max:k9s1:1x1x3x3", "reorder:nhwc-nchw:1x9223372036854775807x4x4",
                           "concat:c:1x9223372036854775807x4x4+1x1x4x4", "softmax:1x9223372036854775807x4x4",
                           "pad:constant:p1:1x9223372036854775807x4x4"}) {
    const Result<OpCase> op = ParseOp(text);
    ASSERT_TRUE(op.ok()) << text;
    EXPECT_EQ(CheckOp(*op).code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(OpDescriptor, BatchIsOverridden) {
  OpCase op = *ParseOp("reorder:nchw-nhwc:1x16x9x8");
  OverrideBatch(op, 7);
  EXPECT_EQ(std::get<ReorderDesc>(op.desc).n, 7);
  OpCase scratch = *ParseOp("scratch:1K");
  OverrideBatch(scratch, 7);  // has none
}

}  // namespace
}  // namespace rafter::bench
