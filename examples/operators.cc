// The operators beside convolution: a chain of element-wise operations in one pass, pooling, softmax.
#include <cmath>
#include <cstdio>
#include <vector>

#include <rafter/rafter.h>

namespace {

constexpr int64_t kChannels = 24, kSize = 12;

bool Failed(const rafter::Status& status) {
  if (!status.ok()) std::puts(status.message().data());
  return !status.ok();
}

}  // namespace

int main() {
  using rafter::EltwiseOp;
  const std::vector<float> scale(kChannels, 0.5f), shift(kChannels, 1.0f);
  const std::vector<float> x(kChannels * kSize * kSize, 2.0f), residual(x.size(), -3.0f);

  // y = relu(scale * x + shift + residual): folded batch normalisation, residual and ReLU, each byte once.
  rafter::EltwiseDesc block{.c = kChannels, .h = kSize, .w = kSize};
  block.ops = {EltwiseOp::ChannelLinear(scale, shift), EltwiseOp::Add(), EltwiseOp::Relu()};
  const auto eltwise = rafter::Eltwise::Create(block);
  if (Failed(eltwise.status())) return 1;
  std::vector<float> y(x.size());
  const float* operand = residual.data();
  if (Failed(eltwise->Run(x.data(), y.data(), {.operands = {&operand, 1}}))) return 1;

  // 3x3 windows, stride 2; then one average per channel.
  rafter::PoolingDesc window{.kind = rafter::PoolingKind::kMax, .c = kChannels, .in = {kSize, kSize}, .kernel = {3, 3},
                             .stride = {2, 2}, .pad = {1, 1, 1, 1}};
  const auto max = rafter::Pooling::Create(window);
  if (Failed(max.status())) return 1;
  const rafter::Size2 out = max->output_size();
  std::vector<float> pooled(static_cast<size_t>(kChannels * out.h * out.w));
  if (Failed(max->Run(y.data(), pooled.data()))) return 1;
  const auto average =
      rafter::Pooling::Create(rafter::PoolingDesc::Global(rafter::PoolingKind::kAverage, 1, kChannels, out));
  if (Failed(average.status())) return 1;
  std::vector<float> logits(kChannels);
  if (Failed(average->Run(pooled.data(), logits.data()))) return 1;

  // In place: dst may be src.
  const auto softmax = rafter::Softmax::Create({.c = kChannels});
  if (Failed(softmax.status()) || Failed(softmax->Run(logits.data(), logits.data()))) return 1;

  std::printf("%s, %s, %s: share of a channel %g\n", eltwise->kernel_name().c_str(), max->kernel_name().c_str(),
              softmax->kernel_name().c_str(), static_cast<double>(logits[0]));
  const bool right = y[0] == 0.0f && std::fabs(logits[0] - 1.0f / kChannels) < 1e-6f;
  return right ? 0 : 1;
}
