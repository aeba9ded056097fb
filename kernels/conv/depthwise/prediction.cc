// kernels/conv/depthwise/prediction.cc
#include "kernels/conv/depthwise/prediction.h"

#include <algorithm>

#include "jit/isa.h"
#include "kernels/conv/depthwise/column_program.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/cost/conv_cost.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

namespace {

// Taps that fall inside, over all outputs: phases share the counting of the cost model.
double AxisPairs(const Axis& axis) {
  AxisShape shape;
  shape.in = axis.in(), shape.out = axis.out(), shape.kernel = axis.kernel();
  shape.stride = axis.stride(), shape.dilation = axis.dilation(), shape.pad_begin = -axis.input(0, 0);
  return CountAxis(shape).pairs;
}

// Of all images.
double TensorBytes(const Geometry& g) { return static_cast<double>(g.n) * g.image_bytes; }

// Cycles per byte from where tensors of so many bytes are.
double CyclesPerByte(double bytes, const MachineModel& machine) {
  const double l3 = static_cast<double>(machine.l3_bytes);
  if (bytes <= static_cast<double>(machine.l2_bytes)) return 1 / machine.l2_bytes_per_cycle;
  if (bytes > kMemoryL3Share * l3) return 1 / machine.dram_bytes_per_cycle;
  return (bytes <= kNearL3Share * l3 ? kNearL3Traffic : kFarL3Traffic) / machine.l3_bytes_per_cycle;
}

// Whether the columns of a tile share so few L1 sets that lines come more than once.
bool IsCrowded(const Geometry& g) {
  if (g.src_layout != Layout::kNhwc || g.transposes) return false;
  const int64_t column = g.columns.dilation() * g.src.column * kFloat;
  const bool rows_alias = g.src.row * kFloat % kAliasBytes == 0;
  return column % (2 * kPairBytes) == 0 || (rows_alias && g.columns.stride() > 1 && column % kPairBytes == 0);
}

// Time over that of the FMAs alone.
double ChannelLosses(const Geometry& g, const ChannelBlocking& b, int lanes) {
  double losses = b.goes_down() ? kRollingLosses : b.rows > 1 ? kTwoRowLosses : kOneRowLosses;
  const bool aligned = g.transposes || g.src_layout != Layout::kNhwc || g.src.column % lanes == 0;
  if (!aligned) losses += kUnalignedLosses;
  if (b.rolls && g.rows.step() > 1 && g.taps() >= kManyTaps) losses += kStridedLosses;
  return g.multiplier == 1 ? losses : losses * (b.in_quarters ? kQuarterLosses : kPermutedLosses);
}

// Calls of kernels, and the tiles of one vector's depth.
double CallCycles(const Geometry& g, const ChannelBlocking& b, double vecs, int columns) {
  constexpr double kMostRuns = 3;  // of tiles that share their code: left, middle, right
  const double tiles = static_cast<double>(CeilDiv(g.columns.outputs(0), columns));
  const int64_t call_rows = b.goes_down() ? b.tile_rows : b.rows;
  const double rows = static_cast<double>(g.n * CountRowTiles(g.rows, call_rows) * g.columns.phases());
  const double calls = rows * static_cast<double>(b.strips) * std::min(tiles, kMostRuns);
  return calls * kCallCycles + rows * tiles * vecs / b.depth() * kTileCycles;
}

double ChannelMemory(const Geometry& g, const ChannelBlocking& b, const MachineModel& machine) {
  const double bytes = TensorBytes(g);
  const double per_byte = CyclesPerByte(bytes, machine);
  if (g.transposes) return bytes * per_byte;
  if (b.stages) return bytes * std::max(per_byte, kStagedCycles);
  return bytes * (IsCrowded(g) ? std::max(per_byte, kCrowdedCycles) : per_byte);
}

}  // namespace

double PredictChannelCycles(const Geometry& g, const ChannelBlocking& b, int lanes, const MachineModel& machine) {
  double vecs = 0;
  for (const VectorRun& run : b.vectors) vecs += run.is_padding() ? 0 : static_cast<double>(run.vecs);
  const double outputs =
      static_cast<double>(g.n * g.rows.out()) * static_cast<double>(g.columns.out()) * vecs;
  const double taps = static_cast<double>(g.n) * AxisPairs(g.rows) * AxisPairs(g.columns) * vecs;
  const int columns = LimitColumns(g.columns, b.columns[b.rows]);
  const double chains = b.depth() * std::max(1, std::min<int>(b.rows, static_cast<int>(g.rows.outputs(0))) *
                                                    static_cast<int>(std::min<int64_t>(columns, g.columns.outputs(0))));
  const double fill = std::max(1.0, machine.fma_pipes * machine.fma_latency / (kOverlap * chains));
  const double work = taps / machine.fma_pipes * fill * ChannelLosses(g, b, lanes) + outputs * kOutputCycles +
                      CallCycles(g, b, vecs, columns);
  const double memory = ChannelMemory(g, b, machine);
  const double exposed = b.stages && !g.transposes ? memory : std::max(0.0, memory - kHiddenShare * work);
  return work + exposed + (g.transposes ? TensorBytes(g) / static_cast<double>(kFloat) * kTransposeCycles : 0);
}

