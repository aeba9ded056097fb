// jit/isa.h: the instruction sets as data: one row per set. Emitters read widths and counts from
// here, and only jit/ asks which set it is. What the machine has and what new plans use:
// rafter/cpu.h.
#ifndef RAFTER_JIT_ISA_H_
#define RAFTER_JIT_ISA_H_

#include <cstdint>
#include <string_view>

#include "rafter/cpu.h"

namespace rafter::jit {

struct IsaInfo {
  Isa isa = Isa::kNone;
  const char* name = "none";
  int vec_bytes = 0;
  int num_vecs = 0;  // architectural vector registers
  bool has_opmask = false;

  int vec_lanes() const { return vec_bytes / 4; }
};

// The row of `isa`. For kNone: all zeros.
const IsaInfo& GetIsaInfo(Isa isa) noexcept;

// Text of RAFTER_MAX_ISA when it names no instruction set (and therefore caps nothing), else empty;
// at most 63 characters. For the command, which warns.
std::string_view UnknownMaxIsaText() noexcept;

// What the processor and the operating system say, as raw words; zeros where a CPUID leaf is
// missing.
struct CpuidWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;  // sub-leaf 0
  uint64_t xcr0 = 0;       // zero without OSXSAVE: XGETBV would fault
};

// The words of this processor.
CpuidWords ReadCpuidWords() noexcept;

// The decision behind DetectedIsa().
Isa IsaFromCpuid(const CpuidWords& words) noexcept;

}  // namespace rafter::jit

#endif  // RAFTER_JIT_ISA_H_
