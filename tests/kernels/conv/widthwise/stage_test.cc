// The stage holds, for every output pixel and kernel column, the input that the tap reads.
#include "kernels/conv/widthwise/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::widthwise {
namespace {

Geometry Make(int64_t stride, int64_t kernel, int64_t dilation, int64_t pad) {
  Geometry g;
  g.ic_g = 2, g.in = {9, 23}, g.kernel = {2, kernel}, g.stride = {2, stride},
  g.dilation = {3, dilation};
  g.pad_top = 1, g.pad_left = pad;
  g.out = {(9 + 2 - 4) / 2 + 1, (23 + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1};
  g.src = {.n = 2 * 9 * 23, .c = 9 * 23, .h = 23, .w = 1};
  return g;
}

// `isa`: of the generated kernels; Isa::kNone: plain loops. `room`: pixels for which the stage is made.
void CheckStrip(const Geometry& g, Range y, Range x, Isa isa, int64_t room) {
  Stage stage(g, y.end - y.begin, room, x.end - x.begin == g.out.w);
  if (isa != Isa::kNone) {
    const Status status = stage.UseKernels(g, isa);
    if (!status.ok()) GTEST_SKIP() << status.message();
  }
  testing::GuardedBuffer source(2 * 9 * 23), target(static_cast<size_t>(stage.floats()));
  float *image = source.data(), *buffer = target.data();
  for (int i = 0; i < 2 * 9 * 23; ++i) image[i] = static_cast<float>(i);
  std::fill_n(buffer, static_cast<size_t>(stage.floats()), std::nanf(""));
  stage.Fill(g, image, y, x.begin, buffer);
  for (int64_t row = y.begin; row < y.end; ++row) {
    for (int64_t kh = 0; kh < g.kernel.h; ++kh) {
      const int64_t in_y = row * g.stride.h - g.pad_top + kh * g.dilation.h;
      if (in_y < 0 || in_y >= g.in.h) continue;
      for (int64_t pixel = x.begin; pixel < x.end; ++pixel) {
        for (int64_t kw = 0; kw < g.kernel.w; ++kw) {
          const int64_t in_x = pixel * g.stride.w - g.pad_left + kw * g.dilation.w;
          const bool inside = in_x >= 0 && in_x < g.in.w;
          if (!inside && !stage.is_padded()) continue;
          const int64_t at =
              stage.channel_floats() + stage.Offset(g, y.begin, x.begin, in_y, pixel) +
              stage.column_table()[static_cast<size_t>(kw)] / static_cast<int64_t>(sizeof(float));
          ASSERT_EQ(buffer[at], inside ? image[g.src.c + in_y * 23 + in_x] : 0)
              << "row " << row << " kh " << kh << " pixel " << pixel << " kw " << kw;
        }
      }
    }
  }
}

TEST(Stage, EveryTapFindsItsInput) {
  for (const int64_t stride : {1, 2, 3, 5, 16}) {
    for (const int64_t kernel : {1, 3, 7}) {
      for (const int64_t dilation : {1, 2}) {
        for (const int64_t pad : {0, 2, 30, 70}) {
          const Geometry g = Make(stride, kernel, dilation, pad);
          SCOPED_TRACE(::testing::Message() << "stride " << stride << " kernel " << kernel
                                            << " dilation " << dilation << " pad " << pad);
          const auto check = [&](Isa isa) {
            CheckStrip(g, {0, g.out.h}, {0, g.out.w}, isa, g.out.w);
            CheckStrip(g, {1, g.out.h}, {g.out.w / 2, g.out.w}, isa, g.out.w - g.out.w / 2);
            CheckStrip(g, {1, g.out.h}, {g.out.w / 2, g.out.w}, isa, g.out.w);  // as with a margin
            CheckStrip(g, {g.out.h - 1, g.out.h}, {0, (g.out.w + 1) / 2}, isa, (g.out.w + 1) / 2);
          };
          check(Isa::kNone);
          testing::ForEachIsa(check);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rafter::widthwise
