// kernels/c_copies.cc: reorder, concat and pad in the C interface. Not for decisions of any kind.
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/c_call.h"
#include "kernels/c_structs.h"
#include "rafter/concat.h"
#include "rafter/pad.h"
#include "rafter/rafter_c.h"
#include "rafter/reorder.h"

struct rafter_reorder {
  rafter::HandleMark<5> mark;
  rafter::Reorder op;
};
struct rafter_concat {
  rafter::HandleMark<6> mark;
  rafter::Concat op;
  size_t inputs = 0;
};
struct rafter_pad {
  rafter::HandleMark<7> mark;
  rafter::Pad op;
};

namespace rafter {
namespace {

static_assert(static_cast<int>(Axis::kW) == RAFTER_AXIS_W);
static_assert(static_cast<int>(PadMode::kReflect) == RAFTER_PAD_REFLECT);

Result<ConcatDesc> ToConcatDesc(const rafter_concat_desc& given) {
  const Result<rafter_concat_desc> sized = Sized(given, sizeof(rafter_concat_desc), "desc");
  if (!sized.ok()) return sized.status();
  const rafter_concat_desc& c = *sized;
  if (c.num_inputs > 0 && c.inputs == nullptr) {
    return Status(StatusCode::kInvalidArgument, "inputs: NULL, but num_inputs is not 0");
  }
  if (c.num_inputs > static_cast<size_t>(kMaxConcatInputs)) {
    return Status::InvalidArgument("num_inputs: " + std::to_string(c.num_inputs) + " is too large, allowed: up to " +
                                   std::to_string(kMaxConcatInputs));
  }
  if (c.axis < RAFTER_AXIS_N || c.axis > RAFTER_AXIS_W) {
    return Status::InvalidArgument("axis: " + std::to_string(c.axis) +
                                   " is unknown, allowed: 0 (n), 1 (c), 2 (h), 3 (w)");
  }
  ConcatDesc desc;
  desc.axis = static_cast<Axis>(c.axis);
  desc.n = c.n, desc.c = c.c, desc.h = c.h, desc.w = c.w;
  for (size_t i = 0; i < c.num_inputs; ++i) {
    const Result<rafter_concat_input> input = ElementOf(c.inputs, i, c.input_bytes, "input_bytes");
    if (!input.ok()) return input.status();
    desc.inputs.push_back({input->size, ToFormat(input->format)});
  }
  desc.dst = ToFormat(c.dst);
  return desc;
}

}  // namespace
}  // namespace rafter

extern "C" {

rafter_status rafter_reorder_create(const rafter_reorder_desc* desc, int32_t threads, rafter_reorder** reorder) {
  if (reorder == nullptr) return rafter::Invalid("reorder: NULL");
  *reorder = nullptr;
  if (desc == nullptr) return rafter::Invalid("desc: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    const auto sized = rafter::Sized(*desc, sizeof(rafter_reorder_desc), "desc");
    if (!sized.ok()) return sized.status();
    auto plan = rafter::Reorder::Create({sized->n, sized->c, sized->h, sized->w, rafter::ToFormat(sized->src),
                                         rafter::ToFormat(sized->dst), rafter::DataType::kF32},
                                        {threads});
    if (!plan.ok()) return plan.status();
    *reorder = new rafter_reorder{{}, std::move(plan).value()};
    return {};
  });
}

void rafter_reorder_destroy(rafter_reorder* reorder) { rafter::Destroy(reorder, "reorder"); }

const char* rafter_reorder_kernel_name(const rafter_reorder* reorder) {
  return rafter::KernelNameOf(rafter::PlanOf(reorder));
}
rafter_isa rafter_reorder_isa(const rafter_reorder* reorder) { return rafter::IsaOf(rafter::PlanOf(reorder)); }
int32_t rafter_reorder_threads(const rafter_reorder* reorder) { return rafter::ThreadsOf(rafter::PlanOf(reorder)); }

rafter_status rafter_reorder_run(const rafter_reorder* reorder, const float* src, float* dst,
                                 const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(reorder, "reorder"); status != RAFTER_OK) return status;
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return reorder->op.Run(src, dst, call);
  });
}

