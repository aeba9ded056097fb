// tests/fuzz/conv_desc_input.cc: see the header.
#include "tests/fuzz/conv_desc_input.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace rafter::fuzz {
namespace {

constexpr int64_t kMaxMacs = 1 << 20;

Layout ReadLayout(ByteReader& reader) { return static_cast<Layout>(reader.Between(0, 3)); }

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Strides of a tensor that is a slice: gaps of up to 3 columns and rows, and channels around it.
Strides ReadSliceStrides(ByteReader& reader, Layout layout, int64_t c, int64_t h, int64_t w) {
  const int64_t block = ChannelBlock(layout);
  const int64_t column_gap = reader.Between(0, 3), row_gap = reader.Between(0, 3);
  Strides strides;
  if (layout == Layout::kNhwc) {
    strides.c = 1;
    strides.w = c + column_gap;
    strides.h = (w + row_gap) * strides.w;
    strides.n = h * strides.h + column_gap;
  } else {
    strides.w = block;
    strides.h = (w + row_gap) * strides.w;
    strides.c = h * strides.h + column_gap * block;
    strides.n = RoundUp(c, block) / block * strides.c + row_gap * block;
  }
  return strides;
}

PostOp ReadPostOp(ByteReader& reader, int64_t oc) {
  switch (static_cast<PostOpKind>(reader.Between(1, 12))) {
    case PostOpKind::kRelu:
      return PostOp::Relu();
    case PostOpKind::kLeakyRelu:
      return PostOp::LeakyRelu(0.5f);
    case PostOpKind::kClip:
      return PostOp::Clip(-4.0f, 6.0f);
    case PostOpKind::kHardSwish:
      return PostOp::HardSwish();
    case PostOpKind::kHardSigmoid:
      return PostOp::HardSigmoid();
    case PostOpKind::kSigmoid:
      return PostOp::Sigmoid();
    case PostOpKind::kSwish:
      return PostOp::Swish();
    case PostOpKind::kTanh:
      return PostOp::Tanh();
    case PostOpKind::kGelu:
      return PostOp::Gelu();
    case PostOpKind::kElu:
      return PostOp::Elu();
    case PostOpKind::kResidualAdd:
      return PostOp::ResidualAdd();
    case PostOpKind::kChannelScale:
      break;
  }
  std::vector<float> scale(static_cast<size_t>(std::clamp<int64_t>(oc, 0, 4096)));
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<float>(1 << (i % 3)) * 0.5f;
  return PostOp::ChannelScale(std::move(scale));
}

void ReadPostOps(ByteReader& reader, ConvDesc& desc) {
  const int64_t count = std::max<int64_t>(0, reader.Between(-5, 5));
  for (int64_t i = 0; i < count; ++i) desc.post_ops.push_back(ReadPostOp(reader, desc.oc));
}

// Multiplications of the whole problem, from sizes that are small.
int64_t Macs(const ConvDesc& desc) {
  return desc.n * desc.oc * (desc.ic / desc.groups) * desc.kernel.h * desc.kernel.w *
         (desc.in.h + desc.pad.top + desc.pad.bottom) *
         (desc.in.w + desc.pad.left + desc.pad.right) / (desc.stride.h * desc.stride.w);
}

void ReadSmallSizes(ByteReader& reader, ConvDesc& desc) {
  desc.n = reader.Between(0, 3);
  desc.groups = std::max<int64_t>(1, reader.Between(-3, 5));
  desc.ic = desc.groups * reader.Between(1, 70);
  desc.oc = desc.groups * reader.Between(1, 70);
  desc.in = {reader.Between(1, 20), reader.Between(1, 40)};
  desc.kernel = {reader.Between(1, 5), reader.Between(1, 7)};
  desc.stride = {reader.Between(1, 4), reader.Between(1, 4)};
  desc.dilation = {std::max<int64_t>(1, reader.Between(-2, 3)),
                   std::max<int64_t>(1, reader.Between(-2, 3))};
  desc.pad = {reader.Between(0, 8), reader.Between(0, 8), reader.Between(0, 8),
              reader.Between(0, 8)};
  // Cut down what would take too long, keeping the odd parts.
  if (Macs(desc) > kMaxMacs) desc.n = std::min<int64_t>(desc.n, 1);
  if (Macs(desc) > kMaxMacs) desc.in.h = std::min<int64_t>(desc.in.h, 6);
  if (Macs(desc) > kMaxMacs) desc.kernel.h = 1;
  if (Macs(desc) > kMaxMacs) desc.ic = desc.groups * std::min<int64_t>(desc.ic / desc.groups, 19);
  if (Macs(desc) > kMaxMacs) desc.oc = desc.groups * std::min<int64_t>(desc.oc / desc.groups, 35);
}

// The size of the output along one axis, for strides only; 1 when the problem will be refused
// anyway.
int64_t OutputSize(int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
  return std::max<int64_t>(1, (in + pads - (dilation * (kernel - 1) + 1)) / stride + 1);
}

void ReadFormats(ByteReader& reader, ConvDesc& desc) {
  desc.src.layout = ReadLayout(reader);
  desc.dst.layout = ReadLayout(reader);
  if (reader.Flag()) desc.dst.layout = desc.src.layout;
  if (reader.Flag()) {
    desc.src.strides = ReadSliceStrides(reader, desc.src.layout, desc.ic, desc.in.h, desc.in.w);
  }
  if (reader.Flag()) {
    const int64_t oh = OutputSize(desc.in.h, desc.pad.top + desc.pad.bottom, desc.kernel.h,
                                  desc.stride.h, desc.dilation.h);
    const int64_t ow = OutputSize(desc.in.w, desc.pad.left + desc.pad.right, desc.kernel.w,
                                  desc.stride.w, desc.dilation.w);
    desc.dst.strides = ReadSliceStrides(reader, desc.dst.layout, desc.oc, oh, ow);
  }
}

// One of the numbers that break size arithmetic, or anything at all.
int64_t ReadHostileNumber(ByteReader& reader) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr std::array<int64_t, 20> kEdges = {0,
                                              -1,
                                              kMax,
                                              kMin,
                                              kMax - 1,
                                              int64_t{1} << 31,
                                              (int64_t{1} << 31) - 1,
                                              int64_t{1} << 32,
                                              (int64_t{1} << 32) - 1,
                                              int64_t{1} << 62,
                                              int64_t{1} << 40,
                                              3037000500 /* about sqrt(kMax) */,
                                              2097152 /* cbrt(kMax) */,
                                              65536,
                                              55108,
                                              1,
                                              1,
                                              2,
                                              3,
                                              16};
  const int64_t choice = reader.Between(0, 27);
  if (choice < static_cast<int64_t>(kEdges.size())) return kEdges[static_cast<size_t>(choice)];
  return choice == 27 ? reader.Int64() : reader.Between(1, 200);
}

