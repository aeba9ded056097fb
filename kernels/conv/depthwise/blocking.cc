// kernels/conv/depthwise/blocking.cc
#include "kernels/conv/depthwise/blocking.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/column_program.h"
#include "kernels/conv/depthwise/prediction.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

namespace {

// Full vectors first, then the rest as the layouts and post-ops allow.
std::vector<VectorRun> SplitVectors(const Geometry& g, int lanes) {
  std::vector<VectorRun> runs;
  const bool src_dense = g.src_layout == Layout::kNhwc, dst_dense = g.dst_layout == Layout::kNhwc;
  const uint8_t permuted = g.multiplier > 1 ? ChannelSpec::kPermuted : 0;
  const bool few_inputs = permuted != 0 && src_dense && g.ic < lanes;
  const uint8_t always = permuted | (few_inputs ? ChannelSpec::kMaskedSrc : 0);
  const int few = static_cast<int>(std::min<int64_t>(g.ic, lanes));
  const int64_t full = g.oc / lanes;
  const int rest = static_cast<int>(g.oc % lanes);
  if (full > 0) runs.push_back({0, full, always, few, lanes, false});
  const auto partly_filled = [&](int64_t channel, int used) {
    const bool masked_src = permuted == 0 ? src_dense : few_inputs;
    const uint8_t flags = permuted | (masked_src ? ChannelSpec::kMaskedSrc : 0) |
                          (dst_dense ? ChannelSpec::kMaskedDst : ChannelSpec::kZeroedDst);
    runs.push_back({channel, 1, flags, permuted != 0 ? few : used, used, false});
  };
  if (rest > 0 && dst_dense && src_dense && full > 0 && !g.has_residual()) {
    runs.push_back(
        {g.oc - lanes, 1, always, few, lanes, true});  // over the last full vector once more
    return runs;
  }
  if (rest > 0) partly_filled(full * lanes, rest);
  const int64_t covered = (full + (rest > 0)) * lanes, block = ChannelBlock(g.dst_layout);
  if (!dst_dense && covered % block != 0) runs.push_back({covered, 1, 0, 0, 0, false});
  return runs;
}

bool IsDense(const Geometry& g) {
  return g.src_layout == Layout::kNhwc && g.dst_layout == Layout::kNhwc;
}

// Vectors per strip: blocked layouts go block by block. In NHWC all channels of a pixel in one go,
// as far as the threads have rows to share: long runs of memory are what the prefetchers like.
int64_t StripVecs(const Geometry& g, int lanes, int64_t vecs, int64_t units, int threads) {
  const int64_t vecs_per_block = kBlock / lanes;
  if (!IsDense(g)) return vecs_per_block;
  const int64_t strips = units >= threads ? 1 : threads;
  return CeilDiv(CeilDiv(vecs, strips), vecs_per_block) * vecs_per_block;
}

// The grid with the smallest largest share; ties go to splitting the rows.
void ChooseThreads(int64_t units, int threads, ChannelBlocking& b) {
  double best = std::numeric_limits<double>::infinity();
  for (int unit_threads = threads; unit_threads >= 1; --unit_threads) {
    const int strip_threads = threads / unit_threads;
    const double share = static_cast<double>(CeilDiv(std::max<int64_t>(units, 1), unit_threads)) *
                         static_cast<double>(CeilDiv(b.strips, strip_threads));
    if (share >= best * 0.999) continue;
    best = share;
    b.unit_threads = unit_threads, b.strip_threads = strip_threads;
  }
}

// A tile of C columns needs C - 1 inputs and up to 2 weights at hand, and at least 5 temporaries
// when it ends.
int MaxColumns(int registers, int rows) {
  for (int columns = kMaxColumns; columns > 1; --columns) {
    const int inputs = columns - 1 + std::min(rows, 2);
    if (rows * columns + std::max(inputs, 5) <= registers) return columns;
  }
  return 1;
}

// Instructions of a row of outputs in tiles of `columns` columns, the last ones one column narrower where it does not
// divide; tiles of few sums leave the FMA pipes idle.
double RollingInstructions(const Geometry& g, int registers, int rows, int columns) {
  constexpr double kLeastSums = 8;
  RollingShape shape;
  shape.kh = static_cast<int>(g.kh), shape.kw = static_cast<int>(g.kw), shape.permuted = g.multiplier > 1;
  shape.row_stride = static_cast<int>(g.rows.step());
  shape.stride = static_cast<int>(std::min(g.columns.step(), g.columns.kernel()));
  const auto tile = [&](int64_t width) {
    shape.columns = static_cast<int>(width), shape.temps = registers - rows * shape.columns;
    const double sums = static_cast<double>(rows * width);
    return width == 0 ? 0 : static_cast<double>(width) * OrderOf(shape).instructions * std::max(1.0, kLeastSums / sums);
  };
  const int64_t outputs = g.columns.outputs(0), tiles = CeilDiv(outputs, columns);
  const int64_t narrow = outputs / tiles, wide = outputs % tiles;
  return static_cast<double>(tiles - wide) * tile(narrow) + static_cast<double>(wide) * tile(narrow + 1);
}

// Columns of a rolling tile of `depth` vectors with `rows` outputs of a column in flight. Room: sums, one weight per
// row, one input at least. Fewer where that saves instructions (OrderOf).
int RollingColumns(const Geometry& g, int registers, int rows, int depth) {
  const int columns = std::min(kMaxColumns, (registers - std::max(rows + 1, 4)) / (rows * depth));
  int best = rows == 2 && depth == 1 ? std::min(columns, registers / 4) : columns;
  if (depth > 1) return best;
  double fewest = RollingInstructions(g, registers, rows, best) / kFewerInstructions;
  for (int fewer = best - 1; fewer > 1; --fewer) {
    const double instructions = RollingInstructions(g, registers, rows, fewer);
    if (instructions < fewest) best = fewer, fewest = instructions;
  }
  return best;
}

// Whether the kernel is small enough to roll down the image.
bool IsSmall(const Geometry& g) {
  const int64_t step = g.rows.step();
  return g.kw <= kMaxRollingTaps && g.kh <= kMaxRollingTaps && step <= g.kh && CeilDiv(g.kh, step) <= kMaxRollingRows;
}

// Whether pixels are so far apart that all columns of a tile share a few L1 sets, and the tensors can be staged.
bool CanStage(const Geometry& g) {
  // Copies cost less beside many taps.
  const int64_t bytes = g.taps() >= kManyTaps ? kStagedBytes / 2 : kStagedBytes;
  const auto aliases = [&](const Steps& s) { return s.column * kFloat % bytes == 0; };
  return IsDense(g) && g.multiplier == 1 && g.ic % kStagedChannels == 0 && g.rows.distance() == 1 &&
         g.rows.dilation() == 1 && aliases(g.src) && aliases(g.dst);
}

// Whether a vector or its neighbour completes the line of a pixel.
bool HasWholeLines(const Geometry& g) { return IsDense(g) || ChannelBlock(g.dst_layout) * kFloat >= kLineBytes; }

// Whether rows of the geometry are columns of the image: kernels of one column.
bool ColumnsAreRows(const Geometry& g) { return g.kh == 1 && g.src.row < g.src.column; }

// Whether the windows of neighbouring output rows do not meet, so that tiles cannot roll; not so large images of
// kernels of one column, which are taken along their rows.
bool SkipsRows(const Geometry& g, const MachineModel& machine) {
  const double sideways = kPrefetchL2Share * static_cast<double>(machine.l2_bytes);
  return g.rows.step() > g.kh && !(ColumnsAreRows(g) && g.image_bytes > sideways);
}

bool IsLarge(const Geometry& g, const MachineModel& machine) {
  return g.image_bytes > kLargeL3Share * static_cast<double>(machine.l3_bytes);
}

// Between the inputs of neighbouring taps.
int64_t ColumnBytes(const Geometry& g) { return g.columns.dilation() * g.src.column * kFloat; }

// Whether rows fall into the same L1 sets.
bool RowsAlias(const Geometry& g) { return g.src.row * g.rows.dilation() * kFloat % kAliasBytes == 0; }

// Whether outputs should be stored past the caches, which takes whole vectors at aligned addresses.
bool Streams(const Geometry& g, int vec_bytes, const MachineModel& machine) {
  const int64_t image = g.rows.out() * g.columns.out() * g.oc * kFloat;
  const auto aligned = [&](int64_t step) {
    return step * kFloat % vec_bytes == 0;
  };
  return static_cast<double>(image) > kStreamL3Share * static_cast<double>(machine.l3_bytes) &&
         aligned(g.oc) && aligned(g.dst.column) && aligned(g.dst.row) && aligned(g.dst.n);
}

// Whether large outputs are stored past the caches by tiles that roll, a whole line of each pixel at a time (tuning.h).
bool RollsStreamed(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  const bool lines = IsDense(g) && g.oc % kBlock == 0 && g.src.column * kFloat % kLineBytes == 0;
  return lines && 2 * info.vec_bytes >= kLineBytes && g.multiplier == 1 && IsSmall(g) && g.rows.step() == 1 &&
         g.kh == kStreamedRollingTaps &&
         !RowsAlias(g) && IsLarge(g, machine) && Streams(g, kLineBytes, machine) &&
         g.image_bytes <= kStreamedRollingL3Share * static_cast<double>(machine.l3_bytes);
}

// Whether rolling tiles are two vectors deep, which makes a whole line of each pixel (tuning.h).
bool Pairs(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  const int64_t column = ColumnBytes(g);
  // Of the output rows in flight.
  const bool many_slots = CeilDiv(g.kh, g.rows.step()) > kPairAliasSlots;
  if (2 * info.vec_bytes == kLineBytes && RollsStreamed(g, info, machine)) return true;
  return IsDense(g) && !g.transposes && g.multiplier == 1 && g.oc % kBlock == 0 && 2 * info.vec_bytes == kLineBytes &&
         IsSmall(g) && column % (RowsAlias(g) && many_slots ? 2 * kPairBytes : kPairBytes) == 0 &&
         (column % kAliasBytes != 0 || ColumnsAreRows(g) || IsLarge(g, machine) || !CanStage(g));
}

// Whether inputs and outputs go through a small buffer in which pixels lie a line further apart.
bool Stages(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  if (g.transposes) return true;
  // Half as far apart, pixels of large tensors stay where they are unless rows share their sets as well.
  const bool near = g.src.column * kFloat % kStagedBytes != 0 && IsLarge(g, machine) && !RowsAlias(g);
  return CanStage(g) && !Pairs(g, info, machine) && !near;
}

// Whether 8 neighbouring outputs always look at four neighbouring inputs that can be loaded at once.
bool LoadsQuarters(const Geometry& g, int lanes) {
  const bool together = g.src_layout == Layout::kNhwc || std::has_single_bit(static_cast<uint64_t>(g.multiplier));
  return lanes == 8 && g.multiplier > 1 && g.ic >= lanes && together;
}

int64_t StagedBytes(const Geometry& g, const ChannelBlocking& b) {
  const int64_t rows = (b.tile_rows - 1) * g.rows.stride() + g.kh;
  const int64_t pixels =
      std::min(rows, g.rows.in()) * g.columns.in() + b.tile_rows * g.columns.out();
  return pixels * b.staged_pixel * kFloat;
}

// Output rows per staged block, a multiple of those of a tile: as many as their input rows fit.
int64_t StagedRows(const Geometry& g, int tile_rows, int64_t pixel) {
  const int64_t row = g.columns.in() * g.rows.stride() + g.columns.out();
  const int64_t most =
      kStagedBlockBytes / (row * pixel * kFloat);
  const int64_t rows =
      std::clamp(most, int64_t{1}, CeilDiv(g.rows.outputs(0), tile_rows) * tile_rows);
  return CeilDiv(rows, tile_rows) * tile_rows;
}

// Most output rows per block: all that stay in L1 in blocked layouts, where one block of channels is walked through
// at a time, and all rows of a small image, or of one whose rows are copied before.
int64_t MostRollingRows(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  const bool small = g.image_bytes <= kSmallL2Share * static_cast<double>(machine.l2_bytes);
  if (!IsDense(g) || Stages(g, info, machine) || small) return kBlockedRollingRows;
  const bool strided = g.rows.step() > 1;
  if (RollsStreamed(g, info, machine)) {
    return ColumnBytes(g) % kFarStreamedBytes == 0 ? kFarPairRows : kStreamedRollingRows;
  }
  if (CanStage(g) && IsLarge(g, machine)) return strided ? kStridedRollingRows : kFarPairRows;
  if (Pairs(g, info, machine) && RowsAlias(g) && ColumnBytes(g) % (2 * kPairBytes) != 0)
    return strided ? kPairAliasRows : 2 * kPairAliasRows;
  return strided ? kStridedRollingRows : kDenseRollingRows;
}

// Output rows per block of rolling tiles; 0: tiles should not roll.
int64_t RollingRows(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  if (!IsSmall(g)) return 0;
  const int64_t rows = g.rows.outputs(0);
  const bool many = rows > (g.rows.step() > 1 ? kFewAliasRows : 2 * kFewAliasRows);
  if (!Stages(g, info, machine) && !Pairs(g, info, machine) && many && RowsAlias(g)) return 0;
  const int64_t most = MostRollingRows(g, info, machine);
  const int64_t block = CeilDiv(rows, CeilDiv(rows, most));
  if (CanRoll(g.rows, block)) return block;
  return CanRoll(g.rows, rows) ? rows : 0;
}

// Columns of a tile that holds its weights; 0 where the kernel has too many of them.
int HeldColumns(const Geometry& g, int registers, int kept) {
  if (g.taps() > kMaxHeldTaps || g.rows.step() > kMaxTaps) return 0;
  const int taps = static_cast<int>(g.taps());
  const int columns =
      std::min({kMaxColumns, registers - kept - taps - 1, registers - kept - jit::kPostOpTemps});
  return columns < kLeastHeldColumns ? 0 : columns;
}

// Whether tiles that do not hold their weights prefetch the line behind each input (tuning.h).
bool PrefetchesNextLine(const Geometry& g, const MachineModel& machine) {
  return IsDense(g) && g.multiplier == 1 && g.taps() <= kMaxPrefetchTaps &&
         (g.ic > kFewChannels || IsLarge(g, machine)) &&
         g.image_bytes > kPrefetchL2Share * static_cast<double>(machine.l2_bytes);
}

// Most output rows per block of tiles that hold their weights: where rows share their sets, as many as leave a line in
// L1 until the vector comes that takes its other half.
int64_t MostHeldRows(const Geometry& g, const jit::IsaInfo& info, const MachineModel& machine) {
  const bool halves = HasWholeLines(g) && info.vec_bytes < kLineBytes;
  if (halves && RowsAlias(g)) return std::max<int64_t>(1, kLinesPerSet / g.kh);
  const bool small = g.image_bytes <= kSmallL2Share * static_cast<double>(machine.l2_bytes);
  if (SkipsRows(g, machine)) return small ? kBlockedRollingRows : kHeldRows;
  return IsDense(g) ? kDenseHeldRows : kHeldRows;
}

// Whether tiles hold their weights, and how they go through the image (tuning.h).
bool ChooseHeld(const Geometry& g, const jit::IsaInfo& info, int kept, const MachineModel& machine,
                ChannelBlocking& b) {
  if (ColumnsAreRows(g) && ColumnBytes(g) % kAliasBytes == 0 && Pairs(g, info, machine)) return false;
  b.rows = 1;
  b.columns[1] = HeldColumns(g, info.num_vecs, kept);
  if (b.columns[1] == 0 || Stages(g, info, machine) || (g.multiplier > 1 && IsDense(g))) return false;
  int64_t most = MostHeldRows(g, info, machine);
  const bool far = g.dst.column * kFloat % kFarStreamedBytes == 0, vertical = ColumnsAreRows(g);
  const bool streams = Streams(g, info.vec_bytes, machine) && !(CanStage(g) && Pairs(g, info, machine)) &&
                       !(vertical && (g.dst.column * kFloat % kAliasBytes == 0 || !HasWholeLines(g)));
  if (IsLarge(g, machine) && (streams || IsDense(g))) {
    if (!streams || RollsStreamed(g, info, machine)) return false;
    b.streams = true, b.prefetch = ChannelSpec::kNextTile;
    if (g.src.column == (IsDense(g) ? g.ic : ChannelBlock(g.src_layout))) b.ahead = kStreamAhead;
    b.columns[1] = std::min(b.columns[1], far ? kMaxFarStreamedColumns : kMaxStreamedColumns);
    most = 1;
  } else if (SkipsRows(g, machine)) {
    b.prefetch = PrefetchesNextLine(g, machine);
  } else if (info.num_vecs > kFewRegisters || g.taps() < kLeastHeldTaps ||
             g.columns.out() < kLeastHeldOutputs) {
    return false;
  } else if (IsDense(g)) {
    if (g.ic > kFewChannels || g.columns.stride() > 1) return false;
    b.prefetch = ChannelSpec::kNextTile;
  }
  const int64_t rows = g.rows.outputs(0);
  b.tile_rows = CeilDiv(rows, CeilDiv(rows, most));
  return true;
}

// Where rows share their L1 sets, the lines of a window must not be more than the sets of its columns hold.
int ColumnsWithoutConflicts(const Geometry& g, bool stages, int rows, int most) {
  const int64_t column = g.src.column * kFloat;
  const int64_t row = g.src.row * kFloat;
  if (!IsDense(g) || stages || g.taps() >= kManyTaps || row % kAliasBytes != 0 ||
      kAliasBytes % column != 0) {
    return most;
  }
  const int64_t input_rows = (rows - 1) * g.rows.step() + g.kh;
  const auto lines = [&](int columns) { return input_rows * ((columns - 1) * g.columns.step() + g.kw); };
  int columns = most;
  while (columns > 2 && lines(columns) > kLinesPerSet * (kAliasBytes / column)) --columns;
  return columns;
}

void ChooseTile(const Geometry& g, const jit::IsaInfo& info, int kept, const MachineModel& machine,
                ChannelBlocking& b) {
  b.holds = ChooseHeld(g, info, kept, machine, b);
  if (b.holds) return;
  if (!b.stages && PrefetchesNextLine(g, machine)) b.prefetch = 1;
  const int registers = info.num_vecs - kept;
  b.tile_rows = RollingRows(g, info, machine);
  b.rolls = b.tile_rows > 0;
  if (b.rolls) {
    b.pairs = Pairs(g, info, machine), b.streams = RollsStreamed(g, info, machine);
    b.rows = static_cast<int>(CeilDiv(g.kh, g.rows.step()));
    b.columns[b.rows] = RollingColumns(g, registers, b.rows, b.depth());
    return;
  }
  const bool share = g.rows.step() < g.kh && g.rows.outputs(0) > 1 && g.kw <= kMaxTaps;
  b.rows = share ? 2 : 1;
  // Staged rows are copied once for several tiles.
  b.tile_rows = b.stages ? StagedRows(g, b.rows, b.staged_pixel) : b.rows;
  for (int rows = 1; rows <= b.rows; ++rows)
    b.columns[rows] = ColumnsWithoutConflicts(g, b.stages, rows, MaxColumns(registers, rows));
}

// Kernels of one column on images beyond L1 go along the rows of the image (tuning.h): as many columns at a time as
// leave the rows of a tile in L2 until the next tile, which shares most of them.
void GoSideways(const Geometry& g, int lanes, const MachineModel& machine, int threads, ChannelBlocking& b) {
  const int64_t first = g.rows.input(0, 0), last = first + (g.rows.out() - 1) * g.rows.stride();
  const double l2 = static_cast<double>(machine.l2_bytes);
  const bool inside = first >= 0 && last < g.rows.in();
  if (!ColumnsAreRows(g) || !HasWholeLines(g) || b.stages || g.kw > kMaxTaps || !inside) return;
  if (g.image_bytes <= kPrefetchL2Share * l2) return;
  if (!IsDense(g) && ColumnBytes(g) % kAliasBytes == 0 && !IsLarge(g, machine)) return;
  const int64_t window = (LimitColumns(g.columns, b.columns[1]) - 1) * g.columns.step() + g.kw;
  const int64_t channels = IsDense(g) ? g.ic : lanes, rows = g.rows.out();
  const auto most = static_cast<int64_t>(kSidewaysL2Share * l2) / (window * channels * g.rows.stride() * kFloat);
  b.tile_rows = std::clamp<int64_t>(most, 1, CeilDiv(rows, threads));
  b.tile_rows = CeilDiv(rows, CeilDiv(rows, b.tile_rows));
  b.sideways = true, b.prefetch = 0, b.ahead = 0;
}

}  // namespace