rafter_status rafter_concat_create(const rafter_concat_desc* desc, int32_t threads, rafter_concat** concat) {
  if (concat == nullptr) return rafter::Invalid("concat: NULL");
  *concat = nullptr;
  if (desc == nullptr) return rafter::Invalid("desc: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    const rafter::Result<rafter::ConcatDesc> converted = rafter::ToConcatDesc(*desc);
    if (!converted.ok()) return converted.status();
    auto plan = rafter::Concat::Create(*converted, {threads});
    if (!plan.ok()) return plan.status();
    *concat = new rafter_concat{{}, std::move(plan).value(), converted->inputs.size()};
    return {};
  });
}

void rafter_concat_destroy(rafter_concat* concat) { rafter::Destroy(concat, "concat"); }

const char* rafter_concat_kernel_name(const rafter_concat* concat) {
  return rafter::KernelNameOf(rafter::PlanOf(concat));
}
rafter_isa rafter_concat_isa(const rafter_concat* concat) { return rafter::IsaOf(rafter::PlanOf(concat)); }
int32_t rafter_concat_threads(const rafter_concat* concat) { return rafter::ThreadsOf(rafter::PlanOf(concat)); }

int64_t rafter_concat_output_size(const rafter_concat* concat) {
  return rafter::Lives(concat) ? concat->op.output_size() : 0;
}

int64_t rafter_concat_input_offset(const rafter_concat* concat, size_t index) {
  if (!rafter::Lives(concat) || index >= concat->inputs) return -1;
  return concat->op.InputOffset(static_cast<int>(index));
}

rafter_status rafter_concat_run(const rafter_concat* concat, const float* const* inputs, size_t num_inputs, float* dst,
                                const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(concat, "concat"); status != RAFTER_OK) return status;
  if (inputs == nullptr && num_inputs > 0) return rafter::Invalid("inputs: NULL, but num_inputs is not 0");
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return concat->op.Run({inputs, num_inputs}, dst, call);
  });
}

rafter_status rafter_pad_create(const rafter_pad_desc* desc, int32_t threads, rafter_pad** pad) {
  if (pad == nullptr) return rafter::Invalid("pad: NULL");
  *pad = nullptr;
  if (desc == nullptr) return rafter::Invalid("desc: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    const auto sized = rafter::Sized(*desc, sizeof(rafter_pad_desc), "desc");
    if (!sized.ok()) return sized.status();
    if (sized->mode < RAFTER_PAD_CONSTANT || sized->mode > RAFTER_PAD_REFLECT) {
      return rafter::Status::InvalidArgument("mode: " + std::to_string(sized->mode) +
                                             " is unknown, allowed: 0 (constant), 1 (edge), 2 (reflect)");
    }
    rafter::PadDesc converted;
    converted.mode = static_cast<rafter::PadMode>(sized->mode);
    converted.value = sized->value;
    converted.n = sized->n, converted.c = sized->c, converted.in = {sized->in_h, sized->in_w};
    converted.pad = {sized->pad_top, sized->pad_left, sized->pad_bottom, sized->pad_right};
    converted.src = rafter::ToFormat(sized->src), converted.dst = rafter::ToFormat(sized->dst);
    auto plan = rafter::Pad::Create(converted, {threads});
    if (!plan.ok()) return plan.status();
    *pad = new rafter_pad{{}, std::move(plan).value()};
    return {};
  });
}

void rafter_pad_destroy(rafter_pad* pad) { rafter::Destroy(pad, "pad"); }

const char* rafter_pad_kernel_name(const rafter_pad* pad) { return rafter::KernelNameOf(rafter::PlanOf(pad)); }
rafter_isa rafter_pad_isa(const rafter_pad* pad) { return rafter::IsaOf(rafter::PlanOf(pad)); }
int32_t rafter_pad_threads(const rafter_pad* pad) { return rafter::ThreadsOf(rafter::PlanOf(pad)); }

void rafter_pad_output_size(const rafter_pad* pad, int64_t* height, int64_t* width) {
  const rafter::Size2 size = rafter::Lives(pad) ? pad->op.output_size() : rafter::Size2{0, 0};
  if (height != nullptr) *height = size.h;
  if (width != nullptr) *width = size.w;
}

rafter_status rafter_pad_run(const rafter_pad* pad, const float* src, float* dst,
                             const rafter_operator_options* options) {
  if (const rafter_status status = rafter::CheckHandle(pad, "pad"); status != RAFTER_OK) return status;
  return rafter::WithOptions(options, [&](const rafter::OperatorRunOptions& call) {
    return pad->op.Run(src, dst, call);
  });
}

}  // extern "C"
