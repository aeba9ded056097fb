// kernels/conv/depthwise/tuning.h: constants of the depthwise kernels, each with where it was
// measured.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_

#include <cstdint>

namespace rafter::depthwise {

// More phases than this in one direction (a dilation beyond it) go to the general algorithms.
inline constexpr int64_t kMaxPhases = 4096;
// So does padding of more than this: tiles that reach into it are listed one by one.
inline constexpr int64_t kMaxPad = 65536;

// Sums of a row whose kernel goes in pieces, per thread, on the stack.
inline constexpr int64_t kPartialBytes = 16 << 10;

// Kernels up to so many rows and columns roll down the image, with at most so many outputs of a
// column in flight.
inline constexpr int64_t kMaxRollingTaps = 7, kMaxRollingRows = 3;

// Rolling tiles are narrower than registers allow where that saves so many instructions (OrderOf, rolling.h).
inline constexpr double kFewerInstructions = 1.08;

// Tiles that hold their weights (ChannelSpec::kHeld): kernels of so many taps, images at least so wide.
// Zen 3, AVX2, us rolling and held: NHWC 32@112 157 and 130, 16@112 74 and 62, but 576@14 27 and 31, 960@7
// 12 and 15; NCHW16c 64@112 stride 2 147 and 119, but 2x2 128@56 92 and 99. With more than kFewRegisters
// rolling tiles are wide enough.
inline constexpr int64_t kMaxHeldTaps = 10, kLeastHeldTaps = 6, kLeastHeldOutputs = 28;
inline constexpr int kLeastHeldColumns = 3, kFewRegisters = 16;
// Output rows per block of such tiles in blocked layouts, and in NHWC with few channels: 64@112 stride 2 in
// NCHW16c 119 us with 8 rows, 149 with 32; 32@112 in NHWC 130 with 4 rows, 137 with 8.
// Where rows share their sets and a vector is half of a line, kLinesPerSet / kh: NCHW16c 32@128 236 us with 8 rows, 210
// with 2, 48@128 stride 4 117 and 68, NHWC 64@64 124 (4 rows) and 107; but NCHW8c 32@128 211 and 249.
// Kernels whose windows do not meet, and so cannot roll, hold whatever weights they have. us as tiles of one row, and
// held: NHWC 3x1 16@10x15 stride 1x2 1.4 and 0.7, 2x2 48@50 stride 3 13.6 and 6.9, 3x3 96@60 stride 4 32 and 22, 1x1
// 64@112 stride 2 127 and 72; NCHW16c 2x2 200@28 stride 3 26 and 11.5, 3x3 96@60 stride 4 42 and 22; but 5x1 64@40
// stride 1x3, which goes along the rows of the image, 11.5 and 12.4. With 2 rows at a time 64@112 takes 95.
inline constexpr int64_t kHeldRows = 8, kDenseHeldRows = 4;

// NHWC with at most so many channels prefetches the tile to the right, with more of them the next line of
// each pixel. Zen 3, us without and with: 144@56 150 and 132, 576@14 32 and 27, 960@7 13.1 and 12.2, 32@112
// next tile 144 and 137, next line 145; stride 2: 128@56 77 and 65, 96@112 by blocks of 4 rows 166 and 143, but
// 13x13 776 and 1036. Where both tensors stay in L1 it costs 3 %.
inline constexpr int64_t kFewChannels = 80, kMaxPrefetchTaps = 25;
inline constexpr double kPrefetchL2Share = 0.5;

// Tensors larger than this share of L3 are walked through row by row, and outputs larger than that one are
// stored past the caches. Zen 3 with a busy L3 of 32 MB, us before and after: 56@266 8496 and 3811, 128@147
// 5829 and 2228, 64@147 2037 and 836, 728@37 (not past the caches) 2404 and 612. More than one row at a
// time stores past the caches slowly: lines are written in more pieces than can be collected (128@147 5842).
// Blocked layouts: NCHW8c 64@266 5620 and 2470, 1x9 64@202 2450 and 1310, 64@147 1460 and 740; NCHW16c 64@266 4520 and
// 3180; but kernels of one column whose rows share their sets 3x1 64@256 3670 and 4730.
inline constexpr double kLargeL3Share = 0.2, kStreamL3Share = 0.125;
// KB beyond the next tile at which such images are prefetched, where the columns of a tile lie side by side: 1x7 64@202
// 1254 us with 0, 953 with 4, 128@147 2155 and 1698, 64@147 and 256@74 the same; but 9x1 96@202, whose columns are rows
// of the image, 2220 and 3700.
inline constexpr uint8_t kStreamAhead = 4;
// For the same reason tiles that do so are at most so wide: 1x7 64@202 4732 us with 8 columns,
// 1600 with 6; where columns lie at a multiple of kFarStreamedBytes 256@74 2286 with 6 columns,
// 1033 with 4 (64@147 1063 and 1314, 9x1 32@202 739 and 1050).
inline constexpr int kMaxStreamedColumns = 6, kMaxFarStreamedColumns = 4;
inline constexpr int64_t kFarStreamedBytes = 1024;
// Large images whose pixels could be staged are taken in pairs, by so few rows: 512@56 (12.8 MB, Zen 3) 4500 to 5900 us
// past the caches, 3000 staged, 1560 in pairs by 4 rows, 2460 by 10; 1024@56 6480 staged, 3880; stride 2 512@56 1340
// with weights held, 360 in pairs by 6. But 1024@28 (6.4 MB) 529 staged, 550; 1024@20 250 and 280.
inline constexpr int64_t kFarPairRows = 4;
// Kernels of one column: the tiles of a call follow the row of the image, over as many columns as leave the rows of a
// tile in this share of L2. Zen 3, us down the image (6 lines of each of 202 rows) and along it, medians of pairs in
// one process: 9x1 96@202 1533 and 1212, 7x1 1553 and 1290, 7x1 32@202 408 and 309, 9x1 630 and 514 (a copy past the
// caches 278), 3x1 64@256 4140 and 1810, 7x1 128@56x57 157 and 86; prefetching takes 5 % of that away again. Where
// rows share their L1 sets, staged before: 3x1 64@112 481 and 234, 5x1 256@28 102 and 63. NCHW16c 9x1 96@202 2860 and
// 1810, but NCHW8c, whose pixels are half a line, 3813 and 4792. NCHW16c whose rows share their sets: 5x1 128@48x64
// 212 and 254.
inline constexpr double kSidewaysL2Share = 0.75;
// Kernels of so many rows roll all the same where they take a whole line of each pixel, 8 rows at a time, while both
// tensors are not much larger than what is left of L3 and rows do not share their L1 sets. Zen 3, us held and rolling:
// 64@140 406 and 341, 192@85 524 and 414, 384@60 547 and 428, 160@90 426 and 360, 48@170 681 and 608, 96@120 640 and
// 620, 256@74 620 and 490 (4 rows); but 96@147 (16.6 MB) 1074 and 1082, 48@224 1320 and 1520, 256@80 (rows a multiple
// of kAliasBytes apart) 1000 and 1220; 2x2 64@147 466 and 590; stride 2 96@300 4870 and 5950.
inline constexpr int64_t kStreamedRollingTaps = 3, kStreamedRollingRows = 8;
inline constexpr double kStreamedRollingL3Share = 0.4;
// Large tensors whose outputs stay in the caches roll, us held and rolling: 728@37 395 and 362, 36@200 4570 and 3340,
// stride 2 144@112 471 and 291, 40@220 1045 and 746.

// Output rows per block of rolling tiles in NHWC, where all channels of a tile are walked through
// before the next one: 576@14 on Zen 3, AVX2: 14 rows 33.0 us, 7 rows 30.9; 511@10 25.5 with 5 rows, 21.1 with 10.
// With a stride the input rows are more: 96@112 166 with 7 rows, 130 with 6; 576@14 15.6 with 7, 12.5 with 4; 192@28
// 21.2 and 18.3, but 240@28 20.0 and 20.4. In blocked layouts one block of channels is walked through: its rows stay
// in L1.
inline constexpr int64_t kDenseRollingRows = 10, kStridedRollingRows = 6, kBlockedRollingRows = 32;

// Images up to this share of L2 are small: all their rows are one block (16@14 1.15 us with two blocks, 1.03 with one);
// so are those of staged ones (1024@10 65 and 58, 1536@10 97 and 88).
inline constexpr double kSmallL2Share = 0.25;

// Rows this far apart share their L1 sets: 128@56 (7 x 4096 bytes) rolling 318 us, two rows at a
// time 162. Images of a few rows roll all the same.
inline constexpr int64_t kAliasBytes = 4096, kFewAliasRows = 8;
// Pixels at a multiple of so many bytes (of twice as many where rows share their sets too) keep so few lines of
// a tile in L1 that the second vector of a line finds it gone: rolling tiles of vectors of half a line take both at
// once. Distances of kAliasBytes are still better staged. Zen 3, AVX2, us with one vector (or staged) and two:
// 512@14 58 and 46, stride 2 29 and 20, 128@74 308 and 223, 256@37 193 and 156, 1536@10 84 and 70, 256@33 dilated
// 229 and 125; 384@14 28.5 and 26.5; but 1024@10 51 and 66, 128@56 185 and 192.
// Where rows share their sets too, by so few of them, and only where few input rows reach an output row: 128@56, us in
// place and by pairs: stride 2 64.8 and 57.8, 4x4 stride 2 89 and 79, 2x2 118.8 and 101.5, but 3x3 120 and 164.
inline constexpr int64_t kPairBytes = 512, kPairAliasRows = 2, kPairAliasSlots = 2;
// Lines of a window that such a set may hold. 256@28 stride 2 (4 sets) 60 us with 5 columns, 47 with 3, 45 with 2;
// 128@56 stride 2 (8 sets) 83 with 5, 76 with 3.
inline constexpr int64_t kLinesPerSet = 6;

// Pixels at a multiple of so many bytes (half as many from kManyTaps taps on) are staged, so many
// channels at a time, one line more apart. Zen 3, AVX2, us in place and staged: 1024@7 58 and 25,
// 512@14 98 and 43, 7x7 512@14 190 and 118; at half the distance 7x7 256@28 362 and 308, but 3x3
// 256@28 85 and 103, and large tensors 5x5 256@74 2310 and 3160.
inline constexpr int64_t kStagedBytes = 2048, kManyTaps = 25;
inline constexpr int64_t kStagedChannels = 64, kStagedPixel = kStagedChannels + 16;

// Stores of some lanes only (vmaskmovps) cost 12 cycles on Zen 3: pixels of fewer channels than lanes are stored whole
// where the next pixels are still to come (ChannelSpec::exact). us before and after: 3@224 476 and 178, 3@32 11.4 and
// 5.4, 7@32 5x5 15.6 and 9.1, 4@50 21.9 and 8.9, 6@40 stride 2 4.5 and 2.1. Lanes behind the last channel of
// NCHW16c are cleared without a kernel, whose mask narrowed all tiles: 8@56 24.1 and 16.2, 40@30 7x7 64 and 48.

// NCHW that goes through a buffer strip by strip: rows of so few outputs; from kManyTaps taps and kNarrowRows kernel
// rows on also rows of kNarrowColumns outputs (twice as many with stride 2), and tiles of one vector. Zen 3, us along
// the rows and transposed: 512@4 10 and 5.9, 256@5 5.0 and 5.0, 256@9 10.5 and 12.8, 960@7 24 and 36, 728@19 99 and
// 159; 5x5 960@7 57 and 53, 240@14 43 and 47, 120@28 89 and 96, stride 2 672@14 71 and 52, 96@28 34 and 29.5,
// 72@56 88 and 126; 7x7 256@28 496 and 304, 512@14 234 and 141; 4x4 128@56 251 and 363.
inline constexpr int64_t kMostTransposedColumns = 5, kNarrowRows = 5, kNarrowColumns = 8;
// Channels or pixels at a time; channels per strip; cycles to transpose an input or output.
inline constexpr int kTransposed = 8;
inline constexpr int64_t kTransposedChannels = 32;
inline constexpr double kTransposeCycles = 0.42;

// Tiles that do not roll stage inputs and outputs of as many rows as fit here: a quarter of a small
// L2.
inline constexpr int64_t kStagedBlockBytes = 128 << 10;

// NCHW: largest kernel in either direction; larger ones run in a copy of another layout, which
// costs little beside them.
inline constexpr int64_t kMaxWidthTaps = 13;
// Most kernel rows of tiles that do not roll down the plane but take a band of a few output rows along it, and rows
// that these prefetch ahead. Zen 3, us through a transposed buffer and in bands: 13x1 32@64x128 496 and 88, 1x7
// 64@201x202 whose last row reaches no input row 2630 and 1460, 4x4 stride 2 128@56 with 32 rows of outputs 187 and 87.
// Tiles that roll load less: 3x3 128@56 104 us rolling, 140 in bands, 5x5 120@28 94 and 107, 7x1 16@40 4.6 and 6.4,
// and 7x1 32@202, whose rows they leave after half a line, 790 and 740.
inline constexpr int64_t kMaxBandRows = 31;
inline constexpr int kBandRowsAhead = 8;
// Kernels whose tiles would be one vector wide take bands with rows of so many outputs, where each input has one output
// or several; up to so many kernel rows. Zen 3, us transposed (several outputs: by such tiles) and in bands: 7x7 16@224
// 1950 and 1180, 32@112 656 and 531, 128@56 642 and 688, 256@28 314 and 424, 9x9 32@112 1000 and 976, 11x11 32@80 675
// and 770; 128 to 256 7x7 at 32x32 561 and 408.
inline constexpr int64_t kLeastWideBandColumns = 80, kLeastBandColumns = 24, kMaxWideBandRows = 9;
// Kernel columns from which inputs are shifted where an input row reaches one output row. Zen 3, us with a load per tap
// and shifted: 1x13 8@60x100 28.5 and 24.4, 1x11 23.3 and 21.5, 1x9 16@202 270 and 260, 64@201x202 in bands 1700 and
// 1460, but 1x7 16@202 212 and 222,
// and tiles of 3 vectors, which reload their weights often, 1x9 40@20x26 13.3 and 14.8.
inline constexpr int kLeastShiftedTaps = 8, kLeastShiftedVecs = 4;
// Output rows in flight up to which neighbouring taps of stride 2 share their loads. Zen 3, us without and with:
// 3x3 144@56 108 and 85, 256@28 54 and 43, 2x2 128@56 63 and 50, 5x5 72@56 127 and 111.
inline constexpr int kMostPairedRows = 3;
// Share of L1 for the planes of the channels that one call of the width kernel covers.
inline constexpr double kWidthL1Share = 0.75;
// Planes whose code has no loops: so few rows, tiles of so few columns. Zen 3, us with loops and without: 960@7 36 and
// 26, 130@10 7.8 and 6.3, 256@12 18.3 and 16.4, 512@14 41.9 and 38.1, 256@16 24.1 and 22.5, 14x14 with stride 2 36 and
// 28; with more taps or a stride of rows less: 5x5 240@14 49 and 55, 28x28 with stride 2 44.1 and 43.6. The same where
// dilation leaves few rows: 256@33 with dilation 12 340 and 131.
// More sums in flight do not help: two parts of the plane at once, by the same weights, 512@14 28.9 and 36.
inline constexpr int64_t kMaxPlaneRows = 16, kMaxSparePlaneRows = 10, kMaxPlaneColumns = 16;
// Products that the code of the width kernel may have room for, counted generously (width_registers.cc).
inline constexpr int kMostWidthProducts = 15000;
// Taps up to which the code for weights that are not finite lies behind the kernel instead of replacing the other one;
// of bands: 7x7 64 of 32@32x32 489 us without it, 390.
inline constexpr int kMostAsideTaps = 36, kMostBandAsideTaps = 81;
// Bytes that such planes prefetch ahead where all loads are masked. Zen 3, us without and with: 480@7 15.2 and 12.8,
// 960@7 30 and 26; twice as far the same.
inline constexpr int kPlanePrefetchBytes = 384;
// Bytes of outputs of the width kernel that go past the caches together, and while which are computed the inputs of as
// many rows are prefetched; twice as many from kTallRows kernel rows on. Zen 3, us with inputs prefetched kRowsAhead
// rows ahead, a block of 16 KB, of 32: 128@147 2700, 1830, 2400; 56@266 3200, 2160, 2410; 7x1 96@202 5770, 2570 to
// 4000, 2250 to 2730; 9x1 6000, 3070, 2330; with 8 KB all of them are slower.
inline constexpr int64_t kWidthBlockBytes = 16 << 10, kTallRows = 7;
// Outputs larger than this share of L3 do. Zen 3, 32 MB of L3 that other guests use as well, us in place and streamed:
// 128@147 2700 to 3400 and 2000 to 2400, 1x7 64@202 2500 and 1850, 64@147 (5.5 MB) 524 to 890 and 557 to 780, 96@112
// (4.8 MB) 386 to 617 and 436 to 612, 7x1 32@202 (5.2 MB) 597 to 886 and 553 to 730, 728@37 (4 MB) 322 to 376 and 337
// to 438. (To copy a block's lines while the next one is computed, in the kernels, was slower: 64@147 610 and 700.)
inline constexpr double kWidthStreamL3Share = 0.15;
// Rows that it prefetches ahead: 1, 2, 4 or 8. Zen 3, us with 4 and 8: 56@266 5256 and 4761, 64@147 512 and 484,
// 144@56 129 and 126.
// Not where a tile is a whole row, which reads memory in order: 728@19 109 with, 101 without, 256@28 71 and 69, stride
// 2 144@56 62 and 60, 24@56 9.5 and 9.2.
inline constexpr int kRowsAhead = 8;
// Model (prediction.cc), fitted to medians on Zen 3: beside a factor that all layers of a run share (0.75 to 1.0: the
// host is busy), within 15 % of the median lie 64 of 83 layers in NHWC and 41 of 69 in NCHW. Large tensors in NCHW
// take 2 to 5 times what is predicted, by every algorithm.
// Chains of a tile overlap with those of the next vector: as if there were so many times more of them.
inline constexpr double kOverlap = 1.5;
// Time over that of the FMAs: of tiles that go down, of two rows (the first and the last input row feed one output row
// only), of one row; more where vectors cross lines; times that where inputs are permuted (or within quarters). Cycles
// per output vector for zeroing, bias, store and loops.
inline constexpr double kRollingLosses = 1.25, kTwoRowLosses = 1.3, kOneRowLosses = 1.1, kUnalignedLosses = 0.2;
inline constexpr double kPermutedLosses = 1.55, kQuarterLosses = 1.2, kOutputCycles = 0.6;
// Traffic hides behind so much of that. Times the machine's figure for L3, near (small tensors) and far; cycles per
// byte where pixels share L1 sets, or are staged.
inline constexpr double kHiddenShare = 0.6, kNearL3Share = 0.08, kNearL3Traffic = 0.8, kFarL3Traffic = 1.3;
inline constexpr double kCrowdedCycles = 0.1, kStagedCycles = 0.09;
// Tensors up to this share of L3 come from there.
inline constexpr double kMemoryL3Share = 0.36;
// More losses of large kernels with a stride that roll; cycles per call of a kernel, and per tile of one vector's depth
// (16@14, 24@14, 72@7, 3x1 16@10x15: 0.9, 1.3, 0.95 and 1.1 us; 0.75, 1.1, 0.8 and 0.3 without).
inline constexpr double kStridedLosses = 0.35, kCallCycles = 60, kTileCycles = 25;
// The width kernel, in cycles: per FMA, per load beyond so many for each FMA, per tap and vector of an input row where
// lanes are picked (stride 2), per input row where all loads are masked, per output vector, per tile, per plane without
// loops.
inline constexpr double kWidthTapCycles = 0.55, kWidthLoadCycles = 0.9, kWidthFreeLoads = 0.6;
inline constexpr double kWidthPickCycles = 0.45, kWidthMaskedCycles = 1, kWidthVectorCycles = 0.9;
inline constexpr double kWidthTileCycles = 50, kWidthPlaneCycles = 12;
// … and per output plane where more than so many come from one input plane: 1 to 32 5x5 at 8x8 8.4 us where 1.5 were
// predicted, 1 to 535 3x3 at 19x19 135 and 59, 1 to 64 3x3 at 28x28 19.4 and 13.1; 64 to 128 at 28x28 26.5 and 26.2.
inline constexpr int64_t kFewMultiplied = 4;
inline constexpr double kMultipliedCycles = 350;
// Of bands: per instruction, per run of tiles, per call.
inline constexpr double kBandCycles = 0.32, kBandRunCycles = 30, kBandCallCycles = 70;
// Of large kernels: time over that, cycles per tap of a last vector that is alone. Zen 3, us in bands and by widthwise
// kernels: 7x7 24 to 48 at 120x90 1200 and 850, 12@150x130 530 and 484, but 32@112 590 and 685; 9x9 40 to 80 at 60x60
// 960 and 735.
inline constexpr double kLargeBandLosses = 1.25, kBandChainCycles = 4;

// Of lines, which go along the row where it has several tiles and the tensors exceed L2, or where planes are one row.
// Zen 3, us down and along: 1x7 16@202 302 and 252 (a copy 116), 1x9 335 and 307, 1x11 20@100x300 374 and 345, 1x3
// 64@1x1024 22.0 and 13.1, 1x9 256@1x300 44 and 32, but 1x3 40@56, a tile per row, 23.9 and 31.9. Inputs of the first
// five taps come of two loads: 1x7 with a load per tap 262, all shifted 9 % more. Prefetching takes 2 to 5 % away.
// Model: per tap of an output vector, per output vector, per row.
inline constexpr double kLineTapCycles = 0.7, kLineVectorCycles = 1.5, kLineCycles = 20;

// Blocks of rows per thread beyond which a thread that has one more hardly matters.
inline constexpr int64_t kManyRowTiles = 4;

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_
