// kernels/conv/tile/stores.h: where the outputs of a tile plan go: to the caches, past them, or to a stage first.
#ifndef RAFTER_KERNELS_CONV_TILE_STORES_H_
#define RAFTER_KERNELS_CONV_TILE_STORES_H_

#include <cstdint>

#include "jit/isa.h"
#include "kernels/conv/tile/blocking.h"
#include "kernels/conv/tile/geometry.h"
#include "runtime/machine_model.h"

namespace rafter::tile {

// For outputs that the caches don't keep; kCached for all others.
Stores ChooseStores(const Geometry& g, const ChannelRuns& runs, const jit::IsaInfo& isa, const MachineModel& machine);

// What a stage of one thread should hold, in bytes.
int64_t OutputStageBytes(const MachineModel& machine);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_STORES_H_
