// tests/support/conv_tester.h: one convolution against the reference, with every tensor between
// guard pages.
//
//   EXPECT_TRUE(ConvTester({.ic = 20, .oc = 33, .in = {13, 13}, .kernel = {3, 3}, .pad = {1, 1, 1,
//   1}})
//                   .Algorithm("direct").Threads(3).Data(DataKind::kInteger).Run());
//
// Run creates the plan, fills the tensors, runs twice (data ending at a guard page, then starting
// behind one) and checks: every output (of large problems at least 4,096 and the borders) lies
// within the bound of tolerance.h, which is exact for integer data, unless the algorithm transforms;
// lanes behind the last channel are zero; memory between the slices of dst is untouched; the two runs
// agree in every bit; nothing else was read or written.
#ifndef RAFTER_TESTS_SUPPORT_CONV_TESTER_H_
#define RAFTER_TESTS_SUPPORT_CONV_TESTER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rafter/conv.h"
#include "tests/support/random_tensor.h"

namespace rafter::testing {

class ConvTester {
 public:
  explicit ConvTester(ConvDesc desc) : desc_(std::move(desc)) {}

  // The only algorithm to be tried (default: the cheapest that sums directly; see Transforms).
  ConvTester& Algorithm(std::string name) { return Set(algorithm_, std::move(name)); }
  // Also algorithms that transform may be chosen. Their outputs lie within the bound of the magnitudes around them;
  // outputs near NaN or infinity are not looked at.
  ConvTester& Transforms() { return Set(accuracy_, Accuracy::kDefault); }
  // Caps the instruction set during Run and lifts every cap afterwards (default: whatever is in
  // force).
  ConvTester& MaxIsa(Isa isa) { return Set(max_isa_, std::optional<Isa>(isa)); }
  // Threads of plan and call (default 1); tasks run one after the other, last first, unless Pool is
  // given.
  ConvTester& Threads(int threads) { return Set(threads_, threads); }
  ConvTester& Pool(ParallelFor* pool) { return Set(pool_, pool); }
  ConvTester& Data(DataKind kind) { return Set(data_, kind); }
  ConvTester& Seed(uint64_t seed) { return Set(seed_, seed); }
  // false: null is packed as the bias (default: random values, whatever desc.bias says).
  ConvTester& Bias(bool bias) { return Set(bias_, bias); }
  // The first kResidualAdd reads dst itself; it needs dst's strides.
  ConvTester& ResidualInPlace() { return Set(residual_in_place_, true); }

  ::testing::AssertionResult Run();

  // After a successful Run: all outputs in the order n, c, h, w whatever the layout, and who
  // computed them.
  const std::vector<float>& output() const { return output_; }
  const std::string& algorithm() const { return used_algorithm_; }
  const std::string& kernel_name() const { return kernel_name_; }

 private:
  template <typename T>
  ConvTester& Set(T& member, T value) {
    member = std::move(value);
    return *this;
  }

  ConvDesc desc_;
  std::string algorithm_;
  Accuracy accuracy_ = Accuracy::kStrict;
  std::optional<Isa> max_isa_;
  int threads_ = 1;
  ParallelFor* pool_ = nullptr;
  DataKind data_ = DataKind::kInteger;
  uint64_t seed_ = 1;
  bool bias_ = true;
  bool residual_in_place_ = false;

  std::vector<float> output_;
  std::string used_algorithm_, kernel_name_;
};

// Bit for bit, NaNs included.
::testing::AssertionResult SameBits(std::span<const float> a, std::span<const float> b);

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_CONV_TESTER_H_
