// rafter/cpu.h: instruction sets: what this machine and its OS allow, and how to cap what rafter uses.
#ifndef RAFTER_CPU_H_
#define RAFTER_CPU_H_

#include <string_view>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

// Instruction sets in rising order; each includes the ones before it.
enum class Isa : unsigned char {
  kNone = 0,    // no vector kernel can run: the reference path serves everything
  kAvx2 = 1,    // AVX2 + FMA
  kAvx512 = 2,  // AVX-512 F, BW, DQ, VL
};

// The best set that CPUID offers and the OS enabled (XGETBV), before any cap.
RAFTER_EXPORT Isa DetectedIsa() noexcept;

// The set that new plans use: DetectedIsa() capped by the environment variable RAFTER_MAX_ISA
// (none, avx2 or avx512; read once; an unknown value caps nothing and is reported by `rafter info`)
// and by SetMaxIsa.
RAFTER_EXPORT Isa EffectiveIsa() noexcept;

// Caps the set used by plans that are created from now on, in the whole process. Thread-safe.
RAFTER_EXPORT void SetMaxIsa(Isa isa) noexcept;

// "none", "avx2", "avx512".
RAFTER_EXPORT const char* IsaName(Isa isa) noexcept;

// The inverse of IsaName; kInvalidArgument names what is allowed.
RAFTER_EXPORT Result<Isa> ParseIsa(std::string_view name);

}  // namespace rafter

#endif  // RAFTER_CPU_H_
