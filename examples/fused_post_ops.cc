// The end of a residual block: convolution, bias, residual add and ReLU in one pass over the
// output, compared with the same steps taken one after the other. The residual is added in place.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <rafter/rafter.h>

namespace {

constexpr int64_t kChannels = 48, kHeight = 14, kWidth = 14;
constexpr size_t kElements = kChannels * kHeight * kWidth;

// Small repeating values, different in every tensor.
std::vector<float> MakeTensor(size_t size, int step) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>((i * step) % 13) / 16 - 0.375f;
  return values;
}

// Convolves src into dst; false after printing what went wrong.
bool Convolve(const rafter::PostOps& post_ops, const std::vector<float>& src,
              std::vector<float>& dst, std::span<const float* const> residuals) {
  rafter::ConvDesc desc{
      .ic = kChannels, .oc = kChannels, .in = {kHeight, kWidth}, .kernel = {1, 1}};
  desc.bias = true;
  desc.post_ops = post_ops;
  const std::vector<float> weights = MakeTensor(kChannels * kChannels, 5),
                           bias = MakeTensor(kChannels, 3);

  auto conv = rafter::Conv::Create(desc);
  if (!conv.ok()) return std::puts(conv.status().message().data()), false;
  auto packed = conv->PackWeights(weights.data(), bias.data());
  if (!packed.ok()) return std::puts(packed.status().message().data()), false;
  const rafter::Status status =
      conv->Run(src.data(), *packed, dst.data(), {.residuals = residuals});
  if (!status.ok()) std::puts(status.message().data());
  return status.ok();
}

}  // namespace

int main() {
  const std::vector<float> src = MakeTensor(kElements, 7), residual = MakeTensor(kElements, 11);

  std::vector<float> expected(kElements);
  if (!Convolve({}, src, expected, {})) return 1;
  for (size_t i = 0; i < kElements; ++i) expected[i] = std::max(expected[i] + residual[i], 0.0f);

  std::vector<float> fused = residual;  // the residual may be the output itself
  const float* const residuals[] = {fused.data()};
  if (!Convolve({rafter::PostOp::ResidualAdd(), rafter::PostOp::Relu()}, src, fused, residuals))
    return 1;

  float worst = 0;
  for (size_t i = 0; i < kElements; ++i) worst = std::max(worst, std::fabs(fused[i] - expected[i]));
  std::printf("fused and separate steps differ by at most %g\n", worst);
  return worst < 1e-5f ? 0 : 1;
}
