// kernels/conv/tile/output_stage.h: a dense buffer of one thread for the outputs of a chunk, which leaves for memory as
// one stream of whole lines.
//
// NHWC outputs that the caches don't keep, of pixels that are no whole lines: channel tiles write pieces of lines, each
// of which is read from memory first and may be written back before its other pieces come. From the stage, which stays
// in L2, lines go past the caches once.
#ifndef RAFTER_KERNELS_CONV_TILE_OUTPUT_STAGE_H_
#define RAFTER_KERNELS_CONV_TILE_OUTPUT_STAGE_H_

#include <cstdint>

#include "kernels/conv/tile/tile_plan.h"

namespace rafter::tile {

class OutputStage {
 public:
  // `stage`: plan.stage_floats_, aligned to lines.
  OutputStage(const TilePlan& plan, const ConvCall& call, float* stage) : plan_(plan), call_(call), stage_(stage) {}

  // Returns where the kernels would find the first pixel of the tensor if the stage held all of it.
  float* Begin(Range units);
  // Sends the outputs of these units on their way. Not ordered with what the thread does next.
  void Flush();

 private:
  const TilePlan& plan_;
  const ConvCall& call_;
  float* const stage_;
  Range pixels_;              // of the whole tensor
  float* first_ = nullptr;    // of pixels_, in the stage: as far from the begin of a line as in the tensor
};

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_OUTPUT_STAGE_H_
