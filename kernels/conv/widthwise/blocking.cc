// kernels/conv/widthwise/blocking.cc
#include "kernels/conv/widthwise/blocking.h"

#include <algorithm>
#include <numeric>

#include "jit/post_op_emitter.h"
#include "kernels/conv/widthwise/pack.h"
#include "kernels/conv/widthwise/spec.h"
#include "kernels/conv/widthwise/stage.h"
#include "kernels/conv/widthwise/tuning.h"
#include "kernels/cost/conv_cost.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

namespace {

const TileWidths& Widths(const jit::IsaInfo& isa) {
  return isa.num_vecs >= 32 ? kWidths32 : kWidths16;
}

class Chooser {
 public:
  Chooser(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine, int threads)
      : g_(g), isa_(isa), machine_(machine), threads_(threads), cut_(CutChannels(g.oc_g)) {}

  Blocking Choose() const;

 private:
  void ChoosePasses(Blocking& b) const;
  void ChooseStrips(Blocking& b) const;
  void LimitStrips(Blocking& b) const;
  void ChooseCalls(Blocking& b) const;
  void ChooseThreads(Blocking& b) const;
  double ChannelsPerSet() const;
  bool MayBeStaged() const;
  Blocking Choose(bool staged) const;
  double ChannelCycles(const Blocking& b, int vecs, int rows, int ocs) const;
  double ColumnCycles(const Blocking& b, int vecs, int ocs) const;
  double MissCycles(const Blocking& b, int vecs, int rows) const;
  double CopyCycles(const Blocking& b) const;
  double TransferCycles(const Blocking& b) const;
  double RowCycles(const Blocking& b, int ocs, bool even_ends) const;
  double CallsPerTile(const Blocking& b) const;
  double CallsOverChannels(const Blocking& b) const;
  double LineCycles(const Blocking& b) const;
  double PredictUs(const Blocking& b) const;
  // Bytes of input that `rows` output rows of `pixels` pixels read.
  double InputBytes(int64_t rows, int64_t pixels) const;

