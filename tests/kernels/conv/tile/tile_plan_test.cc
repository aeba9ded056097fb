// tests/kernels/conv/tile/tile_plan_test.cc: outputs stored past the caches. All else about plans is in the sweep.
#include <gtest/gtest.h>

#include <string>

#include "runtime/machine_model.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::testing {
namespace {

// A machine on which every output is too large for its caches.
class ScopedTinyL3 {
 public:
  ScopedTinyL3() : original_(CurrentMachineModel()) {
    MachineModel model = original_;
    model.l3_bytes = 64;
    SetMachineModel(model);
  }
  ~ScopedTinyL3() { SetMachineModel(original_); }

 private:
  const MachineModel original_;
};

bool Streams(const ConvTester& tester) {
  return tester.kernel_name().find("_stream") != std::string::npos;
}

TEST(StreamedOutput, IsRightAndOnlyInNhwc) {
  const ScopedTinyL3 tiny;
  ForEachIsa([](Isa isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw8c}) {
      for (const int64_t oc : {16, 32, 48, 64, 144}) {
        ConvDesc desc;
        desc.n = 2, desc.ic = 5, desc.oc = oc, desc.in = {6, 13}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
        desc.src.layout = desc.dst.layout = layout;
        desc.post_ops = {PostOp::Relu(), PostOp::ResidualAdd()};
        for (const int threads : {1, 3}) {
          ConvTester tester(desc);
          ASSERT_TRUE(tester.Algorithm("direct").Threads(threads).Run());
          if (layout != Layout::kNhwc) EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
          if (layout == Layout::kNhwc && oc == 64) EXPECT_TRUE(Streams(tester)) << tester.kernel_name();
        }
      }
    }
    EXPECT_GE(isa, Isa::kAvx2);
  });
}

TEST(StreamedOutput, NotWherePixelsShareLines) {
  const ScopedTinyL3 tiny;
  ForEachIsa([](Isa) {
    for (const int64_t oc : {8, 17, 24, 40}) {
      ConvDesc desc;
      desc.ic = 20, desc.oc = oc, desc.in = {4, 9};
      ConvTester tester(desc);
      ASSERT_TRUE(tester.Algorithm("pointwise").Run());
      EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
    }
    // Whole lines, but rows of a slice that start inside of one.
    ConvDesc desc;
    desc.ic = 20, desc.oc = 64, desc.in = {4, 9};
    desc.dst.strides = Strides{4 * 9 * 72, 1, 9 * 72, 72};
    ConvTester tester(desc);
    ASSERT_TRUE(tester.Algorithm("pointwise").Run());
    EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
  });
}

}  // namespace
}  // namespace rafter::testing
