// jit/executable_arenas.cc: see the header for the two methods. Only bookkeeping and mapping happen
// under the lock; copying and sealing new pieces do not, for only their thread knows
// them.
#include "jit/executable_arenas.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace rafter::jit {
namespace {

constexpr int kReadWrite = PROT_READ | PROT_WRITE;
constexpr int kReadExecute = PROT_READ | PROT_EXEC;

constexpr size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Errors that say "not now" and nothing about what is allowed.
bool IsShortage(int error) {
  return error == ENOMEM || error == EAGAIN || error == ENOSPC || error == EMFILE ||
         error == ENFILE;
}

}  // namespace

ExecutableArenas::ExecutableArenas(PageSource& pages, bool allowed)
    : pages_(pages),
      spare_(arenas_.end()),
      method_(allowed ? Method::kMprotect : Method::kRefused),
      proven_(!allowed) {}

ExecutableArenas::~ExecutableArenas() {
  while (!arenas_.empty()) Unmap(arenas_.begin());
}

Result<const uint8_t*> ExecutableArenas::Publish(std::span<const uint8_t> code) {
  if (code.empty()) return Status(StatusCode::kInvalidArgument, "code: empty; at least one byte");
  if (code.size() > PTRDIFF_MAX) return Status::OutOfMemory();
  // Each turn ends, or gives up one method for good.
  while (true) {
    const Method method = this->method();
    if (method == Method::kRefused) return Refusal();
    Piece piece;
    int error = Reserve(method, code.size(), &piece);
    if (error == 0) {
      error = CopyAndSeal(piece, code);
      if (error == 0) {
        proven_.store(true, std::memory_order_release);
        return piece.arena->first + piece.offset;
      }
      if (!IsShortage(error)) GiveUp(method, error);
      const std::lock_guard lock(mutex_);
      GiveBack(piece, /*writable_again=*/true);
    } else if (!IsShortage(error)) {
      GiveUp(method, error);
    }
    if (IsShortage(error)) return Status::OutOfMemory();
  }
}

void ExecutableArenas::Free(const uint8_t* code, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  ArenaMap::iterator arena = arenas_.upper_bound(code);
  if (arena == arenas_.begin()) return;
  --arena;
  const Piece piece{arena, static_cast<size_t>(code - arena->first),
                    PieceBytes(arena->second.method, bytes)};
  bool writable_again = true;
  if (arena->second.method == Method::kMprotect) {
    // Fails when splitting the mapping would exceed the system's limit of mappings: the pages then
    // stay out of use until the whole arena is empty.
    writable_again =
        pages_.Protect(arena->second.writable + piece.offset, piece.bytes, kReadWrite) == 0;
  }
  GiveBack(piece, writable_again);
}