  const Geometry& g_;
  const jit::IsaInfo& isa_;
  const MachineModel& machine_;
  const int threads_;
  const ChannelCut cut_;
};

double Chooser::InputBytes(int64_t rows, int64_t pixels) const {
  const double input_rows =
      static_cast<double>(std::min(g_.in.h, (rows - 1) * g_.stride.h + g_.kernel.h));
  const double columns =
      static_cast<double>(std::min(g_.in.w, (pixels - 1) * g_.stride.w + g_.kernel.w));
  return static_cast<double>(g_.ic_g) * input_rows * columns * sizeof(float);
}

// A pass is a block of the sum (ADR 3), but 1x1 kernels have no other order than that of the
// channels.
void Chooser::ChoosePasses(Blocking& b) const {
  int64_t step = SumBlock(g_.ic_g);
  if (g_.taps() == 1 && g_.ic_g > kPassChannels1x1 * 3 / 2) {
    step = CeilDiv(g_.ic_g, CeilDiv(g_.ic_g, kPassChannels1x1));
  }
  b.channels_per_pass = std::min(g_.ic_g, step);
}

// Channels of a block whose inputs share one set of L1: those at multiples of the set period.
double Chooser::ChannelsPerSet() const {
  const int64_t distinct =
      kSetPeriod / std::gcd(g_.src.c * static_cast<int64_t>(sizeof(float)), kSetPeriod);
  return static_cast<double>(std::min(g_.ic_g, SumBlock(g_.ic_g))) / static_cast<double>(distinct);
}

// Where a copy of the inputs can pay at all; whether it does, the predictions say.
bool Chooser::MayBeStaged() const { return g_.stride.w > 1 || ChannelsPerSet() > kL1Ways || Stage::IsPadded(g_); }

void Chooser::ChooseStrips(Blocking& b) const {
  const double budget = static_cast<double>(machine_.l2_bytes) * kL2Share;
  const int64_t tile_pixels = b.max_vecs * isa_.vec_lanes();
  const int64_t tiles = CeilDiv(g_.out.w, tile_pixels);
  b.segment_tiles = tiles;
  while (b.segment_tiles > 4 && InputBytes(1, b.segment_tiles * tile_pixels) > budget) {
    b.segment_tiles = CeilDiv(b.segment_tiles, 2);
  }
  // Rows that neighbouring strips share are copied twice.
  const int64_t least_rows = b.staged ? std::min(g_.out.h, 2 * g_.kernel.h) : 1;
  while (b.segment_tiles > 1 && InputBytes(least_rows, b.segment_tiles * tile_pixels) > budget) {
    if (!b.staged) break;
    b.segment_tiles = CeilDiv(b.segment_tiles, 2);
  }
  b.strip_rows = g_.out.h;
  while (b.strip_rows > 1 && InputBytes(b.strip_rows, b.segment_tiles * tile_pixels) > budget) {
    b.strip_rows = CeilDiv(b.strip_rows, 2);
  }
}

// Parked sums of a strip must fit their buffer.
void Chooser::LimitStrips(Blocking& b) const {
  if (b.channels_per_pass >= g_.ic_g) return;
  const int64_t vectors = kPartialBytes / (cut_.size * isa_.vec_bytes);
  b.segment_tiles = std::clamp<int64_t>(vectors / b.max_vecs, 1, b.segment_tiles);
  b.strip_rows = std::clamp<int64_t>(vectors / (b.segment_tiles * b.max_vecs), 1, b.strip_rows);
}

// Calls over channels where those are few. Each tile then reads all weights and writes to all planes of outputs, so
// both must be near.
void Chooser::ChooseCalls(Blocking& b) const {
  const int64_t tiles = CeilDiv(g_.out.w, b.max_vecs * isa_.vec_lanes());
  const bool whole = b.strip_rows == g_.out.h && b.segment_tiles == tiles && b.channels_per_pass == g_.ic_g;
  b.over_groups = cut_.tiles == 1 && g_.groups > 1;
  const double weights = static_cast<double>(g_.groups * g_.oc_g * g_.ic_g * g_.taps()) * kFloat;
  const double out = static_cast<double>(g_.groups * g_.oc_g * g_.out.h * g_.out.w) * kFloat;
  const bool near = std::max(weights, out) <= static_cast<double>(machine_.l2_bytes) * kL2Share;
  const double calls = static_cast<double>(g_.groups * cut_.tiles) * CallsPerTile(b);
  b.over_channels = whole && near && !(b.over_groups && b.staged) &&
                    kLeastCallsSaved * CallsOverChannels(b) <= calls;
  b.over_groups = b.over_groups && b.over_channels;
}

void Chooser::ChooseThreads(Blocking& b) const {
  const int64_t tiles = CeilDiv(g_.out.w, b.max_vecs * isa_.vec_lanes());
  const auto items = [&] {
    b.strips = CeilDiv(g_.out.h, b.strip_rows);
    b.segments = CeilDiv(tiles, b.segment_tiles);
    const int64_t groups = b.over_groups ? 1 : g_.groups;
    return std::max<int64_t>(1, g_.n) * groups * b.strips * b.segments * b.channel_parts;
  };
  b.threads = threads_;
  if (threads_ > 1 && b.over_channels) {
    b.channel_parts = std::clamp<int64_t>(CeilDiv(threads_, items()), 1, b.over_groups ? g_.groups : cut_.tiles);
  } else if (threads_ > 1) {
    const int64_t wanted = threads_ * kStripsPerThread;
    while (items() < wanted && b.strip_rows > kMaxRows) b.strip_rows = CeilDiv(b.strip_rows, 2);
    while (items() < wanted && b.segment_tiles > 4) b.segment_tiles = CeilDiv(b.segment_tiles, 2);
    if (items() < wanted) b.channel_parts = std::min(cut_.tiles, CeilDiv(wanted, items()));
  }
  // Whole tiles of rows per strip.
  const int64_t rows = b.strip_rows >= 12 ? 12 : b.strip_rows >= kMaxRows ? kMaxRows : 1;
  if (b.strip_rows < g_.out.h) b.strip_rows = b.strip_rows / rows * rows;
  items();
}

// Per tap: what is lost where the inputs of a tile exceed their share of L1.
double Chooser::MissCycles(const Blocking& b, int vecs, int rows) const {
  const int64_t channels = b.channels_per_pass, line = 64;
  const int64_t lines = vecs * isa_.vec_bytes * g_.stride.w / line + 1;
  const int64_t bytes = channels * g_.input_rows(rows) * lines * line;
  const int64_t tiles = CeilDiv(g_.out.w, vecs * isa_.vec_lanes());
  const int64_t last = (g_.out.w - 1) * g_.stride.w + (g_.kernel.w - 1) * g_.dilation.w;
  const bool masked = (g_.pad_left > 0 || last >= g_.in.w) && !(b.staged && Stage::IsPadded(g_));
  double cycles = static_cast<double>(bytes) > static_cast<double>(machine_.l1d_bytes) * kL1Share
                      ? kMissCycles * static_cast<double>(std::min<int64_t>(g_.stride.w, 2))
                      : 0;
  if (g_.stride.w > 1 && !b.staged) {
    const bool far = InputBytes(g_.out.h, g_.out.w) > static_cast<double>(machine_.l2_bytes) * kL2Share;
    cycles += far ? 2 * kSortCycles : kSortCycles;
  }
  // Two tiles per row run edge kernels.
  if (masked) cycles += kMaskCycles * static_cast<double>(std::min<int64_t>(tiles, 2)) / static_cast<double>(tiles);
  if (!b.staged && ChannelsPerSet() > kL1Ways) cycles += kSetMissCycles;
  // Channels of planes that share pages with their neighbours do not need a page each.
  const int64_t pages = g_.n > 0 ? channels * std::min<int64_t>(kPageBytes, g_.src.c * kFloat) / kPageBytes : 0;
  if (g_.taps() == 1 && pages > kTlbPages) cycles += kTlbMissCycles;
  return cycles;
}

// Cycles of one input channel for a tile: of each input row the slowest of FMA pipes, load ports
// and chains.
double Chooser::ChannelCycles(const Blocking& b, int vecs, int rows, int ocs) const {
  const double split = isa_.num_vecs >= 32 ? kSplitLoads32 : kSplitLoads16;
  const int64_t distance = rows > 1 ? g_.row_distance() : 1;
  const double misses = MissCycles(b, vecs, rows);
  double chain = static_cast<double>(machine_.fma_latency) + kChainCycles;
  if (b.over_channels) {
    const double taps = static_cast<double>(g_.ic_g * g_.taps());
    chain *= std::min(1.0, taps * (vecs * ocs + vecs + ocs) / kWindow);
  }
  double cycles = 0;
  const auto add = [&](int64_t input_rows, int64_t active) {
    const double weights = static_cast<double>(active * ocs),
                 fma = weights * vecs / machine_.fma_pipes;
    const double loads = (vecs * static_cast<double>(g_.stride.w > 1 && !b.staged ? 2 : 1) * split + weights) /
                         machine_.load_ports;
    cycles +=
        static_cast<double>(input_rows) *
        (std::max({fma, loads, chain}) + kTapCycles + misses);
  };
  for (int64_t r = 1; r < rows; ++r) add(2 * distance, r);
  add(g_.kernel.h - (rows - 1) * distance, rows);
  const double columns = static_cast<double>(g_.input_rows(rows)) * kColumnCycles /
                         static_cast<double>(std::min<int64_t>(g_.ic_g, SumBlock(g_.ic_g)));
  return static_cast<double>(g_.kernel.w) * (cycles + (g_.ic_g > 1 ? columns : 0));
}

// Of all output rows of a column of tiles of this width, for one channel tile.
double Chooser::ColumnCycles(const Blocking& b, int vecs, int ocs) const {
  const int rows = MaxRows(g_, isa_, vecs, ocs);
  const double tiles = static_cast<double>(CeilDiv(g_.out.h, rows));
  const double passes = static_cast<double>(CeilDiv(g_.ic_g, b.channels_per_pass));
  const double accs = static_cast<double>(vecs) * rows * ocs;
  // Kernel rows outside of the image are skipped.
  const AxisShape axis{g_.in.h, g_.out.h, g_.kernel.h, g_.stride.h, g_.dilation.h, g_.pad_top};
  const double inside =
      CountAxis(axis).pairs / (static_cast<double>(g_.out.h) * static_cast<double>(g_.kernel.h));
  const double sums = static_cast<double>(g_.ic_g) * ChannelCycles(b, vecs, rows, ocs) * inside;
  return tiles * (sums + kTileCycles + accs * (kAccumulatorCycles + 2 * (passes - 1)));
}

// Calls per tile of channels and pass: a call runs neighbours along the row, of tiles at its ends one; or, where tiles
// lie below each other, those that see all kernel rows together, those that see none, the others one by one.
double Chooser::CallsPerTile(const Blocking& b) const {
  constexpr int64_t kKinds = 3;  // left end, interior, right end
  const int64_t tiles = CeilDiv(g_.out.w, b.max_vecs * isa_.vec_lanes());
  const int64_t rows = CeilDiv(g_.out.h, MaxRows(g_, isa_, b.max_vecs, static_cast<int>(cut_.size)));
  if (rows == 1 || b.across) return static_cast<double>(rows * b.segments * std::min(b.segment_tiles, kKinds));
  const int64_t last = (g_.out.h - 1) * g_.stride.h + (g_.kernel.h - 1) * g_.dilation.h - g_.pad_top;
  const int64_t below = std::max<int64_t>(0, last - g_.in.h + 1), reach = (g_.kernel.h - 1) * g_.dilation.h;
  const auto cut = [&](int64_t pad) { return CeilDiv(std::min(pad, reach), g_.stride.h) + (pad > reach ? 1 : 0); };
  const int64_t cut_rows = std::min(rows, cut(g_.pad_top) + cut(below));
  return static_cast<double>(tiles * (b.strips + cut_rows));
}

// Of one image, one part: wide and narrow tiles of channels apart.
double Chooser::CallsOverChannels(const Blocking& b) const {
  const int64_t rows = CeilDiv(g_.out.h, MaxRows(g_, isa_, b.max_vecs, static_cast<int>(cut_.size)));
  const int64_t tiles = CeilDiv(g_.out.w, b.max_vecs * isa_.vec_lanes());
  return static_cast<double>(tiles * rows * (cut_.wide < cut_.tiles ? 2 : 1) * (b.over_groups ? 1 : g_.groups));
}

// Of inputs that stay in L2 from a tile of channels to the next one, per tile of channels.
double Chooser::LineCycles(const Blocking& b) const {
  const double bytes = InputBytes(g_.out.h, g_.out.w);
  const double strip = InputBytes(b.strip_rows, b.segment_tiles * b.max_vecs * isa_.vec_lanes());
  return strip <= static_cast<double>(machine_.l1d_bytes) * kLineL1Share ? 0 : bytes / kLineBytes * kL2LineCycles;
}

// Beyond L2: inputs and outputs once; outputs are read before they are written.
double Chooser::TransferCycles(const Blocking& b) const {
  double in =
      static_cast<double>(g_.n * g_.groups * g_.ic_g * g_.in.h * g_.in.w) * sizeof(float);
  const double out =
      static_cast<double>(g_.n * g_.groups * g_.oc_g * g_.out.h * g_.out.w) * sizeof(float);
  if (in + out <= static_cast<double>(machine_.l2_bytes)) return 0;
  const auto l3 = static_cast<double>(machine_.l3_bytes);
  const bool near = in + out <= l3 * kNearL3Share;
  const double rate = machine_.l3_bytes_per_cycle * (near ? 1 : kFarRate);
  if (!b.staged && ChannelsPerSet() > kL1Ways) in *= kSharedSetReads;
  return (in + 2 * out) / rate *
         (near ? kExposedNear : b.prefetches_output ? kExposedPrefetched : kExposedTransfer);
}

// Of filling the stage.
double Chooser::CopyCycles(const Blocking& b) const {
  if (!b.staged) return 0;
  // Threads fill their stage once for all parts of the channels that they take.
  const int64_t fills = std::min<int64_t>(b.channel_parts, b.threads);
  const double strips = static_cast<double>(g_.n * g_.groups * b.strips * b.segments * fills);
  const double floats = InputBytes(b.strip_rows, b.segment_tiles * b.max_vecs * isa_.vec_lanes()) / sizeof(float);
  const double each = g_.stride.w == 1 ? kCopyCycles : g_.stride.w == 2 ? kSplitCycles : kGatherCycles;
  const int64_t rows = std::min(g_.in.h, (b.strip_rows - 1) * g_.stride.h + g_.kernel.h);
  // Plain loops, one per phase; generated kernels have less to do per row.
  const int64_t loops = g_.stride.w > 2 ? g_.ic_g * rows * std::min(g_.stride.w, g_.kernel.w) : 0;
  return strips * (floats * each + static_cast<double>(loops) * kRowCopyCycles);
}

// Of all columns of tiles, for one channel tile.
double Chooser::RowCycles(const Blocking& b, int ocs, bool even_ends) const {
  const int64_t vectors = CeilDiv(g_.out.w, isa_.vec_lanes());
  int64_t whole = vectors / b.max_vecs;
  const int rest = static_cast<int>(vectors % b.max_vecs);
  double cycles = 0;
  if (rest > 0 && even_ends) {
    const int both = b.max_vecs + rest;
    --whole;
    cycles = ColumnCycles(b, both - both / 2, ocs) + ColumnCycles(b, both / 2, ocs);
  } else if (rest > 0) {
    cycles = ColumnCycles(b, rest, ocs);
  }
  return cycles + static_cast<double>(whole) * ColumnCycles(b, b.max_vecs, ocs);
}

double Chooser::PredictUs(const Blocking& b) const {
  double cycles = static_cast<double>(cut_.wide) * RowCycles(b, static_cast<int>(cut_.size), b.even_ends);
  if (cut_.wide < cut_.tiles) {
    cycles += static_cast<double>(cut_.tiles - cut_.wide) * RowCycles(b, static_cast<int>(cut_.size) - 1, b.even_ends);
  }
  const auto passes = static_cast<double>(CeilDiv(g_.ic_g, b.channels_per_pass));
  const auto groups = static_cast<double>(g_.groups), tiles = static_cast<double>(cut_.tiles);
  const double calls = b.over_channels ? CallsOverChannels(b) : groups * tiles * CallsPerTile(b) * passes;
  const double items = (b.over_groups ? 1 : groups) * static_cast<double>(b.strips * b.segments);
  if (!b.over_channels) cycles += tiles * LineCycles(b);
  cycles = groups * cycles + calls * kCallCycles + items * kItemCycles;
  cycles = cycles * static_cast<double>(g_.n) + TransferCycles(b) + CopyCycles(b);
  const double others = b.over_channels && !b.staged ? kOtherLossesOverChannels : kOtherLosses;
  return others * cycles / (machine_.clock_ghz * 1000) / b.threads + machine_.call_us +
         (b.threads > 1 ? machine_.fork_join_us : 0);
}

Blocking Chooser::Choose(bool staged) const {
  Blocking b;
  const int ocs = static_cast<int>(cut_.size);
  const TileWidths& widths = Widths(isa_);
  const int most = g_.rows_share() ? widths.shared[ocs - 1] : widths.alone[ocs - 1];
  b.max_vecs = static_cast<int>(std::min<int64_t>(most, CeilDiv(g_.out.w, isa_.vec_lanes())));
  b.staged = staged;
  ChoosePasses(b);
  ChooseStrips(b);
  LimitStrips(b);
  const int64_t tiles = CeilDiv(g_.out.w, b.max_vecs * isa_.vec_lanes());
  b.across =
      tiles >= kAcrossTiles && InputBytes(1, g_.out.w) <= static_cast<double>(machine_.l1d_bytes);
  ChooseCalls(b);
  ChooseThreads(b);
  if (CeilDiv(g_.out.w, isa_.vec_lanes()) > b.max_vecs) {
    b.even_ends = RowCycles(b, ocs, true) < RowCycles(b, ocs, false);
  }
  const double out = static_cast<double>(g_.n * g_.groups * g_.oc_g * g_.out.h * g_.out.w) * sizeof(float);
  b.prefetches_output = out > static_cast<double>(machine_.l2_bytes * kPrefetchedL2Times);
  b.predicted_us = PredictUs(b);
  return b;
}

Blocking Chooser::Choose() const {
  if (g_.stride.w > kMaxSortedStride) return Choose(true);
  const Blocking in_place = Choose(false);
  if (!MayBeStaged()) return in_place;
  const Blocking staged = Choose(true);
  return staged.predicted_us < in_place.predicted_us ? staged : in_place;
}

}  // namespace

Blocking ChooseBlocking(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads) {
  Blocking alone = Chooser(g, isa, machine, 1).Choose();
  return machine.TeamPays(alone.predicted_us, threads) ? Chooser(g, isa, machine, threads).Choose() : alone;
}

int MaxRows(const Geometry& g, const jit::IsaInfo& isa, int vecs, int ocs) {
  if (!g.rows_share()) return 1;
  int rows = static_cast<int>(std::min<int64_t>(kMaxRows, g.out.h));
  const auto fits = [&] {  // sums, inputs of a tap and a weight; post-ops need registers, too
    if (g.kernel.h < (rows - 1) * g.row_distance()) return false;  // see spec.h
    const int accs = rows * vecs * ocs;
    return accs <= Widths(isa).accumulators &&
           accs + std::max(std::min(vecs, rows * ocs) + 1, jit::kPostOpTemps) <= isa.num_vecs;
  };
  while (rows > 1 && !fits()) --rows;
  return rows;
}

}  // namespace rafter::widthwise
