// runtime/memory_pool.cc: maps arenas and hands out parts of them. Where the free parts are is the
// matter of runtime/block_map.h; this file adds the lock, the limit, the system calls and the
// debugging aids.
#include "rafter/memory_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/block_map.h"

#if defined(__SANITIZE_ADDRESS__)
#define RAFTER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RAFTER_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(RAFTER_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace rafter {
namespace {

constexpr size_t kLine = 64, kPage = 4096;
constexpr size_t kHugePage = 2 << 20;
constexpr size_t kLargeBytes =
    64 << 10;  // from here on blocks are whole pages in arenas of huge pages
constexpr size_t kSmallArenaBytes = 256 << 10;  // for the others; a multiple of kPage

// Debug builds fill blocks: as floats, fresh memory is NaN, which reaches every result that reads
// it.
constexpr int kFreshByte = 0xFF, kFreedByte = 0xCB;
#ifdef NDEBUG
constexpr bool kFill = false;
#else
constexpr bool kFill = true;
#endif

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* Pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

// Whole pages, aligned to `alignment`; 0 when the system refuses.
uintptr_t Map(size_t bytes, size_t alignment) noexcept {
  const size_t extra = alignment - kPage;
  void* memory =
      mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  const auto mapped = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = RoundUp(mapped, alignment);
  const size_t before = begin - mapped, after = extra - before;
  if (before > 0) munmap(memory, before);
  if (after > 0) munmap(Pointer(begin + bytes), after);
  return begin;
}

}  // namespace

// A lock that is taken around fork, so that a child never inherits one which is held by a thread
// that does not exist there. All of them are in a list.
struct ForkSafeLock {
  std::mutex mutex;
  ForkSafeLock *previous = nullptr, *next = nullptr;
};

namespace {

struct LockList {
  std::mutex mutex;
  ForkSafeLock* first = nullptr;
} locks;

void LockAll() noexcept {
  locks.mutex.lock();
  for (ForkSafeLock* lock = locks.first; lock != nullptr; lock = lock->next) lock->mutex.lock();
}

void UnlockAll() noexcept {
  for (ForkSafeLock* lock = locks.first; lock != nullptr; lock = lock->next) lock->mutex.unlock();
  locks.mutex.unlock();
}

void Enlist(ForkSafeLock* lock) noexcept {
  [[maybe_unused]] static const int registered = pthread_atfork(&LockAll, &UnlockAll, &UnlockAll);
  const std::lock_guard<std::mutex> guard(locks.mutex);
  lock->next = locks.first;
  if (lock->next != nullptr) lock->next->previous = lock;
  locks.first = lock;
}

void Delist(ForkSafeLock* lock) noexcept {
  const std::lock_guard<std::mutex> guard(locks.mutex);
  (lock->previous != nullptr ? lock->previous->next : locks.first) = lock->next;
  if (lock->next != nullptr) lock->next->previous = lock->previous;
}

}  // namespace

// Every function expects the lock to be held.
struct MemoryPool::Impl {
  explicit Impl(size_t limit_bytes) noexcept : limit(limit_bytes) {}

  void* Allocate(size_t bytes) noexcept;
  void Free(void* block) noexcept;
  void Trim() noexcept;
  BlockMap::Span TakeParked(bool is_large, size_t rounded) noexcept;
  bool IsParked(BlockMap::Span span) const noexcept;
  void Park(bool is_large, BlockMap::Span span) noexcept;
  void ReleaseParked() noexcept;
  bool Grow(bool is_large, size_t bytes) noexcept;
  bool MapArena(BlockMap& map, size_t bytes, size_t alignment) noexcept;
  void DropFreeArenas(BlockMap& map, size_t below_bytes) noexcept;
  void Unmap(BlockMap::Span arena) noexcept;
  BlockMap& MapOf(bool is_large) noexcept { return is_large ? large : small; }

  const size_t limit;
  ForkSafeLock lock;  // guards all below
  BlockMap small{kLine}, large{kPage};
  // Blocks just freed, one for each class of sizes, that the map does not know to be free yet: a request of the same
  // size gets one without any search. They are released before the pool grows.
  static constexpr size_t kParked = 64;
  struct Parked {
    BlockMap::Span span;
    bool is_large = false;
  };
  std::array<Parked, kParked> parked{};
  static size_t ParkOf(size_t bytes) noexcept { return (bytes / kLine * 0x9E3779B97F4A7C15u >> 32) % kParked; }
  MemoryPoolStats stats;
};

void* MemoryPool::Impl::Allocate(size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const bool is_large = bytes >= kLargeBytes;
  const size_t rounded = RoundUp(std::max<size_t>(bytes, 1), is_large ? kPage : kLine);
  BlockMap::Span block = TakeParked(is_large, rounded);
  if (block.begin == 0) block = MapOf(is_large).Take(rounded);
  if (block.begin == 0) {
    ReleaseParked();
    block = MapOf(is_large).Take(rounded);
  }
  if (block.begin == 0) {
    if (!Grow(is_large, rounded)) return nullptr;
    block = MapOf(is_large).Take(rounded);
  }
  stats.in_use_bytes += block.bytes;
  stats.peak_in_use_bytes = std::max(stats.peak_in_use_bytes, stats.in_use_bytes);
  void* memory = Pointer(block.begin);
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  if (kFill) std::memset(memory, kFreshByte, bytes);
  return memory;
}

BlockMap::Span MemoryPool::Impl::TakeParked(bool is_large, size_t rounded) noexcept {
  Parked& candidate = parked[ParkOf(rounded)];
  if (candidate.span.bytes != rounded || candidate.is_large != is_large) return {};
  return std::exchange(candidate.span, BlockMap::Span{});
}

