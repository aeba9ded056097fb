// kernels/c_memory.cc: memory pools and arenas in the C interface. Not for decisions of any kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/c_call.h"
#include "kernels/c_structs.h"
#include "rafter/arena_plan.h"
#include "rafter/memory_pool.h"
#include "rafter/rafter_c.h"

namespace rafter {
namespace {

// The library's own pool for NULL; null for what is no pool.
MemoryPool* PoolOf(rafter_memory_pool* pool) noexcept {
  if (pool == nullptr) return &MemoryPool::Default();
  return CheckHandle(pool, "pool") == RAFTER_OK ? &pool->pool : nullptr;
}

}  // namespace
}  // namespace rafter

extern "C" {

rafter_status rafter_memory_pool_create(size_t limit_bytes, rafter_memory_pool** pool) {
  if (pool == nullptr) return rafter::Invalid("pool: NULL");
  *pool = nullptr;
  return rafter::Guarded([&]() -> rafter::Status {
    *pool = new rafter_memory_pool{{}, rafter::MemoryPool({.limit_bytes = limit_bytes > 0 ? limit_bytes : SIZE_MAX})};
    return {};
  });
}

rafter_status rafter_memory_pool_destroy(rafter_memory_pool* pool) {
  if (pool == nullptr) return RAFTER_OK;
  if (const rafter_status status = rafter::CheckHandle(pool, "pool"); status != RAFTER_OK) return status;
  if (pool->pool.stats().in_use_bytes > 0) return rafter::Invalid("pool: blocks of it are in use");
  delete pool;
  return RAFTER_OK;
}

void* rafter_memory_pool_allocate(rafter_memory_pool* pool, size_t bytes) {
  rafter::MemoryPool* from = rafter::PoolOf(pool);
  void* block = from != nullptr ? from->Allocate(bytes) : nullptr;
  if (from != nullptr && block == nullptr) rafter::Report(rafter::Status::OutOfMemory());
  return block;
}

void rafter_memory_pool_free(rafter_memory_pool* pool, void* block) {
  if (rafter::MemoryPool* from = rafter::PoolOf(pool)) from->Free(block);
}

void rafter_memory_pool_trim(rafter_memory_pool* pool) {
  if (rafter::MemoryPool* from = rafter::PoolOf(pool)) from->Trim();
}

rafter_status rafter_memory_pool_get_stats(const rafter_memory_pool* pool, rafter_memory_pool_stats* stats) {
  if (stats == nullptr) return rafter::Invalid("stats: NULL");
  const rafter::MemoryPool* of = rafter::PoolOf(const_cast<rafter_memory_pool*>(pool));
  if (of == nullptr) return RAFTER_INVALID_ARGUMENT;
  return rafter::Guarded([&]() -> rafter::Status {
    const auto sized = rafter::Sized(*stats, sizeof(rafter_memory_pool_stats), "stats");
    if (!sized.ok()) return sized.status();
    const rafter::MemoryPoolStats now = of->stats();
    const rafter_memory_pool_stats filled = {stats->struct_bytes,   now.mapped_bytes, now.in_use_bytes,
                                             now.peak_in_use_bytes, now.system_calls, now.rejected_frees};
    std::memcpy(stats, &filled, sizeof filled);
    return {};
  });
}

rafter_status rafter_plan_arena(const rafter_activation* activations, size_t count, size_t* offsets,
                                size_t* arena_bytes, size_t* busiest_bytes) {
  if (arena_bytes != nullptr) *arena_bytes = 0;
  if (busiest_bytes != nullptr) *busiest_bytes = 0;
  if (arena_bytes == nullptr) return rafter::Invalid("arena_bytes: NULL");
  if (count > 0 && activations == nullptr) return rafter::Invalid("activations: NULL, but count is not 0");
  if (count > 0 && offsets == nullptr) return rafter::Invalid("offsets: NULL, but count is not 0");
  if (count > PTRDIFF_MAX / sizeof(rafter_activation)) return rafter::Invalid("count: larger than any array");
  return rafter::Guarded([&]() -> rafter::Status {
    std::vector<rafter::Activation> all;
    all.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      all.push_back({activations[i].bytes, activations[i].first_step, activations[i].last_step});
    }
    const rafter::Result<rafter::ArenaPlan> plan = rafter::PlanArena(all);
    if (!plan.ok()) return plan.status();
    std::copy(plan->offsets.begin(), plan->offsets.end(), offsets);
    *arena_bytes = plan->arena_bytes;
    if (busiest_bytes != nullptr) *busiest_bytes = plan->busiest_bytes;
    return {};
  });
}

}  // extern "C"
