// rafter/memory_pool.h: aligned, reusable memory for scratch and packed weights.
//
// Blocks come from arenas that are mapped once (huge pages are advised), so a warm pool serves a request
// without a system call or a page fault, in less than 100 ns. The pool never touches a block: its pages come to be
// where the thread runs that uses them first. Freed blocks are given out again by size, the last one first, whose
// lines are still in the caches. Thread-safe, also around fork.
//
// Debug builds fill blocks: with NaN when they are given out, with another pattern when they come back; with the
// address sanitizer a use after Free is reported. In every build a block that is freed twice, or that is none of the
// pool's, is left alone and counted.
#ifndef RAFTER_MEMORY_POOL_H_
#define RAFTER_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

struct MemoryPoolOptions {
  size_t limit_bytes = SIZE_MAX;  // Allocate fails with kOutOfMemory beyond this many mapped bytes
};

struct MemoryPoolStats {
  size_t mapped_bytes = 0;     // obtained from the system
  size_t in_use_bytes = 0;     // handed out now
  size_t peak_in_use_bytes = 0;
  size_t system_calls = 0;     // mappings made so far
  size_t rejected_frees = 0;   // calls of Free with what was no block in use: freed twice, or foreign
};

class RAFTER_EXPORT MemoryPool {
 public:
  explicit MemoryPool(const MemoryPoolOptions& options = {});
  ~MemoryPool();  // every block must have been freed
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // A block of at least `bytes`, aligned to 64 bytes (to 4,096 from 64 KiB on). Null when the limit or
  // the memory is exhausted; `bytes` 0 gives a valid block.
  void* Allocate(size_t bytes) noexcept;
  // `block` came from Allocate of this pool and was not freed since, or is null. Anything else: MemoryPoolStats.
  void Free(void* block) noexcept;
  // Returns unused memory to the system: the bound on what an idle pool holds.
  void Trim() noexcept;
  MemoryPoolStats stats() const noexcept;

  // The pool that is used where the caller names none.
  static MemoryPool& Default() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_MEMORY_POOL_H_
