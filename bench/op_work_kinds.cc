// bench/op_work_kinds.cc: each operator behind OpWork: description → operator, tensors, traffic, reference.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "bench/op_work.h"
#include "kernels/concat/problem.h"
#include "kernels/concat/reference.h"
#include "kernels/cost/operator_cost.h"
#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/reference.h"
#include "kernels/padding/problem.h"
#include "kernels/padding/reference.h"
#include "kernels/pooling/problem.h"
#include "kernels/pooling/reference.h"
#include "kernels/reorder/problem.h"
#include "kernels/reorder/reference.h"
#include "kernels/sizes.h"
#include "kernels/softmax/problem.h"
#include "kernels/tensor_shape.h"

namespace rafter::bench {
namespace {

int64_t FloatsOf(Layout layout, const TensorShape& s) {
  return SpanOf({nullptr, layout, DenseStrides(layout, s.c, s.h, s.w), s});
}

double ElementsOf(const TensorShape& s) {
  return static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.h) * static_cast<double>(s.w);
}

// Functions of the C library and of the kernels differ by some units in the last place; chains add theirs up.
constexpr double kFunctionTolerance = 2e-6;

// What all operators with Create(desc, options) share.
template <typename Operator, typename Desc>
class OperatorWork : public OpWork {
 public:
  OperatorWork(const OpSetup& setup, Desc desc) : OpWork(setup), desc_(std::move(desc)) {}
  Status Create() override {
    op_.reset();
    Result<Operator> made = Operator::Create(desc_, {setup_.threads});
    if (!made.ok()) return made.status();
    op_ = std::move(made).value();
    kernel_ = op_->kernel_name();
    isa_ = op_->isa();
    return {};
  }

 protected:
  OperatorRunOptions options() const { return {setup_.pool, setup_.threads}; }
  void SetTraffic(double load_bytes, double store_bytes) {
    traffic_ = {load_bytes, store_bytes, in_place_ ? store_bytes : load_bytes + store_bytes, in_place_};
  }
  Desc desc_;
  std::optional<Operator> op_;
};

class EltwiseWork final : public OperatorWork<Eltwise, EltwiseDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare(bool in_place) {
    in_place_ = in_place;
    desc_.src.layout = desc_.dst.layout = setup_.layout;
    FillFactors();
    Result<EltwiseProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    const Result<OperatorCost> cost = CostOf(desc_);
    if (!cost.ok()) return cost.status();
    flops_ = cost->flops;
    Status status = AddInput(FloatsOf(setup_.layout, problem_.shape()));
    for (const EltwiseProblem::Operand& operand : problem_.operands) {
      if (status.ok()) status = AddInput(FloatsOf(setup_.layout, operand.shape));
    }
    if (status.ok()) status = MakeResult(FloatsOf(setup_.layout, problem_.shape()));
    SetTraffic(cost->src_bytes + cost->operand_bytes, cost->dst_bytes);
    return status;
  }

 private:
  void FillFactors() {
    uint64_t seed = setup_.seed + 50;
    for (EltwiseOp& op : desc_.ops) {
      if (op.kind != EltwiseKind::kPrelu && op.kind != EltwiseKind::kChannelLinear) continue;
      op.scale.resize(static_cast<size_t>(std::max<int64_t>(desc_.c, 0)));
      FillRandom(op.scale, ++seed);
      if (op.kind != EltwiseKind::kChannelLinear) continue;
      op.shift.resize(op.scale.size());
      FillRandom(op.shift, ++seed);
    }
  }
  Status Call(float* dst) noexcept override {
    const std::span<const float* const> operands(tensors_.inputs.data() + 1, tensors_.inputs.size() - 1);
    return op_->Run(tensors_.inputs[0], dst, {operands, setup_.pool, setup_.threads});
  }
  void Reference(float* wanted) override {
    reference::RunEltwise(problem_, tensors_.inputs[0], tensors_.inputs.data() + 1, wanted, {0, desc_.n * desc_.h});
  }
  double tolerance() const noexcept override { return kFunctionTolerance; }
  EltwiseProblem problem_;
};

class PoolWork final : public OperatorWork<Pooling, PoolingDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare() {
    desc_.src.layout = desc_.dst.layout = setup_.layout;
    Result<PoolingProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    const Result<OperatorCost> cost = CostOf(desc_);
    if (!cost.ok()) return cost.status();
    flops_ = cost->flops;
    const TensorShape in{desc_.n, desc_.c, desc_.in.h, desc_.in.w};
    out_ = problem_.dst_shape();
    Status status = AddInput(FloatsOf(setup_.layout, in));
    if (status.ok()) status = MakeResult(FloatsOf(setup_.layout, out_));
    SetTraffic(cost->src_bytes, cost->dst_bytes);
    return status;
  }

 private:
  Status Call(float* dst) noexcept override { return op_->Run(tensors_.inputs[0], dst, options()); }
  void Reference(float* wanted) override {
    reference::RunPooling(problem_, tensors_.inputs[0], wanted, {0, out_.n * out_.h});
  }
  // Sums in f32 against sums in double: relative to the largest input, 1.
  double tolerance() const noexcept override { return desc_.kind == PoolingKind::kMax ? 0 : 1e-5; }
  PoolingProblem problem_;
  TensorShape out_;
};

class SoftmaxWork final : public OperatorWork<Softmax, SoftmaxDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare() {
    desc_.src.layout = desc_.dst.layout = setup_.layout;
    Result<SoftmaxProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    const Result<OperatorCost> cost = CostOf(desc_);
    if (!cost.ok()) return cost.status();
    flops_ = cost->flops;
    const int64_t floats = FloatsOf(setup_.layout, problem_.shape());
    Status status = AddInput(floats);
    if (status.ok()) status = MakeResult(floats);
    SetTraffic(cost->src_bytes, cost->dst_bytes);
    return status;
  }

 private:
  Status Call(float* dst) noexcept override { return op_->Run(tensors_.inputs[0], dst, options()); }
  void Reference(float* wanted) override {
    reference::RunSoftmax(problem_, tensors_.inputs[0], wanted, {0, desc_.n * desc_.h});
  }
  double tolerance() const noexcept override { return kFunctionTolerance; }
  SoftmaxProblem problem_;
};

