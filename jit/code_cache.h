// jit/code_cache.h: Spec → kernel, shared by all plans. Each spec is compiled once, by the thread
// that asks first, with no lock held meanwhile; the others wait for it. Failures are not kept.
//
// A Spec is a trivially copyable struct without padding, floats or pointers: its bytes are the key.
// All caches of the process share one cap in bytes of code, counting the whole pages
// that each kernel occupies; beyond it, kernels that no plan uses are dropped, least recently used
// first.
#ifndef RAFTER_JIT_CODE_CACHE_H_
#define RAFTER_JIT_CODE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include "jit/compiled_kernel.h"
#include "rafter/status.h"

namespace rafter::jit {

struct CodeCacheStats {
  size_t kernels = 0, code_bytes = 0;  // held now; the bytes without the rest of each last page
  uint64_t hits = 0, misses = 0, evictions = 0;  // since the start
};

// The untyped cache: the key is a family name and the bytes of a spec. An exception of `compile`
// becomes a Status. `compile` may ask for other kernels, but asking for its own is answered with
// kInternal.
Result<KernelPtr> GetOrCompileBytes(std::string_view family, std::string_view spec_bytes,
                                    const std::function<Result<KernelPtr>()>& compile);

template <typename Spec, typename CompileFn>
Result<KernelPtr> GetOrCompile(std::string_view family, const Spec& spec,
                               const CompileFn& compile) {
  static_assert(std::is_trivially_copyable_v<Spec>);
  static_assert(std::has_unique_object_representations_v<Spec>, "padding or floats in a cache key");
  return GetOrCompileBytes(family, {reinterpret_cast<const char*>(&spec), sizeof spec},
                           [&] { return compile(spec); });
}

CodeCacheStats GetCodeCacheStats() noexcept;
// Drops every kernel that nobody else holds.
void ClearCodeCache() noexcept;
// Default 64 MiB.
void SetCodeCacheLimit(size_t bytes) noexcept;

}  // namespace rafter::jit

#endif  // RAFTER_JIT_CODE_CACHE_H_
