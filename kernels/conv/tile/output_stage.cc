// kernels/conv/tile/output_stage.cc: see output_stage.h.
#include "kernels/conv/tile/output_stage.h"

#include <algorithm>

#include "kernels/shift.h"
#include "kernels/sizes.h"

namespace rafter::tile {

float* OutputStage::Begin(Range units) {
  const int64_t pixel = plan_.geometry_.dst.w;
  pixels_ = {plan_.FirstPixel(units.begin), plan_.FirstPixel(units.end)};
  const auto address = reinterpret_cast<uintptr_t>(call_.dst + pixels_.begin * pixel);
  first_ = Shift(stage_, static_cast<int64_t>(address % kLineBytes));
  return Shift(first_, -pixels_.begin * pixel * kFloat);
}

void OutputStage::Flush() {
  const int64_t pixel = plan_.geometry_.dst.w, floats = (pixels_.end - pixels_.begin) * pixel;
  float* dst = call_.dst + pixels_.begin * pixel;
  if (floats < reorder::kMinOpenRun) {
    std::copy_n(first_, floats, dst);
    return;
  }
  reorder::CopyArgs args;
  args.src = first_, args.dst = dst;
  args.rows = 1, args.run_bytes = floats * kFloat;
  plan_.copy_->entry<reorder::CopyFunction>()(&args);
}

}  // namespace rafter::tile
