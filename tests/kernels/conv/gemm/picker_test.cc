// Panels that are picked from planes against their definition; nothing outside of the planes is read.
#include "kernels/conv/gemm/picker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::gemm {
namespace {

ConvProblem Problem(Size2 in, Size2 stride, int64_t gap) {
  ConvDesc desc;
  desc.ic = 5, desc.oc = 2, desc.in = in, desc.stride = stride;
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  if (gap > 0) {
    const int64_t row = in.w + gap, plane = in.h * row;
    desc.src.strides = Strides{5 * plane, plane, row, 1};
  }
  const Result<ConvProblem> problem = Validate(desc);
  EXPECT_TRUE(problem.ok());
  return *problem;
}

void Check(const ConvProblem& p, Isa isa) {
  const Result<Picker> picker = Picker::Make(p, isa);
  if (!picker.ok()) GTEST_SKIP() << picker.status().message();
  const int lanes = jit::GetIsaInfo(isa).vec_lanes();
  const int64_t floats = 4 * p.src.c + (p.desc.in.h - 1) * p.src.h + p.desc.in.w, pixels = p.oh * p.ow;
  testing::GuardedBuffer buffer(static_cast<size_t>(floats));
  float* image = buffer.data();
  for (int64_t i = 0; i < floats; ++i) image[i] = static_cast<float>(i + 1);
  for (const Range ks : {Range{0, 5}, Range{2, 5}}) {
    for (int64_t first = 0; first < pixels; first += 3 * lanes) {
      const auto width = static_cast<int32_t>(std::min<int64_t>(3, (pixels - first + lanes - 1) / lanes) * lanes);
      std::vector<float> panel(static_cast<size_t>((ks.end - ks.begin) * width + lanes), -1.0F);
      picker->Fill(image, ks, first, width, panel.data());
      for (int64_t k = ks.begin; k < ks.end; ++k) {
        for (int64_t i = 0; i < width && first + i < pixels; ++i) {
          const int64_t y = (first + i) / p.ow * p.desc.stride.h, x = (first + i) % p.ow * p.desc.stride.w;
          ASSERT_EQ(panel[static_cast<size_t>((k - ks.begin) * width + i)], image[k * p.src.c + y * p.src.h + x])
              << "k " << k << " pixel " << first + i;
        }
      }
    }
  }
}

TEST(Picker, EveryWidthAndStride) {
  testing::ForEachIsa([](Isa isa) {
    for (const int64_t stride : {1, 2, 3, 5}) {
      for (int64_t width = 1; width <= 70; width += width < 40 ? 1 : 7) {
        for (const int64_t height : {1, 2, 5}) {
          for (const int64_t gap : {0, 3}) {
            SCOPED_TRACE(::testing::Message() << stride << " of " << height << " x " << width << ", gap " << gap);
            ASSERT_NO_FATAL_FAILURE(Check(Problem({height, width}, {stride == 5 ? 1 : stride, stride}, gap), isa));
          }
        }
      }
    }
  });
}

TEST(Picker, TakesPixelsWithoutPadding) {
  ConvProblem p = Problem({6, 6}, {2, 2}, 0);
  EXPECT_TRUE(Picker::Fits(p));
  p.desc.pad.right = 1;
  EXPECT_FALSE(Picker::Fits(p));
  p = Problem({6, 6}, {2, 2}, 0);
  p.desc.kernel = {1, 2};
  EXPECT_FALSE(Picker::Fits(p));
}

}  // namespace
}  // namespace rafter::gemm