namespace {

// Bands: instructions, of the input rows inside the image only; starts of calls and of runs of tiles.
double BandCycles(const Geometry& g, const WidthBlocking& b) {
  const int64_t row_vecs = CeilDiv(g.columns.out(), b.shape.lanes), row_tiles = CeilDiv(row_vecs, b.shape.vecs);
  const int step = static_cast<int>(g.rows.step());
  const WidthTile tile = TileOf(g, b.rows, static_cast<int>(CeilDiv(row_vecs, row_tiles)));
  const double instructions = BandTileInstructions(jit::GetIsaInfo(b.isa).num_vecs, tile, step);
  const double all_rows = static_cast<double>(g.rows.out() * g.kh), inside = AxisPairs(g.rows) / all_rows;
  const double planes = static_cast<double>(g.n * g.oc), bands = planes * static_cast<double>(g.rows.out()) / b.rows;
  const double calls = planes * static_cast<double>(CountRowTiles(g.rows, b.tile_rows));
  constexpr double kMostRuns = 3;  // left, middle, right
  const double runs = bands * std::min(kMostRuns, static_cast<double>(row_tiles));
  const double work = bands * static_cast<double>(row_tiles) * instructions * inside * kBandCycles +
                      runs * kBandRunCycles + calls * kBandCallCycles;
  if (g.taps() < kManyTaps || g.kw == 1) return work;
  // The last vector is a tile of its own where taps of the one before it reach over the border: a chain of FMAs.
  const int64_t over = g.columns.out() % b.shape.lanes;
  const bool alone = over > 0 && over <= g.kw / 2;
  return work * kLargeBandLosses + (alone ? bands * static_cast<double>(g.taps()) * inside * kBandChainCycles : 0);
}

// Lines: by vector, by row.
double LineCycles(const Geometry& g, const WidthBlocking& b) {
  const double rows = static_cast<double>(g.n * g.oc) * static_cast<double>(g.rows.out());
  const double vecs = rows * static_cast<double>(CeilDiv(g.columns.out(), b.shape.lanes));
  const double taps = static_cast<double>(g.kw);
  const double picks = g.columns.stride() == 2 ? taps * kWidthPickCycles : 0;
  return vecs * (taps * kLineTapCycles + kLineVectorCycles + picks) + rows * kLineCycles;
}

}  // namespace

// FMAs, loads that bind where there are more than so many of them for each, picking lanes (stride 2), ends of rows.
double PredictWidthCycles(const Geometry& g, const WidthBlocking& b, const MachineModel& machine) {
  const double memory = TensorBytes(g) * CyclesPerByte(TensorBytes(g), machine);
  const auto with_memory = [&](double cycles) { return cycles + std::max(0.0, memory - kHiddenShare * cycles); };
  if (b.lines) return with_memory(LineCycles(g, b));
  if (b.bands) return with_memory(BandCycles(g, b));
  const int64_t row_vecs = CeilDiv(g.columns.out(), b.shape.lanes), row_tiles = CeilDiv(row_vecs, b.shape.vecs);
  const WidthTile tile = TileOf(g, b.rows, static_cast<int>(CeilDiv(row_vecs, row_tiles)));
  const WidthRegisters registers = ChooseWidthRegisters(jit::GetIsaInfo(b.isa).num_vecs, tile);
  const double kw = static_cast<double>(g.kw), vecs = static_cast<double>(row_vecs);
  const double uses = static_cast<double>(g.kh) / static_cast<double>(g.rows.step());  // output rows per input row
  const double loads = registers.loads / (uses * kw * tile.vecs);                       // per FMA
  const double planes = static_cast<double>(g.n * g.oc), out_rows = planes * static_cast<double>(g.rows.out());
  const double row_taps = planes * AxisPairs(g.rows);  // rows of inputs, once per output row that they reach
  double tap = kWidthTapCycles + kWidthLoadCycles * std::max(0.0, loads - kWidthFreeLoads);
  if (tile.every_other) tap += kWidthPickCycles / uses;
  double work = row_taps * kw * vecs * tap + out_rows * vecs * kWidthVectorCycles;
  if (g.columns.out() < b.shape.lanes) work += row_taps / uses * kWidthMaskedCycles;
  // Kernels of one row have nothing to start or to end.
  const bool plane = g.kh == 1 || (g.columns.out() <= kMaxPlaneColumns && g.rows.out() <= MostPlaneRows(g));
  const double tiles = planes * static_cast<double>(CountRowTiles(g.rows, b.tile_rows) * row_tiles);
  work += tiles * (plane ? kWidthPlaneCycles : kWidthTileCycles);
  if (g.multiplier > kFewMultiplied) work += planes * kMultipliedCycles;
  return with_memory(work);
}

}  // namespace rafter::depthwise
