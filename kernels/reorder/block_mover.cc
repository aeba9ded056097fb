// kernels/reorder/block_mover.cc: see the header.
#include "kernels/reorder/block_mover.h"

#include <algorithm>
#include <utility>

#include "kernels/sizes.h"

namespace rafter::reorder {

Result<BlockMover> BlockMover::Make(Isa isa, const Places& places, std::array<int64_t, 2> periods) {
  BlockMover mover;
  mover.places_ = places;
  mover.most_ = places.along_periods ? static_cast<size_t>(std::clamp<int64_t>(periods[0], 1, kMostBlocks)) : 2;
  Status status = mover.Get(isa, mover.most_);
  for (const int64_t count : periods) {
    const auto rest = static_cast<size_t>(count) % mover.most_;
    if (status.ok() && places.along_periods && rest > 0) status = mover.Get(isa, rest);
  }
  if (status.ok() && periods[1] == 0) status = mover.GetStretches(isa, places.along_periods ? periods[0] : 2);
  if (!status.ok()) return status;
  return mover;
}

// Where pixels with their blocks follow each other, and those of a group fit half of the first-level cache.
Status BlockMover::GetStretches(Isa isa, int64_t blocks) {
  constexpr int64_t kMostFloats = 4096, kStretchFloats = 128;
  const int64_t pixel = blocks * places_.run;
  const bool dense = places_.src_block == places_.run && places_.src_pixel == pixel && places_.dst_pixel == places_.run;
  if (!places_.past_caches || !dense || blocks < 2 || kStretchFloats / places_.run * pixel > kMostFloats) return {};
  BlocksSpec spec;
  spec.isa = static_cast<int32_t>(isa);
  spec.run = static_cast<int32_t>(places_.run);
  spec.stretches = spec.non_temporal = 1;
  Result<jit::KernelPtr> made = GetBlocksKernel(spec);
  if (made.ok()) stretches_ = std::move(made).value();
  return made.status();
}

Status BlockMover::Get(Isa isa, size_t blocks) {
  BlocksSpec spec;
  spec.isa = static_cast<int32_t>(isa);
  spec.run = static_cast<int32_t>(places_.run);
  spec.blocks = static_cast<int32_t>(blocks);
  spec.pairs = places_.run == 8 && places_.dst_pixel == 8 ? 1 : 0;
  const auto get = [&](jit::KernelPtr& kernel) -> Status {
    Result<jit::KernelPtr> made = GetBlocksKernel(spec);
    if (made.ok()) kernel = std::move(made).value();
    return made.status();
  };
  Kernels& kernels = kernels_[blocks];
  if (Status status = get(kernels.plain); !status.ok()) return status;
  // What a row, or two, store one after the other.
  const int64_t together = places_.dst_block == places_.run ? places_.run * static_cast<int64_t>(blocks) : places_.run;
  const bool lines = spec.pairs != 0 || (together % kLineFloats == 0 && places_.dst_pixel % kLineFloats == 0);
  if (!places_.past_caches || !lines) return {};
  spec.non_temporal = 1;
  return get(kernels.past_caches);
}

void BlockMover::Run(const float* src, float* dst, int64_t periods, int64_t pixels, bool aligned) const noexcept {
  const auto run = [&](const jit::KernelPtr& kernel, int64_t blocks) {
    const BlocksArgs args{src, dst, pixels, places_.src_pixel * kFloat, places_.dst_pixel * kFloat,
                          places_.src_block * kFloat, places_.dst_block * kFloat, blocks};
    kernel->entry<BlocksFunction>()(&args);
  };
  if (aligned && stretches_ && places_.along_periods) return run(stretches_, periods);
  const int64_t step = places_.along_periods ? static_cast<int64_t>(most_) : 1;
  while (periods > 0) {
    const size_t blocks = places_.along_periods ? static_cast<size_t>(std::min(step, periods)) : most_;
    const Kernels& kernels = kernels_[blocks];
    const jit::KernelPtr& whole = stretches_ ? stretches_ : kernels.past_caches;
    run(aligned && whole ? whole : kernels.plain, static_cast<int64_t>(blocks));
    src += step * places_.src_period, dst += step * places_.dst_period;
    periods -= step;
  }
}

}  // namespace rafter::reorder
