// kernels/conv/plan_cache.cc: a table in which each key has one place.
#include "kernels/conv/plan_cache.h"

#include <pthread.h>

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace rafter {
namespace {

// A description of this size is one of a broken caller, or so large that planning it does not matter.
constexpr size_t kMostKeyBytes = 1 << 16;

class KeyWriter {
 public:
  KeyWriter() { key_.reserve(512); }
  template <typename... Values>
  void Add(const Values&... values) {
    (AddOne(values), ...);
  }
  void Add(const std::optional<Strides>& strides) {
    Add(strides.has_value());
    if (strides) Add(strides->n, strides->c, strides->h, strides->w);
  }
  void Add(std::span<const float> values) {
    Add(values.size());
    key_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  std::string Take() { return std::move(key_); }

 private:
  template <typename T>
  void AddOne(const T& value) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string key_;
};

struct Place {
  std::string key;
  std::shared_ptr<const void> plan;
};

class PlanCache {
 public:
  std::shared_ptr<const void> Find(std::string_view key) noexcept {
    const std::lock_guard lock(mutex_);
    const Place& place = PlaceOf(key);
    return place.key == key ? place.plan : nullptr;
  }
  // What was there is destroyed by the caller, without the lock.
  void Swap(Place& place) noexcept {
    const std::lock_guard lock(mutex_);
    std::swap(PlaceOf(place.key), place);
  }
  void Clear() noexcept {
    std::array<Place, 64> dropped;
    const std::lock_guard lock(mutex_);
    std::swap(dropped, places_);
  }
  std::mutex& mutex() { return mutex_; }

 private:
  Place& PlaceOf(std::string_view key) { return places_[std::hash<std::string_view>()(key) % places_.size()]; }

  std::mutex mutex_;
  std::array<Place, 64> places_;
};

// Never destroyed: static objects may make plans while the process ends. A child of fork() gets it unlocked.
PlanCache& Cache() {
  static PlanCache* const cache = [] {
    auto* made = new PlanCache;
    pthread_atfork([] { Cache().mutex().lock(); }, [] { Cache().mutex().unlock(); }, [] { Cache().mutex().unlock(); });
    return made;
  }();
  return *cache;
}

}  // namespace

std::string PlanKeyOf(const ConvDesc& desc, const PlanContext& context, std::string_view algorithm) {
  KeyWriter key;
  key.Add(desc.n, desc.groups, desc.ic, desc.oc, desc.in, desc.kernel, desc.stride, desc.dilation, desc.pad);
  key.Add(desc.src.layout, desc.dst.layout, desc.type, desc.bias);
  key.Add(desc.src.strides);
  key.Add(desc.dst.strides);
  key.Add(desc.post_ops.size());
  for (const PostOp& op : desc.post_ops) {
    key.Add(op.kind, op.alpha, op.beta);
    key.Add(op.residual_strides);
    key.Add(std::span<const float>(op.scale));
  }
  key.Add(context.isa, context.threads, context.accuracy, context.machine, context.tile.px, context.tile.vecs,
          context.steps_aside);
  return key.Take() + std::string(algorithm);
}

std::shared_ptr<const void> FindPlan(std::string_view key) noexcept { return Cache().Find(key); }

void KeepPlan(std::string key, std::shared_ptr<const void> plan) noexcept {
  if (key.size() > kMostKeyBytes) return;
  Place place{std::move(key), std::move(plan)};
  Cache().Swap(place);
}

void ForgetPlans() noexcept { Cache().Clear(); }

}  // namespace rafter
