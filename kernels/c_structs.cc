// kernels/c_structs.cc: see c_structs.h.
#include "kernels/c_structs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "kernels/c_call.h"
#include "kernels/conv/problem.h"

namespace rafter {
namespace {

static_assert(static_cast<int>(Layout::kNchw8c) == RAFTER_NCHW8C);
static_assert(static_cast<int>(Planning::kMeasure) == RAFTER_PLAN_MEASURE);
static_assert(static_cast<int>(PostOpKind::kChannelScale) == RAFTER_CHANNEL_SCALE);

bool IsDense(const rafter_strides& s) { return s.n == 0 && s.c == 0 && s.h == 0 && s.w == 0; }

std::optional<Strides> ToStrides(const rafter_strides& s) {
  if (IsDense(s)) return std::nullopt;
  return Strides{s.n, s.c, s.h, s.w};
}

// `desc` is valid as far as it goes without post-ops: its oc says how many factors there are to be read.
Result<PostOps> ToPostOps(const rafter_conv_desc& desc) {
  if (desc.num_post_ops < 0 || desc.num_post_ops > kMaxPostOps) {
    return Status::InvalidArgument("num_post_ops: " + std::to_string(desc.num_post_ops) +
                                   " is outside of 0 … " + std::to_string(kMaxPostOps));
  }
  if (desc.num_post_ops > 0 && desc.post_ops == nullptr) {
    return Status(StatusCode::kInvalidArgument, "post_ops: NULL, but num_post_ops is not 0");
  }
  PostOps post_ops;
  for (int32_t i = 0; i < desc.num_post_ops; ++i) {
    const Result<rafter_post_op> sized =
        ElementOf(desc.post_ops, static_cast<size_t>(i), desc.post_op_bytes, "post_op_bytes");
    if (!sized.ok()) return sized.status();
    const rafter_post_op& op = *sized;
    if (op.kind < RAFTER_RELU || op.kind > RAFTER_CHANNEL_SCALE) {
      return Status::InvalidArgument("post_ops[" + std::to_string(i) + "].kind: " +
                                     std::to_string(op.kind) + " is unknown, allowed: 1 … 12");
    }
    PostOp converted{static_cast<PostOpKind>(op.kind), op.alpha, op.beta, {}, {}};
    converted.residual_strides = ToStrides(op.residual_strides);
    if (op.kind == RAFTER_CHANNEL_SCALE) {
      if (op.scale == nullptr) {
        return Status::InvalidArgument("post_ops[" + std::to_string(i) + "].scale: NULL in a RAFTER_CHANNEL_SCALE");
      }
      converted.scale.assign(op.scale, op.scale + desc.oc);
    }
    post_ops.push_back(std::move(converted));
  }
  return post_ops;
}

}  // namespace

Status CheckFlag(const std::string& field, int32_t value) {
  if (value == 0 || value == 1) return {};
  return Status::InvalidArgument(field + ": " + std::to_string(value) + " is unknown, allowed: 0 or 1");
}

TensorFormat ToFormat(const rafter_format& format) {
  return {static_cast<Layout>(format.layout), ToStrides(format.strides)};
}

Result<ConvDesc> ToDesc(const rafter_conv_desc* given) {
  if (given == nullptr) return Status(StatusCode::kInvalidArgument, "desc: NULL");
  const Result<rafter_conv_desc> sized = Sized(*given, kDescBytesV1, "desc");
  if (!sized.ok()) return sized.status();
  const rafter_conv_desc* c = &*sized;
  ConvDesc desc{.n = c->n, .groups = c->groups, .ic = c->ic, .oc = c->oc};
  desc.in = {c->in_h, c->in_w};
  desc.kernel = {c->kernel_h, c->kernel_w};
  desc.stride = {c->stride_h, c->stride_w};
  desc.dilation = {c->dilation_h, c->dilation_w};
  desc.pad = {c->pad_top, c->pad_left, c->pad_bottom, c->pad_right};
  desc.src = ToFormat(c->src);
  desc.dst = ToFormat(c->dst);
  if (Status status = CheckFlag("bias", c->bias); !status.ok()) return status;
  desc.bias = c->bias != 0;
  if (c->num_post_ops == 0) return desc;
  if (const Result<ConvProblem> plain = Validate(desc); !plain.ok()) return plain.status();
  Result<PostOps> post_ops = ToPostOps(*c);
  if (!post_ops.ok()) return post_ops.status();
  desc.post_ops = std::move(post_ops).value();
  return desc;
}

Result<ConvOptions> ToOptions(const rafter_conv_options* given) {
  ConvOptions options;
  if (given == nullptr) return options;
  const Result<rafter_conv_options> sized = Sized(*given, kOptionsBytesV1, "options");
  if (!sized.ok()) return sized.status();
  if (Status status = CheckFlag("strict", sized->strict); !status.ok()) return status;
  options.threads = sized->threads;
  options.accuracy = sized->strict != 0 ? Accuracy::kStrict : Accuracy::kDefault;
  if (sized->algorithm != nullptr) options.algorithm = sized->algorithm;
  if (sized->plan != RAFTER_PLAN_MODEL && sized->plan != RAFTER_PLAN_MEASURE) {
    return Status::InvalidArgument("plan: " + std::to_string(sized->plan) +
                                   " is unknown, allowed: 0 (model), 1 (measure)");
  }
  options.plan = static_cast<Planning>(sized->plan);
  if (sized->pool != nullptr) {
    if (!Lives(sized->pool)) {
      return Status(StatusCode::kInvalidArgument, "pool: is no such object, or was destroyed before");
    }
    options.pool = &sized->pool->pool;
  }
  return options;
}

}  // namespace rafter
