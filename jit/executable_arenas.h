// jit/executable_arenas.h: where published code lives: arenas of pages, and how they become
// executable. The machinery behind jit/executable_memory.h, which keeps the one instance of the
// process; here as a class over a PageSource so that tests can play a system that refuses things.
//
// Two methods, tried in this order; the first one that the system allows is kept:
//   1. mprotect: free pages are RW. Publishing takes whole pages, copies, and makes them RX,
//      with one system call. Freeing makes them RW again.
//   2. Dual mapping: a file in memory is mapped twice, once RW and once RX; publishing is a
//      copy, in pieces of 64 bytes. For systems that refuse to make written pages executable
//      (SELinux execmem, MemoryDenyWriteExecute).
// No mapping is ever writable and executable at the same time.
#ifndef RAFTER_JIT_EXECUTABLE_ARENAS_H_
#define RAFTER_JIT_EXECUTABLE_ARENAS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "jit/free_ranges.h"
#include "jit/page_source.h"
#include "rafter/status.h"

namespace rafter::jit {

class ExecutableArenas {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kCodeAlignment = 64;
  static constexpr size_t kArenaBytes = size_t{1}
                                        << 20;  // a bigger piece of code gets its own arena

  enum class Method : uint8_t { kMprotect, kDualMapping, kRefused };

  // `pages` must outlive the object. With `allowed` false everything is refused from the start.
  ExecutableArenas(PageSource& pages, bool allowed);
  ~ExecutableArenas();
  ExecutableArenas(const ExecutableArenas&) = delete;
  ExecutableArenas& operator=(const ExecutableArenas&) = delete;

  // Copies `code` to where it can run. kInvalidArgument when it is empty; otherwise as Publish() of
  // jit/executable_memory.h.
  Result<const uint8_t*> Publish(std::span<const uint8_t> code);
  // Frees what one Publish of `bytes` bytes returned.
  void Free(const uint8_t* code, size_t bytes) noexcept;

  // Whether Publish can work. Tries with one instruction unless an earlier Publish has told. A
  // shortage of memory gives false, but only for now.
  bool Allowed() noexcept;
  // The method in use; the one to be tried first as long as nothing was published.
  Method method() const noexcept { return method_.load(std::memory_order_acquire); }
  size_t bytes_mapped() const noexcept { return bytes_mapped_.load(std::memory_order_relaxed); }

  // Around fork(): the child must find the lock free. Dual mappings are shared with the child, so
  // neither side may write to those that exist: code freed here could still be running there.
  void PrepareFork() noexcept;
  void FinishFork() noexcept;

 private:
  struct Arena {
    uint8_t* writable;  // equals the address of the code unless mapped twice
    size_t bytes;
    Method method;
    FreeRanges ranges;
    size_t live_pieces = 0;
    bool retired = false;  // takes no more code
  };
  // By the address of the executable mapping.
  using ArenaMap = std::map<const uint8_t*, Arena>;
  struct Piece {
    ArenaMap::iterator arena;
    size_t offset, bytes;
  };

  static size_t PieceBytes(Method method, size_t code_bytes) noexcept;
  int Reserve(Method method, size_t code_bytes, Piece* piece);
  int AddArena(Method method, size_t bytes, ArenaMap::iterator* arena);
  int MapViews(Method method, size_t bytes, void** writable, void** executable) noexcept;
  int CopyAndSeal(const Piece& piece, std::span<const uint8_t> code) noexcept;
  // Puts a piece back whose pages are writable.
  void GiveBack(const Piece& piece, bool writable_again) noexcept;
  void RemoveOrKeepEmpty(ArenaMap::iterator arena) noexcept;
  void Unmap(ArenaMap::iterator arena) noexcept;
  void GiveUp(Method method, int error) noexcept;
  Status Refusal() const;

  PageSource& pages_;
  std::mutex mutex_;  // guards arenas_ and spare_
  ArenaMap arenas_;
  ArenaMap::iterator spare_;  // the one empty arena that is kept; end() if none
  std::atomic<Method> method_;
  std::atomic<bool> proven_{false};  // method_ has worked once
  std::atomic<int> mprotect_error_{0}, dual_mapping_error_{0};
  std::atomic<size_t> bytes_mapped_{0};
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_EXECUTABLE_ARENAS_H_
