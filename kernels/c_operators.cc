// kernels/c_operators.cc: element-wise chains, pooling and softmax of rafter_c.h on top of the C++ interface. Not for:
// decisions of any kind.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/c_call.h"
#include "kernels/c_structs.h"
#include "rafter/eltwise.h"
#include "rafter/pool.h"
#include "rafter/rafter_c.h"
#include "rafter/softmax.h"

struct rafter_eltwise {
  rafter::HandleMark<8> mark;
  rafter::Eltwise op;
};
struct rafter_pooling {
  rafter::HandleMark<9> mark;
  rafter::Pooling op;
};
struct rafter_softmax {
  rafter::HandleMark<10> mark;
  rafter::Softmax op;
};

namespace rafter {
namespace {

static_assert(static_cast<int>(EltwiseKind::kMax) == RAFTER_ELTWISE_MAX);
static_assert(static_cast<int>(EltwiseKind::kChannelLinear) == RAFTER_ELTWISE_CHANNEL_LINEAR);
static_assert(static_cast<int>(PoolingKind::kAverage) == RAFTER_POOLING_AVERAGE);

// Sizes in the first version of the header.
constexpr size_t kEltwiseBytesV1 = sizeof(rafter_eltwise_desc);
constexpr size_t kPoolingBytesV1 = sizeof(rafter_pooling_desc), kSoftmaxBytesV1 = sizeof(rafter_softmax_desc);

Result<EltwiseOp> ToOp(const rafter_eltwise_op& op, size_t index, int64_t channels) {
  const std::string field = "ops[" + std::to_string(index) + "]";
  if (op.kind < RAFTER_ELTWISE_RELU || op.kind > RAFTER_ELTWISE_MAX) {
    return Status::InvalidArgument(field + ".kind: " + std::to_string(op.kind) + " is unknown, allowed: 1 to 25");
  }
  EltwiseOp made = EltwiseOp::Of(static_cast<EltwiseKind>(op.kind), op.alpha, op.beta);
  for (const auto& [name, flag] :
       {std::pair{".one_n", op.one_n}, {".one_c", op.one_c}, {".one_h", op.one_h}, {".one_w", op.one_w}}) {
    if (Status status = CheckFlag(field + name, flag); !status.ok()) return status;
  }
  made.operand = {op.one_n != 0, op.one_c != 0, op.one_h != 0, op.one_w != 0,
                  ToFormat({RAFTER_NHWC, op.operand_strides}).strides};
  // Channels that are out of range are refused by the validation that follows; do not read by them.
  constexpr int64_t kMostChannels = int64_t{1} << 32;
  const bool linear = made.kind == EltwiseKind::kChannelLinear, slopes = made.kind == EltwiseKind::kPrelu;
  if ((linear || slopes) && op.scale == nullptr) return Status::InvalidArgument(field + ".scale: NULL");
  if (linear && op.shift == nullptr) return Status::InvalidArgument(field + ".shift: NULL");
  if (channels < 1 || channels > kMostChannels) return made;
  if (linear || slopes) made.scale.assign(op.scale, op.scale + channels);
  if (linear) made.shift.assign(op.shift, op.shift + channels);
  return made;
}

Result<EltwiseDesc> ToDesc(const rafter_eltwise_desc* given) {
  if (given == nullptr) return Status(StatusCode::kInvalidArgument, "desc: NULL");
  const Result<rafter_eltwise_desc> sized = Sized(*given, kEltwiseBytesV1, "desc");
  if (!sized.ok()) return sized.status();
  EltwiseDesc desc{.n = sized->n, .c = sized->c, .h = sized->h, .w = sized->w};
  desc.src = ToFormat(sized->src), desc.dst = ToFormat(sized->dst);
  if (sized->num_ops < 1 || sized->num_ops > kMaxEltwiseOps || sized->ops == nullptr) {
    return Status::InvalidArgument("num_ops: " + std::to_string(sized->num_ops) + " operations, allowed: 1 to " +
                                   std::to_string(kMaxEltwiseOps) + ", with ops");
  }
  for (size_t i = 0; i < static_cast<size_t>(sized->num_ops); ++i) {
    const Result<rafter_eltwise_op> op = ElementOf(sized->ops, i, sized->op_bytes, "op_bytes");
    if (!op.ok()) return op.status();
    Result<EltwiseOp> made = ToOp(*op, i, desc.c);
    if (!made.ok()) return made.status();
    desc.ops.push_back(std::move(made).value());
  }
  return desc;
}

Result<PoolingDesc> ToDesc(const rafter_pooling_desc* given) {
  if (given == nullptr) return Status(StatusCode::kInvalidArgument, "desc: NULL");
  const Result<rafter_pooling_desc> sized = Sized(*given, kPoolingBytesV1, "desc");
  if (!sized.ok()) return sized.status();
  if (sized->kind != RAFTER_POOLING_MAX && sized->kind != RAFTER_POOLING_AVERAGE) {
    return Status::InvalidArgument("kind: " + std::to_string(sized->kind) +
                                   " is unknown, allowed: 1 (max), 2 (average)");
  }
  PoolingDesc desc{.kind = static_cast<PoolingKind>(sized->kind), .n = sized->n, .c = sized->c};
  desc.in = {sized->in_h, sized->in_w};
  desc.kernel = {sized->kernel_h, sized->kernel_w};
  desc.stride = {sized->stride_h, sized->stride_w};
  desc.dilation = {sized->dilation_h, sized->dilation_w};
  desc.pad = {sized->pad_top, sized->pad_left, sized->pad_bottom, sized->pad_right};
  if (Status status = CheckFlag("ceil_mode", sized->ceil_mode); !status.ok()) return status;
  if (Status status = CheckFlag("count_include_pad", sized->count_include_pad); !status.ok()) return status;
  desc.ceil_mode = sized->ceil_mode != 0, desc.count_include_pad = sized->count_include_pad != 0;
  desc.src = ToFormat(sized->src), desc.dst = ToFormat(sized->dst);
  return desc;
}

Result<SoftmaxDesc> ToDesc(const rafter_softmax_desc* given) {
  if (given == nullptr) return Status(StatusCode::kInvalidArgument, "desc: NULL");
  const Result<rafter_softmax_desc> sized = Sized(*given, kSoftmaxBytesV1, "desc");
  if (!sized.ok()) return sized.status();
  SoftmaxDesc desc{.n = sized->n, .c = sized->c, .h = sized->h, .w = sized->w};
  desc.src = ToFormat(sized->src), desc.dst = ToFormat(sized->dst);
  return desc;
}

// Makes an Operator from a struct; Handle holds it as `op`.
template <typename Operator, typename Given, typename Handle>
rafter_status Create(const Given* given, int32_t threads, Handle** op) noexcept {
  if (op == nullptr) return Invalid("op: NULL");
  *op = nullptr;
  return Guarded([&]() -> Status {
    const auto desc = ToDesc(given);
    if (!desc.ok()) return desc.status();
    Result<Operator> made = Operator::Create(*desc, {.threads = threads});
    if (!made.ok()) return made.status();
    *op = new Handle{{}, std::move(made).value()};
    return {};
  });
}

}  // namespace
}  // namespace rafter

