// kernels/eltwise/problem.cc: every rule that a description of an element-wise chain must keep.
#include "kernels/eltwise/problem.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace rafter {
namespace {

bool UsesAlpha(EltwiseKind kind) {
  switch (kind) {
    case EltwiseKind::kLeakyRelu:
    case EltwiseKind::kClip:
    case EltwiseKind::kSwish:
    case EltwiseKind::kElu:
    case EltwiseKind::kHardSigmoid:
    case EltwiseKind::kLinear: return true;
    default: return false;
  }
}

bool UsesBeta(EltwiseKind kind) {
  return kind == EltwiseKind::kClip || kind == EltwiseKind::kHardSigmoid || kind == EltwiseKind::kLinear;
}

Status CheckValues(const std::string& field, const std::vector<float>& values, bool used, int64_t c) {
  const int64_t allowed = used ? c : 0;
  if (static_cast<int64_t>(values.size()) == allowed) return {};
  return InvalidField(field, static_cast<int64_t>(values.size()),
                      used ? "values, allowed: one per channel, " + std::to_string(c)
                           : "values, allowed: none for this kind");
}

Status CheckFinite(const std::string& field, float value) {
  if (std::isfinite(value)) return {};
  return Status::InvalidArgument(field + ": " + std::to_string(value) + " is not finite, allowed: finite values");
}

Status CheckOp(const std::string& field, const EltwiseOp& op, int64_t c) {
  if (op.kind < EltwiseKind::kRelu || op.kind > EltwiseKind::kMax) {
    return InvalidField(field + ".kind", static_cast<int64_t>(op.kind), "is unknown, allowed: 1 to 25");
  }
  Status status;
  if (UsesAlpha(op.kind)) status = CheckFinite(field + ".alpha", op.alpha);
  if (status.ok() && UsesBeta(op.kind)) status = CheckFinite(field + ".beta", op.beta);
  if (!status.ok()) return status;
  if (op.kind == EltwiseKind::kClip && op.alpha > op.beta) {
    return Status::InvalidArgument(field + ".alpha: " + std::to_string(op.alpha) +
                                   " is above beta, allowed: up to " + std::to_string(op.beta));
  }
  const bool linear = op.kind == EltwiseKind::kChannelLinear;
  status = CheckValues(field + ".scale", op.scale, linear || op.kind == EltwiseKind::kPrelu, c);
  return status.ok() ? CheckValues(field + ".shift", op.shift, linear, c) : status;
}

Status CheckShape(const EltwiseDesc& desc) {
  Status status = CheckSameFormat(desc.type, desc.src.layout, desc.dst.layout);
  if (status.ok()) status = CheckSizes({desc.n, desc.c, desc.h, desc.w});
  if (!status.ok()) return status;
  const auto ops = static_cast<int64_t>(desc.ops.size());
  if (ops >= 1 && ops <= kMaxEltwiseOps) return {};
  return InvalidField("ops", ops, "operations, allowed: 1 to " + std::to_string(kMaxEltwiseOps));
}

}  // namespace

Result<EltwiseProblem> Validate(const EltwiseDesc& desc) {
  if (Status status = CheckShape(desc); !status.ok()) return status;
  EltwiseProblem problem;
  problem.desc = desc;
  const TensorShape shape = problem.shape();
  const Layout layout = problem.layout();
  const Result<Strides> src = ResolveStrides("src", layout, desc.src.strides, shape);
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", layout, desc.dst.strides, shape);
  if (!dst.ok()) return dst.status();
  problem.src = *src, problem.dst = *dst;
  for (size_t i = 0; i < desc.ops.size(); ++i) {
    const EltwiseOp& op = desc.ops[i];
    const std::string field = "ops[" + std::to_string(i) + "]";
    if (Status status = CheckOp(field, op, desc.c); !status.ok()) return status;
    if (!IsBinary(op.kind)) continue;
    const EltwiseOperand& o = op.operand;
    const TensorShape own{o.one_n ? 1 : shape.n, o.one_c ? 1 : shape.c, o.one_h ? 1 : shape.h, o.one_w ? 1 : shape.w};
    const Result<Strides> strides = ResolveStrides(field + ".operand", layout, o.strides, own);
    if (!strides.ok()) return strides.status();
    problem.operands.push_back({own, *strides});
  }
  return problem;
}

}  // namespace rafter
