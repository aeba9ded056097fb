// kernels/reorder/tuning.h: numbers of the copier that were measured (Zen 3), and what they were measured against.
#ifndef RAFTER_KERNELS_REORDER_TUNING_H_
#define RAFTER_KERNELS_REORDER_TUNING_H_

#include <cstdint>

#include "kernels/sizes.h"

namespace rafter::reorder {

// About what one unit of work moves, so that even 7x7 images are shared by threads: 16 KB on either side.
inline constexpr int64_t kPieceFloats = 4096;
// Transposed: whole lines on both sides, pages of 64 planes at a time, and runs of pixels that are long enough for the
// prefetchers: a tensor of 51 MB leaves NCHW at 0.9 of the bandwidth of a copy with 1,024 pixels, at 0.75 with 256, at
// 0.44 with 64; in the caches the difference is 5 to 15 %. Fewer where threads would have too little to share.
inline constexpr int64_t kFewestPixels = 64, kMostPixels = 1024, kUnitsToShare = 8, kTransposedChannels = 64;
// To planes past the caches, where lines of planes can be stored whole: four planes at a time, 128 bytes of each in one
// stretch, while pixels 8 KB ahead are asked for, a few lines at each step: no prefetcher follows pixels that are read
// in parts. Shares of the bandwidth of a copy, 51 MB from NHWC, NCHW8c and NCHW16c: 0.75, 0.77, 0.84; without asking
// 0.52, 0.77, 0.62; 256 bytes, or 16 KB ahead, 0.67 to 0.73 from NHWC (both stretches fill the first-level cache);
// lines that are asked for all at once 0.7; eight planes at a time 0.57. (Plain copies to as many places: 64 bytes at a
// time of each of many planes 0.65, 64 bytes of four or 128 of each 0.8, 256 bytes 0.95.)
inline constexpr int64_t kStreamedPlanes = 4, kStreamedPixels = 32, kStreamedAheadFloats = 2048;
// To planes through the caches: pixels 4 KB ahead. From NHWC, 0.2, 0.8 and 3 MB: 0.86, 0.84, 0.80 of the bandwidth of a
// copy, without asking for pixels and the next lines of planes 0.76, 0.72, 0.70.
inline constexpr int64_t kNearFloats = 1024;
// Pieces of the pixels of all planes that are written together, 16 KB: streamed ones have several stretches of
// kStreamedPixels, staged ones go through a buffer (20 KB with the gaps between its rows), see TransposeStaged.
inline constexpr int64_t kStagedFloats = 4096, kMostStagedPixels = 256, kStagedGap = kLineFloats;

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_TUNING_H_
