// bench/result_pages.h: memory of one call's result, by the kind of pages that the run asks for (bench/pages.h).
#ifndef RAFTER_BENCH_RESULT_PAGES_H_
#define RAFTER_BENCH_RESULT_PAGES_H_

#include <cstddef>

#include "bench/pages.h"
#include "rafter/memory_pool.h"

namespace rafter::bench {

class ResultPages {
 public:
  // kFresh, kPooled or kHuge. data() is null when there is no memory.
  ResultPages(Pages pages, size_t bytes, MemoryPool& pool) noexcept;
  ~ResultPages();
  ResultPages(const ResultPages&) = delete;
  ResultPages& operator=(const ResultPages&) = delete;
  void* data() const noexcept { return data_; }

 private:
  MemoryPool* pool_ = nullptr;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_RESULT_PAGES_H_
