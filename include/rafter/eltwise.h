// rafter/eltwise.h: element-wise operators, f32: activations, scale and shift, arithmetic on two and more tensors, and
// any chain of them in one pass over memory.
//
//   // y = relu(batch_norm(x) + residual), one pass
//   rafter::EltwiseDesc desc{.c = 64, .h = 56, .w = 56};
//   desc.ops = {EltwiseOp::ChannelLinear(scale, shift), EltwiseOp::Add(), EltwiseOp::Relu()};
//   auto op = rafter::Eltwise::Create(desc);
//   rafter::Status status = op->Run(x, y, {.operands = {&residual, 1}});
//
// x starts as the element of `src`; each operation of the chain replaces it; the last value is stored to `dst`.
// Source, destination and operands have the same layout; each may be a slice with strides of its own.
//
// NaN: every operation gives NaN for a NaN input, in every lane: ReLU, clip, min and max too (kMin and kMax: if either
// side is NaN). log and sqrt of negative numbers are NaN. Errors of the transcendental functions against exact
// arithmetic are at most 4 ULP or at most 1e-7 absolute: table in docs/operators.md. exp is zero below 2^-125.5.
// The result of an element depends on nothing but its inputs: not on threads, layout, position, alignment.
#ifndef RAFTER_ELTWISE_H_
#define RAFTER_ELTWISE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/operator.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

inline constexpr int kMaxEltwiseOps = 8;

enum class EltwiseKind : uint8_t {
  kRelu = 1,       // max(x, 0)
  kLeakyRelu,      // x >= 0 ? x : alpha * x
  kPrelu,          // x >= 0 ? x : scale[c] * x
  kClip,           // min(max(x, alpha), beta)
  kAbs,            // |x|
  kNeg,            // -x
  kExp,            // e^x
  kLog,            // ln(x)
  kSqrt,           // square root, correctly rounded
  kSigmoid,        // 1 / (1 + exp(-x))
  kTanh,           // tanh(x)
  kGelu,           // x / 2 * (1 + erf(x / sqrt(2)))
  kGeluTanh,       // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
  kSwish,          // x / (1 + exp(-alpha * x))               SiLU = swish(1)
  kElu,            // x >= 0 ? x : alpha * (exp(x) - 1)
  kHardSwish,      // x * min(max(x / 6 + 1/2, 0), 1)
  kHardSigmoid,    // min(max(alpha * x + beta, 0), 1)
  kLinear,         // alpha * x + beta
  kChannelLinear,  // scale[c] * x + shift[c]                 folded batch normalisation
  kAdd,            // x + operand                             each with the next operand of the call
  kSub,            // x - operand
  kMul,            // x * operand
  kDiv,            // x / operand
  kMin,            // min(x, operand)
  kMax,            // max(x, operand)
};

// How an operand is broadcast and lies in memory. A dimension that is true has size 1 in the operand, whatever its
// size in the source; all false: a tensor of the source's shape. In blocked layouts an operand with one channel has it
// in lane 0 of a block.
struct EltwiseOperand {
  bool one_n = false, one_c = false, one_h = false, one_w = false;
  std::optional<Strides> strides{};  // absent: dense; the layout is the source's
};

// One operation; use the named makers.
struct EltwiseOp {
  EltwiseKind kind = EltwiseKind::kRelu;
  float alpha = 0.0f, beta = 0.0f;
  std::vector<float> scale{}, shift{};  // kChannelLinear: c values each; kPrelu: scale only. Copied by Create
  EltwiseOperand operand{};             // kAdd … kMax

  static EltwiseOp Of(EltwiseKind kind, float alpha = 0.0f, float beta = 0.0f) {
    EltwiseOp op;
    op.kind = kind, op.alpha = alpha, op.beta = beta;
    return op;
  }
  static EltwiseOp Binary(EltwiseKind kind, const EltwiseOperand& operand = {}) {
    EltwiseOp op = Of(kind);
    op.operand = operand;
    return op;
  }
  static EltwiseOp Relu() { return Of(EltwiseKind::kRelu); }
  static EltwiseOp LeakyRelu(float alpha) { return Of(EltwiseKind::kLeakyRelu, alpha); }
  static EltwiseOp Prelu(std::vector<float> slopes) {
    EltwiseOp op = Of(EltwiseKind::kPrelu);
    op.scale = std::move(slopes);
    return op;
  }
  static EltwiseOp Clip(float low, float high) { return Of(EltwiseKind::kClip, low, high); }
  static EltwiseOp Abs() { return Of(EltwiseKind::kAbs); }
  static EltwiseOp Neg() { return Of(EltwiseKind::kNeg); }
  static EltwiseOp Exp() { return Of(EltwiseKind::kExp); }
  static EltwiseOp Log() { return Of(EltwiseKind::kLog); }
  static EltwiseOp Sqrt() { return Of(EltwiseKind::kSqrt); }
  static EltwiseOp Sigmoid() { return Of(EltwiseKind::kSigmoid); }
  static EltwiseOp Tanh() { return Of(EltwiseKind::kTanh); }
  static EltwiseOp Gelu() { return Of(EltwiseKind::kGelu); }
  static EltwiseOp GeluTanh() { return Of(EltwiseKind::kGeluTanh); }
  static EltwiseOp Swish(float alpha = 1.0f) { return Of(EltwiseKind::kSwish, alpha); }
  static EltwiseOp Silu() { return Swish(1.0f); }
  static EltwiseOp Elu(float alpha = 1.0f) { return Of(EltwiseKind::kElu, alpha); }
  static EltwiseOp HardSwish() { return Of(EltwiseKind::kHardSwish); }
  static EltwiseOp HardSigmoid(float alpha = 0.2f, float beta = 0.5f) {
    return Of(EltwiseKind::kHardSigmoid, alpha, beta);
  }
  static EltwiseOp Linear(float scale, float shift) { return Of(EltwiseKind::kLinear, scale, shift); }
  static EltwiseOp ChannelLinear(std::vector<float> scale, std::vector<float> shift) {
    EltwiseOp op = Of(EltwiseKind::kChannelLinear);
    op.scale = std::move(scale), op.shift = std::move(shift);
    return op;
  }
  static EltwiseOp Add(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kAdd, operand); }
  static EltwiseOp Sub(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kSub, operand); }
  static EltwiseOp Mul(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kMul, operand); }
  static EltwiseOp Div(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kDiv, operand); }
  static EltwiseOp Min(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kMin, operand); }
  static EltwiseOp Max(const EltwiseOperand& operand = {}) { return Binary(EltwiseKind::kMax, operand); }
};

