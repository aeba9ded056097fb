// jit/code_cache.cc: one hash map for all families, a list of its kernels by last use, and one
// lock, which is never held while a kernel is compiled or freed.
#include "jit/code_cache.h"

#include <pthread.h>

#include <condition_variable>
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

struct KeyView {
  std::string_view family, spec;
};

// A key that owns its text, so that looking up needs no copy.
class Key {
 public:
  explicit Key(KeyView view) : family_bytes_(view.family.size()) {
    text_.reserve(view.family.size() + view.spec.size());
    text_.append(view.family).append(view.spec);
  }
  KeyView view() const {
    const std::string_view text = text_;
    return {text.substr(0, family_bytes_), text.substr(family_bytes_)};
  }

 private:
  std::string text_;
  size_t family_bytes_;
};

struct KeyHash {
  using is_transparent = void;
  size_t operator()(KeyView key) const {
    const std::hash<std::string_view> hash;
    return hash(key.spec) * 31 + hash(key.family);
  }
  size_t operator()(const Key& key) const { return operator()(key.view()); }
};

struct KeyEqual {
  using is_transparent = void;
  static KeyView View(const Key& key) { return key.view(); }
  static KeyView View(KeyView key) { return key; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return View(a).spec == View(b).spec && View(a).family == View(b).family;
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

class CodeCache {
 public:
  Result<KernelPtr> Get(KeyView key, const std::function<Result<KernelPtr>()>& compile);
  CodeCacheStats Stats() noexcept;
  void Clear() noexcept;
  void SetLimit(size_t bytes) noexcept;

  void PrepareFork() noexcept { mutex_.lock(); }
  void FinishForkInParent() noexcept { mutex_.unlock(); }
  void FinishForkInChild() noexcept;

 private:
  std::shared_ptr<Flight> StartFlight(KeyView key);
  Result<KernelPtr> WaitFor(std::unique_lock<std::mutex>& lock, std::shared_ptr<Flight> flight);
  void FinishFlight(KeyView key, Flight& flight, const Result<KernelPtr>& result) noexcept;
  // Move unused kernels to `dropped`, which the caller destroys after unlocking.
  void DropBeyondLimit(SlotList& dropped) noexcept;
  SlotList::iterator Drop(SlotList::iterator slot, SlotList& dropped) noexcept;

  std::mutex mutex_;
  std::unordered_map<Key, Entry, KeyHash, KeyEqual> entries_;
  SlotList by_use_;   // most recently used first
  SlotList pending_;  // places for the kernels under way: finishing a flight then allocates nothing
  size_t limit_bytes_ = kDefaultLimitBytes;
  size_t charged_bytes_ = 0;
  CodeCacheStats stats_;
};

Result<KernelPtr> CodeCache::Get(KeyView key, const std::function<Result<KernelPtr>()>& compile) {
  std::shared_ptr<Flight> flight;
  {
    std::unique_lock lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      Entry& entry = found->second;
      if (entry.flight) return WaitFor(lock, entry.flight);
      ++stats_.hits;
      by_use_.splice(by_use_.begin(), by_use_, entry.slot);
      return entry.slot->kernel;
    }
    flight = StartFlight(key);
  }
  Result<KernelPtr> result = CompileGuarded(compile);
  FinishFlight(key, *flight, result);
  return result;
}

// Throws std::bad_alloc and then changes nothing.
std::shared_ptr<Flight> CodeCache::StartFlight(KeyView key) {
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

void CodeCache::FinishFlight(KeyView key, Flight& flight,
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
      entries_.erase(found);
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
  entries_.erase(entries_.find(slot->key->view()));
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
      entry = entries_.erase(entry);
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
    return ProcessCache().Get({family, spec_bytes}, compile);
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  }
}

CodeCacheStats GetCodeCacheStats() noexcept { return ProcessCache().Stats(); }

void ClearCodeCache() noexcept { ProcessCache().Clear(); }

void SetCodeCacheLimit(size_t bytes) noexcept { ProcessCache().SetLimit(bytes); }

}  // namespace rafter::jit
