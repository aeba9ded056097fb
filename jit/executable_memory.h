// jit/executable_memory.h: memory that the processor may execute. Pages are writable while code is
// copied in and executable afterwards, never both.
//
// Code is assembled in ordinary memory and must be position independent (relative jumps,
// rip-relative data); Publish copies it into an arena of pages and seals it.
#ifndef RAFTER_JIT_EXECUTABLE_MEMORY_H_
#define RAFTER_JIT_EXECUTABLE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rafter/status.h"

namespace rafter::jit {

// A sealed piece of code; freed with the object. Move-only.
class ExecutableBlock {
 public:
  ExecutableBlock() = default;
  ExecutableBlock(ExecutableBlock&& other) noexcept;
  ExecutableBlock& operator=(ExecutableBlock&& other) noexcept;
  ~ExecutableBlock();
  const uint8_t* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }

 private:
  friend Result<ExecutableBlock> Publish(std::span<const uint8_t> code);
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// Copies `code` into executable memory (64-byte aligned). kOutOfMemory, or kUnsupported where the
// system refuses executable memory (SELinux, seccomp, MemoryDenyWriteExecute). Thread-safe.
Result<ExecutableBlock> Publish(std::span<const uint8_t> code);

// Whether Publish can work in this process; decided at the first call. RAFTER_NO_JIT=1 in the
// environment makes it false, for tests and for hardened deployments.
bool ExecutableMemoryAllowed() noexcept;

// Bytes of arenas mapped now.
size_t ExecutableBytesMapped() noexcept;

}  // namespace rafter::jit

#endif  // RAFTER_JIT_EXECUTABLE_MEMORY_H_
