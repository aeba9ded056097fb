// The generated kernels of pooling: every kind of spec can be emitted for every instruction set, also for one
// that this machine cannot run. What they compute: pooling_test.cc.
#include <gtest/gtest.h>

#include "kernels/pooling/emitter.h"

namespace rafter::pooling {
namespace {

TEST(PoolingRowsKernel, EveryKindOfSpecCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kFastMax, Reduction::kExactMax}) {
      for (const uint8_t rows : {0, 1, 2, 3, 4}) {
        for (const uint8_t cols : {0, 1, 2, 3, 8}) {
          for (const uint8_t stride : {0, 1, 2}) {
            for (const bool dense : {false, true}) {
              const RowsSpec spec{isa, reduction, rows, cols, stride, dense};
              const auto kernel = GetRowsKernel(spec);
              ASSERT_TRUE(kernel.ok()) << kernel.status().message();
            }
          }
        }
      }
      for (const uint8_t size : {1, 7, 8, 15, 17, 128}) {
        const RowsSpec spec{isa, reduction, 4, 8, 2, true, size, size};
        const auto kernel = GetRowsKernel(spec);
        ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      }
    }
    for (const bool max : {false, true}) {
      for (const uint8_t count : {0, 1, 16, 49, 128}) ASSERT_TRUE(GetPlaneKernel({isa, max, count}).ok());
    }
    for (const uint8_t count : {1, 7, 8, 16, 49, 128}) ASSERT_TRUE(GetPlaneGroupKernel({isa, false, count}).ok());
  }
}

TEST(PoolingChannelKernel, EveryKindOfSpecCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kFastMax, Reduction::kExactMax}) {
      for (const Tail tail : {Tail::kNone, Tail::kLanes, Tail::kZero}) {
        for (const uint8_t taps : {0, 1, 3, 4}) {
          for (int vecs = 1; vecs <= MostVecs(isa, reduction); ++vecs) {
            ChannelSpec spec{isa, reduction, static_cast<uint8_t>(vecs), taps, taps, tail};
            ASSERT_TRUE(GetChannelKernel(spec).ok());
            if (taps == 0 || tail == Tail::kLanes || reduction == Reduction::kExactMax) continue;
            spec.bundle = kMostBundle;
            for (const uint8_t stride : {1, 2, 5}) {
              spec.stride = stride;
              const auto kernel = GetChannelKernel(spec);
              ASSERT_TRUE(kernel.ok()) << kernel.status().message();
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rafter::pooling
