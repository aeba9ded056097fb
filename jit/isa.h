// jit/isa.h: the instruction sets as data: one row per set. Emitters read widths and counts from here,
// and only jit/ asks which set it is.
#ifndef RAFTER_JIT_ISA_H_
#define RAFTER_JIT_ISA_H_

#include "rafter/cpu.h"

namespace rafter::jit {

struct IsaInfo {
  Isa isa = Isa::kNone;
  const char* name = "none";
  int vec_bytes = 0;
  int num_vecs = 0;       // architectural vector registers
  bool has_opmask = false;

  int vec_lanes() const { return vec_bytes / 4; }
};

// The row of `isa`. For kNone: all zeros.
const IsaInfo& GetIsaInfo(Isa isa) noexcept;


}  // namespace rafter::jit

#endif  // RAFTER_JIT_ISA_H_
