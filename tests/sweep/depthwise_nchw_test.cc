// Depthwise convolutions in NCHW against the reference: planes of every small size, whose kernels have no loops and
// whose rows may spill into the next one; kernels of one row or column; outputs that go past the caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "runtime/machine_model.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/random_desc.h"

namespace rafter::testing {
namespace {

ConvDesc Layer(int64_t channels, Size2 in, Size2 kernel, int64_t stride, Padding pad) {
  ConvDesc desc;
  desc.groups = desc.ic = desc.oc = channels, desc.in = in;
  desc.kernel = kernel, desc.stride = {stride, stride}, desc.pad = pad;
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  return desc;
}

Padding Same(Size2 kernel) { return {kernel.h / 2, kernel.w / 2, kernel.h / 2, kernel.w / 2}; }

::testing::AssertionResult Check(const ConvDesc& desc, DataKind data, uint64_t seed) {
  return ConvTester(desc)
      .Algorithm("depthwise")
      .Data(data)
      .Seed(seed)
      .Threads(1 + static_cast<int>(seed % 4))
      .Run();
}

// With slices, post-ops, and now and then weights that are infinite or NaN, which must keep clear of the padding.
TEST(DepthwiseNchw, PlanesOfEverySmallSize) {
  ForEachIsa([](Isa) {
    Random random(7);
    uint64_t seed = 0;
    for (const int64_t kernel : {2, 3, 4, 5}) {
      for (const int64_t stride : {1, 2}) {
        for (int64_t width = 3; width <= 20; ++width) {
          for (const int64_t height : {random.Between(3, 6), random.Between(7, 12), random.Between(13, 20)}) {
            const int64_t most = kernel - 1;
            ConvDesc desc = Layer(random.Between(1, 18), {height, width}, {kernel, kernel}, stride,
                                  {random.Between(0, most), random.Between(0, most), random.Between(0, most),
                                   random.Between(0, most)});
            if (random.Between(0, 3) > 0) desc.pad = Same(desc.kernel);
            if (height + desc.pad.top + desc.pad.bottom < kernel || width + desc.pad.left + desc.pad.right < kernel)
              continue;
            desc.n = random.Between(1, 2);
            if (random.Between(0, 2) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
            if (random.Between(0, 2) == 0) AddSlices(random, desc);
            const DataKind data = random.Between(0, 1) == 0 ? DataKind::kInteger : DataKind::kSpecials;
            ASSERT_TRUE(Check(desc, data, ++seed)) << height << "x" << width << ", kernel " << kernel;
          }
        }
      }
    }
  });
}

// What a row stores must not reach residuals that later rows read.
TEST(DepthwiseNchw, ResidualThatIsTheOutput) {
  ForEachIsa([](Isa) {
    for (const int64_t kernel : {1, 2, 3, 5, 7}) {
      for (const int64_t stride : {1, 2}) {
        for (int64_t width = std::max<int64_t>(kernel, 3); width <= 34; ++width) {
          for (const int64_t height : {7, 19}) {
            ConvDesc desc = Layer(3, {height, width}, {kernel, kernel}, stride, Same({kernel, kernel}));
            desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
            ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").ResidualInPlace().Threads(1 + width % 3).Run())
                << height << "x" << width << ", kernel " << kernel << ", stride " << stride;
          }
        }
      }
    }
  });
}

TEST(DepthwiseNchw, KernelsOfOneRowOrColumn) {
  ForEachIsa([](Isa) {
    uint64_t seed = 0;
    for (int64_t taps = 1; taps <= 13; ++taps) {
      for (const int64_t stride : {1, 2}) {
        for (const Size2 in : {Size2{16, 9}, Size2{30, 41}}) {
          for (const Size2 kernel : {Size2{1, taps}, Size2{taps, 1}}) {
            ConvDesc desc = Layer(5, in, kernel, stride, Same(kernel));
            ASSERT_TRUE(Check(desc, DataKind::kInteger, ++seed)) << kernel.h << "x" << kernel.w;
            desc.post_ops = {PostOp::Swish()};
            ASSERT_TRUE(Check(desc, DataKind::kReal, ++seed)) << kernel.h << "x" << kernel.w;
          }
        }
      }
    }
  });
}

// Kernels of one long row, whose inputs are shifted: every width of the last taps and tail of the row, with guard pages
// right behind the last input.
TEST(DepthwiseNchw, LongRowsOfTaps) {
  ForEachIsa([](Isa) {
    Random random(5);
    uint64_t seed = 0;
    for (int64_t taps = 7; taps <= 13; ++taps) {
      for (const int64_t rows : {1, 3}) {  // of the kernel; a stride of as many uses each input row once
        for (int64_t width = taps; width <= 90; width += random.Between(1, 3)) {
          const Size2 in = {random.Between(rows, 9), width};
          ConvDesc desc = Layer(random.Between(1, 5), in, {rows, taps}, 1, Same({0, taps}));
          desc.stride.h = rows;
          if (random.Between(0, 2) == 0) desc.pad = {0, random.Between(0, 2), 0, 0};
          if (random.Between(0, 3) == 0) desc.pad.bottom = random.Between(0, 4);
          if (random.Between(0, 2) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
          if (random.Between(0, 2) == 0) AddSlices(random, desc);
          const DataKind data = random.Between(0, 1) == 0 ? DataKind::kInteger : DataKind::kSpecials;
          ASSERT_TRUE(Check(desc, data, ++seed)) << width << ", " << rows << "x" << taps;
        }
      }
    }
  });
}

// Rows of outputs without any input, strides beyond the kernel, kernels of more rows than fit in registers: bands.
TEST(DepthwiseNchw, Bands) {
  ForEachIsa([](Isa) {
    Random random(23);
    uint64_t seed = 0;
    for (const Size2 kernel : {Size2{13, 1}, Size2{29, 1}, Size2{1, 7}, Size2{3, 3}, Size2{4, 4}, Size2{2, 1},
                               Size2{12, 2}}) {
      for (const int64_t stride : {1, 2, 5}) {
        for (int64_t width = 6; width <= 70; width += random.Between(1, 5)) {
          const int64_t height = random.Between(1, 40), dilation = random.Between(0, 3) == 0 ? 3 : 1;
          ConvDesc desc = Layer(random.Between(1, 18), {height, width}, kernel, stride, Same(kernel));
          desc.stride.w = std::min<int64_t>(2, stride), desc.dilation = {dilation, dilation};
          desc.pad.bottom += random.Between(0, 2 * kernel.h * dilation), desc.pad.top += random.Between(0, 9);
          if (random.Between(0, 3) == 0) desc.pad.right += random.Between(0, 20);
          if (height + desc.pad.top + desc.pad.bottom <= (kernel.h - 1) * dilation) continue;
          if (width + desc.pad.left + desc.pad.right <= (kernel.w - 1) * dilation) continue;
          if (random.Between(0, 1) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
          if (random.Between(0, 2) == 0) AddSlices(random, desc);
          const DataKind data = random.Between(0, 1) == 0 ? DataKind::kInteger : DataKind::kSpecials;
          ASSERT_TRUE(Check(desc, data, ++seed)) << height << "x" << width << ", kernel " << kernel.h << "x" << kernel.w
                                                 << ", stride " << stride << ", padding " << desc.pad.bottom;
          if (random.Between(0, 4) > 0) continue;
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").ResidualInPlace().Threads(1 + width % 3).Run())
              << height << "x" << width << ", kernel " << kernel.h << "x" << kernel.w << ", stride " << stride;
        }
      }
    }
  });
}

// Phases of rows that are alike are tiles of one call.
TEST(DepthwiseNchw, DilatedPlanes) {
  ForEachIsa([](Isa) {
    Random random(11);
    uint64_t seed = 0;
    for (const int64_t dilation : {2, 3, 12}) {
      for (const int64_t kernel : {2, 3, 5}) {
        for (const int64_t stride : {1, 2}) {
          for (const Size2 in : {Size2{33, 33}, Size2{19, 7}, Size2{40, 12}, Size2{25, 60}}) {
            const int64_t pad = kernel / 2 * dilation;
            ConvDesc desc = Layer(random.Between(1, 9), in, {kernel, kernel}, stride, {pad, pad, pad, pad});
            desc.dilation = {dilation, random.Between(0, 2) == 0 ? 1 : dilation};
            if (random.Between(0, 1) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
            if (random.Between(0, 1) == 0) AddSlices(random, desc);
            ASSERT_TRUE(Check(desc, DataKind::kInteger, ++seed)) << kernel << ", dilation " << dilation;
            ASSERT_TRUE(Check(desc, DataKind::kSpecials, ++seed)) << kernel << ", dilation " << dilation;
          }
        }
      }
    }
  });
}

// A machine with next to no L3: all outputs go past the caches, row blocks of many threads side by side.
TEST(DepthwiseNchw, OutputsPastTheCaches) {
  const MachineModel original = CurrentMachineModel();
  MachineModel tiny = original;
  tiny.l3_bytes = 1024, tiny.fork_join_us = 0;
  SetMachineModel(tiny);
  ForEachIsa([](Isa) {
    uint64_t seed = 0;
    for (const Size2 in : {Size2{20, 16}, Size2{150, 70}, Size2{61, 200}}) {
      for (const Size2 kernel : {Size2{3, 3}, Size2{5, 5}, Size2{1, 7}, Size2{9, 1}, Size2{2, 4}}) {
        for (const int64_t stride : {1, 2}) {
          ConvDesc desc = Layer(3, in, kernel, stride, Same(kernel));
          desc.n = 2;
          ASSERT_TRUE(Check(desc, DataKind::kInteger, ++seed)) << in.h << "x" << in.w;
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(Check(desc, DataKind::kSpecials, ++seed)) << in.h << "x" << in.w;
        }
      }
    }
  });
  SetMachineModel(original);
}

// A machine with next to no L2: kernels of one row go along it wherever it has several tiles. Every width of the last
// tiles, strides, padding that leaves rows without inputs, guard pages right behind the last input.
TEST(DepthwiseNchw, Lines) {
  const MachineModel original = CurrentMachineModel();
  MachineModel tiny = original;
  tiny.l2_bytes = 256, tiny.fork_join_us = 0;
  SetMachineModel(tiny);
  ForEachIsa([](Isa) {
    Random random(31);
    uint64_t seed = 0;
    for (int64_t taps = 2; taps <= 13; ++taps) {
      for (const int64_t stride : {1, 2}) {
        for (int64_t width = 33; width <= 330; width += random.Between(7, 23)) {
          const Size2 in = {random.Between(1, 4), width};
          ConvDesc desc = Layer(random.Between(1, 5), in, {1, taps}, stride, Same({0, taps}));
          desc.stride.h = random.Between(1, 2);
          if (random.Between(0, 2) == 0) desc.pad.left = random.Between(0, taps), desc.pad.right = random.Between(0, 9);
          if (random.Between(0, 2) == 0) desc.pad.top = random.Between(0, 2), desc.pad.bottom = random.Between(0, 4);
          if (random.Between(0, 2) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
          if (random.Between(0, 2) == 0) AddSlices(random, desc);
          const DataKind data = random.Between(0, 1) == 0 ? DataKind::kInteger : DataKind::kSpecials;
          ASSERT_TRUE(Check(desc, data, ++seed)) << width << ", " << taps << " taps, stride " << stride;
          if (random.Between(0, 3) > 0) continue;
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").ResidualInPlace().Threads(1 + width % 3).Run())
              << width << ", " << taps << " taps, stride " << stride;
        }
      }
    }
  });
  SetMachineModel(original);
}

// Kernels whose tiles would be one vector wide, on wide rows or with several outputs per input.
TEST(DepthwiseNchw, LargeKernelsInBands) {
  ForEachIsa([](Isa) {
    Random random(37);
    uint64_t seed = 0;
    for (const Size2 kernel : {Size2{7, 7}, Size2{9, 9}, Size2{6, 7}, Size2{9, 3}, Size2{8, 5}}) {
      for (const int64_t multiplier : {1, 2, 5}) {
        for (int i = 0; i < 6; ++i) {
          const int64_t stride = random.Between(0, 3) == 0 ? 2 : 1;
          const int64_t width = stride * (multiplier == 1 ? random.Between(80, 130) : random.Between(24, 60));
          ConvDesc desc = Layer(random.Between(1, 3), {random.Between(1, 20), width}, kernel, stride, Same(kernel));
          desc.oc *= multiplier;
          if (random.Between(0, 2) == 0) desc.pad.right = random.Between(0, kernel.w), desc.pad.bottom = 0;
          if (desc.in.h + desc.pad.top + desc.pad.bottom < kernel.h) desc.in.h = kernel.h;
          if (random.Between(0, 1) == 0) desc.post_ops.push_back(RandomPostOp(random, desc.oc, true));
          if (random.Between(0, 2) == 0) AddSlices(random, desc);
          const DataKind data = random.Between(0, 1) == 0 ? DataKind::kInteger : DataKind::kSpecials;
          ASSERT_TRUE(Check(desc, data, ++seed)) << desc.in.h << "x" << width << ", kernel " << kernel.h << "x"
                                                 << kernel.w << ", " << multiplier << " outputs per input";
        }
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
