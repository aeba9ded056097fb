// kernels/softmax/plan.cc: see plan.h.
#include "kernels/softmax/plan.h"

#include <algorithm>
#include <utility>

#include "kernels/lane_masks.h"
#include "jit/isa.h"
#include "kernels/sizes.h"
#include "kernels/softmax/emitter.h"

namespace rafter::softmax {
namespace {

// Vectors of a chunk in NHWC: they share constants and hide latencies.
constexpr int64_t kChunkVecs = 4;

}  // namespace

Result<Plan> Plan::Make(const SoftmaxProblem& problem, Isa isa, int threads) {
  Plan plan;
  plan.problem_ = problem;
  const int64_t block = ChannelBlock(problem.layout());
  // A block must be whole vectors: 8 channels are one of AVX2.
  if (block > 1 && block < jit::GetIsaInfo(isa).vec_lanes()) isa = Isa::kAvx2;
  plan.isa_ = isa;
  plan.rows_ = problem.desc.h, plan.columns_ = problem.desc.w;
  if (problem.src.h == problem.desc.w * problem.src.w && problem.dst.h == problem.desc.w * problem.dst.w) {
    plan.columns_ *= plan.rows_;
    plan.rows_ = 1;
  }
  const int64_t rows = problem.desc.n * plan.rows_;
  const int64_t wanted = threads == 1 ? 1 : std::max<int64_t>(1, 4 * threads / std::max<int64_t>(rows, 1));
  constexpr int64_t kPixelStep = 32;  // whole vectors of pixels
  plan.piece_ = ((plan.columns_ + wanted - 1) / wanted + kPixelStep - 1) / kPixelStep * kPixelStep;
  if (problem.layout() != Layout::kNchw) plan.piece_ = (plan.columns_ + wanted - 1) / wanted;
  plan.pieces_ = (plan.columns_ + plan.piece_ - 1) / plan.piece_;
  if (problem.layout() != Layout::kNchw) plan.PlanChannels();
  Result<jit::KernelPtr> kernel =
      problem.layout() == Layout::kNchw ? GetPixelKernel({isa}) : GetChannelKernel(plan.spec_);
  if (!kernel.ok()) return kernel.status();
  plan.kernel_ = std::move(kernel).value();
  return plan;
}

void Plan::PlanChannels() {
  const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes(), channels = problem_.desc.c;
  const int64_t block = ChannelBlock(problem_.layout());
  ChannelArgs& args = channel_args_;
  args.src_step = problem_.src.w * kFloat;
  args.dst_step = problem_.dst.w * kFloat;
  spec_.isa = isa_;
  spec_.blocked = block > 1;
  if (spec_.blocked) {
    spec_.chunk_vecs = static_cast<uint8_t>(block / lanes);
    args.chunks = channels / block;
    args.vectors = channels % block != 0 ? 1 : 0;
    args.src_chunk_step = problem_.src.c * kFloat;
    args.dst_chunk_step = problem_.dst.c * kFloat;
    args.mask = FirstLanes(channels % block);
    return;
  }
  spec_.chunk_vecs = kChunkVecs;
  const int64_t chunk = kChunkVecs * lanes;
  args.chunks = channels / chunk;
  args.vectors = channels % chunk / lanes;
  args.tail_lanes = channels % lanes;
  args.src_chunk_step = args.dst_chunk_step = chunk * kFloat;
  args.mask = FirstLanes(args.tail_lanes);
}

void Plan::RunChannels(const float* src, float* dst, int64_t pixels) const noexcept {
  ChannelArgs args = channel_args_;
  args.src = src, args.dst = dst, args.pixels = pixels;
  kernel_->entry<ChannelFunction>()(&args);
}

void Plan::RunPixels(const float* src, float* dst, int64_t pixels) const noexcept {
  const int64_t tail = pixels % jit::GetIsaInfo(isa_).vec_lanes();
  PixelArgs args{src,  dst, pixels, problem_.desc.c, problem_.src.c * kFloat, problem_.dst.c * kFloat,
                 FirstLanes(tail), tail};
  kernel_->entry<PixelFunction>()(&args);
}

void Plan::Run(const float* src, float* dst, Range items) const noexcept {
  for (int64_t item = items.begin; item < items.end; ++item) {
    const int64_t w = item % pieces_ * piece_, row = item / pieces_;
    const int64_t n = row / rows_, h = row % rows_, pixels = std::min(piece_, columns_ - w);
    const float* from = src + n * problem_.src.n + h * problem_.src.h + w * problem_.src.w;
    float* to = dst + n * problem_.dst.n + h * problem_.dst.h + w * problem_.dst.w;
    if (problem_.layout() == Layout::kNchw) {
      RunPixels(from, to, pixels);
    } else {
      RunChannels(from, to, pixels);
    }
  }
}

}  // namespace rafter::softmax
