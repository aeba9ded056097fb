// kernels/conv/tile/staging.cc: see staging.h.
#include "kernels/conv/tile/staging.h"

#include <algorithm>
#include <numeric>

#include "kernels/conv/tile/tuning.h"
#include "kernels/sizes.h"

namespace rafter::tile {

namespace {

// Rows of inputs under `rows` rows of outputs.
int64_t InRows(const Geometry& g, int64_t rows) {
  return std::min(g.in.h, (rows - 1) * g.stride.h + (g.kernel.h - 1) * g.dilation.h + 1);
}

// Lines of a slice of `lines` lines per pixel that a cache keeps, when pixels are `stride` bytes apart: each of its
// ways holds as many pixels as there are multiples of the stride within it.
int64_t KeptLines(int64_t cache_bytes, int64_t ways, int64_t stride, int64_t lines) {
  const int64_t way = cache_bytes / ways;
  const int64_t pixels = std::max<int64_t>(1, way / std::gcd(way, std::max<int64_t>(1, stride)));
  return std::min(cache_bytes / kLineBytes, pixels * lines * ways);
}

bool IsFar(const Geometry& g, const MachineModel& machine) {
  return g.groups > 1 && g.src_layout == Layout::kNhwc && g.taps() > 1 && g.src.w >= kFarPixels * g.ic_g &&
         g.n * g.in.h * g.in.w * g.groups * g.ic_g * kFloat > machine.l2_bytes;
}

// Whether a 1x1 kernel reads blocks of channels, all of them for each output.
bool ReadsPlanes(const Geometry& g) {
  return g.groups == 1 && g.taps() == 1 && ChannelBlock(g.src_layout) > 1 && g.pad_top == 0 && g.pad_left == 0 &&
         (g.out.h - 1) * g.stride.h < g.in.h && (g.out.w - 1) * g.stride.w < g.in.w;
}

// Floats between pixels of the stage: not at a multiple of four lines, else they share few sets of L1 here, too.
int64_t StagedPixel(int64_t channels) {
  const int64_t floats = RoundUp(channels, kLineFloats);
  return floats % (4 * kLineFloats) == 0 ? floats + kLineFloats : floats;
}

Staging GatherFor(const Geometry& g, int lanes) {
  Staging s;
  s.groups = 1;
  s.block = ChannelBlock(g.src_layout);
  const int64_t blocks = CeilDiv(g.ic_g, s.block);
  s.pixel = StagedPixel(blocks * s.block);
  s.row = g.out.w * s.pixel;
  s.cycles = static_cast<double>(g.n * g.out.h * g.out.w * blocks * CeilDiv(s.block, lanes)) * kGatherCycles;
  return s;
}

int64_t LinesPerPixel(const Geometry& g) { return CeilDiv(g.ic_g * kFloat, kLineBytes); }

}  // namespace

Staging StagingFor(const Geometry& g, const MachineModel& machine, int lanes) {
  Staging s;
  if (g.out.h == 0 || g.out.w == 0) return s;
  if (ReadsPlanes(g)) return GatherFor(g, lanes);
  if (!IsFar(g, machine)) return s;
  for (int64_t groups = 1; groups <= g.groups && s.groups * g.ic_g * kFloat < kStageRunBytes; ++groups) {
    if (g.groups % groups == 0) s.groups = groups;
  }
  s.pixel = StagedPixel(s.groups * g.ic_g);
  s.row = g.in.w * s.pixel;
  const double budget = static_cast<double>(machine.l2_bytes) * kStageL2Share / kFloat;
  int64_t rows = g.out.h;
  while (rows > 1 && static_cast<double>(InRows(g, rows) * s.row) > budget) --rows;
  if (static_cast<double>(InRows(g, rows) * s.row) > 2 * budget) return {};
  const int64_t chunks = CeilDiv(g.out.h, rows);
  s.out_rows = CeilDiv(g.out.h, chunks);
  s.in_rows = InRows(g, s.out_rows);
  s.cycles = static_cast<double>(g.n * chunks * s.in_rows * g.in.w * g.groups * LinesPerPixel(g)) * kStageLineCycles;
  return s;
}

Geometry StagedGeometry(const Geometry& g, const Staging& staging) {
  Geometry staged = g;
  staged.src = {0, 1, staging.row, staging.pixel};
  if (!staging.gathers()) return staged;
  staged.src_layout = Layout::kNhwc;
  staged.src.n = g.out.h * staging.row;
  staged.in = g.out, staged.stride = {1, 1};
  return staged;
}

double FarCycles(const Geometry& g, const MachineModel& machine, int px) {
  constexpr int64_t kL1Ways = 8, kL2Ways = 8;
  const int64_t stride = g.src.w * kFloat, lines = LinesPerPixel(g);
  const int64_t block_lines = CeilDiv(std::min(g.ic_g, SumBlock(g.ic_g)) * kFloat, kLineBytes);
  const int64_t columns = (px - 1) * g.stride.w + (g.kernel.w - 1) * g.dilation.w + 1;
  // The inputs under a row of outputs stay in L2 from row to row and from channel tile to channel tile.
  if (2 * g.kernel.h * g.in.w * lines <= KeptLines(machine.l2_bytes, kL2Ways, stride, lines)) return 0;
  const bool reused = columns * block_lines <= KeptLines(machine.l1d_bytes, kL1Ways, stride, block_lines);
  const int64_t pixels = g.kernel.h * (reused ? std::min(columns, px * g.stride.w) : g.kernel.w * px);
  return static_cast<double>(pixels * lines) * kFarLineCycles;
}

}  // namespace rafter::tile
