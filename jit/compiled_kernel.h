// jit/compiled_kernel.h: a finished kernel: its code, name and size. Immutable; the code lives as
// long as the last shared pointer to it.
#ifndef RAFTER_JIT_COMPILED_KERNEL_H_
#define RAFTER_JIT_COMPILED_KERNEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "jit/executable_memory.h"

namespace rafter::jit {

class CompiledKernel {
 public:
  CompiledKernel(std::string name, ExecutableBlock block)
      : name_(std::move(name)), block_(std::move(block)) {}

  const std::string& name() const noexcept { return name_; }
  size_t code_bytes() const noexcept { return block_.size(); }
  const void* code() const noexcept { return block_.data(); }

  // The entry point; `Function` is the type that the emitter wrote for.
  template <typename Function>
  Function* entry() const noexcept {
    return reinterpret_cast<Function*>(reinterpret_cast<uintptr_t>(block_.data()));
  }

 private:
  std::string name_;
  ExecutableBlock block_;
};

using KernelPtr = std::shared_ptr<const CompiledKernel>;

}  // namespace rafter::jit

#endif  // RAFTER_JIT_COMPILED_KERNEL_H_
