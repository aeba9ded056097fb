// jit/page_source.h: the system calls behind executable memory, as an object, so that tests can
// play a system that refuses some of them. Who decides what to call: jit/executable_arenas.h.
#ifndef RAFTER_JIT_PAGE_SOURCE_H_
#define RAFTER_JIT_PAGE_SOURCE_H_

#include <cstddef>

namespace rafter::jit {

// The real system. Every function returns 0 or the errno value of the failed call.
class PageSource {
 public:
  virtual ~PageSource() = default;

  // Maps `file` from its start and shared, or private zeroed memory when `file` is negative.
  virtual int Map(size_t bytes, int protection, int file, void** address) noexcept;
  virtual int Unmap(void* address, size_t bytes) noexcept;
  virtual int Protect(void* address, size_t bytes, int protection) noexcept;
  // A file in memory with `bytes` reserved, so that writing to it cannot fail later.
  virtual int OpenFile(size_t bytes, int* file) noexcept;
  virtual void CloseFile(int file) noexcept;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_PAGE_SOURCE_H_
