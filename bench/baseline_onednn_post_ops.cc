// bench/baseline_onednn_post_ops.cc: see baseline_onednn_post_ops.h.
#include "bench/baseline_onednn_post_ops.h"

#include <optional>
#include <string>

namespace rafter::bench {
namespace {

using dnnl::algorithm;

struct EltwiseArguments {
  algorithm kind = algorithm::undef;
  float alpha = 0, beta = 0;
};

// Nothing for binary operations and for those that this oneDNN lacks.
std::optional<EltwiseArguments> EltwiseOf(const PostOp& op) {
  switch (op.kind) {
    case PostOpKind::kRelu:
      return EltwiseArguments{algorithm::eltwise_relu, 0, 0};
    case PostOpKind::kLeakyRelu:
      return EltwiseArguments{algorithm::eltwise_relu, op.alpha, 0};
    case PostOpKind::kClip:
      return EltwiseArguments{algorithm::eltwise_clip, op.alpha, op.beta};
    case PostOpKind::kSigmoid:
      return EltwiseArguments{algorithm::eltwise_logistic, 0, 0};
    case PostOpKind::kSwish:
      return EltwiseArguments{algorithm::eltwise_swish, op.alpha, 0};
    case PostOpKind::kTanh:
      return EltwiseArguments{algorithm::eltwise_tanh, 0, 0};
    case PostOpKind::kGelu:
      return EltwiseArguments{algorithm::eltwise_gelu_erf, 0, 0};
    case PostOpKind::kElu:
      return EltwiseArguments{algorithm::eltwise_elu, op.alpha, 0};
#if DNNL_VERSION_MAJOR >= 3
    case PostOpKind::kHardSwish:
      return EltwiseArguments{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f};
    case PostOpKind::kHardSigmoid:
      return EltwiseArguments{algorithm::eltwise_hardsigmoid, op.alpha, op.beta};
#endif
    default:
      return std::nullopt;
  }
}

bool IsBinary(PostOpKind kind) {
  return kind == PostOpKind::kResidualAdd || kind == PostOpKind::kChannelScale;
}

}  // namespace

Status OneDnnHasPostOps(const PostOps& ops) {
  for (const PostOp& op : ops) {
    if (IsBinary(op.kind) || EltwiseOf(op)) continue;
    return Status::Unsupported(std::string("oneDNN: this version has no post-op like ") +
                               PostOpName(op.kind));
  }
  return {};
}

void AddOneDnnPostOps(const PostOps& ops, const dnnl::memory::desc& output,
                      const dnnl::memory::desc& channels, dnnl::primitive_attr& attributes) {
  dnnl::post_ops chain;
  for (const PostOp& op : ops) {
    if (op.kind == PostOpKind::kResidualAdd) {
      chain.append_binary(algorithm::binary_add, output);
    } else if (op.kind == PostOpKind::kChannelScale) {
      chain.append_binary(algorithm::binary_mul, channels);
    } else if (const auto eltwise = EltwiseOf(op)) {
#if DNNL_VERSION_MAJOR >= 3
      chain.append_eltwise(eltwise->kind, eltwise->alpha, eltwise->beta);
#else
      chain.append_eltwise(1.0f, eltwise->kind, eltwise->alpha, eltwise->beta);
#endif
    }
  }
  attributes.set_post_ops(chain);
}

}  // namespace rafter::bench
