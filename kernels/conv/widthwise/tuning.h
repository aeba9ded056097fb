// kernels/conv/widthwise/tuning.h: constants of the widthwise kernels, each with where it was
// measured.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_TUNING_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_TUNING_H_

#include <cstdint>

namespace rafter::widthwise {

// Most vectors of pixels per tile, by output channels of the tile (1 to 4), where rows share loads
// and where they do not. What is left of the registers holds the inputs of a tap and a weight.
struct TileWidths {
  int accumulators;
  int shared[4], alone[4];
};
inline constexpr TileWidths kWidths16 = {12, {6, 3, 4, 3}, {12, 6, 4, 3}};
inline constexpr TileWidths kWidths32 = {28, {12, 6, 8, 6}, {24, 12, 8, 6}};

// Largest stride whose inputs are sorted out in registers; beyond, they are copied (stage.h).
inline constexpr int64_t kMaxSortedStride = 2;

// Planes of channels at multiples of 4096 bytes share their sets of L1: with more channels than
// ways each tap evicts the next one's inputs, unless a copy of the strip has channels a line further
// apart. NCHW, one thread, Zen 3: 3x3 40 to 12 at 32x32 264 us without, 141 with the copy, 64 to 64
// at 224x224 130563 and 54124, 48 to 48 at 160x256 52762 and 23267.
inline constexpr int64_t kSetPeriod = 4096, kL1Ways = 8;

// Rows of at least this many tiles whose inputs fit L1 are computed along the row, so that outputs
// are written line by line: 3x3 3 to 64 at 224x224 in NCHW 3820 us downwards, 3360 us along the
// row; 3 to 32 at 112x112 450 and 550 us.
inline constexpr int64_t kAcrossTiles = 8;

// Where outputs are this many times as large as L2, those of so many tiles ahead are prefetched. Time saved: 3x3, 3 to
// 64 at 300x300 5 %; 7x7 stride 2, 3 to 64 at 224x224 5 %; 1x1, 32 to 48 at 160x256 7 %, 16 to 32 at 320x512 6 %; but
// 3x3 stride 2, 3 to 32 at 224x224 (1.6 MB) loses 5 % (medians of four runs by turns).
inline constexpr int64_t kPrefetchedL2Times = 4;
inline constexpr uint16_t kTilesAhead = 2;

// Share of L2 that the inputs of a strip may fill.
inline constexpr double kL2Share = 0.5;

// Channels that 1x1 kernels sum per pass, sums parked in between (other kernels: a block of the
// sum). Each channel lies in a page of its own, and the first-level TLB has 64 entries on Zen 3.
inline constexpr int64_t kPassChannels1x1 = 64;
// Parked sums per thread, on the stack.
inline constexpr int64_t kPartialBytes = 32 << 10;

// The cost model (Zen 3, AVX2). Half of the unaligned loads of 32 bytes cross a line of 64 and cost
// two; all of those of 64 bytes.
inline constexpr double kSplitLoads16 = 1.5, kSplitLoads32 = 2;
// Cycles lost per tap; of a chain of dependent FMAs, beside their latency (8 of them take 4.7 to 6 cycles); per kernel
// column and input row; per tile beside its sums; per accumulator: zeroing, bias and store; per kernel call: filling
// its arguments.
inline constexpr double kTapCycles = 0.5, kChainCycles = 1.3, kColumnCycles = 3, kTileCycles = 15,
                        kAccumulatorCycles = 1.5;
inline constexpr double kCallCycles = 110;
// Calls go over channels where that makes them fewer by this factor.
inline constexpr double kLeastCallsSaved = 2;
// Sums of fewer instructions than this overlap with those of the next tile of a call, so that their chains cost less.
inline constexpr double kWindow = 400;
// Per item: what the driver works out.
inline constexpr double kItemCycles = 120;
// Per line of inputs of a strip beyond this share of L1: each tile of channels has them from L2. 1-D, 512 to 512
// channels, 2 taps over 100 pixels: 1.13 times as long as without.
inline constexpr double kLineL1Share = 0.75, kL2LineCycles = 1;
// Per tap: where the inputs of a tile exceed this share of L1, and where more channels than ways
// share a set.
inline constexpr double kL1Share = 0.5, kMissCycles = 1, kSetMissCycles = 4;
// Per tap of 1x1 kernels, where the channels of a pass lie in pages that fill more than half of the 64 entries of the
// first-level TLB; a staged strip comes from L2 as slowly.
inline constexpr int64_t kTlbPages = 32, kPageBytes = 4096;
inline constexpr double kTlbMissCycles = 2.6;
// Per tap of a tile at the end of a padded row: masks (3x3 and 5x5, 16 to 16 channels at 10x10, paddings of 1 to 6).
inline constexpr double kMaskCycles = 2;
// Per tap where even inputs are sorted out in registers, and once more where the image does not stay in L2 (3x3 stride
// 2 at 97x97 and at 241x241: 6 to 10 % and 18 % slower per tap than from a stage).
inline constexpr double kSortCycles = 0.6;
// Copies into the stage, per float: whole rows; even and odd elements apart; every third or more. With strides beyond
// 2, per row of a channel and phase.
inline constexpr double kCopyCycles = 0.3, kSplitCycles = 0.35, kGatherCycles = 1.2, kRowCopyCycles = 15;
// Part of the time of transfers from beyond L2 that does not hide behind the sums, and where outputs are prefetched.
inline constexpr double kExposedTransfer = 0.6, kExposedPrefetched = 0.4;
// … within L3's near share: stores wait in their queue while the next tiles are computed. 1x1 kernels with the others'
// 0.6, measured and predicted: 2 to 24 channels at 112x112 37 and 84 us, 3 to 192 at 52x52 86 and 161 (gemm 188), 16 to
// 24 at 80x80 74 and 106 (gemm 99).
inline constexpr double kExposedNear = 0.1;
// Tensors beyond this share of L3, which other programs use as well, come at this part of its rate; so do those from
// memory, many planes at a time.
inline constexpr double kNearL3Share = 0.25, kFarRate = 0.2;
// Lines of more channels than ways that share sets are gone before the next tile needs their rest, and prefetched lines
// before they are used: 1x1, 32 to 16 channels at 640x1024 50 ms.
inline constexpr double kSharedSetReads = 3;
// What the figures above leave out: where it matters, widthwise kernels took 0.95 to 1.1 times their sum, while the
// other engines took 0.85 to 0.95 times what is predicted for them (400 layers, Zen 3, in the same minutes).
inline constexpr double kOtherLosses = 1.1, kOtherLossesOverChannels = 0.95;
// Strips per thread, at least: evens out what the threads get.
inline constexpr int64_t kStripsPerThread = 8;

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_TUNING_H_
