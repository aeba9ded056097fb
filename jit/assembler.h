// jit/assembler.h: the assembler that emitters write with: every instruction of xbyak under its own name,
// plus macro-instructions, which hide what differs between instruction sets. The only place (with its .cc
// and post_op_emitter.cc) that asks whether the machine has opmask registers.
//
// Naming: lowercase() is exactly one instruction, CamelCase() may emit several.
#ifndef RAFTER_JIT_ASSEMBLER_H_
#define RAFTER_JIT_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>

#include "jit/isa.h"

namespace rafter::jit {

using Xbyak::Address;
using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Xmm;

class Assembler : public Xbyak::CodeGenerator {
 public:
  // Writes to `buffer` (ordinary memory); throws Xbyak::Error when it is full (caught by Compile).
  Assembler(const IsaInfo& isa, uint8_t* buffer, size_t buffer_bytes);

  const IsaInfo& isa() const { return isa_; }

  // A vector register of the machine's full width (the width travels in the operand at run time).
  Xmm vec(int index) const;
  // The lower half of a 512-bit register, as a 256-bit operand.
  Xmm half_vec(int index) const;

  // --- frame of a kernel: void kernel(Args*) in the System V ABI ---
  // Saves the callee-saved registers; the argument pointer stays in rdi.
  void EnterKernel();
  // Restores them, clears the upper vector halves (vzeroupper) and returns.
  void LeaveKernel();

  // --- macro-instructions ---
  void Zero(const Xmm& v);
  // Loads / stores the first lanes of a vector, as the mask prepared by SetTailMask says.
  // `mask_vec` is a vector register reserved for the mask on machines without opmask registers.
  void SetTailMask(const Reg64& tail_lanes, const Xmm& mask_vec, const Reg64& scratch);
  void LoadTail(const Xmm& dst, const Address& src, const Xmm& mask_vec);
  void StoreTail(const Address& dst, const Xmm& src, const Xmm& mask_vec);
  // Clears the lanes behind the tail.
  void ZeroBehindTail(const Xmm& v, const Xmm& mask_vec);

 private:
  const IsaInfo& isa_;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_ASSEMBLER_H_
