// Tests of roofline/stream_kernel.h: that the loops touch exactly what they should, on every ISA.
#include "roofline/stream_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/for_each_isa.h"

namespace rafter::roofline {
namespace {

using testing::ForEachIsa;

constexpr int64_t kBlocks = 3, kFloats = kBlocks * kStreamBlockBytes / 4, kGuard = 16;

// Three arrays with a cache line in front of and behind each.
struct Arrays {
  alignas(64) float a[kGuard + kFloats + kGuard];
  alignas(64) float b[kGuard + kFloats + kGuard];
  alignas(64) float dst[kGuard + kFloats + kGuard];

  Arrays() {
    for (int64_t i = 0; i < kFloats + 2 * kGuard; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(1000 + i);
      dst[i] = -1;
    }
  }
  StreamArgs Args() {
    return {reinterpret_cast<const std::byte*>(a + kGuard),
            reinterpret_cast<const std::byte*>(b + kGuard),
            reinterpret_cast<std::byte*>(dst + kGuard), kBlocks, 2};
  }
};

float Expected(Mix mix, int64_t i) {
  const float a = static_cast<float>(kGuard + i), b = static_cast<float>(1000 + kGuard + i);
  switch (mix) {
    case Mix::kTwoToOne:
      return a + b;
    case Mix::kCopy:
      return a;
    case Mix::kStore:
      return 1.5f;
    default:
      return -1;  // loads store nothing, in place writes back what is there
  }
}

void Check(Isa isa, Mix mix, bool non_temporal) {
  const Result<jit::KernelPtr> kernel = CompileStream(isa, mix, non_temporal);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto arrays = std::make_unique<Arrays>();
  const StreamArgs args = arrays->Args();
  (*kernel)->entry<StreamFunction>()(&args);
  for (int64_t i = 0; i < kFloats; ++i) {
    ASSERT_EQ(arrays->dst[kGuard + i], Expected(mix, i)) << MixName(mix) << " at " << i;
  }
  for (int64_t i = 0; i < kGuard; ++i) {
    ASSERT_EQ(arrays->dst[i], -1);
    ASSERT_EQ(arrays->dst[kGuard + kFloats + i], -1);
  }
}

TEST(StreamKernel, WritesEachElementOfEachBlock) {
  ForEachIsa([](Isa isa) {
    for (const Mix mix : kAllMixes) Check(isa, mix, false);
    for (const Mix mix : {Mix::kTwoToOne, Mix::kCopy, Mix::kStore}) Check(isa, mix, true);
  });
}

TEST(StreamKernel, NamesSayWhatTheyAre) {
  ForEachIsa([](Isa isa) {
    const Result<jit::KernelPtr> kernel = CompileStream(isa, Mix::kTwoToOne, true);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ((*kernel)->name(), std::string("probe_stream_2_1_nt_") + IsaName(isa));
  });
}

TEST(StreamKernel, RefusesWhatDoesNotExist) {
  EXPECT_EQ(CompileStream(Isa::kNone, Mix::kLoad, false).status().code(), StatusCode::kUnsupported);
  if (DetectedIsa() == Isa::kNone) return;
  EXPECT_EQ(CompileStream(DetectedIsa(), Mix::kLoad, true).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rafter::roofline