class ConcatWork final : public OperatorWork<Concat, ConcatDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare() {
    for (ConcatInput& input : desc_.inputs) input.format.layout = setup_.layout;
    desc_.dst.layout = setup_.layout;
    Result<ConcatProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    Status status;
    for (const ConcatProblem::Input& input : problem_.inputs) {
      if (status.ok()) status = AddInput(FloatsOf(setup_.layout, input.shape));
    }
    if (status.ok()) status = MakeResult(FloatsOf(setup_.layout, problem_.shape));
    SetTraffic(kFloat * ElementsOf(problem_.shape), kFloat * ElementsOf(problem_.shape));
    return status;
  }

 private:
  Status Call(float* dst) noexcept override { return op_->Run(tensors_.inputs, dst, options()); }
  void Reference(float* wanted) override { reference::RunConcat(problem_, tensors_.inputs, wanted); }
  ConcatProblem problem_;
};

class PadWork final : public OperatorWork<Pad, PadDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare() {
    desc_.src.layout = desc_.dst.layout = setup_.layout;
    Result<PadProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    Status status = AddInput(FloatsOf(setup_.layout, problem_.in));
    if (status.ok()) status = MakeResult(FloatsOf(setup_.layout, problem_.out));
    SetTraffic(kFloat * ElementsOf(problem_.in), kFloat * ElementsOf(problem_.out));
    return status;
  }

 private:
  Status Call(float* dst) noexcept override { return op_->Run(tensors_.inputs[0], dst, options()); }
  void Reference(float* wanted) override { reference::RunPad(problem_, tensors_.inputs[0], wanted); }
  PadProblem problem_;
};

class ReorderWork final : public OperatorWork<Reorder, ReorderDesc> {
 public:
  using OperatorWork::OperatorWork;
  Status Prepare() {
    Result<ReorderProblem> problem = Validate(desc_);
    if (!problem.ok()) return problem.status();
    problem_ = std::move(problem).value();
    Status status = AddInput(FloatsOf(desc_.src.layout, problem_.shape));
    if (status.ok()) status = MakeResult(FloatsOf(desc_.dst.layout, problem_.shape));
    SetTraffic(kFloat * ElementsOf(problem_.shape), kFloat * ElementsOf(problem_.shape));
    return status;
  }

 private:
  Status Call(float* dst) noexcept override { return op_->Run(tensors_.inputs[0], dst, options()); }
  void Reference(float* wanted) override { reference::RunReorder(problem_, tensors_.inputs[0], wanted); }
  ReorderProblem problem_;
};

// Memory itself: a block is taken, one float of each page is written, and it is given back.
class ScratchWork final : public OpWork {
 public:
  ScratchWork(const OpSetup& setup, const ScratchDesc& desc) : OpWork(setup), bytes_(desc.bytes) {}
  Status Prepare() {
    kernel_ = "touch";
    // Kept memory is what a pool gives.
    if (setup_.pages == Pages::kKept) setup_.pages = Pages::kPooled;
    traffic_ = {0, static_cast<double>((bytes_ + kPage - 1) / kPage) * kFloat, static_cast<double>(bytes_), false};
    return MakeResult((bytes_ + 3) / 4);
  }
  Status Create() override { return {}; }

 private:
  static constexpr int64_t kPage = 4096;
  Status Call(float* dst) noexcept override {
    for (int64_t at = 0; at < result_floats_; at += kPage / 4) *static_cast<volatile float*>(dst + at) = 1.0f;
    return {};
  }
  void Reference(float* wanted) override {
    std::memset(wanted, 0xff, static_cast<size_t>(result_floats_) * sizeof(float));  // as Verify leaves it
    for (int64_t at = 0; at < result_floats_; at += kPage / 4) wanted[at] = 1.0f;
  }
  int64_t bytes_;
};

template <typename Work, typename Desc, typename... More>
Result<std::unique_ptr<OpWork>> MakeWork(const OpSetup& setup, const Desc& desc, More... more) {
  auto work = std::make_unique<Work>(setup, desc);
  if (Status status = work->Prepare(more...); !status.ok()) return status;
  if (Status status = work->Create(); !status.ok()) return status;
  return std::unique_ptr<OpWork>(std::move(work));
}

}  // namespace

Result<std::unique_ptr<OpWork>> OpWork::Make(const OpCase& op, const OpSetup& setup) {
  if (const auto* d = std::get_if<EltwiseDesc>(&op.desc)) return MakeWork<EltwiseWork>(setup, *d, op.in_place);
  if (const auto* d = std::get_if<PoolingDesc>(&op.desc)) return MakeWork<PoolWork>(setup, *d);
  if (const auto* d = std::get_if<ConcatDesc>(&op.desc)) return MakeWork<ConcatWork>(setup, *d);
  if (const auto* d = std::get_if<PadDesc>(&op.desc)) return MakeWork<PadWork>(setup, *d);
  if (const auto* d = std::get_if<ReorderDesc>(&op.desc)) return MakeWork<ReorderWork>(setup, *d);
  if (const auto* d = std::get_if<SoftmaxDesc>(&op.desc)) return MakeWork<SoftmaxWork>(setup, *d);
  return MakeWork<ScratchWork>(setup, std::get<ScratchDesc>(op.desc));
}

}  // namespace rafter::bench
