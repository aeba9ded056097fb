// kernels/conv/depthwise/blocking.cc
#include "kernels/conv/depthwise/blocking.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/conv/depthwise/column_program.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/cost/conv_cost.h"

namespace rafter::depthwise {

namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

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
    // A vector without any channel has no block in a source of smaller blocks.
    const bool masked_src = permuted == 0 ? src_dense || used == 0 : few_inputs;
    const uint8_t flags = permuted | (masked_src ? ChannelSpec::kMaskedSrc : 0) |
                          (dst_dense ? ChannelSpec::kMaskedDst : ChannelSpec::kZeroedDst);
    runs.push_back({channel, 1, flags, permuted != 0 ? few : used, used, false});
  };
  if (rest > 0 && dst_dense && src_dense && full > 0 && !g.has_residual()) {
    runs.push_back({g.oc - lanes, 1, always, few, lanes, true});  // over the last full vector once more
    return runs;
  }
  if (rest > 0) partly_filled(full * lanes, rest);
  const int64_t covered = (full + (rest > 0)) * lanes, block = ChannelBlock(g.dst_layout);
  if (!dst_dense && covered % block != 0) partly_filled(covered, 0);
  return runs;
}

// Vectors per strip: blocked layouts go block by block; in NHWC the part of a tile that stays in L1 decides.
int64_t StripVecs(const Geometry& g, int lanes, const MachineModel& machine) {
  const int64_t vecs_per_block = kBlock / lanes;
  if (g.src_layout != Layout::kNhwc || g.dst_layout != Layout::kNhwc) {
    return vecs_per_block;
  }
  (void)machine;
  return std::max<int64_t>(vecs_per_block, 128 / lanes);
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

double AxisPairs(const Axis& axis) {
  // Taps that fall inside, over all outputs: phases share the counting of the cost model.
  AxisShape shape;
  shape.in = axis.in(), shape.out = axis.out(), shape.kernel = axis.kernel();
  shape.stride = axis.stride(), shape.dilation = axis.dilation(), shape.pad_begin = -axis.input(0, 0);
  return CountAxis(shape).pairs;
}

// A tile of C columns needs C - 1 inputs and up to 2 weights at hand, and at least 5 temporaries when it ends.
int MaxColumns(int registers, int rows) {
  for (int columns = kMaxColumns; columns > 1; --columns) {
    const int inputs = columns - 1 + std::min(rows, 2);
    if (rows * columns + std::max(inputs, 5) <= registers) return columns;
  }
  return 1;
}

int LimitedColumns(const Geometry& g, const ChannelBlocking& b) {
  return LimitColumns(g.columns, b.columns[b.rows]);
}

double PredictCycles(const Geometry& g, const ChannelBlocking& b, int lanes, const MachineModel& machine) {
  double vecs = 0;
  for (const VectorRun& run : b.vectors) vecs += static_cast<double>(run.vecs);
  const double outputs = static_cast<double>(g.n * g.rows.out()) * static_cast<double>(g.columns.out()) * vecs;
  const double taps = static_cast<double>(g.n) * AxisPairs(g.rows) * AxisPairs(g.columns) * vecs;
  const int columns = LimitedColumns(g, b);
  const double chains = std::max(1, std::min<int>(b.rows, static_cast<int>(g.rows.outputs(0))) *
                                        static_cast<int>(std::min<int64_t>(columns, g.columns.outputs(0))));
  const double fill = std::max(1.0, machine.fma_pipes * machine.fma_latency / (kOverlap * chains));
  const double fma = taps / machine.fma_pipes * fill;
  const double bytes = static_cast<double>(sizeof(float)) *
                       (outputs * lanes + static_cast<double>(g.n * g.ic * g.rows.in()) *
                                              static_cast<double>(g.columns.in()));
  const double bandwidth = bytes <= static_cast<double>(machine.l2_bytes)   ? machine.l2_bytes_per_cycle
                           : bytes <= static_cast<double>(machine.l3_bytes) ? machine.l3_bytes_per_cycle
                                                                            : machine.dram_bytes_per_cycle;
  return std::max(fma, bytes / bandwidth) * kLosses + outputs * kOutputCycles;
}

}  // namespace

Isa ChannelIsa(const Geometry& g, Isa isa) {
  const bool blocks_of_8 = g.src_layout == Layout::kNchw8c || g.dst_layout == Layout::kNchw8c;
  return blocks_of_8 ? std::min(isa, Isa::kAvx2) : isa;
}

int64_t CountRowTiles(const Axis& rows, int tile_rows) {
  const int64_t wide = rows.wide_phases(), narrow = rows.phases() - wide;
  const int64_t wide_tiles = CeilDiv(rows.outputs(0), tile_rows);
  return wide * wide_tiles + (narrow > 0 ? narrow * CeilDiv(rows.outputs(rows.phases() - 1), tile_rows) : 0);
}

ChannelBlocking ChooseChannelBlocking(const Geometry& g, Isa isa, const MachineModel& machine, int threads) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  const int lanes = info.vec_lanes();
  ChannelBlocking b;
  b.vectors = SplitVectors(g, lanes);
  int kept = 0;  // registers that a vector keeps beside sums, inputs and weights
  for (const VectorRun& run : b.vectors) {
    constexpr unsigned kKeep = ChannelSpec::kPermuted | ChannelSpec::kMaskedSrc;
    kept = std::max(kept, std::popcount(run.flags & kKeep));
  }
  const bool share = g.rows.step() < g.kh && g.rows.outputs(0) > 1 && g.kw <= kMaxTaps;
  b.rows = share ? 2 : 1;
  for (int rows = 1; rows <= b.rows; ++rows) b.columns[rows] = MaxColumns(info.num_vecs - kept, rows);
  b.strip_vecs = std::min(StripVecs(g, lanes, machine), std::max<int64_t>(1, b.vectors[0].vecs));
  b.strips = CeilDiv(b.vectors[0].vecs, b.strip_vecs);
  ChooseThreads(g.n * CountRowTiles(g.rows, b.rows), threads, b);
  const double used = b.unit_threads * b.strip_threads;
  b.predicted_us = PredictCycles(g, b, lanes, machine) / used / (machine.clock_ghz * 1000) + machine.call_us +
                   (used > 1 ? machine.fork_join_us : 0);
  return b;
}

}  // namespace rafter::depthwise
