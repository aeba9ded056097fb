// rafter/post_ops.h: what can be fused behind a convolution's sum and bias, before the store.
//
//   desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};   // y = max(0, conv + bias + residual)
//
// Up to kMaxPostOps operations run in the order given, on registers. NaN passes through every one of
// them, ReLU and clip included. Outputs without a single valid tap get bias and post-ops like all others.
#ifndef RAFTER_POST_OPS_H_
#define RAFTER_POST_OPS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rafter/tensor.h"

namespace rafter {

inline constexpr int kMaxPostOps = 8;

// NaN stays NaN. Where a factor goes to zero faster than x to -infinity (hard_swish, swish, gelu), the result of
// -infinity is a zero.
enum class PostOpKind : uint8_t {
  kRelu = 1,         // max(x, 0)
  kLeakyRelu,        // x >= 0 ? x : alpha * x
  kClip,             // min(max(x, alpha), beta)              ReLU6 = clip(0, 6)
  kHardSwish,        // x * min(max(x / 6 + 1/2, 0), 1)       (ONNX HardSwish)
  kHardSigmoid,      // min(max(alpha * x + beta, 0), 1)      (ONNX: alpha 0.2, beta 0.5)
  kSigmoid,          // 1 / (1 + exp(-x))
  kSwish,            // x / (1 + exp(-alpha * x))             SiLU = swish(1)
  kTanh,             // tanh(x)
  kGelu,             // x / 2 * (1 + erf(x / sqrt(2)))
  kElu,              // x >= 0 ? x : alpha * (exp(x) - 1)
  kResidualAdd,      // x + residual[n][c][h][w]              its own layout strides, see below
  kChannelScale,     // x * scale[c]
};

// One fused operation; use the named makers.
struct PostOp {
  PostOpKind kind = PostOpKind::kRelu;
  float alpha = 0.0f, beta = 0.0f;
  // kChannelScale: oc values, copied by Create.
  std::vector<float> scale;
  // kResidualAdd: strides in elements of the residual tensor, which has the output's shape and layout
  // (absent: the output's own strides). The pointer comes with each Run. It may be the output itself
  // (same pointer and strides); any other overlap with the output is kInvalidArgument.
  std::optional<Strides> residual_strides;

  static PostOp Relu() { return {PostOpKind::kRelu, 0.0f, 0.0f, {}, {}}; }
  static PostOp LeakyRelu(float alpha) { return {PostOpKind::kLeakyRelu, alpha, 0.0f, {}, {}}; }
  static PostOp Clip(float low, float high) { return {PostOpKind::kClip, low, high, {}, {}}; }
  static PostOp HardSwish() { return {PostOpKind::kHardSwish, 0.0f, 0.0f, {}, {}}; }
  static PostOp HardSigmoid(float alpha = 0.2f, float beta = 0.5f) {
    return {PostOpKind::kHardSigmoid, alpha, beta, {}, {}};
  }
  static PostOp Sigmoid() { return {PostOpKind::kSigmoid, 0.0f, 0.0f, {}, {}}; }
  static PostOp Swish(float alpha = 1.0f) { return {PostOpKind::kSwish, alpha, 0.0f, {}, {}}; }
  static PostOp Tanh() { return {PostOpKind::kTanh, 0.0f, 0.0f, {}, {}}; }
  static PostOp Gelu() { return {PostOpKind::kGelu, 0.0f, 0.0f, {}, {}}; }
  static PostOp Elu(float alpha = 1.0f) { return {PostOpKind::kElu, alpha, 0.0f, {}, {}}; }
  static PostOp ResidualAdd() { return {PostOpKind::kResidualAdd, 0.0f, 0.0f, {}, {}}; }
  static PostOp ResidualAdd(const Strides& strides) {
    return {PostOpKind::kResidualAdd, 0.0f, 0.0f, {}, strides};
  }
  static PostOp ChannelScale(std::vector<float> scale) {
    return {PostOpKind::kChannelScale, 0.0f, 0.0f, std::move(scale), {}};
  }
};

using PostOps = std::vector<PostOp>;

// "relu", "leaky_relu", … as used in kernel names and listings.
constexpr const char* PostOpName(PostOpKind kind) noexcept {
  switch (kind) {
    case PostOpKind::kRelu: return "relu";
    case PostOpKind::kLeakyRelu: return "leaky_relu";
    case PostOpKind::kClip: return "clip";
    case PostOpKind::kHardSwish: return "hard_swish";
    case PostOpKind::kHardSigmoid: return "hard_sigmoid";
    case PostOpKind::kSigmoid: return "sigmoid";
    case PostOpKind::kSwish: return "swish";
    case PostOpKind::kTanh: return "tanh";
    case PostOpKind::kGelu: return "gelu";
    case PostOpKind::kElu: return "elu";
    case PostOpKind::kResidualAdd: return "residual_add";
    case PostOpKind::kChannelScale: return "channel_scale";
  }
  return "unknown";
}

}  // namespace rafter

#endif  // RAFTER_POST_OPS_H_