bool CanRoll(const Axis& rows, int64_t block) {
  const int64_t outputs = std::min(block, rows.outputs(rows.phases() - 1));
  const int64_t outside = rows.Inside(rows.input(0, 0), rows.kernel()).begin;
  return outside < rows.kernel() && (outputs - 1) * rows.step() >= outside &&
         rows.input(0, 0) + (rows.out() - 1) * rows.stride() < rows.in();
}

RollingCounts CountRolling(const Axis& rows, int64_t first_input, int64_t outputs) {
  const int64_t step = rows.step(), last_start = (outputs - 1) * step;
  const TapRange inside = rows.Inside(first_input, last_start + rows.kernel());
  return {inside.begin, outputs - (inside.begin + step - 1) / step, inside.end - 1 - last_start};
}

HeldRows CountHeld(const Axis& rows, int64_t first_input, int64_t outputs, int tile_rows) {
  const int64_t step = rows.step(), kernel = rows.kernel();
  const TapRange inside = rows.Inside(first_input, (outputs - 1) * step + kernel);
  HeldRows held;
  held.first_edges = std::min(outputs, CeilDiv(inside.begin, step));
  const int64_t reach_end = inside.end < kernel ? 0 : (inside.end - kernel) / step + 1;
  held.full = (std::clamp(reach_end, held.first_edges, outputs) - held.first_edges) / tile_rows;
  const int64_t last = held.first_edges + held.full * tile_rows;
  held.last_edges = outputs - last;
  held.first_before = inside.begin, held.first_behind = inside.end;
  held.last_before = inside.begin - last * step, held.last_behind = inside.end - last * step;
  return held;
}

