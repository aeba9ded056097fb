// kernels/conv/wisdom.cc: see wisdom.h.
#include "kernels/conv/wisdom.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/topology.h"

namespace rafter {
namespace {

using Entries = std::unordered_map<WisdomKey, WisdomChoice, WisdomKeyHash>;
using EntriesByCpu = std::map<std::string, Entries, std::less<>>;

size_t CountEntries(const EntriesByCpu& by_cpu) {
  size_t count = 0;
  for (const auto& [cpu, entries] : by_cpu) count += entries.size();
  return count;
}

// Whether the store has entries of this CPU. Outside of it, so that asking is a plain load.
constinit std::atomic<bool> has_own{false};

class WisdomStore {
 public:
  std::mutex& measuring() noexcept { return measuring_; }

  std::string cpu() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return OwnCpu();
  }

  std::optional<WisdomChoice> Find(const WisdomKey& key) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto own = by_cpu_.find(OwnCpu());
    if (own == by_cpu_.end()) return std::nullopt;
    const auto found = own->second.find(key);
    if (found == own->second.end()) return std::nullopt;
    return found->second;
  }

  void Add(const WisdomKey& key, WisdomChoice choice) {
    const std::lock_guard<std::mutex> guard(mutex_);
    Entries& own = by_cpu_[OwnCpu()];
    if (own.contains(key) || CountEntries(by_cpu_) < kMaxWisdomEntries) {
      own.insert_or_assign(key, std::move(choice));
    }
    UpdateHasOwn();
  }

  // Status of the whole: all of `added` or nothing. Exceptions leave the store as it was, too.
  Status Merge(EntriesByCpu added) {
    const std::lock_guard<std::mutex> guard(mutex_);
    EntriesByCpu merged = by_cpu_;
    for (auto& [cpu, entries] : added) {
      Entries& present = merged[cpu];
      for (auto& [key, choice] : entries) present.insert_or_assign(key, std::move(choice));
    }
    if (const size_t count = CountEntries(merged); count > kMaxWisdomEntries) {
      return Status::InvalidArgument("wisdom: " + std::to_string(count) +
                                     " entries with those that are there, allowed: " +
                                     std::to_string(kMaxWisdomEntries));
    }
    OwnCpu();  // whatever can fail comes before the exchange
    by_cpu_.swap(merged);
    UpdateHasOwn();
    return {};
  }

  void Clear() noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    by_cpu_.clear();
    has_own.store(false, std::memory_order_relaxed);
  }

  // All lines, sorted.
  std::vector<std::string> Lines() {
    const std::lock_guard<std::mutex> guard(mutex_);
    std::vector<std::string> lines;
    lines.reserve(CountEntries(by_cpu_));
    for (const auto& [cpu, entries] : by_cpu_) {
      for (const auto& [key, choice] : entries) lines.push_back(PrintWisdomLine(cpu, key, choice));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  void PrepareFork() noexcept { mutex_.lock(); }
  void FinishForkInParent() noexcept { mutex_.unlock(); }
  // A thread that was measuring does not exist in the child.
  void FinishForkInChild() noexcept {
    mutex_.unlock();
    new (&measuring_) std::mutex;
  }

 private:
  const std::string& OwnCpu() {
    if (own_cpu_.empty()) {
      const Topology topology = ReadTopology();
      own_cpu_ =
          WisdomCpuName(topology.vendor, topology.family, topology.model, topology.stepping);
    }
    return own_cpu_;
  }

  void UpdateHasOwn() noexcept {
    const auto own = by_cpu_.find(own_cpu_);
    has_own.store(own != by_cpu_.end() && !own->second.empty(), std::memory_order_relaxed);
  }

  std::mutex mutex_, measuring_;
  std::string own_cpu_;  // empty until somebody asks
  EntriesByCpu by_cpu_;
};

// Never destroyed: plans may still be made while the process ends.
WisdomStore& ProcessStore() noexcept {
  alignas(WisdomStore) static unsigned char storage[sizeof(WisdomStore)];
  static WisdomStore* const store = [] {
    auto* made = new (storage) WisdomStore;
    pthread_atfork([] { ProcessStore().PrepareFork(); },
                   [] { ProcessStore().FinishForkInParent(); },
                   [] { ProcessStore().FinishForkInChild(); });
    return made;
  }();
  return *store;
}

Status AtLine(size_t number, std::string_view what) {
  return Status::InvalidArgument("wisdom, line " + std::to_string(number) + ": " +
                                 std::string(what));
}

// The next line without its newline, which is required.
Result<std::string_view> TakeLine(std::string_view* text, size_t number) {
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) {
    return AtLine(number, text->empty() ? "is missing, allowed: \"" + std::string(kWisdomTitle) +
                                              "\", then one line per entry"
                                        : QuotedWisdom(*text) +
                                              " is cut off, allowed: lines that end with a newline");
  }
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return line;
}

Result<EntriesByCpu> ParseWisdom(std::string_view text) {
  const Result<std::string_view> title = TakeLine(&text, 1);
  if (!title.ok()) return title.status();
  if (*title != kWisdomTitle) {
    return AtLine(1, QuotedWisdom(*title) + " is not valid, allowed: \"" +
                         std::string(kWisdomTitle) + "\"");
  }
  EntriesByCpu by_cpu;
  for (size_t number = 2; !text.empty(); ++number) {
    if (number > kMaxWisdomEntries + 1) {
      return AtLine(number, "is one too many, allowed: " + std::to_string(kMaxWisdomEntries) +
                                " entries");
    }
    const Result<std::string_view> line = TakeLine(&text, number);
    if (!line.ok()) return line.status();
    Result<WisdomEntry> entry = ParseWisdomLine(*line);
    if (!entry.ok()) return AtLine(number, entry.status().message());
    if (!by_cpu[entry->cpu].emplace(entry->key, std::move(entry->choice)).second) {
      return AtLine(number, QuotedWisdom(*line) +
                                " repeats the problem of another line, allowed: each once");
    }
  }
  return by_cpu;
}

}  // namespace

bool HasWisdom() noexcept { return has_own.load(std::memory_order_relaxed); }

std::optional<WisdomChoice> FindWisdom(const WisdomKey& key) { return ProcessStore().Find(key); }

void StoreWisdom(const WisdomKey& key, std::string_view algorithm, double us) {
  ProcessStore().Add(key, {std::string(algorithm), RoundWisdomUs(us)});
}

std::string WisdomCpu() { return ProcessStore().cpu(); }

std::mutex& MeasuringMutex() noexcept { return ProcessStore().measuring(); }

std::string ExportWisdom() try {
  std::string text = std::string(kWisdomTitle) + '\n';
  for (const std::string& line : ProcessStore().Lines()) text += line + '\n';
  return text;
} catch (const std::exception&) {  // bad_alloc, or length_error of a container
  return {};
}

Status ImportWisdom(std::string_view text) try {
  if (text.data() == nullptr && !text.empty()) return Status::InvalidArgument("wisdom: null, allowed: a text");
  Result<EntriesByCpu> parsed = ParseWisdom(text);
  if (!parsed.ok()) return parsed.status();
  return ProcessStore().Merge(std::move(parsed).value());
} catch (const std::exception&) {
  return Status::OutOfMemory();
}

void ForgetWisdom() noexcept { ProcessStore().Clear(); }

}  // namespace rafter