Strides ReadHostileStrides(ByteReader& reader) {
  Strides strides;
  for (int64_t* field : {&strides.n, &strides.c, &strides.h, &strides.w})
    *field = ReadHostileNumber(reader);
  return strides;
}

ConvDesc ReadHostileDesc(ByteReader& reader) {
  ConvDesc desc;
  // A small valid problem with some fields overwritten: more of it passes the first checks than if
  // everything were odd.
  ReadSmallSizes(reader, desc);
  int64_t* const fields[] = {&desc.n,        &desc.groups,   &desc.ic,         &desc.oc,
                             &desc.in.h,     &desc.in.w,     &desc.kernel.h,   &desc.kernel.w,
                             &desc.stride.h, &desc.stride.w, &desc.dilation.h, &desc.dilation.w,
                             &desc.pad.top,  &desc.pad.left, &desc.pad.bottom, &desc.pad.right};
  const int64_t count = reader.Between(1, 8);
  for (int64_t i = 0; i < count; ++i)
    *fields[reader.Byte() % std::size(fields)] = ReadHostileNumber(reader);
  desc.src.layout = ReadLayout(reader);
  desc.dst.layout = ReadLayout(reader);
  if (reader.Flag()) desc.src.strides = ReadHostileStrides(reader);
  if (reader.Flag()) desc.dst.strides = ReadHostileStrides(reader);
  return desc;
}

}  // namespace

FuzzCase ReadFuzzCase(ByteReader& reader) {
  FuzzCase fuzz_case;
  const int64_t family = reader.Between(0, 3);
  fuzz_case.runnable = family != 0;
  ConvDesc& desc = fuzz_case.desc;
  if (!fuzz_case.runnable) {
    desc = ReadHostileDesc(reader);
  } else {
    ReadSmallSizes(reader, desc);
    if (family == 1) desc.kernel = {1, 1};  // pointwise deserves its share
    ReadFormats(reader, desc);
  }
  desc.bias = reader.Flag();
  fuzz_case.with_bias = reader.Flag();
  fuzz_case.threads = static_cast<int>(reader.Between(1, 5));
  fuzz_case.own_workers = reader.Flag();
  fuzz_case.seed = reader.Byte() + 1u;
  ReadPostOps(reader, desc);
  if (!fuzz_case.runnable && reader.Flag()) {  // wrong sizes and strides inside post-ops too
    desc.post_ops.push_back(PostOp::ResidualAdd(ReadHostileStrides(reader)));
    desc.post_ops.push_back(PostOp::ChannelScale(std::vector<float>(reader.Byte(), 1.0f)));
  }
  return fuzz_case;
}

}  // namespace rafter::fuzz
