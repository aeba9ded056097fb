// bench/baseline_onednn.cc: oneDNN behind the Baseline interface. No other file includes oneDNN but
// baseline_onednn_post_ops and baseline_onednn_ops (the memory-bound operators).
//
// One-dimensional problems are posed as 2-D with h = 1, as in rafter. Calls go through the C
// function dnnl_primitive_execute with a prepared argument list: the C++ wrapper builds that list
// on every call.
#include "bench/baseline_onednn.h"

#include <algorithm>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "bench/baseline_onednn_layout.h"
#include "bench/baseline_onednn_ops.h"
#include "bench/baseline_onednn_post_ops.h"
#include "bench/omp_team.h"
#include "bench/sampler.h"
#include "bench/statistics.h"
#include "bench/tensor_buffer.h"
#include "kernels/conv/problem.h"

namespace rafter::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr int kCreations =
    7;  // timed; the first one may set up the library, the median does not see it

Status FromError(const char* step, const dnnl::error& error) {
  const std::string message = std::string("oneDNN: ") + step + ": " + error.what();
  switch (error.status) {
    case dnnl_out_of_memory:
      return Status::OutOfMemory();
    case dnnl_invalid_arguments:
      return Status::InvalidArgument(message);
    case dnnl_unimplemented:
      return Status::Unsupported(message);
    default:
      return Status::Internal(message);
  }
}

memory::desc F32(const memory::dims& dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

// The layout's name, "other" for one that rafter does not have.
std::string NameOf(const memory::desc& desc, const memory::dims& dims, Layout preferred) {
  // With one row or column several layouts are the same; the case's own name is the least
  // surprising.
  if (desc == F32(dims, OneDnnTag(preferred))) return LayoutName(preferred);
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    if (desc == F32(dims, OneDnnTag(layout))) return LayoutName(layout);
  }
  return "other";
}

// Sizes in oneDNN's terms.
struct Shapes {
  memory::dims src, weights, bias, dst, strides, dilates, pad_begin, pad_end;
  bool grouped = false;
};

Shapes ShapesOf(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  Shapes shapes;
  shapes.src = {d.n, d.ic, d.in.h, d.in.w};
  shapes.grouped = d.groups > 1;
  shapes.weights = {problem.oc_g, problem.ic_g, d.kernel.h, d.kernel.w};
  if (shapes.grouped) shapes.weights.insert(shapes.weights.begin(), d.groups);
  shapes.bias = {d.oc};
  shapes.dst = {d.n, d.oc, problem.oh, problem.ow};
  shapes.strides = {d.stride.h, d.stride.w};
  shapes.dilates = {d.dilation.h - 1, d.dilation.w - 1};
  shapes.pad_begin = {d.pad.top, d.pad.left};
  shapes.pad_end = {d.pad.bottom, d.pad.right};
  return shapes;
}

// The primitive descriptor: its construction changed between oneDNN 2 and 3.
dnnl::convolution_forward::primitive_desc MakePrimitiveDesc(const dnnl::engine& engine,
                                                            const Shapes& shapes, Tag data_tag,
                                                            bool bias,
                                                            dnnl::primitive_attr attributes) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const memory::desc src = F32(shapes.src, data_tag), dst = F32(shapes.dst, data_tag);
  const memory::desc weights = F32(shapes.weights, Tag::any);
  const memory::desc bias_desc = bias ? F32(shapes.bias, Tag::x) : memory::desc();
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::convolution_forward::primitive_desc(engine, kKind, kAlgorithm, src, weights,
                                                   bias_desc, dst, shapes.strides, shapes.dilates,
                                                   shapes.pad_begin, shapes.pad_end, attributes);
#else
  const dnnl::convolution_forward::desc operation(kKind, kAlgorithm, src, weights, bias_desc, dst,
                                                  shapes.strides, shapes.dilates, shapes.pad_begin,
                                                  shapes.pad_end);
  return dnnl::convolution_forward::primitive_desc(operation, attributes, engine);
