// jit/compile.h: from an emitter to a kernel. The only place where exceptions of the assembler end.
#ifndef RAFTER_JIT_COMPILE_H_
#define RAFTER_JIT_COMPILE_H_

#include <functional>
#include <string>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/isa.h"
#include "rafter/status.h"

namespace rafter::jit {

// Runs `emit` on an assembler for `isa`, publishes the code, and dumps or registers it under `name`
// when the environment asks (jit/code_dump.h). Errors: kUnsupported where executable memory is
// refused, kOutOfMemory, kInternal with the assembler's message (code beyond the buffer of 256 KiB,
// bad operand).
Result<KernelPtr> Compile(const std::string& name, const IsaInfo& isa,
                          const std::function<void(Assembler&)>& emit);

}  // namespace rafter::jit

#endif  // RAFTER_JIT_COMPILE_H_