Isa ChannelIsa(const Geometry& g, Isa isa) {
  const bool blocks_of_8 = g.src_layout == Layout::kNchw8c || g.dst_layout == Layout::kNchw8c;
  return blocks_of_8 ? std::min(isa, Isa::kAvx2) : isa;
}

int64_t CountRowTiles(const Axis& rows, int64_t tile_rows) {
  const int64_t wide = rows.wide_phases(), narrow = rows.phases() - wide;
  const int64_t wide_tiles = CeilDiv(rows.outputs(0), tile_rows);
  return wide * wide_tiles +
         (narrow > 0 ? narrow * CeilDiv(rows.outputs(rows.phases() - 1), tile_rows) : 0);
}

RowTile FindRowTile(const Axis& rows, int64_t tile_rows, int64_t index) {
  const int64_t wide = rows.wide_phases(), wide_tiles = CeilDiv(rows.outputs(0), tile_rows);
  RowTile tile;
  if (index < wide * wide_tiles) {
    tile.phase = index / wide_tiles, tile.first = index % wide_tiles;
  } else {
    const int64_t narrow_tiles = CeilDiv(rows.outputs(rows.phases() - 1), tile_rows);
    const int64_t behind = index - wide * wide_tiles;
    tile.phase = wide + behind / narrow_tiles, tile.first = behind % narrow_tiles;
  }
  tile.first *= tile_rows;
  tile.rows = std::min(tile_rows, rows.outputs(tile.phase) - tile.first);
  return tile;
}

