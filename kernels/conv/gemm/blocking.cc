// kernels/conv/gemm/blocking.cc
#include "kernels/conv/gemm/blocking.h"

#include <algorithm>
#include <numeric>

#include "kernels/conv/gemm/columns.h"
#include "kernels/conv/gemm/picker.h"
#include "kernels/conv/gemm/spec.h"
#include "kernels/conv/gemm/stage.h"
#include "kernels/conv/gemm/tuning.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

namespace {

class Chooser {
 public:
  Chooser(const ConvProblem& problem, const jit::IsaInfo& isa, const MachineModel& machine, int threads)
      : p_(problem),
        isa_(isa),
        machine_(machine),
        threads_(threads),
        length_(problem.ic_g * problem.desc.kernel.h * problem.desc.kernel.w),
        pixels_(problem.oh * problem.ow),
        images_(std::max<int64_t>(1, problem.desc.n) * problem.desc.groups),
        plain_(Columns(problem).is_plain()),
        one_panel_(plain_ || Picker::Fits(problem)) {}

  Blocking Choose() const;

 private:
  void ChooseSegments(Blocking& b) const;
  void ChooseChannels(Blocking& b) const;
  bool PartsPay(const Blocking& b, int64_t items) const;
  void LimitParked(Blocking& b) const;
  void ChooseStage(Blocking& b) const;
  double TileCycles(const Blocking& b, int vecs) const;
  double GatherCycles(const Blocking& b) const;
  double PickCycles(const Blocking& b) const;
  double InputBytes() const;
  double OutputBytes() const;
  double TransferCycles(const Blocking& b) const;
  double PredictUs(const Blocking& b) const;

