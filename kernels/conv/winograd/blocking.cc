// kernels/conv/winograd/blocking.cc: see blocking.h.
#include "kernels/conv/winograd/blocking.h"

#include <algorithm>
#include <cmath>

#include "kernels/conv/winograd/spec.h"
#include "kernels/conv/winograd/tuning.h"
#include "kernels/sizes.h"

namespace rafter::winograd {

namespace {

// One decision: the problem with the costs that several choices need.
class Chooser {
 public:
  Chooser(const ConvProblem& problem, const Geometry& g, const PackLayout& layout, const jit::IsaInfo& isa,
          const PlanContext& context);

  Blocking Choose();

 private:
  int64_t ChooseGroups() const;
  void ChooseBlocks(Blocking& b) const;
  void ChooseThreads(Blocking& b) const;
  Split SplitOfBlocks(const Blocking& b) const;
  void SplitFew(Blocking& b) const;
  // Whether weights of so many bytes are still there at the next call.
  bool StaysInL3(double bytes) const {
    return bytes <= static_cast<double>(machine_.l3_bytes) * (machine_.l3_shared ? kSharedL3Share : kL3Share);
  }
  // Each thread reads all weights.
  int64_t LeastTilesPerThread() const {
    const bool again = weights_ <= static_cast<double>(machine_.l2_bytes) * kReadAgainL2s;
    return again ? kLeastTilesReadAgain : kLeastTilesPerThread;
  }
  bool HasFewWeights() const { return weights_ <= static_cast<double>(machine_.l2_bytes) * kFewWeightsL2Share; }
  // Cycles on one thread.
  double ProductCycles(int64_t tiles) const;
  double TransformCycles() const;
  double StreamCycles() const;
  double Cycles(const Blocking& b) const;
  // On the threads of the plan, with waking and joining them.
  double TeamUs(Blocking b) const;