#endif
}

// A oneDNN memory on memory of ours.
struct Bound {
  TensorBuffer buffer;  // empty when the caller's memory is used in place
  memory handle;

  // False when there is no memory.
  bool Allocate(const memory::desc& desc, const dnnl::engine& engine) {
    buffer = TensorBuffer((desc.get_size() + sizeof(float) - 1) / sizeof(float));
    if (buffer.data() == nullptr) return false;
    handle = memory(desc, engine, buffer.data());
    return true;
  }
  void Borrow(const memory::desc& desc, const dnnl::engine& engine, const float* data) {
    handle = memory(desc, engine, const_cast<float*>(data));
  }
};

class OneDnnRun : public BaselineRun {
 public:
  OneDnnRun(const BaselineRequest& request, const ConvProblem& problem)
      : request_(request), problem_(problem), shapes_(ShapesOf(problem)) {}

  // Everything that may fail; dnnl::error is for the caller to catch.
  Status Prepare() {
    Create();
    const memory::desc src_desc = primitive_desc_->src_desc(),
                       dst_desc = primitive_desc_->dst_desc();
    const Layout src_layout = problem_.desc.src.layout, dst_layout = problem_.desc.dst.layout;
    const std::string src_name = NameOf(src_desc, shapes_.src, src_layout);
    const std::string dst_name = NameOf(dst_desc, shapes_.dst, dst_layout);
    layout_ = src_name == dst_name ? src_name : src_name + "->" + dst_name;
    implementation_ = primitive_desc_->impl_info_str();
    if (!BindData(src_desc, dst_desc) || !BindWeights() || !BindPostOps() ||
        !scratch_.Allocate(primitive_desc_->scratchpad_desc(), engine_)) {
      return Status::OutOfMemory();
    }
    stream_.wait();
    arguments_ = {{DNNL_ARG_SRC, src_.handle.get()},
                  {DNNL_ARG_WEIGHTS, weights_.handle.get()},
                  {DNNL_ARG_DST, dst_.handle.get()},
                  {DNNL_ARG_SCRATCHPAD, scratch_.handle.get()}};
    if (problem_.desc.bias) arguments_.push_back({DNNL_ARG_BIAS, bias_.handle.get()});
    for (const PostOpOperand& operand : operands_) {
      arguments_.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(operand.index) | DNNL_ARG_SRC_1,
                            operand.tensor.handle.get()});
    }
    return {};
  }

  void AppendMemory(bool weights_only, std::vector<Memory>& memory) const override {
    const auto append = [&](const Bound& bound) {
      if (!bound.handle) return;
      const auto* data = static_cast<const std::byte*>(bound.handle.get_data_handle());
      if (data != nullptr) memory.emplace_back(data, bound.handle.get_desc().get_size());
    };
    append(weights_);
    append(bias_);
    if (weights_only) return;
    for (const Bound* bound : {&src_, &dst_, &scratch_}) append(*bound);
    for (const PostOpOperand& operand : operands_) append(operand.tensor);
  }

  const std::string& implementation() const noexcept override { return implementation_; }
  const std::string& layout() const noexcept override { return layout_; }
  double create_us() const noexcept override { return create_us_; }

  void Run() noexcept override {
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(),
                               static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) last_failure_ = status;
  }

  Status status() const override {
    if (last_failure_ == dnnl_success) return {};
    return Status::Internal("oneDNN: execution failed with status " +
                            std::to_string(last_failure_));
  }

  Status ReadOutput(std::vector<float>& nchw) override {
    try {
      const memory::desc plain = F32(shapes_.dst, Tag::nchw);
      nchw.resize(plain.get_size() / sizeof(float));
      memory target(plain, engine_, nchw.data());
      Reorder(dst_.handle, target);
      stream_.wait();
    } catch (const dnnl::error& error) {
      return FromError("reading the output", error);
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory();
    }
    return {};
  }

 private:
  // What a binary post-op adds or multiplies with.
  struct PostOpOperand {
    int index = 0;  // of the post-op
    Bound tensor;
  };

  // The output's layout must be known before residuals can be described.
  dnnl::primitive_attr Attributes(Tag tag) const {
    dnnl::primitive_attr attributes;
    if (problem_.desc.post_ops.empty()) return attributes;
    const memory::desc output =
        tag != Tag::any ? F32(shapes_.dst, tag)
                        : MakePrimitiveDesc(engine_, shapes_, tag, problem_.desc.bias, {}).dst_desc();
    AddOneDnnPostOps(problem_.desc.post_ops, output, ChannelDesc(), attributes);
    return attributes;
  }
  memory::desc ChannelDesc() const { return F32({1, problem_.desc.oc, 1, 1}, Tag::nchw); }

  // Descriptor and primitive, several times, with oneDNN's cache of primitives out of the way.
  void Create() {
    const Tag tag = request_.layout == BaselineLayout::kAny       ? Tag::any
                    : request_.layout == BaselineLayout::kNchw16c ? Tag::nChw16c
                                                                  : OneDnnTag(problem_.desc.src.layout);
    const dnnl::primitive_attr attributes = Attributes(tag);
    const int capacity = dnnl::get_primitive_cache_capacity();
    dnnl::set_primitive_cache_capacity(0);
    const std::unique_ptr<Stopwatch> watch = MakeSystemStopwatch(1);
    std::vector<double> times_us;
    double total_us = 0;
    constexpr double kBudgetUs = 100e3;
    for (int i = 0; i < kCreations && total_us < kBudgetUs; ++i) {
      const double start = watch->NowUs();
      primitive_desc_.emplace(MakePrimitiveDesc(engine_, shapes_, tag, problem_.desc.bias, attributes));
      primitive_ = dnnl::convolution_forward(*primitive_desc_);
      times_us.push_back(watch->NowUs() - start);
      total_us += times_us.back();
    }
    dnnl::set_primitive_cache_capacity(capacity);
    create_us_ = Median(std::move(times_us));
  }

  void Reorder(memory& from, memory& to) { dnnl::reorder(from, to).execute(stream_, from, to); }

  // The case's own buffers where the layouts agree, else own ones.
  bool BindData(const memory::desc& src_desc, const memory::desc& dst_desc) {
    const memory::desc case_src = F32(shapes_.src, OneDnnTag(problem_.desc.src.layout));
    const memory::desc case_dst = F32(shapes_.dst, OneDnnTag(problem_.desc.dst.layout));
    src_.Borrow(case_src, engine_, request_.src);
    dst_.Borrow(case_dst, engine_, request_.dst);
    if (src_desc != case_src) {
      Bound own;
      if (!own.Allocate(src_desc, engine_)) return false;
      Reorder(src_.handle, own.handle);
      stream_.wait();
      src_ = std::move(own);
    }
    return dst_desc == case_dst || dst_.Allocate(dst_desc, engine_);
  }

  bool BindWeights() {
    memory plain(F32(shapes_.weights, shapes_.grouped ? Tag::goihw : Tag::oihw), engine_,
                 const_cast<float*>(request_.oihw));
    if (!weights_.Allocate(primitive_desc_->weights_desc(), engine_)) return false;
    Reorder(plain, weights_.handle);
    if (!problem_.desc.bias) return true;
    if (!bias_.Allocate(primitive_desc_->bias_desc(), engine_)) return false;
    std::copy_n(request_.bias, problem_.desc.oc, bias_.buffer.data());
    return true;
  }

  bool BindPostOps() {
    const PostOps& ops = problem_.desc.post_ops;
    size_t next_residual = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      PostOpOperand operand{static_cast<int>(i), {}};
      if (ops[i].kind == PostOpKind::kResidualAdd) {
        const float* residual = request_.residuals[next_residual++];
        if (!BindResidual(residual, operand.tensor)) return false;
      } else if (ops[i].kind == PostOpKind::kChannelScale) {
        if (!operand.tensor.Allocate(ChannelDesc(), engine_)) return false;
        std::copy(ops[i].scale.begin(), ops[i].scale.end(), operand.tensor.buffer.data());
      } else {
        continue;
      }
      operands_.push_back(std::move(operand));
    }
    return true;
  }

  // The caller's tensor where the layouts agree, else a copy.
  bool BindResidual(const float* residual, Bound& tensor) {
    const memory::desc wanted = primitive_desc_->dst_desc();
    const memory::desc given = F32(shapes_.dst, OneDnnTag(problem_.desc.dst.layout));
    Bound caller;
    caller.Borrow(given, engine_, residual);
    if (wanted == given) {
      tensor = std::move(caller);
      return true;
    }
    if (!tensor.Allocate(wanted, engine_)) return false;
    Reorder(caller.handle, tensor.handle);
    stream_.wait();
    return true;
  }

  BaselineRequest request_;
  ConvProblem problem_;
  Shapes shapes_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::optional<dnnl::convolution_forward::primitive_desc> primitive_desc_;
  dnnl::convolution_forward primitive_;
  Bound src_, weights_, bias_, dst_, scratch_;
  std::vector<PostOpOperand> operands_;
  std::vector<dnnl_exec_arg_t> arguments_;
  dnnl_status_t last_failure_ = dnnl_success;
  std::string implementation_, layout_;
  double create_us_ = 0;
};

