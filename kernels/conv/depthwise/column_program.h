// kernels/conv/depthwise/column_program.h: how the outputs of a row (of one phase) are cut into
// tiles, and which columns of each tile's window lie outside the image. Neighbouring tiles that
// need the same code form a run.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_COLUMN_PROGRAM_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_COLUMN_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/depthwise/axis.h"

namespace rafter::depthwise {

// Columns of a window that lie outside the image.
struct Skip {
  uint8_t first = 0, last = 0;
  bool operator==(const Skip&) const = default;
};

struct ColumnRun {
  int64_t begin = 0;  // first output, counted within the phase
  int64_t tiles = 1;
  int columns = 1;  // outputs per tile
};

struct ColumnProgram {
  int64_t pieces = 1;  // of the kernel row, kMaxTaps columns each
  std::vector<ColumnRun> runs;
  std::vector<Skip> skips;  // [run][piece]
};

// Kernel columns of one piece of the row.
int64_t PieceTaps(int64_t kw, int64_t piece);

// Most columns that a tile can have on this axis, at most `max_columns`.
int LimitColumns(const Axis& axis, int max_columns);

// Nothing when the padding makes more than kMaxRuns different runs.
inline constexpr size_t kMaxRuns = 512;
std::optional<ColumnProgram> MakeColumnProgram(const Axis& axis, int64_t phase, int max_columns);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_COLUMN_PROGRAM_H_