  const ConvProblem& problem_;
  const Geometry& g_;
  const PackLayout& layout_;
  const jit::IsaInfo& isa_;
  const MachineModel& machine_;
  const int threads_;
  const double weights_;  // bytes, of one group
};

Chooser::Chooser(const ConvProblem& problem, const Geometry& g, const PackLayout& layout, const jit::IsaInfo& isa,
                 const PlanContext& context)
    : problem_(problem),
      g_(g),
      layout_(layout),
      isa_(isa),
      machine_(*context.machine),
      threads_(context.threads),
      weights_(static_cast<double>(layout.group_floats) * kFloat) {}

// The products of a block: for each position, `tiles` x output channels.
double Chooser::ProductCycles(int64_t tiles) const {
  double cycles = 0;
  for (const PanelRun& run : layout_.runs) {
    const int sum_parts = SumParts(layout_.ic_g), chains = Accumulators(sum_parts);
    const int64_t parts = CeilDiv(tiles, MaxTiles(run.vecs, sum_parts, isa_));
    const double px = static_cast<double>(tiles) / static_cast<double>(parts), vecs = run.vecs;
    const double loads = (px + vecs) / machine_.load_ports;
    const double step =
        std::max({px * vecs / machine_.fma_pipes, loads, static_cast<double>(machine_.fma_latency) / chains}) +
        kLoadCost * loads;
    double tile = static_cast<double>(layout_.ic_g) * step + px * vecs * kAccumulatorCycles +
                  (layout_.ic_g <= kMostBakedChannels ? kBakedProductCycles : kProductCycles);
    if (sum_parts > chains) tile += px * vecs * kAccumulatorCycles;  // parked and read again
    cycles += static_cast<double>(run.panels * parts) * tile;
  }
  return cycles * g_.shape.positions();
}

// Of all tiles of a group.
double Chooser::TransformCycles() const {
  const double vector_cost = isa_.num_vecs >= 32 ? kTransformCycles32 : kTransformCycles16;
  const double per_vector = vector_cost * g_.shape.positions() * (HasFewWeights() ? kFewWeightsTransforms : 1);
  const auto cost = [](Layout layout) { return layout == Layout::kNhwc ? 1.0 : kStripCost; };
  const auto in = static_cast<double>(CeilDiv(layout_.ic_g, layout_.lanes)), out = static_cast<double>(layout_.vecs);
  const double tile = in * per_vector * cost(problem_.desc.src.layout) +
                      out * (per_vector + kOutputCycles * g_.shape.outputs()) * cost(problem_.desc.dst.layout) +
                      2 * kTileCallCycles;
  return static_cast<double>(g_.tiles) * tile;
}

// Reading the weights of a group once; 0 where they stay in L2.
double Chooser::StreamCycles() const {
  if (weights_ <= static_cast<double>(machine_.l2_bytes) * kPrefetchL2Share) return 0;
  const double all = weights_ * static_cast<double>(layout_.groups);
  const double l3 = machine_.l3_bytes_per_cycle * kL3Overlap, memory = machine_.dram_bytes_per_cycle * kDramOverlap;
  if (StaysInL3(all)) return weights_ / l3;
  // What others leave in L3 changes from minute to minute.
  const bool sometimes =
      g_.shape.positions() <= kFewPositions && all <= static_cast<double>(machine_.l3_bytes) * kL3Share;
  return weights_ / (sometimes ? std::sqrt(l3 * memory) : memory);
}

double Chooser::Cycles(const Blocking& b) const {
  const double block = std::max(ProductCycles(std::max<int64_t>(b.max_tiles, 1)), StreamCycles());
  return static_cast<double>(layout_.groups) * (static_cast<double>(b.blocks) * block + TransformCycles());
}

// NHWC: a group of few channels uses a part of each pixel only, and pixels lie far apart. Several groups that lie
// together are read and written in one go, as long as enough is left to share among threads.
int64_t Chooser::ChooseGroups() const {
  const ConvDesc& d = problem_.desc;
  if (d.src.layout != Layout::kNhwc || d.dst.layout != Layout::kNhwc) return 1;
  if (layout_.ic_g % layout_.lanes != 0 || layout_.oc_g % layout_.lanes != 0) return 1;
  int64_t groups = 1;
  for (int64_t more = 1; more <= layout_.groups && groups * layout_.ic_g * kFloat < kRunBytes; ++more) {
    if (layout_.groups % more != 0) continue;
    if (threads_ > 1 && layout_.groups / more < kLeastItems * threads_) break;
    groups = more;
  }
  return groups;
}

void Chooser::ChooseBlocks(Blocking& b) const {
  b.groups = ChooseGroups();
  const double tile_bytes = g_.shape.positions() * static_cast<double>(kFloat) *
                            static_cast<double>(b.groups * (layout_.ic_g + layout_.vecs * layout_.lanes));
  const auto l2 = static_cast<double>(machine_.l2_bytes);
  const double share = HasFewWeights() ? kFewWeightsShare : kL2Share;
  int64_t most = std::clamp(static_cast<int64_t>(l2 * share / tile_bytes), kLeastTiles, kMostTiles);
  if (!StaysInL3(weights_)) most = kMostTiles;
  b.prefetches_weights = weights_ > static_cast<double>(machine_.l2_bytes) * kPrefetchL2Share;
  // Rows of NCHW are transposed whole where they fit.
  const bool by_rows = problem_.desc.dst.layout == Layout::kNchw && g_.tiles_w <= most;
  b.grain = by_rows ? g_.tiles_w : 1;
  b.units = g_.tiles / b.grain;
  b.blocks = std::max<int64_t>(1, CeilDiv(b.units, std::max<int64_t>(1, most / b.grain)));
}

// Transforming the inputs again costs less than handing V over to other cores where there is little of it.
Split Chooser::SplitOfBlocks(const Blocking& b) const {
  const double v_bytes = g_.shape.positions() * static_cast<double>(kFloat) *
                         static_cast<double>(layout_.ic_g * CeilDiv(b.units, b.blocks) * b.grain);
  const bool little = v_bytes <= static_cast<double>(machine_.l2_bytes) * kRepeatedL2Share;
  return little && threads_ <= kMostRepeats ? Split::kChannels : Split::kStages;
}

// Whole blocks to each thread, or, where these would be too small, a share of each block's tiles and channels.
void Chooser::ChooseThreads(Blocking& b) const {
  const double us = b.predicted_us;
  if (!machine_.TeamPays(us, threads_)) return;
  b.threads = threads_;
  const int64_t items = b.blocks * (layout_.groups / b.groups);
  if (items >= kLeastItems * threads_ || items % threads_ == 0) return;
  const int64_t blocks = CeilDiv(CeilDiv(items, threads_) * threads_, layout_.groups);
  if (blocks <= b.units && StaysInL3(weights_) && g_.tiles / blocks >= LeastTilesPerThread()) {
    b.blocks = blocks;
  } else if (layout_.vecs >= 2 * threads_) {
    b.split = SplitOfBlocks(b);
  } else {
    SplitFew(b);
  }
}

// Few tiles and few output channels: fewer threads with blocks that are worth it, or all of them, stage by stage.
// Zen 3, 2 threads, GFLOP/s (effective) of either: 268 to 12 channels at 16x16 124 and 215, 436 to 12 at 8x8 109 and
// 168, 512 to 16 at 10x10 118 and 208. Pixels of NHWC, whose tiles threads would share instead of channels: 118 and 92,
// 120 and 92, 106 and 102.
void Chooser::SplitFew(Blocking& b) const {
  Blocking smaller = b;
  smaller.blocks = std::max(b.blocks, std::min(b.units, g_.tiles / kLeastTilesPerThread));
  smaller.threads = static_cast<int>(std::min<int64_t>(threads_, smaller.blocks * layout_.groups));
  Blocking stages = b;
  stages.split = Split::kPositions;
  stages.threads = static_cast<int>(std::min<int64_t>(threads_, g_.shape.positions()));
  const ConvDesc& d = problem_.desc;
  const bool planes = d.src.layout == Layout::kNchw && d.dst.layout == Layout::kNchw;
  b = !planes || TeamUs(smaller) <= TeamUs(stages) ? smaller : stages;
}

double Chooser::TeamUs(Blocking b) const {
  b.max_tiles = CeilDiv(b.units, b.blocks) * b.grain;
  const double us = Cycles(b) / (machine_.clock_ghz * 1000) / b.threads;
  const auto blocks = static_cast<double>(b.blocks);
  const double teams = b.split == Split::kPositions  ? 3 * blocks
                       : b.split == Split::kStages   ? 2 * blocks
                       : b.split == Split::kChannels ? blocks
                                                     : 1;
  return us + (b.threads > 1 ? machine_.fork_join_us * teams : 0);
}

Blocking Chooser::Choose() {
  Blocking b;
  ChooseBlocks(b);
  b.max_tiles = CeilDiv(b.units, b.blocks) * b.grain;
  const double us_per_cycle = 1 / (machine_.clock_ghz * 1000);
  b.predicted_us = Cycles(b) * us_per_cycle;
  ChooseThreads(b);
  b.max_tiles = CeilDiv(b.units, b.blocks) * b.grain;
  b.predicted_us = TeamUs(b) + kCallCycles * us_per_cycle + machine_.call_us;
  return b;
}

}  // namespace

Geometry Geometry::Of(const ConvProblem& problem, TileShape shape) {
  Geometry g;
  g.shape = shape;
  g.tiles_h = CeilDiv(problem.oh, shape.out_h());
  g.tiles_w = CeilDiv(problem.ow, shape.out_w());
  g.tiles = problem.desc.n * g.tiles_h * g.tiles_w;
  return g;
}

Rows LayOutRows(int64_t tiles, int64_t channels, int lanes) {
  Rows rows;
  rows.tile = CeilDiv(channels, lanes) * lanes;
  if (rows.tile % (4 * kLineFloats) == 0) rows.tile += kLineFloats;
  int64_t lines = CeilDiv(tiles * rows.tile, kLineFloats);
  if (lines % 2 == 0) ++lines;
  rows.position = lines * kLineFloats;
  return rows;
}

Blocking ChooseBlocking(const ConvProblem& problem, const Geometry& g, const PackLayout& layout,
                        const jit::IsaInfo& isa, const PlanContext& context) {
  return Chooser(problem, g, layout, isa, context).Choose();
}

}  // namespace rafter::winograd
