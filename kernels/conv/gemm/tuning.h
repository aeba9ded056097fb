// kernels/conv/gemm/tuning.h: constants of the matrix product, each with where it was measured.
#ifndef RAFTER_KERNELS_CONV_GEMM_TUNING_H_
#define RAFTER_KERNELS_CONV_GEMM_TUNING_H_

#include <cstdint>

namespace rafter::gemm {

// Output channels per tile, by vectors of pixels (1 … 3), with 16 and with 32 registers. The other registers hold the
// inputs of a k and a weight. Whole panels, and at most 6 of them (spec.h).
inline constexpr int kChannels16[3] = {12, 6, 4};
inline constexpr int kChannels32[3] = {12, 12, 8};

// k per pass of the kernel's loop.
inline constexpr int kUnroll = 4;

// Shares of the caches: of L1 for a panel, of L2 for the gathered values of a pass and for the weights of a block of
// channels.
inline constexpr double kPanelL1Share = 0.6, kColumnsL2Share = 0.4, kWeightsL2Share = 0.3;
// Longest pass over columns that are read in place: their panels stay in L2, which costs less than parking sums. 512 to
// 64 channels at 14x14 with passes of 171 k 0.90 of the speed in NHWC, with one pass 0.93.
inline constexpr int64_t kMaxPass = 512;
// Share of L2 for the weights of a block of channels then: the columns are read again for each block. 1024 to 512 at
// 14x14 with 0.3 0.90 of the speed in NHWC, with 0.5 to 1.5 0.94 to 0.96; 1024 to 4096 0.84, 0.86, with 0.75 0.88.
inline constexpr double kPlainWeightsL2Share = 0.75;
// … and for sums that are parked between passes: 728 to 728 at 37x37 1.10 times the time in NHWC without a limit, 1.04;
// 2048 to 1024 at 14x14 1.27 and 1.10.
inline constexpr double kParkedL2Share = 0.25;
// Prefetching: the same pixels of so many planes ahead; where the tensors do not fit L2, the pixels two tiles ahead, of
// inputs and outputs (64 to 128 channels at 147x147: 0.62 of the speed in NHWC without, 0.90 with it).
inline constexpr int64_t kPlanesAhead = 8, kPixelsAhead = 48;
// Staged segments (stage.h): where inputs and outputs are beyond this share of L3, which other programs use as well; of
// L2 for stages and weights; least pixels of an image, and of a segment. Time in ms without and with stages, and of
// widthwise (one process, medians): 16 to 16 channels at 640x1024 28, 13, 15; 32 to 16 43, 24, 50; 48 to 32 at 320x512
// 17, 11, 14; 16 to 32 11, 4.5, 5.2; 64 to 48 at 160x256 6.8, 4.6, 6.2; 32 to 48 4.8, 2.6, 3.1; 64 to 128 at 147x147
// 8.7, 6.5, 9.0; 128 to 128 14.5, 12.3, 17; 4.6 MB (48 to 64 at 80x128) would lose 10 %. Stores past the caches are
// right even for a reader that follows: with reading all outputs behind it, 16 to 32 at 320x512 takes 8.8 ms, without
// them 10.4; 32 to 48 at 160x256 3.3 and 3.7.
// Runs of a page, copied by the kernels themselves, against runs of 480 pixels that were copied between tiles (paired
// medians): 48 to 32 at 320x512 1.13, 32 to 16 at 640x1024 1.08 to 1.2, 64 to 32 at 224x224 1.14, ten more 1.0 to 1.09.
// Stores past the caches from the registers, without a stage for outputs, took 1.3 to 1.6 times as long.
inline constexpr double kStagedL3Share = 0.35, kStageL2Share = 0.75;
inline constexpr int64_t kLeastStagedPixels = 2048, kLeastStagedRun = 96, kMostStagedRun = 1024;
// Lines that a pass of the loop over k copies, at most.
inline constexpr int64_t kMostCopies = 8;
// The cost model: at this part of memory's rate inputs and outputs come and go, beside sums and copies that hide some
// of it.
inline constexpr double kStagedRate = 1.2;
// Most pixels per segment: beyond, weights are used often enough.
inline constexpr int64_t kMaxSegmentPixels = 480;
// Segments per thread, at least, where they are not too short: evens out what the threads get.
inline constexpr int64_t kItemsPerThread = 4, kLeastTiles = 4;

// The cost model (Zen 3, AVX2), in cycles: per load of a k, even where it hides behind FMAs; per k of a panel from L2;
// per tile and pass; per accumulator: zeroing, bias and store; parking and fetching a sum; per call.
inline constexpr double kLoadCycles = 0.2, kFarPanelCycles = 0.4, kTileCycles = 15, kAccumulatorCycles = 1.5,
                        kParkCycles = 2, kCallCycles = 40;
// … of the first tile of channels, which writes the panel: a call of its own. 6 to 8 channels at 52x52 17 us instead
// of 9, 2 to 24 at 56x56 27 instead of 14, where widthwise takes 5 and 12.
inline constexpr double kFirstTileCycles = 100;
// Gathering: per float copied as it lies, per float of every second pixel or more, per run of pixels of a row.
inline constexpr double kCopyCycles = 0.35, kGatherCycles = 1.6, kRunCycles = 30;
// … per float picked from every second pixel at most, and otherwise; rows are picked in whole vectors. For the vector
// at the end of each plane, which has a mask; per panel and pass.
inline constexpr double kPickCycles = 0.6, kPickAnyCycles = 1.5, kLastPickCycles = 8, kFillCycles = 150;
// Per item: what the driver works out.
inline constexpr double kItemCycles = 250;
// Of weights that come from L3 for each segment, in units of what its rate says.
inline constexpr double kWeightsCost = 1.5;
// Part of the time of transfers from beyond L2 that does not hide behind the sums.
inline constexpr double kExposedTransfer = 0.6;
// Tensors beyond this share of L3, which other programs use as well, come at this part of its rate; so do those from
// memory, many planes at a time. With 0.2, 8 and 16 to 1024 at 56x56 took 0.37 and 0.51 times what was predicted.
inline constexpr double kNearL3Share = 0.25, kFarRate = 0.4;

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_TUNING_H_
