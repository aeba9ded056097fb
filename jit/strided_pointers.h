// jit/strided_pointers.h: addresses of `count` items at a distance known only at run time, with few registers.
//
// x86 addresses are base + index * {1, 2, 4, 8} + displacement. With one index register holding the stride
// (and, for long rows, a second one holding 3 * stride), a base reaches the items 0, 1, 2, 4, 8 (and 3, 6,
// 12, 24) behind it: 6 items need 2 bases, 14 need 3, 28 need 6. Advancing all items costs one addition per base.
#ifndef RAFTER_JIT_STRIDED_POINTERS_H_
#define RAFTER_JIT_STRIDED_POINTERS_H_

#include <vector>

#include "jit/assembler.h"
#include "jit/reg_pool.h"

namespace rafter::jit {

class StridedPointers {
 public:
  StridedPointers(int count, RegPool& pool);

  // Emits: stride = [stride_bytes].
  void EmitStride(Assembler& a, const Address& stride_bytes) const;
  // Emits: all items relative to `first` (a register or memory operand). The stride must be set.
  void EmitBases(Assembler& a, const Xbyak::Operand& first) const;
  // Emits: every item moves on.
  void EmitAdvance(Assembler& a, int bytes) const;
  void EmitAdvance(Assembler& a, const Address& bytes) const;

  // base + index * scale of item i.
  Xbyak::RegExp at(int i) const;
  const Reg64& first_base() const { return bases_.front(); }

 private:
  struct Reach {
    int base, multiple;  // item = bases_[base] + multiple * stride
  };
  static std::vector<int> ChooseBases(int count, bool with_triple);
  static bool Reaches(int distance, bool with_triple);

  std::vector<int> base_items_;
  std::vector<Reach> reach_;  // per item
  std::vector<Reg64> bases_;
  Reg64 stride_, triple_;
  bool has_stride_ = false, has_triple_ = false;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_STRIDED_POINTERS_H_
