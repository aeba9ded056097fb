// kernels/conv/tile/blocking.cc
#include "kernels/conv/tile/blocking.h"

#include <algorithm>
#include <limits>
#include <span>

#include "kernels/conv/tile/stores.h"
#include "kernels/conv/tile/tuning.h"
#include "kernels/cost/conv_cost.h"
#include "kernels/sizes.h"

namespace rafter::tile {

namespace {

std::span<const TileShape> Shapes(const jit::IsaInfo& isa) {
  if (isa.num_vecs >= 32) return kShapes32;
  return kShapes16;
}

constexpr int kMaxVecs = 24;  // of any shape

// Long rows are cut into stretches of about so many pixels, so that inputs of a chunk fit and threads share; shorter
// ones where outputs are staged.
constexpr int64_t kStretch = 96, kLeastStretch = 16;

// The search of a plan: geometry and machine, with the costs that several choices need.
class Chooser {
 public:
  // `g` is the staged geometry where `staging` is used.
  Chooser(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine, int threads,
          const Staging& staging);

  Blocking Choose(const TileChoice& tile);

 private:
  // Cycles of one input channel for one tile: the slowest of FMA pipes, load ports, chains, weight stream.
  double StepCycles(int px, int vecs) const;
  double TileCycles(int px, int vecs) const;
  double PieceCycles() const;
  double EdgeCycles() const;
  double OutputCycles(int vecs) const;
  double RowCycles(int vecs);
  int PxMax(int vecs) const { return std::min(px_max_[vecs], px_cap_); }
  int PxCap() const;
  bool HasStridedAlias() const;

  void SplitChannels(int main_vecs, ChannelRuns& runs) const;
  void AddFull(ChannelRuns& runs, int64_t first, int64_t vecs, int main_vecs) const;
  double ChannelCycles(const ChannelRuns& runs);
  double ChooseChannels(int only_vecs, ChannelRuns& channels);
  void ChooseOrder(Blocking& b) const;
  void LimitToStage(Blocking& b) const;
  void ChoosePasses(Blocking& b) const;
  InputPrefetch ChooseInputPrefetch(const Blocking& b) const;
  void SplitRows(Blocking& b) const;
  void ChooseThreads(Blocking& b) const;
  void ChooseStores(Blocking& b) const;

