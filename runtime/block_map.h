// runtime/block_map.h: which parts of some arenas are free and which are handed out: best fit, with
// neighbours joined when they become free. Pure bookkeeping that never touches the arenas
// themselves, so that an overrun in an arena cannot damage it. Not thread-safe. Its user:
// runtime/memory_pool.cc.
//
// Its own memory comes from mmap, not from malloc: it is used under the pool's lock, which is taken
// around fork, and a lock of a replaced malloc must not be waited for there.
#ifndef RAFTER_RUNTIME_BLOCK_MAP_H_
#define RAFTER_RUNTIME_BLOCK_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace rafter {

class BlockMap {
 public:
  struct Span {
    uintptr_t begin = 0;  // 0 = none
    size_t bytes = 0;
  };

  // Addresses and sizes are multiples of `granule_bytes`, a power of two.
  explicit BlockMap(size_t granule_bytes) noexcept : granule_bytes_(granule_bytes) {}
  ~BlockMap();
  BlockMap(const BlockMap&) = delete;
  BlockMap& operator=(const BlockMap&) = delete;

  // False when there is no memory for the bookkeeping.
  bool AddArena(Span arena) noexcept;
  // A block of at least `bytes`, the smallest that fits; among equal ones the one freed last, whose
  // pages are warm. None: {0, 0}. (Rarely the block is larger: when it cannot be split for want of
  // memory.)
  Span Take(size_t bytes) noexcept;
  // The block that begins there and is handed out, or none.
  Span Find(uintptr_t begin) const noexcept;
  // `begin` was given by Take.
  void Release(uintptr_t begin) noexcept;
  // Forgets one arena that is free as a whole and smaller than `below_bytes`, and returns it; or
  // none.
  Span RemoveFreeArena(size_t below_bytes) noexcept;
  // Forgets any arena, free or not; none when there is no more.
  Span RemoveAnyArena() noexcept;

  // Calls visit(Span) for each free block.
  template <typename Visit>
  void ForEachFree(const Visit& visit) const {
    for (const Block* first : free_) {
      for (const Block* block = first; block != nullptr; block = block->next) visit(block->span);
    }
  }

 private:
  // Part of an arena. Free ones are in the list of their size, others in the chain of their hash.
  struct Block {
    Span span;
    Block *lower = nullptr, *upper = nullptr;    // neighbours in the arena
    Block *previous = nullptr, *next = nullptr;  // in the list or chain
    bool free = false;
  };
  struct Page {  // a mapping that holds Blocks
    Page* next;
  };
  // Lists by size: four for each power of two of granules.
  static constexpr int kLists = 256;
  static constexpr size_t kPageBytes = 16 << 10;

  int ListOf(size_t bytes) const noexcept;
  size_t ChainOf(uintptr_t begin) const noexcept;
  Block* SmallestIn(int list, size_t bytes) const noexcept;
  Block* Lookup(uintptr_t begin) const noexcept;
  static void Link(Block** head, Block* block) noexcept;
  static void Unlink(Block** head, Block* block) noexcept;
  void PutFree(Block* block) noexcept;
  void TakeFree(Block* block) noexcept;
  bool GrowChains() noexcept;
  Block* NewBlock() noexcept;
  void DropBlock(Block* block) noexcept;
  void JoinUpper(Block* block) noexcept;
  Span DropArenaOf(Block* block) noexcept;

  const size_t granule_bytes_;
  std::array<Block*, kLists> free_{};
  std::array<uint64_t, kLists / 64> filled_{};  // bit = the list is not empty
  Block** chains_ = nullptr;
  size_t num_chains_ = 0;  // a power of two
  size_t num_taken_ = 0;
  Page* pages_ = nullptr;
  Block* spare_ = nullptr;
};

}  // namespace rafter

#endif  // RAFTER_RUNTIME_BLOCK_MAP_H_
