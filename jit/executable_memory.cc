// jit/executable_memory.cc: the executable memory of the process: one ExecutableArenas
// (jit/executable_arenas.h), made at the first use and never destroyed, since kernels in static
// objects may outlive every destructor of ours.
#include "jit/executable_memory.h"

#include <pthread.h>

#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "jit/executable_arenas.h"
#include "jit/page_source.h"

namespace rafter::jit {
namespace {

ExecutableArenas& ProcessArenas() noexcept;

void PrepareFork() { ProcessArenas().PrepareFork(); }
void FinishFork() { ProcessArenas().FinishFork(); }

bool SwitchedOff() noexcept {
  const char* value = std::getenv("RAFTER_NO_JIT");
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

ExecutableArenas& ProcessArenas() noexcept {
  alignas(PageSource) static unsigned char page_source[sizeof(PageSource)];
  alignas(ExecutableArenas) static unsigned char storage[sizeof(ExecutableArenas)];
  static ExecutableArenas* arenas = [] {
    auto* made = new (storage) ExecutableArenas(*new (page_source) PageSource, !SwitchedOff());
    pthread_atfork(&PrepareFork, &FinishFork, &FinishFork);
    return made;
  }();
  return *arenas;
}

}  // namespace

ExecutableBlock::ExecutableBlock(ExecutableBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ExecutableBlock& ExecutableBlock::operator=(ExecutableBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ExecutableBlock::~ExecutableBlock() {
  if (data_ != nullptr) ProcessArenas().Free(data_, size_);
}

Result<ExecutableBlock> Publish(std::span<const uint8_t> code) {
  const Result<const uint8_t*> address = ProcessArenas().Publish(code);
  if (!address.ok()) return address.status();
  ExecutableBlock block;
  block.data_ = address.value();
  block.size_ = code.size();
  return block;
}

bool ExecutableMemoryAllowed() noexcept { return ProcessArenas().Allowed(); }

size_t ExecutableBytesMapped() noexcept { return ProcessArenas().bytes_mapped(); }

}  // namespace rafter::jit
