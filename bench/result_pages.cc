// bench/result_pages.cc: see the header.
#include "bench/result_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace rafter::bench {

ResultPages::ResultPages(Pages pages, size_t bytes, MemoryPool& pool) noexcept {
  if (pages == Pages::kPooled) {
    pool_ = &pool;
    data_ = pool.Allocate(bytes);
    return;
  }
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = pages == Pages::kHuge;
  mapping_bytes_ = bytes + (huge ? kHugePage : 0);
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return;
  mapping_ = mapping;
  auto begin = reinterpret_cast<uintptr_t>(mapping);
  if (huge) begin = (begin + kHugePage - 1) / kHugePage * kHugePage;
  data_ = reinterpret_cast<void*>(begin);
  // Refused where transparent huge pages are switched off: then pages are small in both cases.
  madvise(mapping, mapping_bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

ResultPages::~ResultPages() {
  if (pool_ != nullptr) pool_->Free(data_);
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

}  // namespace rafter::bench
