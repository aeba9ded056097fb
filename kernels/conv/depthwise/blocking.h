// kernels/conv/depthwise/blocking.h: the choices of a plan: tile shapes, strips of channels, split
// over threads. A pure function of geometry, ISA, machine model and thread count.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_BLOCKING_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_BLOCKING_H_

#include <cstdint>
#include <vector>

#include "jit/isa.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/geometry.h"
#include "kernels/conv/depthwise/rolling.h"
#include "runtime/machine_model.h"

namespace rafter::depthwise {

// Vectors of output channels that run the same code.
struct VectorRun {
  int64_t first_channel = 0;  // in the first lane
  int64_t vecs = 1;
  uint8_t flags = 0;                 // of ChannelSpec
  int src_lanes = 0, dst_lanes = 0;  // used lanes where masked or zeroed
  bool last_block = false;           // weights come from the additional block (pack.h)

  // Behind the last channel of the last block: nothing but zeros is stored.
  bool is_padding() const { return dst_lanes == 0; }
};

struct ChannelBlocking {
  std::vector<VectorRun>
      vectors;  // the first one is cut into strips, the others go with the last strip
  int64_t strip_vecs = 1, strips = 1;
  bool rolls = false;     // tiles roll down the image (ChannelSpec::kRolling)
  bool holds = false;     // … or go down with their weights in registers (ChannelSpec::kHeld)
  uint8_t prefetch = 0, ahead = 0;  // ChannelSpec::prefetch, ahead
  bool pairs = false;     // ChannelSpec::kPairs
  bool in_quarters = false;  // ChannelSpec::kQuarters
  bool streams = false;   // ChannelSpec::streams
  // Kernels of one row: the tiles of a call follow each other down the block of rows, not along the row.
  bool sideways = false;
  int rows = 1;           // output rows in registers, where there are enough
  int64_t tile_rows = 1;  // output rows per block: `rows`, more where tiles roll or are staged
  bool stages = false;    // through a buffer per thread of staged_bytes
  int64_t staged_bytes = 0;
  int64_t staged_channels = 0, staged_pixel = 0;  // per strip; floats between pixels of the buffer
  int columns[kMaxRows + 1] = {};           // most columns of a tile by its rows
  int unit_threads = 1, strip_threads = 1;  // grid of threads: row tiles x strips
  double predicted_us = 0;

  int depth() const { return pairs ? 2 : 1; }  // vectors of a tile
  bool goes_down() const { return rolls || holds; }
};

// The lanes that the channel kernel uses; blocks of 8 channels are served by vectors of 8 on every
// machine.
Isa ChannelIsa(const Geometry& g, Isa isa);

ChannelBlocking ChooseChannelBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                      int threads);

// Whether blocks of `block` output rows can be computed by tiles that roll: every output row
// reaches an input row, and the last one of a block does not start above the image.
bool CanRoll(const Axis& rows, int64_t block);

// For `outputs` rows of one phase, the first tap of which reads input row `first_input`.
RollingCounts CountRolling(const Axis& rows, int64_t first_input, int64_t outputs);

// The same for tiles of `tile_rows` rows that hold their weights, without any condition.
HeldRows CountHeld(const Axis& rows, int64_t first_input, int64_t outputs, int tile_rows);

// Tiles of `rows` output rows over all phases of an image.
int64_t CountRowTiles(const Axis& rows, int64_t tile_rows);

// One of them: `rows` output rows of a phase from `first` on.
struct RowTile {
  int64_t phase = 0, first = 0, rows = 0;
};
RowTile FindRowTile(const Axis& rows, int64_t tile_rows, int64_t index);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_BLOCKING_H_