extern "C" {

rafter_status rafter_eltwise_create(const rafter_eltwise_desc* desc, int32_t threads, rafter_eltwise** op) {
  return rafter::Create<rafter::Eltwise>(desc, threads, op);
}

rafter_status rafter_eltwise_run(const rafter_eltwise* op, const float* src, float* dst, const float* const* operands,
                                 size_t num_operands, const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(op, "op"); status != RAFTER_OK) return status;
  if (operands == nullptr && num_operands > 0) return rafter::Invalid("operands: NULL, but num_operands is not 0");
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return op->op.Run(src, dst, {{operands, num_operands}, call.threads, call.max_threads});
  });
}

void rafter_eltwise_destroy(rafter_eltwise* op) { rafter::Destroy(op, "op"); }

const char* rafter_eltwise_kernel_name(const rafter_eltwise* op) { return rafter::KernelNameOf(rafter::PlanOf(op)); }
rafter_isa rafter_eltwise_isa(const rafter_eltwise* op) { return rafter::IsaOf(rafter::PlanOf(op)); }
int32_t rafter_eltwise_threads(const rafter_eltwise* op) { return rafter::ThreadsOf(rafter::PlanOf(op)); }

rafter_status rafter_pooling_create(const rafter_pooling_desc* desc, int32_t threads, rafter_pooling** op) {
  return rafter::Create<rafter::Pooling>(desc, threads, op);
}

void rafter_pooling_output_size(const rafter_pooling* op, int64_t* height, int64_t* width) {
  const rafter::Size2 size = rafter::Lives(op) ? op->op.output_size() : rafter::Size2{0, 0};
  if (height != nullptr) *height = size.h;
  if (width != nullptr) *width = size.w;
}

rafter_status rafter_pooling_run(const rafter_pooling* op, const float* src, float* dst,
                                 const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(op, "op"); status != RAFTER_OK) return status;
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return op->op.Run(src, dst, call);
  });
}

void rafter_pooling_destroy(rafter_pooling* op) { rafter::Destroy(op, "op"); }

const char* rafter_pooling_kernel_name(const rafter_pooling* op) { return rafter::KernelNameOf(rafter::PlanOf(op)); }
rafter_isa rafter_pooling_isa(const rafter_pooling* op) { return rafter::IsaOf(rafter::PlanOf(op)); }
int32_t rafter_pooling_threads(const rafter_pooling* op) { return rafter::ThreadsOf(rafter::PlanOf(op)); }

rafter_status rafter_softmax_create(const rafter_softmax_desc* desc, int32_t threads, rafter_softmax** op) {
  return rafter::Create<rafter::Softmax>(desc, threads, op);
}

rafter_status rafter_softmax_run(const rafter_softmax* op, const float* src, float* dst,
                                 const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(op, "op"); status != RAFTER_OK) return status;
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return op->op.Run(src, dst, call);
  });
}

void rafter_softmax_destroy(rafter_softmax* op) { rafter::Destroy(op, "op"); }

const char* rafter_softmax_kernel_name(const rafter_softmax* op) { return rafter::KernelNameOf(rafter::PlanOf(op)); }
rafter_isa rafter_softmax_isa(const rafter_softmax* op) { return rafter::IsaOf(rafter::PlanOf(op)); }
int32_t rafter_softmax_threads(const rafter_softmax* op) { return rafter::ThreadsOf(rafter::PlanOf(op)); }

}  // extern "C"
