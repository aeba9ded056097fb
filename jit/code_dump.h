// jit/code_dump.h: makes generated code visible. RAFTER_JIT_DUMP=dir writes one file dir/<name>.bin
// per kernel (objdump -D -b binary -mi386:x86-64 reads it); RAFTER_JIT_PERF=1 appends to
// /tmp/perf-<pid>.map so that perf shows kernel names. Both are read once and never make a
// compilation fail.
#ifndef RAFTER_JIT_CODE_DUMP_H_
#define RAFTER_JIT_CODE_DUMP_H_

#include <string>

namespace rafter::jit {

class CompiledKernel;

void AnnounceKernel(const CompiledKernel& kernel) noexcept;

}  // namespace rafter::jit

#endif  // RAFTER_JIT_CODE_DUMP_H_
