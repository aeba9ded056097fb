// kernels/conv/tile/stores.cc: see stores.h.
#include "kernels/conv/tile/stores.h"

#include <algorithm>

#include "kernels/conv/tile/tuning.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"

namespace rafter::tile {

namespace {

double OutputBytes(const Geometry& g) {
  return static_cast<double>(g.n * g.groups * g.oc_g * g.out.h * g.out.w) * kFloat;
}

// Whether each pixel of each tile is whole cache lines, given an aligned tensor.
bool HasWholeLines(const Geometry& g, const ChannelRuns& runs, int64_t vec_bytes) {
  if (g.oc_g * kFloat % kLineBytes != 0) return false;
  for (const int64_t stride : {g.dst.n, g.dst.h, g.dst.w}) {
    if (stride * kFloat % kLineBytes != 0) return false;
  }
  return std::all_of(runs.begin(), runs.end(), [&](const ChannelRun& run) {
    return run.oc_vecs * vec_bytes % kLineBytes == 0 && run.first_vec * vec_bytes % kLineBytes == 0;
  });
}

// Dense pixels, and weights that may well be read again for each chunk.
bool CanStage(const Geometry& g, const MachineModel& machine) {
  const Strides& s = g.dst;
  return s.w == g.groups * g.oc_g && (g.out.h == 1 || s.h == g.out.w * s.w) &&
         (g.n == 1 || s.n == g.out.h * g.out.w * s.w) &&
         g.weight_bytes() <= static_cast<double>(machine.l2_bytes) * kL2Share;
}

}  // namespace

// NHWC only: in blocked layouts a tile writes to several planes, and stores past the caches were slower there (0.64x,
// Zen 3).
Stores ChooseStores(const Geometry& g, const ChannelRuns& runs, const jit::IsaInfo& isa, const MachineModel& machine) {
  if (g.dst_layout != Layout::kNhwc || !OutputExceedsCaches(OutputBytes(g), machine)) return Stores::kCached;
  if (HasWholeLines(g, runs, isa.vec_bytes)) return Stores::kStreamed;
  return CanStage(g, machine) ? Stores::kStaged : Stores::kCached;
}

int64_t OutputStageBytes(const MachineModel& machine) {
  return std::max(kLineBytes, static_cast<int64_t>(static_cast<double>(machine.l2_bytes) * kOutputStageL2Share));
}

}  // namespace rafter::tile