bool MemoryPool::Impl::IsParked(BlockMap::Span span) const noexcept {
  return parked[ParkOf(span.bytes)].span.begin == span.begin;
}

void MemoryPool::Impl::Park(bool is_large, BlockMap::Span span) noexcept {
  const Parked previous = std::exchange(parked[ParkOf(span.bytes)], Parked{span, is_large});
  if (previous.span.begin != 0) MapOf(previous.is_large).Release(previous.span.begin);
}

void MemoryPool::Impl::ReleaseParked() noexcept {
  for (Parked& block : parked) {
    if (block.span.begin != 0) MapOf(block.is_large).Release(block.span.begin);
    block = {};
  }
}

void MemoryPool::Impl::Free(void* block) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(block);
  BlockMap::Span span = small.Find(begin);
  const bool is_large = span.begin == 0;
  if (is_large) span = large.Find(begin);
  if (span.begin == 0 || IsParked(span)) {  // not ours, or freed already
    ++stats.rejected_frees;
    return;
  }
  if (kFill) {
    ASAN_UNPOISON_MEMORY_REGION(block, span.bytes);
    std::memset(block, kFreedByte, span.bytes);
  }
  ASAN_POISON_MEMORY_REGION(block, span.bytes);
  Park(is_large, span);
  stats.in_use_bytes -= span.bytes;
}

// Maps an arena that has room for a block of `bytes`. Arenas that are free and too small go first:
// otherwise a series of growing requests would leave all its steps mapped.
bool MemoryPool::Impl::Grow(bool is_large, size_t bytes) noexcept {
  BlockMap& map = MapOf(is_large);
  DropFreeArenas(map, bytes);
  if (MapArena(map, RoundUp(bytes, is_large ? kHugePage : kSmallArenaBytes),
               is_large ? kHugePage : kPage)) {
    return true;
  }
  // The limit or the system is near: give back what is free, and ask for no more than needed.
  DropFreeArenas(small, SIZE_MAX);
  DropFreeArenas(large, SIZE_MAX);
  return MapArena(map, RoundUp(bytes, kPage), kPage);
}

bool MemoryPool::Impl::MapArena(BlockMap& map, size_t bytes, size_t alignment) noexcept {
  if (bytes > limit || stats.mapped_bytes > limit - bytes) return false;
  const uintptr_t begin = Map(bytes, alignment);
  if (begin == 0) return false;
  // Refused where transparent huge pages are switched off: then pages are small.
  if (alignment == kHugePage) madvise(Pointer(begin), bytes, MADV_HUGEPAGE);
  ++stats.system_calls;
  stats.mapped_bytes += bytes;
  ASAN_POISON_MEMORY_REGION(Pointer(begin), bytes);
  if (map.AddArena({begin, bytes})) return true;
  Unmap({begin, bytes});
  return false;
}

void MemoryPool::Impl::Unmap(BlockMap::Span arena) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(Pointer(arena.begin), arena.bytes);
  munmap(Pointer(arena.begin), arena.bytes);
  stats.mapped_bytes -= arena.bytes;
}

void MemoryPool::Impl::DropFreeArenas(BlockMap& map, size_t below_bytes) noexcept {
  for (;;) {
    const BlockMap::Span arena = map.RemoveFreeArena(below_bytes);
    if (arena.begin == 0) return;
    Unmap(arena);
  }
}

// Free arenas are unmapped; in the others the free pages are emptied, which keeps them mapped.
void MemoryPool::Impl::Trim() noexcept {
  ReleaseParked();
  for (BlockMap* map : {&small, &large}) {
    DropFreeArenas(*map, SIZE_MAX);
    map->ForEachFree([](BlockMap::Span span) {
      const uintptr_t begin = RoundUp(span.begin, kPage);
      const uintptr_t end = (span.begin + span.bytes) / kPage * kPage;
      if (begin < end) madvise(Pointer(begin), end - begin, MADV_DONTNEED);
    });
  }
}

MemoryPool::MemoryPool(const MemoryPoolOptions& options)
    : impl_(new (std::nothrow) Impl(options.limit_bytes)) {
  if (impl_ != nullptr) Enlist(&impl_->lock);  // without it (no memory) every Allocate gives null
}

MemoryPool::~MemoryPool() {
  if (impl_ == nullptr) return;
  Delist(&impl_->lock);
  for (BlockMap* map : {&impl_->small, &impl_->large}) {
    for (;;) {
      const BlockMap::Span arena = map->RemoveAnyArena();
      if (arena.begin == 0) break;
      impl_->Unmap(arena);
    }
  }
}

void* MemoryPool::Allocate(size_t bytes) noexcept {
  if (impl_ == nullptr) return nullptr;
  const std::lock_guard<std::mutex> guard(impl_->lock.mutex);
  return impl_->Allocate(bytes);
}

void MemoryPool::Free(void* block) noexcept {
  if (block == nullptr || impl_ == nullptr) return;
  const std::lock_guard<std::mutex> guard(impl_->lock.mutex);
  impl_->Free(block);
}

void MemoryPool::Trim() noexcept {
  if (impl_ == nullptr) return;
  const std::lock_guard<std::mutex> guard(impl_->lock.mutex);
  impl_->Trim();
}

MemoryPoolStats MemoryPool::stats() const noexcept {
  if (impl_ == nullptr) return {};
  const std::lock_guard<std::mutex> guard(impl_->lock.mutex);
  return impl_->stats;
}

MemoryPool& MemoryPool::Default() noexcept {
  // Never destroyed: objects that live until the end of the process may still hold blocks of it.
  alignas(MemoryPool) static unsigned char storage[sizeof(MemoryPool)];
  static MemoryPool* const pool = new (storage) MemoryPool;
  return *pool;
}

}  // namespace rafter