// A few tall blocks of rows are made lower where that gives all threads as many: with two threads, 28 rows in three
// blocks of 10 take 1.1 to 1.3 times as long as in four of 7 (100@28, 96@56 stride 2, Zen 3).
void EvenRowTiles(const Geometry& g, int threads, ChannelBlocking& b) {
  const auto units = [&](int64_t rows) { return g.n * CountRowTiles(g.rows, rows); };
  if (!b.goes_down() || units(b.tile_rows) < threads || units(b.tile_rows) >= kManyRowTiles * threads) return;
  for (int64_t rows = b.tile_rows; rows > b.tile_rows / 2; --rows) {
    if (units(rows) % threads != 0) continue;
    b.tile_rows = CeilDiv(g.rows.outputs(0), CeilDiv(g.rows.outputs(0), rows));
    return;
  }
}

ChannelBlocking ChooseChannelBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                      int threads) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  const int lanes = info.vec_lanes();
  ChannelBlocking b;
  b.vectors = SplitVectors(g, lanes);
  int kept = 0;  // registers that a vector keeps beside sums, inputs and weights
  for (const VectorRun& run : b.vectors) {
    constexpr unsigned kKeep = ChannelSpec::kPermuted | ChannelSpec::kMaskedSrc;
    kept = std::max(kept, std::popcount(run.flags & kKeep));
  }
  b.in_quarters = LoadsQuarters(g, lanes);
  b.stages = Stages(g, info, machine);
  b.staged_channels = g.transposes ? kTransposedChannels : kStagedChannels;
  b.staged_pixel = g.transposes ? kTransposedChannels : kStagedPixel;
  ChooseTile(g, info, kept, machine, b);
  GoSideways(g, lanes, machine, threads, b);
  if (threads > 1 && IsDense(g)) EvenRowTiles(g, threads, b);
  const int64_t units = g.n * CountRowTiles(g.rows, b.tile_rows);
  if (b.stages) b.staged_bytes = StagedBytes(g, b);
  b.strip_vecs =
      b.stages ? b.staged_channels / lanes : StripVecs(g, lanes, b.vectors[0].vecs, units, threads);
  b.strips = CeilDiv(b.vectors[0].vecs, b.strip_vecs);
  ChooseThreads(units, threads, b);
  const double alone = PredictChannelCycles(g, b, lanes, machine) / (machine.clock_ghz * 1000);
  double used = b.unit_threads * b.strip_threads;
  // A small problem must not pay for waking threads.
  if (!machine.TeamPays(alone, used)) used = b.unit_threads = b.strip_threads = 1;
  b.predicted_us = alone / used + machine.call_us + (used > 1 ? machine.fork_join_us : 0);
  return b;
}

}  // namespace rafter::depthwise
