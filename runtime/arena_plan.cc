// runtime/arena_plan.cc: see rafter/arena_plan.h.
#include "rafter/arena_plan.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <utility>

namespace rafter {
namespace {

constexpr size_t kAlignment = 64;

size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Status Check(std::span<const Activation> activations) {
  if (activations.data() == nullptr && !activations.empty()) {
    return Status::InvalidArgument("activations: null, but there are to be " + std::to_string(activations.size()));
  }
  size_t total = 0;
  for (size_t i = 0; i < activations.size(); ++i) {
    const Activation& a = activations[i];
    const std::string field = "activations[" + std::to_string(i) + "]";
    if (a.first_step < 0) {
      return Status::InvalidArgument(field + ".first_step: " + std::to_string(a.first_step) +
                                     " is negative, allowed: 0 and above");
    }
    if (a.last_step < a.first_step) {
      return Status::InvalidArgument(field + ".last_step: " + std::to_string(a.last_step) + " is too small, allowed: " +
                                     std::to_string(a.first_step) + " (first_step) and above");
    }
    if (a.bytes > std::numeric_limits<size_t>::max() / 2 || __builtin_add_overflow(total, Rounded(a.bytes), &total)) {
      return Status::InvalidArgument(field + ".bytes: " + std::to_string(a.bytes) +
                                     " makes the sum of all sizes exceed 64 bits");
    }
  }
  return {};
}

bool LiveTogether(const Activation& a, const Activation& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// Most bytes that live at one step. Something begins at the busiest one.
size_t Busiest(std::span<const Activation> activations) {
  size_t most = 0;
  for (const Activation& beginning : activations) {
    size_t live = 0;
    for (const Activation& a : activations) {
      if (a.first_step <= beginning.first_step && beginning.first_step <= a.last_step) live += Rounded(a.bytes);
    }
    most = std::max(most, live);
  }
  return most;
}

// Offset of the smallest gap that holds `bytes` between blocks (offset, end), which may overlap each other.
size_t SmallestGap(std::vector<std::pair<size_t, size_t>>& taken, size_t bytes) {
  std::sort(taken.begin(), taken.end());
  size_t best = 0, best_size = std::numeric_limits<size_t>::max(), free_from = 0;
  for (const auto& [begin, end] : taken) {
    if (begin > free_from && begin - free_from >= bytes && begin - free_from < best_size) {
      best = free_from, best_size = begin - free_from;
    }
    free_from = std::max(free_from, end);
  }
  return best_size != std::numeric_limits<size_t>::max() ? best : free_from;
}

}  // namespace

Result<ArenaPlan> PlanArena(std::span<const Activation> activations) try {
  if (Status status = Check(activations); !status.ok()) return status;
  std::vector<size_t> order(activations.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return activations[a].bytes > activations[b].bytes; });
  ArenaPlan plan;
  plan.offsets.resize(activations.size());
  plan.busiest_bytes = Busiest(activations);
  std::vector<std::pair<size_t, size_t>> taken;
  for (size_t placed = 0; placed < order.size(); ++placed) {
    const Activation& activation = activations[order[placed]];
    taken.clear();
    for (size_t i = 0; i < placed; ++i) {
      const Activation& other = activations[order[i]];
      if (!LiveTogether(activation, other)) continue;
      taken.emplace_back(plan.offsets[order[i]], plan.offsets[order[i]] + Rounded(other.bytes));
    }
    const size_t offset = SmallestGap(taken, Rounded(activation.bytes));
    plan.offsets[order[placed]] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + Rounded(activation.bytes));
  }
  return plan;
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

}  // namespace rafter
