// tests/kernels/conv/call_memory_test.cc: which tensors of one call may share memory, seen through Conv::Run.
#include "kernels/conv/call_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "rafter/conv.h"

namespace rafter {
namespace {

// Channels [0, 4) of a tensor of 12 channels are the source, [4, 12) the destination: they interleave.
constexpr int64_t kImage = 6, kAll = 12, kIn = 4, kOut = 8;

ConvDesc SliceDesc(Layout layout) {
  ConvDesc desc{.n = 2, .ic = kIn, .oc = kOut, .in = {kImage, kImage}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  desc.src.layout = desc.dst.layout = layout;
  const Strides whole = DenseStrides(layout, kAll, kImage, kImage);
  desc.src.strides = desc.dst.strides = whole;
  return desc;
}

struct Slices {
  explicit Slices(const ConvDesc& desc)
      : conv(*Conv::Create(desc, {.threads = 1})),
        packed(*conv.PackWeights(std::vector<float>(kIn * kOut * 9, 1.0f).data(), nullptr)),
        memory(static_cast<size_t>(4 * desc.n * kAll * kImage * kImage), 1.0f) {}

  Status Run(const float* src, float* dst, const RunOptions& options = {}) {
    return conv.Run(src, packed, dst, options);
  }
  // Elements to the channel behind the source.
  int64_t behind() const { return conv.desc().src.layout == Layout::kNhwc ? kIn : kIn * kImage * kImage; }

  Conv conv;
  PackedWeights packed;
  std::vector<float> memory;
};

void ExpectBad(const Status& status, std::string_view words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
}

TEST(CallMemory, SlicesOfOneTensorMayInterleave) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    Slices slices(SliceDesc(layout));
    float* const base = slices.memory.data();
    const Status status = slices.Run(base, base + slices.behind());
    EXPECT_TRUE(status.ok()) << status.message();
    // An inner pixel has all 9 taps of 4 channels of ones; the source is as it was.
    const Strides s = DenseStrides(layout, kAll, kImage, kImage);
    EXPECT_EQ(base[Offset(s, layout, 1, kIn, 2, 2)], 36.0f);
    EXPECT_EQ(base[Offset(s, layout, 1, kAll - 1, 2, 2)], 36.0f);
    EXPECT_EQ(base[Offset(s, layout, 1, kIn - 1, 2, 2)], 1.0f);
  }
}

TEST(CallMemory, SharedElementsAreRefused) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    Slices slices(SliceDesc(layout));
    float* const base = slices.memory.data() + 1000;
    const std::vector<float> before = slices.memory;
    for (const int64_t shift : {int64_t{0}, int64_t{1}, slices.behind() - 1, -slices.behind(), int64_t{-1}}) {
      ExpectBad(slices.Run(base, base + shift), "dst: overlaps src, allowed: tensors that share no element");
    }
    EXPECT_EQ(slices.memory, before) << "nothing is written";
  }
  // Dense tensors.
  ConvDesc dense{.n = 1, .ic = kIn, .oc = kOut, .in = {kImage, kImage}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  Slices slices(dense);
  float* const base = slices.memory.data() + 1000;
  constexpr int64_t kSrc = kIn * kImage * kImage, kDst = kOut * kImage * kImage;
  for (const int64_t shift : {int64_t{0}, kSrc - 1, 1 - kDst}) {
    ExpectBad(slices.Run(base, base + shift), "dst: overlaps");
  }
  for (const int64_t shift : {kSrc, -kDst}) EXPECT_TRUE(slices.Run(base, base + shift).ok());
}

TEST(CallMemory, AResidualMayBeTheDestinationButNotAPartOfIt) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    ConvDesc desc = SliceDesc(layout);
    desc.post_ops = {PostOp::ResidualAdd()};
    Slices slices(desc);
    float* const base = slices.memory.data();
    float* const dst = base + slices.behind();
    const auto run = [&](const float* residual) { return slices.Run(base, dst, {.residuals = {&residual, 1}}); };
    EXPECT_TRUE(run(dst).ok());
    EXPECT_TRUE(run(dst + 2 * kAll * kImage * kImage).ok());
    ExpectBad(run(dst + 1), "residuals: one overlaps dst in part, allowed: dst itself");
    ExpectBad(run(dst - 1), "residuals: one overlaps dst in part");
  }
}

TEST(CallMemory, ScratchBelongsToNobodyElse) {
  ConvDesc desc{.n = 1, .ic = kIn, .oc = kOut, .in = {kImage, kImage}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  Slices slices(desc);
  std::vector<std::byte> memory(2 * 64 + slices.memory.size() * sizeof(float) + slices.conv.scratch_bytes());
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  std::byte* const aligned = memory.data() + (64 - address % 64) % 64;
  auto* const floats = reinterpret_cast<float*>(aligned);
  const size_t bytes = std::max<size_t>(slices.conv.scratch_bytes(), 64);
  ExpectBad(slices.Run(floats, slices.memory.data(), {.scratch = {aligned, bytes}}), "scratch: overlaps a tensor");
  ExpectBad(slices.Run(slices.memory.data(), floats, {.scratch = {aligned, bytes}}), "scratch: overlaps a tensor");
  EXPECT_TRUE(slices.Run(slices.memory.data(), slices.memory.data() + 2000, {.scratch = {aligned, bytes}}).ok());
}

TEST(CallMemory, NullSpansWithASizeAreRefused) {
  ConvDesc desc = SliceDesc(Layout::kNhwc);
  desc.post_ops = {PostOp::ResidualAdd()};
  Slices slices(desc);
  float* const base = slices.memory.data();
  const float* const* none = nullptr;
  ExpectBad(slices.Run(base, base + kIn, {.residuals = {none, 1}}), "residuals: no pointers at a null address");
  const float* residual = base + kIn;
  std::byte* nothing = nullptr;
  ExpectBad(slices.Run(base, base + kIn, {.residuals = {&residual, 1}, .scratch = {nothing, size_t{1} << 20}}),
            "scratch: is null");
}

}  // namespace
}  // namespace rafter