class OneDnn : public Baseline {
 public:
  OneDnn() {
    const dnnl_version_t* version = dnnl_version();
    version_ = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
               std::to_string(version->patch);
    too_old_ = version->major < 3;
  }
  const std::string& name() const noexcept override { return name_; }
  const std::string& version() const noexcept override { return version_; }
  bool too_old() const noexcept override { return too_old_; }

  Result<std::unique_ptr<BaselineRun>> PrepareOp(const OpRequest& request) override {
    return PrepareOneDnnOp(request);
  }

  Result<std::unique_ptr<BaselineRun>> Prepare(const BaselineRequest& request) override {
    Result<ConvProblem> problem = Validate(*request.desc);
    if (!problem.ok()) return problem.status();
    const ConvDesc& desc = problem->desc;
    if (desc.n == 0 || desc.src.strides || desc.dst.strides) {
      return Status::Unsupported("oneDNN: empty batches and slices are not compared");
    }
    if (Status status = OneDnnHasPostOps(desc.post_ops); !status.ok()) return status;
    const ScopedTeamSize team(request.threads);
    try {
      auto run = std::make_unique<OneDnnRun>(request, *problem);
      Status status = run->Prepare();
      if (!status.ok()) return status;
      return std::unique_ptr<BaselineRun>(std::move(run));
    } catch (const dnnl::error& error) {
      return FromError("creating the primitive", error);
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory();
    }
  }

 private:
  std::string name_ = "oneDNN", version_;
  bool too_old_ = false;
};

// oneDNN takes a cap once, before its first use.
Status CapIsa(Isa isa) {
  static std::optional<Isa> cap;
  if (cap && *cap == isa) return {};
  if (cap)
    return Status::Unsupported("oneDNN: its instruction set was capped before, to another one");
  if (isa >= DetectedIsa()) {
    cap = isa;
    return {};
  }
  const dnnl::cpu_isa limit = isa == Isa::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
  const dnnl_status_t status = dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(limit));
  if (status != dnnl_success) {
    return Status::Unsupported(std::string("oneDNN: it refused to be capped to ") + IsaName(isa));
  }
  cap = isa;
  return {};
}

}  // namespace

bool OneDnnBuiltIn() noexcept { return true; }

Result<std::unique_ptr<Baseline>> MakeOneDnnBaseline(Isa isa) {
  Status status = CapIsa(isa);
  if (!status.ok()) return status;
  return std::unique_ptr<Baseline>(std::make_unique<OneDnn>());
}

}  // namespace rafter::bench
