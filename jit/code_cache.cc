// jit/code_cache.cc: one hash map for all families, a list of its kernels by last use, and one
// lock, which is never held while a kernel is compiled or freed.
#include "jit/code_cache.h"

#include <pthread.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

namespace rafter::jit {
namespace {

constexpr size_t kDefaultLimitBytes = size_t{64} << 20;
constexpr size_t kPageBytes = 4096;

// What a kernel costs: executable memory comes in pages, and a cap that ignored it would hold
// several times its number in memory when kernels are small.
size_t ChargedBytes(const CompiledKernel& kernel) {
  return (kernel.code_bytes() + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// The family's length, its name and the bytes of the spec, in one piece: one comparison, one hash.
using Key = std::string;

// A key for looking up, on the stack as far as it fits.
class LookupKey {
 public:
  LookupKey(std::string_view family, std::string_view spec) {
    const auto family_bytes = static_cast<uint8_t>(family.size());
    const size_t bytes = 1 + family.size() + spec.size();
    char* to = short_;
    if (bytes > sizeof short_) {
      long_.resize(bytes);
      to = long_.data();
    }
    *to = static_cast<char>(family_bytes);
    family.copy(to + 1, family.size());
    spec.copy(to + 1 + family.size(), spec.size());
    text_ = {to, bytes};
  }
  LookupKey(const LookupKey&) = delete;
  LookupKey& operator=(const LookupKey&) = delete;
  std::string_view text() const { return text_; }

 private:
  char short_[80];
  std::string long_;
  std::string_view text_;
};

// Keys are a few words long: one multiplication each, inline.
struct KeyHash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const {
    size_t hash = key.size();
    const auto add = [&](const char* from, size_t bytes) {
      uint64_t word = 0;
      std::memcpy(&word, from, bytes);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
      hash ^= hash >> 32;
    };
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= key.size(); at += sizeof(uint64_t)) {
      add(key.data() + at, sizeof(uint64_t));
    }
    if (at < key.size()) add(key.data() + at, key.size() - at);
    return hash;
  }
};

// A compilation under way, shared by the thread that compiles and those that wait.
struct Flight {
  std::thread::id compiler = std::this_thread::get_id();
  std::condition_variable done;
  std::optional<Result<KernelPtr>> result;
};

// A finished kernel, or the empty place reserved for one.
struct Slot {
  KernelPtr kernel;
  const Key* key = nullptr;
};
using SlotList = std::list<Slot>;

struct Entry {
  std::shared_ptr<Flight> flight;  // null once the kernel is there
  SlotList::iterator slot;         // in pending_ during the flight, then in by_use_
};

Result<KernelPtr> CompileGuarded(const std::function<Result<KernelPtr>()>& compile) {
  try {
    Result<KernelPtr> result = compile();
    if (result.ok() && result.value() == nullptr) {
      return Status(StatusCode::kInternal, "compiling succeeded without a kernel");
    }
    return result;
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (...) {
    return Status(StatusCode::kInternal, "compiling threw an exception");
  }
}

using EntryMap = std::unordered_map<Key, Entry, KeyHash, std::equal_to<>>;

class CodeCache {
 public:
  Result<KernelPtr> Get(std::string_view key, const std::function<Result<KernelPtr>()>& compile);
  CodeCacheStats Stats() noexcept;
  void Clear() noexcept;
  void SetLimit(size_t bytes) noexcept;

  void PrepareFork() noexcept { mutex_.lock(); }
  void FinishForkInParent() noexcept { mutex_.unlock(); }
  void FinishForkInChild() noexcept;

 private:
  std::shared_ptr<Flight> StartFlight(std::string_view key);
  Result<KernelPtr> WaitFor(std::unique_lock<std::mutex>& lock, std::shared_ptr<Flight> flight);
  Entry* Find(std::string_view key);
  EntryMap::iterator Forget(EntryMap::iterator entry) noexcept;
  void FinishFlight(std::string_view key, Flight& flight, const Result<KernelPtr>& result) noexcept;
  // Move unused kernels to `dropped`, which the caller destroys after unlocking.
  void DropBeyondLimit(SlotList& dropped) noexcept;
  SlotList::iterator Drop(SlotList::iterator slot, SlotList& dropped) noexcept;

  std::mutex mutex_;
  EntryMap entries_;
  // Entries that were asked for lately, by hash: spares most lookups the map's division.
  std::array<EntryMap::value_type*, 256> recent_{};
  SlotList by_use_;   // most recently used first
  SlotList pending_;  // places for the kernels under way: finishing a flight then allocates nothing
  size_t limit_bytes_ = kDefaultLimitBytes;
  size_t charged_bytes_ = 0;
  CodeCacheStats stats_;
};

Result<KernelPtr> CodeCache::Get(std::string_view key,
                                 const std::function<Result<KernelPtr>()>& compile) {
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    if (Entry* entry = Find(key)) {
      if (entry->flight) return WaitFor(lock, entry->flight);
      ++stats_.hits;
      if (entry->slot != by_use_.begin()) by_use_.splice(by_use_.begin(), by_use_, entry->slot);
      return entry->slot->kernel;
    }
    flight = StartFlight(key);
  }
  Result<KernelPtr> result = CompileGuarded(compile);
  FinishFlight(key, *flight, result);
  return result;
}

Entry* CodeCache::Find(std::string_view key) {
  EntryMap::value_type*& recent = recent_[KeyHash()(key) % recent_.size()];
  if (recent != nullptr && recent->first == key) return &recent->second;
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  recent = &*found;
  return &found->second;
}

// Returns the entry behind it.
EntryMap::iterator CodeCache::Forget(EntryMap::iterator entry) noexcept {
  EntryMap::value_type*& recent = recent_[KeyHash()(entry->first) % recent_.size()];
  if (recent == &*entry) recent = nullptr;
  return entries_.erase(entry);
}

// Throws std::bad_alloc and then changes nothing.
std::shared_ptr<Flight> CodeCache::StartFlight(std::string_view key) {
  auto flight = std::make_shared<Flight>();
  SlotList place(1);
  const auto added = entries_.emplace(Key(key), Entry{flight, place.begin()}).first;
  place.front().key = &added->first;
  pending_.splice(pending_.begin(), place);
  ++stats_.misses;
  return flight;
}

Result<KernelPtr> CodeCache::WaitFor(std::unique_lock<std::mutex>& lock,
                                     std::shared_ptr<Flight> flight) {
  if (flight->compiler == std::this_thread::get_id()) {
    return Status(StatusCode::kInternal, "a kernel asks for itself while it is compiled");
  }
  flight->done.wait(lock, [&] { return flight->result.has_value(); });
  if (flight->result->ok()) ++stats_.hits;
  return *flight->result;
}

void CodeCache::FinishFlight(std::string_view key, Flight& flight,
                             const Result<KernelPtr>& result) noexcept {
  SlotList dropped;
  {
    const std::lock_guard lock(mutex_);
    flight.result.emplace(result);
    flight.done.notify_all();
    const auto found = entries_.find(key);
    // A child of fork() may have forgotten the flight.
    if (found == entries_.end() || found->second.flight.get() != &flight) return;
    if (!result.ok()) {
      dropped.splice(dropped.begin(), pending_, found->second.slot);
      Forget(found);
      return;
    }
    Entry& entry = found->second;
    entry.slot->kernel = result.value();
    by_use_.splice(by_use_.begin(), pending_, entry.slot);
    entry.flight.reset();
    charged_bytes_ += ChargedBytes(*result.value());
    stats_.code_bytes += result.value()->code_bytes();
    ++stats_.kernels;
    DropBeyondLimit(dropped);
  }
}

void CodeCache::DropBeyondLimit(SlotList& dropped) noexcept {
  auto slot = by_use_.end();
  while (charged_bytes_ > limit_bytes_ && slot != by_use_.begin()) {
    --slot;
    // New holders come through the cache only, hence not while it is locked.
    if (slot->kernel.use_count() == 1) slot = Drop(slot, dropped);
  }
}

// Returns the slot behind the dropped one.
SlotList::iterator CodeCache::Drop(SlotList::iterator slot, SlotList& dropped) noexcept {
  charged_bytes_ -= ChargedBytes(*slot->kernel);
  stats_.code_bytes -= slot->kernel->code_bytes();
  --stats_.kernels;
  ++stats_.evictions;
  Forget(entries_.find(*slot->key));
  slot->key = nullptr;
  const auto next = std::next(slot);
  dropped.splice(dropped.begin(), by_use_, slot);
  return next;
}

CodeCacheStats CodeCache::Stats() noexcept {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CodeCache::Clear() noexcept {
  SlotList dropped;
  const std::lock_guard lock(mutex_);
  for (auto slot = by_use_.begin(); slot != by_use_.end();) {
    slot = slot->kernel.use_count() == 1 ? Drop(slot, dropped) : std::next(slot);
  }
}

void CodeCache::SetLimit(size_t bytes) noexcept {
  SlotList dropped;
  const std::lock_guard lock(mutex_);
  limit_bytes_ = bytes;
  DropBeyondLimit(dropped);
}

// The threads that were compiling do not exist here: nobody would ever finish their flights.
void CodeCache::FinishForkInChild() noexcept {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const std::shared_ptr<Flight>& flight = entry->second.flight;
    if (flight && flight->compiler != std::this_thread::get_id()) {
      pending_.erase(entry->second.slot);
      entry = Forget(entry);
    } else {
      ++entry;
    }
  }
  mutex_.unlock();
}

// Never destroyed: static objects may hold plans and make new ones while the process ends.
CodeCache& ProcessCache() {
  alignas(CodeCache) static unsigned char storage[sizeof(CodeCache)];
  static CodeCache* cache = [] {
    auto* made = new (storage) CodeCache;
    pthread_atfork([] { ProcessCache().PrepareFork(); },
                   [] { ProcessCache().FinishForkInParent(); },
                   [] { ProcessCache().FinishForkInChild(); });
    return made;
  }();
  return *cache;
}

}  // namespace

Result<KernelPtr> GetOrCompileBytes(std::string_view family, std::string_view spec_bytes,
                                    const std::function<Result<KernelPtr>()>& compile) {
  try {
    const LookupKey key(family, spec_bytes);
    return ProcessCache().Get(key.text(), compile);
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  }
}

CodeCacheStats GetCodeCacheStats() noexcept { return ProcessCache().Stats(); }

void ClearCodeCache() noexcept { ProcessCache().Clear(); }

void SetCodeCacheLimit(size_t bytes) noexcept { ProcessCache().SetLimit(bytes); }

}  // namespace rafter::jit