  const ConvProblem& p_;
  const jit::IsaInfo& isa_;
  const MachineModel& machine_;
  const int threads_;
  const int64_t length_, pixels_, images_;
  const bool plain_, one_panel_;  // X is read in place; or picked from the planes
};

void Chooser::ChooseSegments(Blocking& b) const {
  const int64_t tile = kMaxVecs * isa_.vec_lanes();
  const auto floats = [](double share, int64_t bytes) {
    return static_cast<int64_t>(share * static_cast<double>(bytes) / sizeof(float));
  };
  const int64_t longest =
      one_panel_ ? kMaxPass : std::max<int64_t>(16, floats(kPanelL1Share, machine_.l1d_bytes) / tile);
  b.pass = CeilDiv(length_, CeilDiv(length_, longest));
  const int64_t tiles = CeilDiv(pixels_, tile);
  const int64_t most = std::clamp(floats(kColumnsL2Share, machine_.l2_bytes) / (b.pass * tile), int64_t{1},
                                  kMaxSegmentPixels / tile);
  b.segments = CeilDiv(tiles, most);
  if (threads_ > 1 && images_ * b.segments < threads_ * kItemsPerThread) {
    b.segments = std::max(b.segments, std::min(CeilDiv(threads_ * kItemsPerThread, images_), tiles / kLeastTiles));
  }
  b.segment_pixels = CeilDiv(tiles, b.segments) * tile;
  b.segments = CeilDiv(pixels_, b.segment_pixels);
}

void Chooser::ChooseChannels(Blocking& b) const {
  const int64_t unit = ChannelUnit(isa_), units = CeilDiv(p_.oc_g, unit);
  const double bytes = static_cast<double>(b.pass * unit) * sizeof(float);
  const double share = one_panel_ ? kPlainWeightsL2Share : kWeightsL2Share;
  const auto most = static_cast<int64_t>(static_cast<double>(machine_.l2_bytes) * share / bytes);
  b.block_channels = std::clamp<int64_t>(most, 1, units) * unit;
  b.threads = threads_;
  // Each part reads all of X. 2 threads, 2 and 4 parts: 160 to 64 channels at 7x7 12.1 and 13.4 us, 128 to 256 at 13x13
  // with stride 2 27.8 and 31.2.
  const int64_t items = images_ * b.segments;
  if (threads_ > 1 && items < 2 * threads_) {
    const int64_t parts = std::min(units, CeilDiv(items == 1 ? threads_ : 2 * threads_, items));
    if (PartsPay(b, items)) b.channel_parts = parts;
  }
}

// Whether threads with parts of the channels, which all gather X, are done before threads with segments of their own.
bool Chooser::PartsPay(const Blocking& b, int64_t items) const {
  if (items < threads_) return true;
  const double tiles = static_cast<double>(CeilDiv(pixels_, kMaxVecs * isa_.vec_lanes()));
  const double product = tiles * TileCycles(b, kMaxVecs), gather = GatherCycles(b);
  const double longest = static_cast<double>(CeilDiv(items, threads_) * b.segment_pixels) /
                         static_cast<double>(images_ * pixels_);
  return product / static_cast<double>(threads_) + gather < std::min(longest, 1.0) * (product + gather);
}

// Sums that a block of channels parks between passes over one panel after another stay in their share of L2.
void Chooser::LimitParked(Blocking& b) const {
  if (!one_panel_ || b.pass >= length_) return;
  const int64_t tile = kMaxVecs * isa_.vec_lanes(), tiles = CeilDiv(pixels_, tile);
  const double tile_bytes = static_cast<double>(b.block_channels * tile) * sizeof(float);
  const auto most = static_cast<int64_t>(static_cast<double>(machine_.l2_bytes) * kParkedL2Share / tile_bytes);
  if (b.segment_pixels <= most * tile) return;
  b.segment_pixels = CeilDiv(tiles, CeilDiv(tiles, std::max<int64_t>(1, most))) * tile;
  b.segments = CeilDiv(pixels_, b.segment_pixels);
}

// Segments of pixels whose inputs, twice, outputs and weights fit their share of L2.
void Chooser::ChooseStage(Blocking& b) const {
  if (!plain_ || pixels_ < kLeastStagedPixels) return;
  if (InputBytes() + OutputBytes() <= static_cast<double>(machine_.l3_bytes) * kStagedL3Share) return;
  const int64_t channels = RoundUp(p_.oc_g, ChannelUnit(isa_));
  const auto share = static_cast<int64_t>(static_cast<double>(machine_.l2_bytes) * kStageL2Share);
  const int64_t room = share - length_ * channels * kFloat;
  int64_t pixels = kMostStagedRun;
  while (StageRow(pixels) * (2 * length_ + channels) * kFloat > room && pixels >= kLeastStagedRun) pixels /= 2;
  const int64_t segments = pixels > 0 ? CeilDiv(pixels_, pixels) : 0;
  if (pixels < kLeastStagedRun || images_ * segments < 2 * b.threads) return;
  b.staged = true;
  b.pass = length_, b.block_channels = channels, b.channel_parts = 1;
  b.segment_pixels = pixels, b.segments = segments;
}

// Of one tile of pixels, over all channels and passes.
double Chooser::TileCycles(const Blocking& b, int vecs) const {
  const int channels = TileChannels(isa_, vecs);
  const bool in_l1 = b.pass * kMaxVecs * isa_.vec_bytes <= machine_.l1d_bytes * 3 / 4;
  const double passes = static_cast<double>(CeilDiv(length_, b.pass));
  const auto tile = [&](int ocs) {
    const double fma = static_cast<double>(vecs * ocs) / machine_.fma_pipes;
    const double loads = static_cast<double>(vecs + ocs) / machine_.load_ports;
    const double step = std::max({fma, loads, static_cast<double>(machine_.fma_latency)}) +
                        kLoadCycles * static_cast<double>(vecs + ocs) + (in_l1 ? 0 : kFarPanelCycles);
    return static_cast<double>(length_) * step + passes * kTileCycles +
           vecs * ocs * (kAccumulatorCycles + kParkCycles * 2 * (passes - 1));
  };
  double cycles = static_cast<double>(p_.oc_g / channels) * tile(channels);
  if (p_.oc_g % channels > 0) cycles += tile(static_cast<int>(p_.oc_g % channels));
  const double calls = passes * static_cast<double>(CeilDiv(p_.oc_g, b.block_channels));
  return cycles + calls * (kCallCycles + (plain_ && !b.staged ? kFirstTileCycles : 0));
}

// Of all columns of an image.
double Chooser::GatherCycles(const Blocking& b) const {
  const ConvDesc& d = p_.desc;
  double floats = static_cast<double>(length_) * static_cast<double>(pixels_);
  if (one_panel_ && !plain_) return PickCycles(b);
  if (one_panel_) floats *= static_cast<double>(CeilDiv(p_.oc_g, b.block_channels));
  if (b.staged) floats += static_cast<double>(p_.oc_g) * static_cast<double>(pixels_);
  if (plain_) return floats * kCopyCycles;
  const double runs = static_cast<double>(length_) * static_cast<double>(p_.oh);
  return floats * ((d.stride.w == 1 ? kCopyCycles : kGatherCycles) + kCopyCycles) + runs * kRunCycles;
}

// Of picking all columns of an image, vector by vector of each row.
double Chooser::PickCycles(const Blocking& b) const {
  const int64_t chunks = p_.oh * CeilDiv(p_.ow, isa_.vec_lanes());
  const int64_t tiles = CeilDiv(pixels_, kMaxVecs * isa_.vec_lanes());
  const double each = isa_.vec_lanes() * (p_.desc.stride.w <= 2 ? kPickCycles : kPickAnyCycles);
  const double passes = static_cast<double>(CeilDiv(length_, b.pass) * tiles);
  const double cycles = static_cast<double>(length_ * chunks) * each + static_cast<double>(length_) * kLastPickCycles +
                        passes * kFillCycles;
  return cycles * static_cast<double>(CeilDiv(p_.oc_g, b.block_channels));
}

double Chooser::InputBytes() const {
  const ConvDesc& d = p_.desc;
  return static_cast<double>(images_ * p_.ic_g) * static_cast<double>(d.in.h * d.in.w) * sizeof(float);
}

double Chooser::OutputBytes() const {
  return static_cast<double>(images_ * p_.oc_g) * static_cast<double>(pixels_) * sizeof(float);
}

// Beyond L2: inputs and outputs once, weights once per segment; outputs are read before they are written, unless they
// go past the caches.
double Chooser::TransferCycles(const Blocking& b) const {
  const double in = InputBytes(), out = OutputBytes();
  if (b.staged) return (in + out) / (machine_.dram_bytes_per_cycle * kStagedRate);
  const auto l2 = static_cast<double>(machine_.l2_bytes), l3 = static_cast<double>(machine_.l3_bytes);
  double weights = static_cast<double>(length_ * p_.oc_g) * sizeof(float);
  weights = weights > l2 / 2 ? weights * static_cast<double>(images_ * b.segments) : 0;
  double cycles = weights / machine_.l3_bytes_per_cycle * (b.segments > 1 ? kWeightsCost : 1);
  if (in + out > l2) {
    const double rate = machine_.l3_bytes_per_cycle * (in + out <= l3 * kNearL3Share ? 1 : kFarRate);
    cycles += (in + 2 * out) / rate;
  }
  return cycles * kExposedTransfer;
}

double Chooser::PredictUs(const Blocking& b) const {
  const int lanes = isa_.vec_lanes();
  const int64_t vectors = CeilDiv(pixels_, lanes);
  // As CutPixels does, without the list.
  const int64_t rest = vectors % kMaxVecs, pairs = rest == 1 && vectors > 1 ? 2 : rest == 2 ? 1 : 0;
  const int64_t wide = (vectors - 2 * pairs) / kMaxVecs;
  double cycles = static_cast<double>(wide) * TileCycles(b, kMaxVecs) + static_cast<double>(pairs) * TileCycles(b, 2);
  if (vectors == 1) cycles = TileCycles(b, 1);
  cycles += GatherCycles(b) * static_cast<double>(b.channel_parts) +
            static_cast<double>(b.segments * b.channel_parts) * kItemCycles;
  cycles = cycles * static_cast<double>(images_) + TransferCycles(b);
  return cycles / (machine_.clock_ghz * 1000) / b.threads + machine_.call_us +
         (b.threads > 1 ? machine_.fork_join_us : 0);
}

Blocking Chooser::Choose() const {
  Blocking b;
  ChooseSegments(b);
  ChooseChannels(b);
  LimitParked(b);
  ChooseStage(b);
  if (InputBytes() + OutputBytes() > static_cast<double>(machine_.l2_bytes)) b.pixels_ahead = kPixelsAhead;
  b.predicted_us = PredictUs(b);
  return b;
}

}  // namespace

int TileChannels(const jit::IsaInfo& isa, int vecs) {
  return (isa.num_vecs >= 32 ? kChannels32 : kChannels16)[vecs - 1];
}

int ChannelUnit(const jit::IsaInfo& isa) {
  return std::lcm(std::lcm(TileChannels(isa, 1), TileChannels(isa, 2)), TileChannels(isa, 3));
}

std::vector<int32_t> CutPixels(int64_t pixels, int lanes) {
  int64_t vectors = CeilDiv(pixels, lanes);
  std::vector<int32_t> tiles;
  while (vectors > 0) {
    const int64_t vecs = vectors == 4 || vectors == 2 ? 2 : std::min<int64_t>(vectors, kMaxVecs);
    tiles.push_back(static_cast<int32_t>(vecs * lanes));
    vectors -= vecs;
  }
  return tiles;
}

Blocking ChooseBlocking(const ConvProblem& problem, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads) {
  Blocking alone = Chooser(problem, isa, machine, 1).Choose();
  return machine.TeamPays(alone.predicted_us, threads) ? Chooser(problem, isa, machine, threads).Choose() : alone;
}

}  // namespace rafter::gemm
