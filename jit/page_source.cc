// jit/page_source.cc: the system calls behind executable memory.
#include "jit/page_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace rafter::jit {

int PageSource::Map(size_t bytes, int protection, int file, void** address) noexcept {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* mapped = mmap(nullptr, bytes, protection, flags, file, 0);
  if (mapped == MAP_FAILED) return errno;
  *address = mapped;
  return 0;
}

int PageSource::Unmap(void* address, size_t bytes) noexcept {
  return munmap(address, bytes) == 0 ? 0 : errno;
}

int PageSource::Protect(void* address, size_t bytes, int protection) noexcept {
  return mprotect(address, bytes, protection) == 0 ? 0 : errno;
}

int PageSource::OpenFile(size_t bytes, int* file) noexcept {
  // NOEXEC_SEAL only says that nobody will exec() the file, which vm.memfd_noexec = 2 insists on;
  // mapping it executable stays allowed. Kernels before 6.3 do not know the flag.
  int fd = memfd_create("rafter-code", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("rafter-code", MFD_CLOEXEC);
  if (fd < 0) return errno;
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(fd);
    return error;
  }
  *file = fd;
  return 0;
}

void PageSource::CloseFile(int file) noexcept { close(file); }

}  // namespace rafter::jit
