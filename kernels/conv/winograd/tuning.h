// kernels/conv/winograd/tuning.h: constants of the Winograd kernels, each with where it was measured.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_TUNING_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_TUNING_H_

#include <cstdint>

namespace rafter::winograd {

// Tiles of a register tile by its vectors of output channels (index). The tiles of a block are cut evenly into
// register tiles of n and n - 1.
inline constexpr int kTiles16[] = {0, 12, 6, 4};
inline constexpr int kTiles32[] = {0, 24, 14, 9, 6};

// Sums over so many input channels or fewer are kept in two chains: the output transform amplifies their rounding, and
// short direct sums, against which errors are measured, have little of their own. 4x4 tiles, 16 channels: rms error
// 2.0 times that of direct summation instead of 2.4; 32 channels 1.65 instead of 2.0. The same time (16@56).
inline constexpr int64_t kMostShortChannels = 48;
// Up to so many, the sum of the first 8 waits in M besides: 16 channels at 56x56 rms 1.93 times direct's instead of
// 2.02, for 1 to 3 % of the time (16@112, 16@56, Zen 3).
inline constexpr int64_t kMostParkedChannels = 19;
// … in tiles of so many tiles at most: rows of V and of M need general registers at the same time.
inline constexpr int kMostParkedTiles = 8;

// Up to so many, products are written out without a loop over the channels: sums of 16 channels take 48 cycles, less
// than the counters and addresses of the loops around them.
inline constexpr int64_t kMostBakedChannels = 32;

// Share of L2 for V and M of a block. Beyond it they travel to L3 and back, which costs less than reading the weights
// more often. 64@56, Zen 3 (L2 512 KB), times of direct's: 12 tiles 2.67, 25 2.66, 33 2.89, 49 2.95; 128@28: 12 tiles
// 3.18, 16 3.16, 25 3.09 to 3.36, 49 2.84; 16@56 1.74, 1.76, -, 1.78.
inline constexpr double kL2Share = 1.3;
inline constexpr int64_t kLeastTiles = 12, kMostTiles = 64;

// … where the weights fill at most kFewWeightsL2Share of L2 they may well be read more often: 32@112 3 to 4 % less time
// than with 1.3.
inline constexpr double kFewWeightsShare = 0.5, kFewWeightsL2Share = 0.25;

// Bytes of a pixel that are read together: groups of fewer channels are transformed several at a time. Zen 3, groups of
// 16 channels at 56x56, times of one group at a time: 128 bytes 1.04 to 1.16, 256 1.09 to 1.13, 512 1.14 to 1.44.
inline constexpr int64_t kRunBytes = 512;

// Weights of more than this share of L3 come from memory: blocks are as large as kMostTiles then (512@28, Zen 5,
// blocks of 13 tiles 7126 us, of 49 4300).
inline constexpr double kL3Share = 0.4;
// … where other guests of the host use L3 as well: 256@7 with 4x4 tiles (9.4 MB) took 310 us in quiet hours of a Zen
// 3 (32 MB) and 760 to 1860 in others, with 4x2 tiles (6.3 MB) 305 to 430. Between layers of a network weights are
// seldom in a cache anyway. Those between the two shares come at the geometric mean of both rates, unless tiles have
// more than kFewPositions: 451 to 366 at 6x6 with 2x2 tiles (10.6 MB) 550 to 900 us, which would be 1330 at the rate
// of memory, direct 1000 to 1290; 200 to 392 at 7x7 with 4x2 tiles (7.5 MB) 460, with 2x2 540. With 36 positions 4x4
// tiles would be chosen at 256@14 (9.4 MB) and lose 15 %.
inline constexpr int kFewPositions = 24;
inline constexpr double kSharedL3Share = 0.2;
// Weights of more than this share of L2 are prefetched, a panel ahead: 256@14, Zen 3, 2211 and 1209 us; Zen 5, 512@14
// 1617 and 1237.
inline constexpr double kPrefetchL2Share = 0.5;
// What a stream of weights gets of the bandwidth of L3 and of memory beside the products. With 0.5 of memory's, 4x4
// tiles were predicted to win at 512@14, 1024@14 and 384@14, where 4x2 tiles are 1.1 to 1.3 times as fast (Zen 3).
inline constexpr double kL3Overlap = 0.6, kDramOverlap = 0.4;

// Cycles of the transforms per position and vector of channels, by 16 or 32 registers: storing V and loading M, which
// lie in L2, costs more than the arithmetic. Zen 3, AVX2, 4x4: 200 to 300 cycles each in place, 110 in L1. With 32
// registers and a larger L2 (Zen 5): 63 and 42.
inline constexpr double kTransformCycles16 = 6.5, kTransformCycles32 = 2.5;
// … of it where the weights are few, so that V and M leave the half of L2 to others: 16 to 32 channels at 28x28 and
// 56x56 took 0.6 to 0.85 of what was predicted (Zen 3).
inline constexpr double kFewWeightsTransforms = 0.65;
// … per output, where it is written to memory that no cache keeps.
inline constexpr double kOutputCycles = 3;
// Cycles per tile and tensor, whatever the channels.
inline constexpr double kTileCallCycles = 60;
// … and per call: pointers of pixels at the border, cold code of several kernels (16@7, Zen 3: direct is 7 % faster).
inline constexpr double kCallCycles = 800;
// Layouts whose vectors do not lie together are transposed through a strip.
inline constexpr double kStripCost = 1.4;

// Cycles of a register tile beside its steps, and of each of its vectors.
inline constexpr double kProductCycles = 25, kBakedProductCycles = 6, kAccumulatorCycles = 1.5;
// What loads cost even where they hide behind FMAs, in cycles per pair of loads (as in the tile engine).
inline constexpr double kLoadCost = 0.3;

// Inputs of more than this many L2s are prefetched while the products of the block before are computed, and so are the
// lines of the outputs.
inline constexpr double kPrefetchL2s = 2;
// Outputs in NHWC that the caches don't keep are collected in pieces of about so many bytes and stored past the caches.
// Zen 3, times of stores in place, 1 and 2 threads: 64@224 1.07, 1.09, 16@640x1024 1.05, 1.10, 32@320x512 1.11, 1.10,
// 64 to 96 at 160x160 1.09, 1.11.
inline constexpr int64_t kStagedOutputBytes = 32 << 10;
// Items of work per thread that make up for their different lengths.
inline constexpr int64_t kLeastItems = 4;
// Threads share the tiles and channels of a block where whole blocks would have fewer tiles than this.
inline constexpr int64_t kLeastTilesPerThread = 10;
// … of weights of up to so many L2s than this. 2 threads of 8 tiles each, Zen 3, times as fast: 268 to 12 at 16x16 1.28
// (NCHW 1.87), 160 to 12 1.32 (2.0), 64 to 24 at 14x14 1.27 (1.78), 100 to 8 at 15x15 1.18 (2.7), 32 to 32 at 16x16
// 1.20 (0.99), 64 to 64 at 14x14 1.17 (0.99); but 256 to 256 at 14x14 0.90.
inline constexpr int64_t kLeastTilesReadAgain = 7;
inline constexpr double kReadAgainL2s = 2;
// Threads that share the output channels of a block transform its inputs each for itself, where V fills at most this
// share of L2 and they are few, instead of one part each. Zen 3, 2 threads, GFLOP/s (effective) of 1, of 2 that share,
// of 2 that repeat: 64@7 167, 227, 253; 128@7 190, 307, 336; 64@14 186, 276, 305; 128@14 218, 368, 386; 256@14 (V 590
// KB) 216, 420, 423; 512@14 (1.2 MB) 153, 328, 261.
inline constexpr double kRepeatedL2Share = 0.75;
inline constexpr int kMostRepeats = 4;

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_TUNING_H_
