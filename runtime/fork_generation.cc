// runtime/fork_generation.cc: counts forks with an atfork handler, registered when rafter is
// loaded: a child must be noticed even if its parent never called rafter (it may have used OpenMP
// itself).
#include "runtime/fork_generation.h"

#include <pthread.h>

#include <atomic>

namespace rafter {
namespace {

std::atomic<uint32_t> forks{0};

void CountFork() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

// A failed registration (no memory while loading) leaves the count at 0 for ever.
[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, &CountFork);

}  // namespace

uint32_t ForkGeneration() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace rafter
