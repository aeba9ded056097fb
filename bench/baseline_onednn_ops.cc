// bench/baseline_onednn_ops.cc: see the header.
#include "bench/baseline_onednn_ops.h"

#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/baseline_onednn_layout.h"
#include "bench/omp_team.h"
#include "bench/op_work.h"
#include "bench/sampler.h"
#include "bench/tensor_buffer.h"

namespace rafter::bench {

#if DNNL_VERSION_MAJOR >= 3

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc F32(const memory::dims& dims, Layout layout) {
  return memory::desc(dims, memory::data_type::f32, OneDnnTag(layout));
}

std::optional<dnnl::algorithm> UnaryOf(EltwiseKind kind) {
  using A = dnnl::algorithm;
  switch (kind) {
    case EltwiseKind::kRelu:
    case EltwiseKind::kLeakyRelu: return A::eltwise_relu;
    case EltwiseKind::kClip: return A::eltwise_clip;
    case EltwiseKind::kAbs: return A::eltwise_abs;
    case EltwiseKind::kExp: return A::eltwise_exp;
    case EltwiseKind::kLog: return A::eltwise_log;
    case EltwiseKind::kSqrt: return A::eltwise_sqrt;
    case EltwiseKind::kSigmoid: return A::eltwise_logistic;
    case EltwiseKind::kTanh: return A::eltwise_tanh;
    case EltwiseKind::kGelu: return A::eltwise_gelu_erf;
    case EltwiseKind::kGeluTanh: return A::eltwise_gelu_tanh;
    case EltwiseKind::kSwish: return A::eltwise_swish;
    case EltwiseKind::kElu: return A::eltwise_elu;
    case EltwiseKind::kHardSwish: return A::eltwise_hardswish;
    case EltwiseKind::kHardSigmoid: return A::eltwise_hardsigmoid;
    case EltwiseKind::kLinear: return A::eltwise_linear;
    default: return std::nullopt;
  }
}

std::optional<dnnl::algorithm> BinaryOf(EltwiseKind kind) {
  using A = dnnl::algorithm;
  switch (kind) {
    case EltwiseKind::kAdd: return A::binary_add;
    case EltwiseKind::kSub: return A::binary_sub;
    case EltwiseKind::kMul: return A::binary_mul;
    case EltwiseKind::kDiv: return A::binary_div;
    case EltwiseKind::kMin: return A::binary_min;
    case EltwiseKind::kMax: return A::binary_max;
    default: return std::nullopt;
  }
}

class OneDnnOp final : public BaselineRun {
 public:
  explicit OneDnnOp(const OpRequest& request) : request_(request) {}

  // Everything that may fail; dnnl::error is for the caller to catch.
  Status Prepare() {
    const std::unique_ptr<Stopwatch> watch = MakeSystemStopwatch(1);
    const int capacity = dnnl::get_primitive_cache_capacity();
    dnnl::set_primitive_cache_capacity(0);
    std::vector<double> times_us;
    Status status;
    constexpr int kTimedCreations = 5;
    for (int i = 0; i < kTimedCreations && status.ok(); ++i) {
      arguments_.clear(), memories_.clear();
      const double start = watch->NowUs();
      status = std::visit([&](const auto& desc) { return Make(desc); }, request_.op->desc);
      times_us.push_back(watch->NowUs() - start);
    }
    dnnl::set_primitive_cache_capacity(capacity);
    create_us_ = Median(std::move(times_us));
    for (const auto& [index, handle] : memories_) arguments_.push_back({index, handle.get()});
    return status;
  }

  const std::string& implementation() const noexcept override { return implementation_; }
  const std::string& layout() const noexcept override { return layout_; }
  double create_us() const noexcept override { return create_us_; }
  void Run() noexcept override {
    const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                        static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) last_failure_ = status;
  }
  Status status() const override {
    if (last_failure_ == dnnl_success) return {};
    return Status::Internal("oneDNN: execution failed with status " + std::to_string(last_failure_));
  }
  // The result lies in the case's own buffer.
  Status ReadOutput(std::vector<float>&) override { return Status::Unsupported("oneDNN: operators write in place"); }
  void AppendMemory(bool, std::vector<Memory>& memory) const override {
    if (scratch_.data() != nullptr) memory.push_back(std::as_bytes(scratch_.span()));
  }

