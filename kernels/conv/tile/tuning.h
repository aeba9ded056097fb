// kernels/conv/tile/tuning.h: the tile engine's constants, each with where it was measured.
#ifndef RAFTER_KERNELS_CONV_TILE_TUNING_H_
#define RAFTER_KERNELS_CONV_TILE_TUNING_H_

#include <cstdint>
#include <span>

namespace rafter::tile {

// A register tile: at most px pixels for oc_vecs vectors of output channels. Narrower tiles of the same
// oc_vecs are used where a row does not divide.
struct TileShape {
  int oc_vecs, px;
};

// 16 registers: 12 accumulators, what a step loads, and 4 temporaries for post-ops.
inline constexpr TileShape kShapes16[] = {{1, 12}, {2, 6}, {3, 4}, {4, 3}, {5, 2}, {6, 2}, {8, 1}, {12, 1}};
// 32 registers: up to 28 accumulators.
inline constexpr TileShape kShapes32[] = {{1, 28}, {2, 14}, {3, 9}, {4, 6}, {5, 5},
                                          {6, 4},  {8, 3},  {12, 2}, {24, 1}};

// Pixels that lie a multiple of 4096 bytes apart share one L1 set (8 to 12 ways): beyond this many per tile
// each step evicts the next one's input (28 pixels at 4 KB fall to 20 % of the peak on Zen 5).
inline constexpr int64_t kAliasBytes = 4096;
inline constexpr int kMaxAliasedPixels = 12, kMaxAliasedPixelsSmallL1 = 6;

// Cost of a byte of input from beyond L2 relative to a byte of weights. 3x3 256 to 256 at 56x56, Zen 3, AVX2, rows per
// pass over the channels: all 59.9 GFLOP/s, 4 rows (228 KB) 72.7, 8 rows 79.3 (medians, interleaved).
inline constexpr double kInputCost = 4;

// 1x1 kernels with a stride whose pixels lie a multiple of this apart use a part of the sets of L2 only: their inputs
// come from L3 for each channel tile, in cycles per line. Stride 2, in place against a copy of the used pixels (Zen 3,
// AVX2, GFLOP/s): 1024 to 2048 at 14x14 62 and 74, 512 to 1024 at 28x28 67 and 75, 256 to 128 at 56x56 73 and 69.
inline constexpr int64_t kStridedAliasBytes = 2048;
inline constexpr double kStridedLineCycles = 7;

// Inputs of groups lie far apart where pixels are this many times as long as what a group uses of them.
inline constexpr int64_t kFarPixels = 4;
// Copies to a stage take runs of at least this many bytes per pixel, prefetched kStageAhead pixels ahead. Zen 3, pixels
// 4 KB apart, 12.8 MB: runs of 128 bytes 4.5 to 7.6 ms, of 256 2.1 to 3.3 ms, of 512 1.9 to 3.9 ms, the lower ones with
// prefetch.
inline constexpr int64_t kStageRunBytes = 256, kStageAhead = 8;
// … and fill at most this share of L2. 32 groups of 32 channels 3x3 stride 2 at 56x56: 9 rows (161 KB) 9.9 ms, 15 rows
// 10.4 ms.
inline constexpr double kStageL2Share = 0.5;
// Cycles per line that is copied, and per line that is read in place from beyond L2. 32 groups of 32 channels as above
// in place: 58 per line and tap; of 64 channels at 28x28: 17 to 25.
inline constexpr double kStageLineCycles = 35, kFarLineCycles = 35;

// Gathered pixels: so many at a time of all blocks (their lines of the stage stay in L1), cycles per vector, and the
// most bytes of a stage. Zen 3, AVX2, NCHW8c, us in place and gathered: 512 to 128 at 28x28 1627 and 1266, 1024 to 512
// at 14x14 3329 and 2325, 1024 to 1536 at 10x10 5228 and 3566, 4096 to 2048 at 7x7 14870 and 10216, 960 to 320 at 96x96
// 124 and 69 ms; but 64 to 64 at 56x56 290 and 320 (NCHW16c 337 and 373).
inline constexpr int64_t kGatheredPixels = 96, kMostGatheredBytes = 2 << 20;
inline constexpr double kGatherCycles = 4.5;
// What reading blocks in place costs a tile of a 1x1 kernel: cycles per block, more of them the more pages its planes
// lie on, and more still beyond those that the first level of TLB holds. As above: 1 cycle per block on 8 pages, 6 on
// 40 to 64, 20 to 28 on 100 to 196.
inline constexpr double kPieceCycles = 1, kPagedPieceCycles = 12, kFarPieceCycles = 12;
inline constexpr int64_t kTlbPages = 64, kPageBytes = 4096;
// Inputs in blocks of more than this share of L2 are prefetched plane by plane, a tile ahead: 256 to 32 at 28x28 198
// and 167 us, 192 to 16 79 and 62, 192 to 64 at 35x35 406 and 376; but 832 to 32 at 7x7 (NCHW16c) 34.8 and 35.9.
inline constexpr double kPlanesL2Share = 0.5;

// Share of L2 for outputs that are staged because their pixels are no whole lines. Zen 3, AVX2, us of plain stores and
// staged: 1x1 11 to 280 at 112x112 (14 MB) 3693 and 1960, 27 to 314 at 75x75 (7 MB) 2963 and 1624, 3 to 40 3x3 at
// 224x224 3543 and 2255; 32 to 256 KB alike. Whole lines are streamed at once: staged, 16 to 320 at 80x80 1.3 times as
// long. Stores of one pixel follow each other: in the order of vectors they took 8 to 15 % more time beyond L2, and
// streams of few steps per output gained nothing.
inline constexpr double kOutputStageL2Share = 0.125;

// Inputs of more than so many L2s are prefetched, so many bytes ahead, for 1x1 kernels over so many channels. Zen 3,
// AVX2, 1x1, times without (1 thread, 2 threads): 256 to 128 at 56x56 1.11 to 1.27, 1.02; 256 to 64 1.06 to 1.10, 1.01;
// 512 to 128 1.13, 1.07; 128 to 128 1.01 to 1.07, 1.02; 144 to 24 1.07 to 1.10; 2 to 8 KB ahead alike. Within 2 L2s no
// gain; 32 to 16 at 112x112 0.97.
inline constexpr double kInputL2s = 2;
// … of slices, whose pixels have gaps between them (here of 64 channels), a tile ahead: 256 to 64 at 56x56 1.12 to
// 1.17, 96 to 24 at 112x112 1.43, 64 to 64 at 112x112 1.25, at 56x56 1.09; dense pixels 0.91 to 1.02, stride 2 0.98 to
// 1.03.
inline constexpr double kSlicedInputL2s = 1;
inline constexpr int64_t kInputsAhead = 4096, kLeastPrefetchedChannels = 64;

// Share of L1 up to which a tile's weights are taken to stay there from tile to tile.
inline constexpr double kL1Share = 0.5;

// Part of the L2 bandwidth that a stream of weights gets beside the FMAs. Zen 3, AVX2, 3x3 at 28x28: tiles of 6
// vectors (192 bytes per 6 cycles) lose 8 to 25 % against those of 3 (96 bytes).
inline constexpr double kL2Overlap = 0.67;

// Cycles lost per step, times accumulators: 12 chains run 1 % nearer the peak than 8 (Zen 3, latency 4, 2 pipes).
inline constexpr double kFewChains = 0.25;

// What loads cost even where they hide behind FMAs, in cycles per load pair, and per line of weights. Zen 3 with a busy
// hyper-thread beside it: tiles of 2 vectors (8 loads per 12 FMAs) lose 3 % against those of 3 or 4 (7 loads).
inline constexpr double kLoadCost = 0.45, kWeightLineCost = 0.15;

// Cycles per line of output that a tile writes whole, and per line that it shares with its neighbour. 1x1 with 64
// channels at 56x56, Zen 3, AVX2: tiles of 3 vectors lose 6 to 12 % against those of 4; 128 channels 5 to 7 %, 256 0 to
// 3 %. Whole lines, 1x1 on 8 channels (100x100 to 256): 663 us of which multiplications explain 330.
inline constexpr double kLineCycles = 4, kSharedLineCycles = 11;

// Most channels per column that are written out without loops. Zen 3, AVX2, against loops (medians of paired runs):
// 3x3 on 3 channels +8 to 11 %, 7x7 stride 2 on 3 channels +1 to 6 %, 1x1 on 16 channels +3 to 9 %, on 24 +1 to 3 %,
// on 32 -6 %, on 64 -9 to -16 % (the code then crowds the caches for instructions).
inline constexpr int64_t kMaxUnrolledSteps = 24;

// One more kind of channel tile means more kernels to compile (about 10 us each): worth this many cycles per row.
inline constexpr double kKindCycles = 200;

// Share of L2 that the weights of one pass, or the inputs of one chunk, may fill.
inline constexpr double kL2Share = 0.5;

// Share of L2 for the weights of one pass over the input channels, where all of a tile's weights exceed kL2Share.
// 3x3 512 to 512 at 7x7, Zen 3, AVX2, 3 vectors: one pass 50.6 GFLOP/s, with prefetch of the next weights 57.8,
// in passes of 110 KB 58.6, of 55 KB 59.9 (medians, interleaved).
inline constexpr double kPassL2Share = 0.125;

// Items of work per thread, so that threads finish together, and the least that an item should take.
inline constexpr int64_t kItemsPerThread = 8;
inline constexpr double kItemUs = 4;

// Threads get rows of their own where the weights fill at most kL2Share of L2, and all channels of them in one item of
// work if that takes at most about so long: lines of outputs that two threads write, or that a thread takes over from
// another one, move between their cores. 2 threads, Zen 3, us: 1x1 3 to 104 at 25x25 27, rows 18, whole 13.8; 3 to 128
// 18.9, 14.1, 14.3; 16 to 96 at 28x28 32, 25, 24; 24 to 144 at 28x28 54, 49; 64 to 60 3x3 stride 2 at 28x28 118, 105.
inline constexpr double kWholeChunksUs = 10;

// Largest buffer of unfinished sums per thread, on the stack.
inline constexpr int64_t kPartialBytes = 32 << 10;

// Fixed cost of a tile in cycles: zeroing, loop set-up, bias and store of one accumulator vector each.
inline constexpr double kTileCycles = 12, kAccumulatorCycles = 1;
// … and of each kernel column of a channel block: counters and steps.
inline constexpr double kColumnCycles = 2.5;
// … and of each column beyond the first of a kernel row, at the ends of image rows, where those between run a kernel
// row as one. 1 to 16 channels, 3x3 at 28x28: 174 cycles per tile where those of 64x64 take 110.
inline constexpr double kEdgeColumnCycles = 15;
// … and where kernels of one column have padding: tiles end where it begins. 16 to 16 channels 1x1 at 10x10 with
// padding 1, 2 and 3: 160, 260 and 310 cycles per row more than predicted.
inline constexpr double kPaddedEndCycles = 120;

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_TUNING_H_
