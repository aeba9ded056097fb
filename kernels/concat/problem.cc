// kernels/concat/problem.cc: the rules of a concatenation's description.
#include "kernels/concat/problem.h"

#include <string>
#include <utility>

namespace rafter {
namespace {

int64_t& SizeAlong(Axis axis, TensorShape& shape) {
  switch (axis) {
    case Axis::kN: return shape.n;
    case Axis::kC: return shape.c;
    case Axis::kH: return shape.h;
    case Axis::kW: return shape.w;
  }
  return shape.c;
}

Status CheckInput(const ConcatDesc& desc, size_t index) {
  const std::string field = "inputs[" + std::to_string(index) + "]";
  const ConcatInput& input = desc.inputs[index];
  if (input.size < 1) return InvalidField(field + ".size", input.size, "is too small, allowed: 1 and above");
  return CheckLayout((field + ".format.layout").c_str(), input.format.layout);
}

Status CheckDesc(const ConcatDesc& desc) {
  if (Status status = CheckType(desc.type); !status.ok()) return status;
  if (desc.axis > Axis::kW) {
    return InvalidField("axis", static_cast<int64_t>(desc.axis), "is unknown, allowed: 0 (n), 1 (c), 2 (h), 3 (w)");
  }
  const auto count = static_cast<int64_t>(desc.inputs.size());
  if (count < 1 || count > kMaxConcatInputs) {
    return InvalidField("inputs", count, "tensors, allowed: 1 to " + std::to_string(kMaxConcatInputs));
  }
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (Status status = CheckInput(desc, i); !status.ok()) return status;
  }
  return CheckLayout("dst.layout", desc.dst.layout);
}

}  // namespace

Result<ConcatProblem> Validate(const ConcatDesc& desc) {
  if (Status status = CheckDesc(desc); !status.ok()) return status;
  ConcatProblem problem;
  problem.desc = desc;
  problem.shape = {desc.n, desc.c, desc.h, desc.w};
  int64_t total = 0;
  for (const ConcatInput& input : desc.inputs) {
    if (__builtin_add_overflow(total, input.size, &total)) {
      return Status(StatusCode::kInvalidArgument, "inputs: their sizes together are beyond 64 bits");
    }
  }
  SizeAlong(desc.axis, problem.shape) = total;
  if (Status status = CheckSizes(problem.shape); !status.ok()) return status;
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, problem.shape);
  if (!dst.ok()) return dst.status();
  problem.dst = *dst;
  int64_t begin = 0;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    const ConcatInput& given = desc.inputs[i];
    ConcatProblem::Input input{problem.shape, {}, begin, 0, 0};
    SizeAlong(desc.axis, input.shape) = given.size;
    const Result<Strides> strides = ResolveStrides("inputs[" + std::to_string(i) + "]", given.format.layout,
                                                   given.format.strides, input.shape);
    if (!strides.ok()) return strides.status();
    input.strides = *strides;
    TensorShape first{0, 0, 0, 0};
    SizeAlong(desc.axis, first) = begin;
    input.offset = Offset(problem.dst, desc.dst.layout, first.n, first.c, first.h, first.w);
    if (desc.axis == Axis::kC) input.lane = begin % ChannelBlock(desc.dst.layout);
    problem.inputs.push_back(input);
    begin += given.size;
  }
  return problem;
}

}  // namespace rafter
