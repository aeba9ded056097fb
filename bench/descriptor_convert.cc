// bench/descriptor_convert.cc: a parsed problem as a ConvDesc, and a ConvDesc as text.
#include <algorithm>
#include <utility>

#include "bench/descriptor.h"

namespace rafter::bench {
namespace {

// The rules of oneDNN's convolution descriptor for one axis.
Status CheckAxis(char letter, const ProblemAxis& axis) {
  if (axis.pad < 0) {
    return Status::InvalidArgument(std::string("p") + letter + " = " + std::to_string(axis.pad) +
                                   " follows from o" + letter + " = " + std::to_string(axis.out) +
                                   "; paddings must be >= 0");
  }
  if (axis.pad_end <= -axis.stride) {
    return Status::InvalidArgument(std::string("o") + letter + " = " + std::to_string(axis.out) +
                                   " is too small: the " + PadEndName(letter) + " padding would be " +
                                   std::to_string(axis.pad_end) + ", allowed is > -s" + letter +
                                   " = " + std::to_string(-axis.stride));
  }
  if (axis.dilation == INT64_MAX) {
    return Status::InvalidArgument(std::string("d") + letter + " is beyond the range of int64");
  }
  return {};
}

Status CheckChannels(const char* field, int64_t channels, int64_t groups) {
  if (channels % groups == 0) return {};
  return Status::InvalidArgument(std::string(field) + " = " + std::to_string(channels) +
                                 " is not divisible by g = " + std::to_string(groups));
}

// One spatial axis of a ConvDesc in the notation's terms.
ProblemAxis AxisOf(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_begin,
                   int64_t pad_end) {
  ProblemAxis axis{in, 0, kernel, stride, pad_begin, pad_end, dilation - 1};
  // Sums of 64-bit sizes: a description need not be a valid one to be printed.
  const __int128 extent = static_cast<__int128>(dilation) * (kernel - 1) + 1;
  const __int128 span = static_cast<__int128>(in) + pad_begin + pad_end - extent;
  axis.out = stride > 0 && span >= 0 ? static_cast<int64_t>(span / stride + 1) : 0;
  return axis;
}

// Appends one field for the axes that are printed: "ih56" or "ih56iw57".
class FieldPrinter {
 public:
  FieldPrinter(std::string& out, const ProblemAxis& h, const ProblemAxis& w, bool print_h,
               bool print_w)
      : out_(out), h_(h), w_(w), print_h_(print_h), print_w_(print_w) {}

  void Field(char letter, int64_t ProblemAxis::*member) const {
    if (print_h_) out_ += std::string(1, letter) + "h" + std::to_string(h_.*member);
    if (print_w_) out_ += std::string(1, letter) + "w" + std::to_string(w_.*member);
  }
  // Only when one of the axes differs from the default.
  void FieldUnless(char letter, int64_t ProblemAxis::*member, int64_t standard) const {
    if (h_.*member != standard || w_.*member != standard) Field(letter, member);
  }

 private:
  std::string& out_;
  const ProblemAxis &h_, &w_;
  bool print_h_, print_w_;
};

std::string Print(const ConvDesc& desc, DescriptorForm form, std::string_view name, bool has_groups,
                  bool one_dimensional) {
  const ProblemAxis h = AxisOf(desc.in.h, desc.kernel.h, desc.stride.h, desc.dilation.h,
                               desc.pad.top, desc.pad.bottom);
  const ProblemAxis w = AxisOf(desc.in.w, desc.kernel.w, desc.stride.w, desc.dilation.w,
                               desc.pad.left, desc.pad.right);
  const bool canonical = form == DescriptorForm::kCanonical;
  // The right padding follows from the output size, so equal outputs make a square.
  const bool square = h.in == w.in && h.out == w.out && h.kernel == w.kernel &&
                      h.stride == w.stride && h.pad == w.pad && h.dilation == w.dilation;
  std::string out;
  if (canonical || has_groups || desc.groups != 1) out += "g" + std::to_string(desc.groups);
  if (canonical || desc.n != 2) out += "mb" + std::to_string(desc.n);
  if (canonical) out += "_";
  const FieldPrinter print(out, h, w, !one_dimensional, canonical || one_dimensional || !square);
  out += "ic" + std::to_string(desc.ic);
  print.Field('i', &ProblemAxis::in);
  out += "oc" + std::to_string(desc.oc);
  print.Field('o', &ProblemAxis::out);
  print.Field('k', &ProblemAxis::kernel);
  canonical ? print.Field('s', &ProblemAxis::stride)
            : print.FieldUnless('s', &ProblemAxis::stride, 1);
  print.Field('p', &ProblemAxis::pad);
  canonical ? print.Field('d', &ProblemAxis::dilation)
            : print.FieldUnless('d', &ProblemAxis::dilation, 0);
  if (!name.empty()) out += (canonical ? "_n\"" : "n\"") + std::string(name) + "\"";
  return out;
}

}  // namespace

const char* PadEndName(char letter) noexcept { return letter == 'd' ? "back" : letter == 'h' ? "bottom" : "right"; }

Result<ConvDesc> ToConvDesc(const Problem& problem) {
  for (Status status : {CheckChannels("ic", problem.ic, problem.groups),
                        CheckChannels("oc", problem.oc, problem.groups), CheckAxis('d', problem.d),
                        CheckAxis('h', problem.h), CheckAxis('w', problem.w)}) {
    if (!status.ok()) return status;
  }
  if (problem.spatial_dims == 3) {
    return Status::Unsupported("3-D convolutions (id, od, kd, …) are not supported");
  }
  ConvDesc desc;
  desc.n = problem.mb;
  desc.groups = problem.groups;
  desc.ic = problem.ic;
  desc.oc = problem.oc;
  desc.in = {problem.h.in, problem.w.in};
  desc.kernel = {problem.h.kernel, problem.w.kernel};
  desc.stride = {problem.h.stride, problem.w.stride};
  desc.dilation = {problem.h.dilation + 1, problem.w.dilation + 1};
  // A negative right padding means input that no output reads; without it the output size is the
  // same.
  desc.pad = {problem.h.pad, problem.w.pad, std::max<int64_t>(problem.h.pad_end, 0),
              std::max<int64_t>(problem.w.pad_end, 0)};
  return desc;
}

std::string PrintDescriptor(const ConvDesc& desc, DescriptorForm form, std::string_view name,
                            bool has_groups) {
  return Print(desc, form, name, has_groups, false);
}

std::string PrintDescriptor(const Descriptor& descriptor, DescriptorForm form) {
  return Print(descriptor.desc, form, descriptor.name, descriptor.has_groups,
               descriptor.spatial_dims == 1);
}

}  // namespace rafter::bench
