// jit/compile.cc: runs an emitter over a scratch buffer and publishes what it wrote.
#include "jit/compile.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "jit/code_dump.h"
#include "jit/executable_memory.h"

namespace rafter::jit {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
// Emitters align relative to the buffer and Publish keeps 64 bytes of alignment.
constexpr std::align_val_t kBufferAlignment{64};

struct BufferDelete {
  void operator()(uint8_t* buffer) const { ::operator delete(buffer, kBufferAlignment); }
};
using Buffer = std::unique_ptr<uint8_t[], BufferDelete>;

// Each thread keeps one buffer: mapping and faulting in 256 KiB would cost more than most kernels.
thread_local Buffer idle_buffer;

// A buffer for the time of one compilation. An emitter that compiles another kernel meanwhile gets
// a second.
class ScratchBuffer {
 public:
  ScratchBuffer() : buffer_(std::move(idle_buffer)) {
    if (!buffer_) {
      buffer_.reset(static_cast<uint8_t*>(::operator new(kBufferBytes, kBufferAlignment)));
    }
  }
  ~ScratchBuffer() { idle_buffer = std::move(buffer_); }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  uint8_t* data() const { return buffer_.get(); }

 private:
  Buffer buffer_;
};

Status Defect(const std::string& name, const std::string& what) {
  return Status::Internal("kernel " + name + ": " + what);
}

Result<KernelPtr> EmitAndPublish(const std::string& name, const IsaInfo& isa,
                                 const std::function<void(Assembler&)>& emit) {
  const ScratchBuffer scratch;
  Assembler assembler(isa, scratch.data(), kBufferBytes);
  emit(assembler);
  // The assembler itself would tell only in ready(), which is for memory that it owns.
  if (assembler.hasUndefinedLabel()) return Defect(name, "jumps to a label that is not placed");
  if (assembler.getSize() == 0) return Defect(name, "the emitter wrote nothing");
  Result<ExecutableBlock> block = Publish(std::span(assembler.getCode(), assembler.getSize()));
  if (!block.ok()) return block.status();
  auto kernel = std::make_shared<const CompiledKernel>(name, std::move(block).value());
  AnnounceKernel(*kernel);
  return KernelPtr(std::move(kernel));
}

}  // namespace

Result<KernelPtr> Compile(const std::string& name, const IsaInfo& isa,
                          const std::function<void(Assembler&)>& emit) {
  try {
    try {
      return EmitAndPublish(name, isa, emit);
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) == Xbyak::ERR_CANT_ALLOC) return Status::OutOfMemory();
      return Defect(name, error.what());
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory();
    } catch (const std::exception& error) {
      return Defect(name, error.what());
    } catch (...) {
      return Defect(name, "the emitter threw an unknown exception");
    }
  } catch (const std::bad_alloc&) {  // while wording the message
    return Status::OutOfMemory();
  }
}

}  // namespace rafter::jit
