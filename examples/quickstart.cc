// A 3x3 convolution with ReLU over a 56x56 image of 64 channels, channels innermost (NHWC).
#include <cstdio>
#include <vector>

#include <rafter/rafter.h>

int main() {
  rafter::ConvDesc desc{.ic = 64, .oc = 64, .in = {56, 56}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  desc.post_ops = {rafter::PostOp::Relu()};
  auto conv = rafter::Conv::Create(desc);  // validates, chooses an algorithm, compiles its kernels
  if (!conv.ok()) return std::puts(conv.status().message().data()), 1;

  std::vector<float> src(56 * 56 * 64, 1.0f), dst(56 * 56 * 64);
  std::vector<float> weights(64 * 64 * 3 * 3, 0.01f), bias(64, 0.5f);  // [oc][ic][kh][kw] and [oc]
  auto packed = conv->PackWeights(weights.data(), bias.data());
  if (!packed.ok()) return 1;
  if (!conv->Run(src.data(), *packed, dst.data()).ok()) return 1;

  const float centre = dst[(28 * 56 + 28) * 64];  // 64 * 9 * 0.01 + 0.5
  std::printf("%s on %d threads: %.2f\n", conv->kernel_name().c_str(), conv->threads(), centre);
  return centre > 6.25f && centre < 6.27f ? 0 : 1;
}
