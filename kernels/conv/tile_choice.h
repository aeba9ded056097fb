// kernels/conv/tile_choice.h: for experts: register tiles that plans use instead of those that the cost model
// chooses, so that the figures behind kernels/conv/tile/tuning.h can be measured again (`rafter bench --tile`).
//
// Not part of the public API: a program that tunes tiles by hand would be wrong on the next machine.
#ifndef RAFTER_KERNELS_CONV_TILE_CHOICE_H_
#define RAFTER_KERNELS_CONV_TILE_CHOICE_H_

namespace rafter {

// Tiles of at most `px` pixels by `vecs` vectors of output channels. Zeros: the planner chooses. Where a layer has
// fewer channels than a tile, the planner chooses too. Aligned as the one word that it is: without that, clang asks
// libatomic for an atomic copy of it.
struct alignas(8) TileChoice {
  int px = 0, vecs = 0;
  bool operator==(const TileChoice&) const = default;
};

// For all plans that are made from now on, of the tile engine's algorithms. Any thread.
void SetTileChoice(const TileChoice& choice) noexcept;
TileChoice CurrentTileChoice() noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_TILE_CHOICE_H_
