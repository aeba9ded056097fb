// jit/reg_pool.h: hands out general-purpose registers by name. Running out throws; Compile turns that
// into a Status, so a tile that needs too many registers is a refused plan, never a silent clash.
#ifndef RAFTER_JIT_REG_POOL_H_
#define RAFTER_JIT_REG_POOL_H_

#include <stdexcept>
#include <vector>

#include "jit/assembler.h"

namespace rafter::jit {

class RegPool {
 public:
  // All registers but rsp and rdi (the argument pointer). EnterKernel has saved those that need it.
  RegPool() {
    using Xbyak::Operand;
    for (int index : {Operand::R15, Operand::R14, Operand::R13, Operand::R12, Operand::RBP, Operand::RBX,
                      Operand::R11, Operand::R10, Operand::R9, Operand::R8, Operand::RSI, Operand::RDX,
                      Operand::RCX, Operand::RAX}) {
      free_.push_back(Reg64(index));
    }
  }

  Reg64 Take() {
    if (free_.empty()) throw std::length_error("the kernel needs more general registers than exist");
    const Reg64 r = free_.back();
    free_.pop_back();
    return r;
  }
  void Return(const Reg64& r) { free_.push_back(r); }
  size_t available() const { return free_.size(); }

 private:
  std::vector<Reg64> free_;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_REG_POOL_H_
