// kernels/conv/strip/tuning.h: the strip engine's constants, each with where it was measured.
#ifndef RAFTER_KERNELS_CONV_STRIP_TUNING_H_
#define RAFTER_KERNELS_CONV_STRIP_TUNING_H_

#include <cstdint>
#include <span>

namespace rafter::strip {

// A strip: at most px pixels of `vecs` accumulators. One accumulator per pixel leaves registers for the weights of
// three kernel columns.
struct StripShape {
  int vecs, px;
};

// 16 registers: 12 accumulators, what a step loads, and 4 temporaries for post-ops.
inline constexpr StripShape kShapes16[] = {{1, 12}, {2, 6}, {3, 4}, {4, 3}, {5, 2}, {6, 2}};
// 32 registers: up to 28 accumulators.
inline constexpr StripShape kShapes32[] = {{1, 24}, {2, 14}, {3, 9}, {4, 6}, {5, 5}, {6, 4}, {8, 3}};

// Kernel columns that one step multiplies at once. Wider kernels run column by column.
inline constexpr int64_t kMaxColumns = 16;
// … and columns times steps that are unrolled, where the lanes hold several groups.
inline constexpr int64_t kMaxUnrolled = 64;

// Pixels that lie a multiple of 4096 bytes apart share one L1 set: at most so many per strip.
inline constexpr int64_t kAliasBytes = 4096;
inline constexpr int kMaxAliasedPixels = 12, kMaxAliasedPixelsSmallL1 = 6;

// Fixed cycles per strip, per accumulator (zeroing, bias), per kernel row and per step.
inline constexpr double kStripCycles = 8, kAccumulatorCycles = 0.5, kRowCycles = 4, kStepCycles = 0.7;
// Cycles per accumulator for adding the parts of sums, and per store.
inline constexpr double kPartCycles = 1.5, kStoreCycles = 0.5;
// Loads of a vector of neighbouring channels that crosses a line cost two: on average, where pixels are not aligned.
inline constexpr double kUnalignedLoads = 1.4;

// Lines fetched ahead per step, at most.
inline constexpr int64_t kMaxPrefetchLines = 3;

// What the figures above leave out: layers with 3 to 100 outputs take so many times their sum where those of the other
// engines take what is predicted for them (500 random shapes, Zen 3, in the same minutes).
inline constexpr double kOtherLosses = 1.24;

// Share of L1 that weights, inputs and outputs of all units may fill for going down the rows. Zen 3, 3x3 at 56: 32
// groups of 2 90 us instead of 105; 32 groups of 4 (44 KB) 454 instead of 405, in blocks of units that fit no better.
inline constexpr double kDownRowsShare = 0.75;

// Share of L2 for the inputs of a block of rows.
inline constexpr double kL2Share = 0.5;

// Share of L1 for the inputs of a part of a joined row that several pieces read, and its least width in pixels.
inline constexpr double kL1Share = 0.5;
inline constexpr int64_t kMinSegment = 48;

// What permutes cost in slots of the pipes that FMAs use, per input: groups of 4 in quarters of the register (half of
// the steps are plain loads), and across the register: 14 vpermps beside 36 FMAs take 35 cycles instead of 18 on
// Zen 3 (14 broadcasts and blends 18.7), and 12 beside 12 take 8.6 instead of 6 on Zen 5.
inline constexpr double kInLaneShuffles = 0.75, kPermute8Shuffles = 5, kPermute16Shuffles = 1.2;

// Threads that share the channels of pixels write to the same lines: 224 to 28 1x1 stride 2 at 150x150, 2 threads, 705
// us, with rows of their own 652.
inline constexpr double kChannelSplitCost = 1.25;

// Rows are cut so that each thread has at least this many units, if they are too few.
inline constexpr int64_t kUnitsPerThread = 4;
// Strips at the ends of a row, where taps fall outside, that are listed one by one.
inline constexpr int64_t kMaxEdgeStrips = 4096;

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_TUNING_H_
