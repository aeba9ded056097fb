// bench/case_tensors.cc: allocation and content of a case's tensors.
#include "bench/case_tensors.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rafter::bench {
namespace {

// Zeroes the channels beyond `channels` in the last block of every pixel.
void ZeroSpareLanes(std::span<float> values, Layout layout, int64_t channels, int64_t images,
                    const Strides& strides) {
  const int64_t block = ChannelBlock(layout);
  const int64_t used = channels % block;
  if (block == 1 || used == 0) return;
  const int64_t last_block = channels / block;
  for (int64_t n = 0; n < images; ++n) {
    float* plane = values.data() + n * strides.n + last_block * strides.c;
    for (int64_t offset = 0; offset < strides.c; offset += block) {
      std::fill(plane + offset + used, plane + offset + block, 0.0f);
    }
  }
}

}  // namespace

std::vector<const float*> CaseTensors::residual_pointers() const {
  std::vector<const float*> pointers;
  for (const TensorBuffer& residual : residuals) pointers.push_back(residual.data());
  return pointers;
}

Result<CaseTensors> MakeCaseTensors(const ConvProblem& problem, uint64_t seed) {
  const ConvDesc& desc = problem.desc;
  const int64_t weights = desc.oc * problem.ic_g * desc.kernel.h * desc.kernel.w;
  CaseTensors tensors;
  tensors.src = TensorBuffer(static_cast<size_t>(desc.n * problem.src.n));
  tensors.dst = TensorBuffer(static_cast<size_t>(desc.n * problem.dst.n));
  tensors.oihw = TensorBuffer(static_cast<size_t>(weights));
  if (desc.bias) tensors.bias = TensorBuffer(static_cast<size_t>(desc.oc));
  if (tensors.src.data() == nullptr || tensors.dst.data() == nullptr ||
      tensors.oihw.data() == nullptr || (desc.bias && tensors.bias.data() == nullptr)) {
    return Status::OutOfMemory();
  }
  FillRandom(tensors.src.span(), seed);
  FillRandom(tensors.oihw.span(), seed + 1);
  if (desc.bias) FillRandom(tensors.bias.span(), seed + 2);
  ZeroSpareLanes(tensors.src.span(), desc.src.layout, desc.ic, desc.n, problem.src);
  for (const PostOp& op : desc.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    TensorBuffer& residual = tensors.residuals.emplace_back(tensors.dst.size());
    if (residual.data() == nullptr) return Status::OutOfMemory();
    FillRandom(residual.span(), seed + 2 + tensors.residuals.size());
  }
  const std::span<float> dst = tensors.dst.span();
  std::fill(dst.begin(), dst.end(), std::numeric_limits<float>::quiet_NaN());
  return tensors;
}

}  // namespace rafter::bench