bool ExecutableArenas::Allowed() noexcept {
  if (proven_.load(std::memory_order_acquire)) return method() != Method::kRefused;
  constexpr uint8_t kReturn[] = {0xc3};
  try {
    const Result<const uint8_t*> probe = Publish(kReturn);
    if (!probe.ok()) return false;
    Free(probe.value(), sizeof kReturn);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ExecutableArenas::PrepareFork() noexcept {
  mutex_.lock();
  for (auto& [code, arena] : arenas_) {
    arena.retired = arena.retired || arena.method == Method::kDualMapping;
  }
  if (spare_ != arenas_.end() && spare_->second.retired) Unmap(spare_);
}

void ExecutableArenas::FinishFork() noexcept { mutex_.unlock(); }

size_t ExecutableArenas::PieceBytes(Method method, size_t code_bytes) noexcept {
  return RoundUp(code_bytes, method == Method::kMprotect ? kPageBytes : kCodeAlignment);
}

// Finds or maps room for `code_bytes`. 0 or an errno value.
int ExecutableArenas::Reserve(Method method, size_t code_bytes, Piece* piece) {
  const size_t bytes = PieceBytes(method, code_bytes);
  const std::lock_guard lock(mutex_);
  ArenaMap::iterator arena =
      std::find_if(arenas_.begin(), arenas_.end(), [&](const ArenaMap::value_type& entry) {
        const Arena& candidate = entry.second;
        return candidate.method == method && !candidate.retired &&
               candidate.ranges.largest_bytes() >= bytes;
      });
  try {
    if (arena == arenas_.end()) {
      const size_t arena_bytes = std::max(kArenaBytes, RoundUp(bytes, kPageBytes));
      const int error = AddArena(method, arena_bytes, &arena);
      if (error != 0) return error;
    }
    *piece = {arena, arena->second.ranges.Take(bytes), bytes};
  } catch (const std::bad_alloc&) {
    if (arena != arenas_.end() && arena->second.live_pieces == 0) RemoveOrKeepEmpty(arena);
    return ENOMEM;
  }
  ++arena->second.live_pieces;
  if (arena == spare_) spare_ = arenas_.end();
  return 0;
}

int ExecutableArenas::AddArena(Method method, size_t bytes, ArenaMap::iterator* arena) {
  FreeRanges ranges(bytes);
  void* writable = nullptr;
  void* executable = nullptr;
  const int error = MapViews(method, bytes, &writable, &executable);
  if (error != 0) return error;
  try {
    const uint8_t* key = static_cast<const uint8_t*>(executable);
    *arena = arenas_
                 .emplace(key, Arena{.writable = static_cast<uint8_t*>(writable),
                                     .bytes = bytes,
                                     .method = method,
                                     .ranges = std::move(ranges)})
                 .first;
  } catch (const std::bad_alloc&) {
    pages_.Unmap(executable, bytes);
    if (writable != executable) pages_.Unmap(writable, bytes);
    return ENOMEM;
  }
  bytes_mapped_.fetch_add(bytes, std::memory_order_relaxed);
  return 0;
}

int ExecutableArenas::MapViews(Method method, size_t bytes, void** writable,
                               void** executable) noexcept {
  if (method == Method::kMprotect) {
    const int error = pages_.Map(bytes, kReadWrite, -1, writable);
    *executable = *writable;
    return error;
  }
  int file = -1;
  int error = pages_.OpenFile(bytes, &file);
  if (error != 0) return error;
  error = pages_.Map(bytes, kReadWrite, file, writable);
  if (error == 0) {
    error = pages_.Map(bytes, kReadExecute, file, executable);
    if (error != 0) pages_.Unmap(*writable, bytes);
  }
  pages_.CloseFile(file);  // the mappings keep the memory
  return error;
}

int ExecutableArenas::CopyAndSeal(const Piece& piece, std::span<const uint8_t> code) noexcept {
  const Arena& arena = piece.arena->second;
  uint8_t* target = arena.writable + piece.offset;
  std::memcpy(target, code.data(), code.size());
  // What was here before must not stay executable: int3.
  std::memset(target + code.size(), 0xcc, piece.bytes - code.size());
  // x86 keeps instruction fetch coherent with stores, also through a second mapping.
  return arena.method == Method::kMprotect ? pages_.Protect(target, piece.bytes, kReadExecute) : 0;
}

void ExecutableArenas::GiveBack(const Piece& piece, bool writable_again) noexcept {
  Arena& arena = piece.arena->second;
  if (writable_again) arena.ranges.Give(piece.offset, piece.bytes);
  if (--arena.live_pieces == 0) RemoveOrKeepEmpty(piece.arena);
}

// One empty arena is kept, so that a program which makes and drops a plan in a loop maps nothing.
void ExecutableArenas::RemoveOrKeepEmpty(ArenaMap::iterator arena) noexcept {
  const Arena& empty = arena->second;
  const bool usable = !empty.retired && empty.method == method() && empty.bytes == kArenaBytes &&
                      empty.ranges.free_bytes() == empty.bytes;
  if (usable && (spare_ == arenas_.end() || spare_ == arena)) {
    spare_ = arena;
  } else {
    Unmap(arena);
  }
}

void ExecutableArenas::Unmap(ArenaMap::iterator arena) noexcept {
  if (arena == spare_) spare_ = arenas_.end();
  uint8_t* code = const_cast<uint8_t*>(arena->first);
  pages_.Unmap(code, arena->second.bytes);
  if (arena->second.writable != code) pages_.Unmap(arena->second.writable, arena->second.bytes);
  bytes_mapped_.fetch_sub(arena->second.bytes, std::memory_order_relaxed);
  arenas_.erase(arena);
}

// `method` was refused with `error`: from now on the next one.
void ExecutableArenas::GiveUp(Method method, int error) noexcept {
  const bool first = method == Method::kMprotect;
  (first ? mprotect_error_ : dual_mapping_error_).store(error, std::memory_order_relaxed);
  Method expected = method;
  method_.compare_exchange_strong(expected, first ? Method::kDualMapping : Method::kRefused,
                                  std::memory_order_acq_rel);
  if (!first) proven_.store(true, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  if (spare_ != arenas_.end() && spare_->second.method != this->method()) Unmap(spare_);
}

Status ExecutableArenas::Refusal() const {
  const int mprotect_error = mprotect_error_.load(std::memory_order_relaxed);
  const int dual_mapping_error = dual_mapping_error_.load(std::memory_order_relaxed);
  if (mprotect_error == 0) {
    return Status(StatusCode::kUnsupported, "executable memory is switched off by RAFTER_NO_JIT");
  }
  return Status::Unsupported(
      "the system refuses executable memory (mprotect: " +
      std::generic_category().message(mprotect_error) +
      "; second mapping: " + std::generic_category().message(dual_mapping_error) + ")");
}

}  // namespace rafter::jit