  const Geometry& g_;
  const jit::IsaInfo& isa_;
  const MachineModel& machine_;
  const int threads_;
  const Staging staging_;
  const bool reads_far_;  // inputs, in place
  const DstOrder order_;
  // Plans are made often, divisions are slow, and every shape asks for the same.
  const double steps_, columns_;  // input channels times taps; kernel columns (or joined rows) of all channel blocks
  const double fma_cycles_, load_cycles_, stream_cycles_;  // per FMA, load, byte of weights
  const double l1_weights_;                                // bytes that stay in L1
  const double pixel_cycles_;                              // per pixel, for inputs that no cache keeps
  const double piece_cycles_;                              // per tile, for inputs in blocks
  const double edge_cycles_;                               // per row
  int px_max_[kMaxVecs + 1] = {};        // of the shape with so many vectors, 0: none
  double row_cycles_[kMaxVecs + 1] = {}; // 0: not known yet
  int px_cap_ = 0;
};

// Input channels times taps of an average pixel: those outside of the image are left out.
double Steps(const Geometry& g) {
  const auto inside = [](int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
    if (pad == 0 && (out - 1) * stride + (kernel - 1) * dilation < in) return static_cast<double>(kernel);
    return CountAxis({in, out, kernel, stride, dilation, pad}).pairs / static_cast<double>(out);
  };
  return static_cast<double>(g.ic_g) *
         inside(g.in.h, g.out.h, g.kernel.h, g.stride.h, g.dilation.h, g.pad_top) *
         inside(g.in.w, g.out.w, g.kernel.w, g.stride.w, g.dilation.w, g.pad_left);
}

Chooser::Chooser(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine, int threads,
                 const Staging& staging)
    : g_(g),
      isa_(isa),
      machine_(machine),
      threads_(threads),
      staging_(staging),
      reads_far_(!staging.used() && g.groups > 1 && StagingFor(g, machine, isa.vec_lanes()).used()),
      order_(DstOrderOf(g.dst_layout, isa.vec_lanes())),
      steps_(Steps(g)),
      columns_(static_cast<double>((ColumnsJoin(g) ? g.kernel.h : g.taps()) * CeilDiv(g.ic_g, SumBlock(g.ic_g)))),
      fma_cycles_(1.0 / machine.fma_pipes),
      load_cycles_(1.0 / machine.load_ports),
      stream_cycles_(1 / (machine.l2_bytes_per_cycle * kL2Overlap)),
      l1_weights_(static_cast<double>(machine.l1d_bytes) * kL1Share),
      pixel_cycles_(HasStridedAlias() ? static_cast<double>(CeilDiv(g.ic_g * kFloat, kLineBytes)) * kStridedLineCycles
                                      : 0),
      piece_cycles_(PieceCycles()),
      edge_cycles_(EdgeCycles()) {
  for (const TileShape& shape : Shapes(isa)) px_max_[shape.oc_vecs] = shape.px;
}

double Chooser::StepCycles(int px, int vecs) const {
  const double accs = px * vecs;
  const double fma = (accs + kFewChains) * fma_cycles_;
  const double loads = (px + vecs) * load_cycles_;
  const double chains = machine_.fma_latency;
  const double weights = static_cast<double>(vecs) * isa_.vec_bytes;
  const double all = weights * static_cast<double>(g_.taps() * g_.ic_g);
  const double stream = all <= l1_weights_ ? 0 : weights * stream_cycles_;
  return std::max(std::max(fma, loads), std::max(chains, stream)) + kLoadCost * loads +
         kWeightLineCost * weights / kLineBytes;
}

double Chooser::TileCycles(int px, int vecs) const {
  return steps_ * StepCycles(px, vecs) + columns_ * kColumnCycles + kTileCycles + px * pixel_cycles_ +
         px * vecs * kAccumulatorCycles + px * OutputCycles(vecs) +
         (reads_far_ ? FarCycles(g_, machine_, px) : 0) + piece_cycles_;
}

// What a tile loses where its inputs lie in blocks, each in a plane of its own.
double Chooser::PieceCycles() const {
  const int64_t block = ChannelBlock(g_.src_layout);
  if (block == 1 || g_.taps() > 1) return 0;
  const int64_t blocks = CeilDiv(g_.ic_g, block);
  const int64_t pages = std::min(blocks, CeilDiv(blocks * g_.src.c * kFloat, kPageBytes));
  const double cycles = kPieceCycles + kPagedPieceCycles * std::min(1.0, static_cast<double>(pages) / kTlbPages) +
                        (pages > kTlbPages ? kFarPieceCycles : 0);
  return static_cast<double>(blocks) * cycles;
}

// For the lines that one pixel's outputs touch: where neighbouring tiles share a line, both pay for it.
double Chooser::OutputCycles(int vecs) const {
  const int64_t bytes = static_cast<int64_t>(vecs) * isa_.vec_bytes;
  if (order_ == DstOrder::kContiguous) {
    return static_cast<double>(bytes / kLineBytes) * kLineCycles + (bytes % kLineBytes != 0 ? kSharedLineCycles : 0);
  }
  return static_cast<double>(CeilDiv(static_cast<int64_t>(vecs) * isa_.vec_lanes(), ChannelBlock(g_.dst_layout))) *
         kLineCycles;
}

double Chooser::RowCycles(int vecs) {
  double& cycles = row_cycles_[vecs];
  if (cycles > 0) return cycles;
  const int64_t tiles = CeilDiv(g_.out.w, PxMax(vecs));
  const int64_t narrow = g_.out.w / tiles, wide_tiles = g_.out.w % tiles;
  cycles = static_cast<double>(tiles - wide_tiles) * TileCycles(static_cast<int>(narrow), vecs);
  if (wide_tiles > 0) {
    cycles += static_cast<double>(wide_tiles) * TileCycles(static_cast<int>(narrow + 1), vecs);
  }
  return cycles += edge_cycles_;
}

// What the tiles at both ends of a row lose where all others run the columns of a kernel row as one.
double Chooser::EdgeCycles() const {
  const int edges = (g_.pad_left > 0) + (g_.pad_right > 0);
  if (g_.kernel.w == 1) return edges * kPaddedEndCycles;
  if (!ColumnsJoin(g_)) return 0;
  return static_cast<double>(edges * g_.kernel.h * (g_.kernel.w - 1)) * kEdgeColumnCycles;
}

bool Chooser::HasStridedAlias() const {
  const int64_t step = g_.src.w * g_.stride.w * kFloat;
  const int64_t used = g_.n * g_.out.h * g_.out.w * g_.ic_g * kFloat;
  return g_.taps() == 1 && g_.stride.w > 1 && step % kStridedAliasBytes == 0 && used > machine_.l2_bytes / 4;
}

int Chooser::PxCap() const {
  const int64_t px_bytes = g_.src.w * g_.stride.w * static_cast<int64_t>(sizeof(float));
  if (px_bytes % kAliasBytes != 0) return std::numeric_limits<int>::max();
  return machine_.l1d_bytes > (32 << 10) ? kMaxAliasedPixels : kMaxAliasedPixelsSmallL1;
}

// Full vectors [first, first + vecs) in tiles of main_vecs; a rest of one vector is evened out with its
// neighbour (21 * 3 + 1 becomes 20 * 3 + 2 * 2).
void Chooser::AddFull(ChannelRuns& runs, int64_t first, int64_t vecs, int main_vecs) const {
  int64_t count = vecs / main_vecs;
  int64_t rest = vecs % main_vecs;
  int64_t last = 0;
  if (rest == 1 && count > 0 && main_vecs > 2 && order_ != DstOrder::kPairs) {
    --count, rest += main_vecs;
    last = rest - rest / 2, rest /= 2;
  }
  const auto add = [&](int64_t n, int64_t size) {
    for (int64_t left = size; n > 0 && left > 0;) {  // sizes without a shape are cut further
      int64_t piece = left;
      while (px_max_[piece] == 0) --piece;
      runs.push_back({first, n, static_cast<int>(piece), Tail::kNone, 0});
      first += n * piece, left -= piece;
    }
  };
  add(count, main_vecs);
  add(1, rest);
  add(1, last);
}

void Chooser::SplitChannels(int main_vecs, ChannelRuns& runs) const {
  runs.clear();
  const int lanes = isa_.vec_lanes();
  const int64_t full = g_.oc_g / lanes;
  const int rest = static_cast<int>(g_.oc_g % lanes);
  if (order_ == DstOrder::kPairs) {
    // Blocks of two vectors: full pairs, then the vectors of a partly filled block one by one.
    AddFull(runs, 0, full / 2 * 2, main_vecs);
    if (full % 2 != 0) runs.push_back({full - 1, 1, 1, Tail::kNone, 0});
    if (rest != 0) runs.push_back({full, 1, 1, Tail::kZeroed, rest});
    if ((full + (rest != 0)) % 2 != 0) runs.push_back({full + (rest != 0), 1, 1, Tail::kZeroed, 0});
    return;
  }
  const int64_t vecs = full + (rest != 0);
  AddFull(runs, 0, vecs, main_vecs);
  if (rest == 0) return;
  ChannelRun& end = runs.back();
  if (end.count > 1) {
    --end.count;
    runs.push_back({end.first_vec + end.count * end.oc_vecs, 1, end.oc_vecs, Tail::kNone, 0});
  }
  runs.back().tail_lanes = rest;
  runs.back().tail = order_ == DstOrder::kContiguous                     ? Tail::kMasked
                     : order_ == DstOrder::kHalves && rest <= lanes / 2 ? Tail::kZeroedHalf
                                                                        : Tail::kZeroed;
}

double Chooser::ChannelCycles(const ChannelRuns& runs) {
  double cycles = kKindCycles * static_cast<double>(runs.size() - 1);
  for (const ChannelRun& run : runs) cycles += static_cast<double>(run.count) * RowCycles(run.oc_vecs);
  return cycles;
}

// Which of weights and inputs is read again and again from beyond L2. Weights are streams that the kernel
// prefetches; inputs are read in pieces of 16 channels, which costs several times as much per byte.
void Chooser::ChooseOrder(Blocking& b) const {
  const double l2 = static_cast<double>(machine_.l2_bytes) * kL2Share;
  const double row_bytes = static_cast<double>(g_.in.w * g_.ic_g) * static_cast<double>(g_.stride.h) * sizeof(float) /
                           static_cast<double>(b.segments);
  const int64_t units = g_.n * g_.out.h * b.segments;
  const double weights = static_cast<double>(g_.oc_g * g_.ic_g * g_.taps()) * sizeof(float);
  b.units_per_chunk = std::max<int64_t>(1, units);
  const double inputs = row_bytes * static_cast<double>(units);
  if (inputs <= l2) return;
  const double chunk_units = std::max(1.0, l2 / row_bytes);
  const double passes = static_cast<double>(units) / chunk_units;
  const double tiles = static_cast<double>(CeilDiv(g_.oc_g, b.channels[0].oc_vecs * isa_.vec_lanes()));
  if (weights <= l2 || passes * weights + inputs < kInputCost * (tiles * inputs) + weights) {
    b.units_per_chunk = CeilDiv(units, CeilDiv(units, static_cast<int64_t>(chunk_units)));
  }
}

// Chunks of what a stage holds.
void Chooser::LimitToStage(Blocking& b) const {
  b.staging = staging_;
  if (staging_.gathers()) {
    const int64_t unit_floats = CeilDiv(staging_.row, b.segments);
    b.units_per_chunk = std::min(b.units_per_chunk, std::max<int64_t>(1, kMostGatheredBytes / kFloat / unit_floats));
  } else {
    b.units_per_chunk = staging_.out_rows * b.segments;
  }
}

// Weights of a channel tile that exceed their share of L2 are read in several passes, so that all rows of a
// chunk use the part that is in the cache. A pass costs a load and a store of each sum.
void Chooser::ChoosePasses(Blocking& b) const {
  const int64_t blocks = CeilDiv(g_.ic_g, SumBlock(g_.ic_g));
  b.channel_blocks_per_pass = blocks;
  b.prefetches_weights = g_.weight_bytes() > static_cast<double>(machine_.l2_bytes) * kL2Share;
  if (g_.taps() == 1) return;  // one long block
  const int64_t vecs = b.channels[0].oc_vecs;
  const int64_t block_bytes = vecs * isa_.vec_bytes * g_.taps() * SumBlock(g_.ic_g);
  const auto l2 = static_cast<double>(machine_.l2_bytes);
  if (static_cast<double>(blocks * block_bytes) <= l2 * kL2Share) return;
  const int64_t unit_bytes = CeilDiv(g_.out.w, b.segments) * vecs * isa_.vec_bytes;
  if (unit_bytes > kPartialBytes) return;
  b.channel_blocks_per_pass = std::max<int64_t>(1, static_cast<int64_t>(l2 * kPassL2Share) / block_bytes);
  b.units_per_chunk = std::min(b.units_per_chunk, kPartialBytes / unit_bytes);
}

// Threads take chunks of their own where that reads few weights twice: those that share pixels write to the same lines.
void Chooser::SplitRows(Blocking& b) const {
  const int64_t units = g_.n * g_.out.h * b.segments;
  if (threads_ == 1 || staging_.used() || units < 2 * threads_) return;
  if (g_.weight_bytes() > static_cast<double>(machine_.l2_bytes) * kL2Share) return;
  const int64_t chunks = CeilDiv(CeilDiv(units, b.units_per_chunk), threads_) * threads_;
  b.units_per_chunk = CeilDiv(units, chunks);
  b.takes_whole_chunks = b.takes_whole_chunks || b.predicted_us < kWholeChunksUs * threads_;
}

// The weights' prefetch, where there is one, has priority. With a stride nothing is gained.
InputPrefetch Chooser::ChooseInputPrefetch(const Blocking& b) const {
  const double bytes = static_cast<double>(g_.n * g_.in.h * g_.in.w * g_.ic_g) * kFloat;
  const auto l2 = static_cast<double>(machine_.l2_bytes);
  if (g_.taps() > 1 || g_.src_layout != Layout::kNhwc || g_.groups > 1 || g_.stride.w > 1 ||
      g_.ic_g < kLeastPrefetchedChannels || b.prefetches_weights) {
    return InputPrefetch::kNone;
  }
  if (g_.src.w == g_.ic_g) return bytes > l2 * kInputL2s ? InputPrefetch::kStream : InputPrefetch::kNone;
  return bytes > l2 * kSlicedInputL2s ? InputPrefetch::kNextTile : InputPrefetch::kNone;
}

// As many threads as bring more than waking them costs; parts so that each gets several items.
void Chooser::ChooseThreads(Blocking& b) const {
  const int64_t units = std::max<int64_t>(1, g_.n * g_.out.h * b.segments);
  int64_t tiles = 0;
  for (const ChannelRun& run : b.channels) tiles += run.count;
  SplitRows(b);
  const int64_t chunk = std::min(units, b.units_per_chunk);
  const int64_t items = CeilDiv(units, chunk) * (b.takes_whole_chunks ? 1 : tiles * g_.groups);
  const double us = b.predicted_us;
  const int64_t threads = std::min<int64_t>(threads_, items > threads_ ? threads_ : items * chunk);
  if (!machine_.TeamPays(us, static_cast<double>(threads))) return;
  b.threads = static_cast<int>(threads);
  if (b.takes_whole_chunks) return;
  const auto affordable = static_cast<int64_t>(us / kItemUs / static_cast<double>(items));
  b.parts = std::clamp(CeilDiv(kItemsPerThread * threads, items), int64_t{1},
                       std::min(chunk, std::max(CeilDiv(threads, items), affordable)));
}

// Fills `channels` with the cheapest tiles; with `only_vecs` > 0 with those of that size, none where they do not fit.
// Returns the cycles per row of pixels.
double Chooser::ChooseChannels(int only_vecs, ChannelRuns& channels) {
  double best = std::numeric_limits<double>::infinity();
  const bool pairs = order_ == DstOrder::kPairs;
  const int64_t vecs = g_.oc_g / isa_.vec_lanes();
  ChannelRuns runs;
  for (const TileShape& shape : Shapes(isa_)) {
    if (only_vecs > 0 && shape.oc_vecs != only_vecs) continue;
    if (pairs && shape.oc_vecs % 2 != 0 && shape.oc_vecs > 1) continue;
    if (shape.oc_vecs > 1 && shape.oc_vecs * isa_.vec_lanes() >= g_.oc_g + isa_.vec_lanes()) continue;
    if (pairs && shape.oc_vecs == 1 && g_.oc_g >= 2 * isa_.vec_lanes()) continue;
    // Its full tiles alone take about this long.
    if (static_cast<double>(vecs / shape.oc_vecs) * RowCycles(shape.oc_vecs) >= best) continue;
    SplitChannels(shape.oc_vecs, runs);
    const double cycles = ChannelCycles(runs);
    if (cycles >= best) continue;
    best = cycles;
    channels = runs;
  }
  return best;
}

// Outputs that are staged must not come in longer stretches than the stage can hold.
void Chooser::ChooseStores(Blocking& b) const {
  if (staging_.used()) return;
  b.stores = tile::ChooseStores(g_, b.channels, isa_, machine_);
  if (b.stores != Stores::kStaged || g_.pad_left + g_.pad_right > kStretch) return;
  const int64_t segments = CeilDiv(g_.out.w * g_.dst.w * kFloat, OutputStageBytes(machine_));
  b.segments = std::clamp(segments, b.segments, std::max(b.segments, g_.out.w / kLeastStretch));
}

Blocking Chooser::Choose(const TileChoice& tile) {
  px_cap_ = tile.px > 0 ? tile.px : PxCap();
  Blocking b;
  double best = ChooseChannels(tile.vecs, b.channels);
  if (b.channels.empty()) best = ChooseChannels(0, b.channels);
  b.px_cap = px_cap_;
  b.segments = g_.out.w > 2 * kStretch ? CeilDiv(g_.out.w, kStretch) : 1;
  ChooseStores(b);
  ChooseOrder(b);
  if (b.stores == Stores::kStaged) {
    const int64_t unit = CeilDiv(g_.out.w, b.segments) * g_.dst.w * kFloat;
    b.units_per_chunk = std::clamp<int64_t>(OutputStageBytes(machine_) / unit, 1, b.units_per_chunk);
    b.takes_whole_chunks = true;
  }
  if (staging_.used()) LimitToStage(b);
  ChoosePasses(b);
  b.inputs = ChooseInputPrefetch(b);
  // Taps of larger kernels find the lines of the tap before.
  b.prefetches_planes = ChannelBlock(g_.src_layout) > 1 && g_.taps() == 1 &&
                        static_cast<double>(g_.n * g_.out.h * g_.out.w * g_.ic_g * kFloat) >
                            static_cast<double>(machine_.l2_bytes) * kPlanesL2Share;
  const double cycles = best * static_cast<double>(g_.groups * g_.n * g_.out.h) + staging_.cycles;
  b.predicted_us = cycles / (machine_.clock_ghz * 1000);
  ChooseThreads(b);
  b.predicted_us = b.predicted_us / b.threads + machine_.call_us + (b.threads > 1 ? machine_.fork_join_us : 0);
  return b;
}

}  // namespace

DstOrder DstOrderOf(Layout dst, int lanes) {
  const int64_t block = ChannelBlock(dst);
  if (block == 1) return DstOrder::kContiguous;
  if (block == lanes) return DstOrder::kPerBlock;
  return block > lanes ? DstOrder::kPairs : DstOrder::kHalves;
}

int MaxPixels(const jit::IsaInfo& isa, int oc_vecs) {
  for (const TileShape& shape : Shapes(isa)) {
    if (shape.oc_vecs == oc_vecs) return shape.px;
  }
  return 0;
}

Blocking ChooseBlocking(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads, const TileChoice& tile) {
  const Staging staging = StagingFor(g, machine, isa.vec_lanes());
  Blocking in_place = Chooser(g, isa, machine, threads, {}).Choose(tile);
  if (!staging.used()) return in_place;
  const Geometry copy = StagedGeometry(g, staging);
  Blocking staged = Chooser(copy, isa, machine, threads, staging).Choose(tile);
  return staged.predicted_us < in_place.predicted_us ? staged : in_place;
}

}  // namespace rafter::tile
