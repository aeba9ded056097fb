// kernels/conv/tile/stage_copier.h: fills one thread's stage with the inputs of a chunk (staging.h says what and why).
#ifndef RAFTER_KERNELS_CONV_TILE_STAGE_COPIER_H_
#define RAFTER_KERNELS_CONV_TILE_STAGE_COPIER_H_

#include <cstdint>

#include "kernels/conv/tile/tile_plan.h"

namespace rafter::tile {

class StageCopier {
 public:
  // `stage`: plan.stage_floats_, not used where the plan reads its inputs in place.
  StageCopier(const TilePlan& plan, const ConvCall& call, float* stage) : plan_(plan), call_(call), stage_(stage) {}

  // Copies the inputs of a chunk, for one bundle of groups, unless they are there already. Returns where the kernels
  // would find the first pixel of the tensor (of the image: rows) if the stage held all of it.
  const float* Copy(int64_t chunk, int64_t bundle);

 private:
  const float* CopyRows(Range units, int64_t bundle) const;
  const float* GatherPixels(Range units) const;
  void Gather(const float* from, int64_t pixels, float* to) const;
  void PrefetchInputs(const float* from, int64_t pixels) const;

  const TilePlan& plan_;
  const ConvCall& call_;
  float* const stage_;
  int64_t chunk_ = -1, bundle_ = -1;  // what is in the stage
  const float* origin_ = nullptr;
};

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_STAGE_COPIER_H_
