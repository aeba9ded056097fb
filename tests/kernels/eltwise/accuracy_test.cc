// Errors of the transcendental functions, on every instruction set: a dense sample of all floats, or all 2^32 of them
// when RAFTER_EXHAUSTIVE is set (about two minutes per function; to a function's name: of this one only).
// docs/operators.md has the table of the results.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/eltwise/reference.h"
#include "rafter/eltwise.h"
#include "tests/support/for_each_isa.h"

namespace rafter {
namespace {

constexpr int64_t kBatch = int64_t{1} << 20;

struct Worst {
  double ulp = 0;       // among results whose absolute error is above 1e-7
  double absolute = 0;  // among results whose error is above 4 ULP
  double any_ulp = 0;   // among results of at least 2^-126
  float at = 0;
};

double UlpOf(double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, exponent - 23);
}

// False where NaN or infinities do not agree. What rounds to infinity may be the largest finite number.
bool Measure(float in, double exact, float got, Worst& worst) {
  if (std::isnan(exact)) return std::isnan(got);
  const auto rounded = static_cast<float>(exact);
  if (got == rounded) return true;
  if (std::isnan(got) || std::isinf(rounded) || std::isinf(got)) return false;
  const double error = std::fabs(got - exact), ulp = exact == 0 ? error * 0x1p149 : error / UlpOf(exact);
  if (std::fabs(exact) >= 0x1p-125 && ulp > worst.any_ulp) worst.any_ulp = ulp;
  if (error > 1e-7 && ulp > worst.ulp) worst.ulp = ulp, worst.at = in;
  if (ulp > 4 && error > worst.absolute) worst.absolute = error, worst.at = in;
  return true;
}

void CheckAll(const EltwiseOp& op, uint64_t step) {
  const EltwiseDesc desc{.c = 1, .w = kBatch, .ops = {op}};
  const Result<Eltwise> eltwise = Eltwise::Create(desc, {.threads = 1});
  ASSERT_TRUE(eltwise.ok()) << eltwise.status().message();
  std::vector<float> in(kBatch), out(kBatch);
  Worst worst;
  uint64_t bits = 0;
  while (bits < (uint64_t{1} << 32)) {
    for (float& x : in) {
      x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      bits = std::min(bits + step, uint64_t{1} << 32);
    }
    ASSERT_TRUE(eltwise->Run(in.data(), out.data()).ok());
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_TRUE(Measure(in[i], reference::ApplyEltwise(op, in[i], 0, 0), out[i], worst))
          << EltwiseName(op.kind) << "(" << in[i] << ") = " << out[i];
    }
  }
  std::printf("%-10s %s: %.2f ULP at most; %.2f ULP where the error exceeds 1e-7, %.1e where it exceeds 4 ULP\n",
              EltwiseName(op.kind), IsaName(eltwise->isa()), worst.any_ulp, worst.ulp, worst.absolute);
  EXPECT_TRUE(worst.ulp <= 4 || worst.absolute <= 1e-7)
      << EltwiseName(op.kind) << " at " << worst.at << ": " << worst.ulp << " ULP, " << worst.absolute;
}

TEST(EltwiseAccuracy, FourUlpOrTenToTheMinusSeven) {
  const char* const wish = std::getenv("RAFTER_EXHAUSTIVE");
  const std::string_view only = wish == nullptr || wish == std::string_view("1") ? "" : wish;
  testing::ForEachIsa([&](Isa) {
    for (const EltwiseOp& op : {EltwiseOp::Exp(), EltwiseOp::Log(), EltwiseOp::Sqrt(), EltwiseOp::Sigmoid(),
                                EltwiseOp::Tanh(), EltwiseOp::Gelu(), EltwiseOp::GeluTanh(), EltwiseOp::Silu(),
                                EltwiseOp::Elu(), EltwiseOp::HardSwish(), EltwiseOp::HardSigmoid()}) {
      if (only.empty() || only == EltwiseName(op.kind)) CheckAll(op, wish != nullptr ? 1 : 4001);
    }
  });
}

}  // namespace
}  // namespace rafter
