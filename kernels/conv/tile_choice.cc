// kernels/conv/tile_choice.cc: see tile_choice.h.
#include "kernels/conv/tile_choice.h"

#include <atomic>

namespace rafter {
namespace {

std::atomic<TileChoice> current{};  // 8 bytes: one word

}  // namespace

void SetTileChoice(const TileChoice& choice) noexcept {
  current.store(choice, std::memory_order_relaxed);
}

TileChoice CurrentTileChoice() noexcept { return current.load(std::memory_order_relaxed); }

}  // namespace rafter