 private:
  static constexpr auto kInference = dnnl::prop_kind::forward_inference;

  dnnl::primitive_attr Attributes() const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }

  void Bind(int argument, const memory::desc& desc, const float* data) {
    memories_.emplace_back(argument, memory(desc, engine_, const_cast<float*>(data)));
  }

  // Scratch, names, the primitive; `inputs` are the arguments in the order of the case's tensors.
  template <typename Primitive, typename PrimitiveDesc>
  Status Finish(const PrimitiveDesc& desc, const std::vector<std::pair<int, memory::desc>>& inputs,
                const memory::desc& dst, int dst_argument = DNNL_ARG_DST) {
    for (size_t i = 0; i < inputs.size(); ++i) Bind(inputs[i].first, inputs[i].second, request_.tensors->inputs[i]);
    Bind(dst_argument, dst, request_.tensors->dst);
    const memory::desc scratch = desc.scratchpad_desc();
    if (scratch.get_size() > 0) {
      scratch_ = TensorBuffer((scratch.get_size() + sizeof(float) - 1) / sizeof(float));
      if (scratch_.data() == nullptr) return Status::OutOfMemory();
      Bind(DNNL_ARG_SCRATCHPAD, scratch, scratch_.data());
    }
    implementation_ = desc.impl_info_str();
    layout_ = LayoutName(request_.layout);
    primitive_ = Primitive(desc);
    return {};
  }

  Status Make(const EltwiseDesc& d) {
    if (d.ops.size() != 1) return Status::Unsupported("oneDNN: chains are not compared");
    const EltwiseOp& op = d.ops[0];
    const memory::dims dims = {d.n, d.c, d.h, d.w};
    const memory::desc data = F32(dims, request_.layout);
    if (const auto binary = BinaryOf(op.kind)) {
      const auto size = [](bool one, int64_t full) { return one ? int64_t{1} : full; };
      const EltwiseOperand& o = op.operand;
      const memory::desc second =
          F32({size(o.one_n, d.n), size(o.one_c, d.c), size(o.one_h, d.h), size(o.one_w, d.w)}, request_.layout);
      const dnnl::binary::primitive_desc desc(engine_, *binary, data, second, data, Attributes());
      return Finish<dnnl::binary>(desc, {{DNNL_ARG_SRC_0, data}, {DNNL_ARG_SRC_1, second}}, data);
    }
    const auto unary = UnaryOf(op.kind);
    if (!unary) return Status::Unsupported(std::string("oneDNN: ") + EltwiseName(op.kind) + " is not compared");
    float alpha = op.alpha, beta = op.beta;
    // x * min(max(alpha * x + beta, 0), 1)
    if (op.kind == EltwiseKind::kHardSwish) alpha = 1.0f / 6, beta = 0.5f;
    const dnnl::eltwise_forward::primitive_desc desc(engine_, kInference, *unary, data, data, alpha, beta,
                                                     Attributes());
    return Finish<dnnl::eltwise_forward>(desc, {{DNNL_ARG_SRC, data}}, data);
  }

  Status Make(const PoolingDesc& d) {
    const bool max = d.kind == PoolingKind::kMax;
    const auto extent = [](int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; };
    if (d.ceil_mode) return Status::Unsupported("oneDNN: ceil_mode is not compared");
    const int64_t oh = (d.in.h + d.pad.top + d.pad.bottom - extent(d.kernel.h, d.dilation.h)) / d.stride.h + 1;
    const int64_t ow = (d.in.w + d.pad.left + d.pad.right - extent(d.kernel.w, d.dilation.w)) / d.stride.w + 1;
    const memory::desc src = F32({d.n, d.c, d.in.h, d.in.w}, request_.layout);
    const memory::desc dst = F32({d.n, d.c, oh, ow}, request_.layout);
    const auto algorithm = max                      ? dnnl::algorithm::pooling_max
                           : d.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                                 : dnnl::algorithm::pooling_avg_exclude_padding;
    const dnnl::pooling_forward::primitive_desc desc(
        engine_, kInference, algorithm, src, dst, {d.stride.h, d.stride.w}, {d.kernel.h, d.kernel.w},
        {d.dilation.h - 1, d.dilation.w - 1}, {d.pad.top, d.pad.left}, {d.pad.bottom, d.pad.right}, Attributes());
    return Finish<dnnl::pooling_forward>(desc, {{DNNL_ARG_SRC, src}}, dst);
  }

  Status Make(const ConcatDesc& d) {
    std::vector<memory::desc> sources;
    std::vector<std::pair<int, memory::desc>> inputs;
    memory::dims whole = {d.n, d.c, d.h, d.w};
    const auto axis = static_cast<size_t>(d.axis);
    int64_t total = 0;
    for (const ConcatInput& input : d.inputs) {
      memory::dims dims = whole;
      dims[axis] = input.size;
      total += input.size;
      sources.push_back(F32(dims, request_.layout));
      inputs.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(inputs.size()), sources.back());
    }
    whole[axis] = total;
    const memory::desc dst = F32(whole, request_.layout);
    const dnnl::concat::primitive_desc desc(engine_, dst, static_cast<int>(d.axis), sources, Attributes());
    return Finish<dnnl::concat>(desc, inputs, dst);
  }

  Status Make(const ReorderDesc& d) {
    const memory::dims dims = {d.n, d.c, d.h, d.w};
    const memory::desc src = F32(dims, d.src.layout), dst = F32(dims, d.dst.layout);
    const dnnl::reorder::primitive_desc desc(engine_, src, engine_, dst, Attributes());
    Status status = Finish<dnnl::reorder>(desc, {{DNNL_ARG_FROM, src}}, dst, DNNL_ARG_TO);
    layout_ = std::string(LayoutName(d.src.layout)) + "->" + LayoutName(d.dst.layout);
    return status;
  }

  Status Make(const SoftmaxDesc& d) {
    const memory::desc data = F32({d.n, d.c, d.h, d.w}, request_.layout);
    constexpr int kChannels = 1;
    const dnnl::softmax_forward::primitive_desc desc(engine_, kInference, dnnl::algorithm::softmax_accurate, data,
                                                     data, kChannels, Attributes());
    return Finish<dnnl::softmax_forward>(desc, {{DNNL_ARG_SRC, data}}, data);
  }

  Status Make(const PadDesc&) { return Status::Unsupported("oneDNN: it has no padding operator"); }
  Status Make(const ScratchDesc&) { return Status::Unsupported("oneDNN: memory alone is not compared"); }

  OpRequest request_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::vector<std::pair<int, memory>> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  TensorBuffer scratch_;
  dnnl_status_t last_failure_ = dnnl_success;
  std::string implementation_, layout_;
  double create_us_ = 0;
};

}  // namespace

Result<std::unique_ptr<BaselineRun>> PrepareOneDnnOp(const OpRequest& request) {
  const ScopedTeamSize team(request.threads);
  try {
    auto run = std::make_unique<OneDnnOp>(request);
    if (Status status = run->Prepare(); !status.ok()) return status;
    return std::unique_ptr<BaselineRun>(std::move(run));
  } catch (const dnnl::error& error) {
    return Status::Unsupported(std::string("oneDNN: creating the primitive: ") + error.what());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  }
}

#else

Result<std::unique_ptr<BaselineRun>> PrepareOneDnnOp(const OpRequest&) {
  return Status::Unsupported("oneDNN: operators are compared with oneDNN 3 or newer");
}

#endif

}  // namespace rafter::bench