using EltwiseOps = std::vector<EltwiseOp>;

// The sum of `tensors` tensors: the source and tensors - 1 operands (2 … kMaxEltwiseOps).
inline EltwiseOps EltwiseSum(int tensors) {
  return EltwiseOps(tensors > 1 ? static_cast<size_t>(tensors - 1) : 0, EltwiseOp::Add());
}

constexpr bool IsBinary(EltwiseKind kind) noexcept { return kind >= EltwiseKind::kAdd; }

// "relu", "leaky_relu", … as used in kernel names and listings.
constexpr const char* EltwiseName(EltwiseKind kind) noexcept {
  switch (kind) {
    case EltwiseKind::kRelu: return "relu";
    case EltwiseKind::kLeakyRelu: return "leaky_relu";
    case EltwiseKind::kPrelu: return "prelu";
    case EltwiseKind::kClip: return "clip";
    case EltwiseKind::kAbs: return "abs";
    case EltwiseKind::kNeg: return "neg";
    case EltwiseKind::kExp: return "exp";
    case EltwiseKind::kLog: return "log";
    case EltwiseKind::kSqrt: return "sqrt";
    case EltwiseKind::kSigmoid: return "sigmoid";
    case EltwiseKind::kTanh: return "tanh";
    case EltwiseKind::kGelu: return "gelu";
    case EltwiseKind::kGeluTanh: return "gelu_tanh";
    case EltwiseKind::kSwish: return "swish";
    case EltwiseKind::kElu: return "elu";
    case EltwiseKind::kHardSwish: return "hard_swish";
    case EltwiseKind::kHardSigmoid: return "hard_sigmoid";
    case EltwiseKind::kLinear: return "linear";
    case EltwiseKind::kChannelLinear: return "channel_linear";
    case EltwiseKind::kAdd: return "add";
    case EltwiseKind::kSub: return "sub";
    case EltwiseKind::kMul: return "mul";
    case EltwiseKind::kDiv: return "div";
    case EltwiseKind::kMin: return "min";
    case EltwiseKind::kMax: return "max";
  }
  return "unknown";
}

// A chain over one tensor of shape (n, c, h, w).
struct EltwiseDesc {
  int64_t n = 1, c = 0, h = 1, w = 1;
  TensorFormat src{}, dst{};  // the same layout
  DataType type = DataType::kF32;
  EltwiseOps ops{};           // 1 … kMaxEltwiseOps
};

struct EltwiseRunOptions {
  std::span<const float* const> operands{};  // one pointer per kAdd … kMax, in the order of the chain
  ParallelFor* threads = nullptr;            // as in OperatorRunOptions
  int max_threads = 0;
};

// A planned chain. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Eltwise {
 public:
  // kInvalidArgument names field, value and what is allowed. kOutOfMemory.
  static Result<Eltwise> Create(const EltwiseDesc& desc, const OperatorOptions& options = {});

  // Tensors of the description, aligned to 4 bytes. In place is allowed: dst may be the source, or an operand of the
  // source's shape, with the same strides; any other overlap of dst with an input is kInvalidArgument, as is a null or
  // misaligned pointer or a wrong number of operands. Allocates nothing. With n == 0: success, no work.
  Status Run(const float* src, float* dst, const EltwiseRunOptions& options = {}) const noexcept;

  const EltwiseDesc& desc() const noexcept;
  // e.g. "eltwise_f32_avx2_relu"; "reference_eltwise" where no code can be generated.
  const std::string& kernel_name() const noexcept;
  Isa isa() const noexcept;  // kNone for the reference
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Eltwise(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_ELTWISE_H_
