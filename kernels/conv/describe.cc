// kernels/conv/describe.cc: see describe.h.
#include "kernels/conv/describe.h"

#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

#include "kernels/cost/conv_cost.h"

namespace rafter {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

std::string Pair(int64_t h, int64_t w) { return Text(h) + "x" + Text(w); }

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string DescribeTensor(const char* name, const TensorFormat& format, const Strides& strides) {
  std::string text = std::string(name) + ": " + LayoutName(format.layout);
  text += format.strides ? ", slice of a bigger tensor" : ", dense";
  return text + ", strides n " + Text(strides.n) + " c " + Text(strides.c) + " h " +
         Text(strides.h) + " w " + Text(strides.w) + "\n";
}

std::string DescribePostOps(const PostOps& post_ops) {
  if (post_ops.empty()) return {};
  std::string text = "post-ops:";
  for (const PostOp& op : post_ops) text += std::string(" ") + PostOpName(op.kind);
  return text + "\n";
}

}  // namespace

std::string DescribeProblem(const ConvProblem& problem) {
  const ConvDesc& desc = problem.desc;
  std::string text = "problem: " + Text(desc.n) + (desc.n == 1 ? " image of " : " images of ") +
                     Pair(desc.in.h, desc.in.w) + " with " + Text(desc.ic) + " channels to " +
                     Pair(problem.oh, problem.ow) + " with " + Text(desc.oc) + ", kernel " +
                     Pair(desc.kernel.h, desc.kernel.w) + ", stride " +
                     Pair(desc.stride.h, desc.stride.w);
  if (desc.groups > 1) text += ", groups " + Text(desc.groups);
  if (desc.dilation != Size2{1, 1}) {
    text += ", dilation (1 = dense) " + Pair(desc.dilation.h, desc.dilation.w);
  }
  if (desc.pad != Padding{}) {
    text += ", padding top " + Text(desc.pad.top) + " left " + Text(desc.pad.left) + " bottom " +
            Text(desc.pad.bottom) + " right " + Text(desc.pad.right);
  }
  text += desc.bias ? ", bias\n" : "\n";
  text += DescribeTensor("src", desc.src, problem.src);
  text += DescribeTensor("dst", desc.dst, problem.dst);
  text += DescribePostOps(desc.post_ops);
  const ConvCost cost = CostOf(problem);
  return text + "cost: " + Number(cost.flops_valid) + " FLOPs by valid taps (" +
         Number(cost.flops_nominal) + " nominal), " + Number(cost.bytes) + " bytes, " +
         Number(cost.intensity) + " FLOP/byte\n";
}

std::string DescribeKernels(std::span<const jit::KernelPtr> kernels) {
  std::set<std::string> names;
  for (const jit::KernelPtr& kernel : kernels) names.insert(kernel->name());
  std::string text = "kernels: " + Text(static_cast<int64_t>(names.size())) + "\n";
  for (const std::string& name : names) text += "kernel: " + name + "\n";
  return text;
}

}  // namespace rafter
