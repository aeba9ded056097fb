// jit/strided_pointers.cc: choice of base registers and the address arithmetic of strided items.
#include "jit/strided_pointers.h"

namespace rafter::jit {

bool StridedPointers::Reaches(int distance, bool with_triple) {
  switch (distance) {
    case 0: case 1: case 2: case 4: case 8: return true;
    case 3: case 6: case 12: case 24: return with_triple;
    default: return false;
  }
}

std::vector<int> StridedPointers::ChooseBases(int count, bool with_triple) {
  std::vector<int> bases;
  std::vector<bool> covered(count, false);
  for (int item = 0; item < count; ++item) {
    if (covered[item]) continue;
    bases.push_back(item);
    for (int other = item; other < count; ++other) {
      if (Reaches(other - item, with_triple)) covered[other] = true;
    }
  }
  return bases;
}

StridedPointers::StridedPointers(int count, RegPool& pool) {
  const std::vector<int> plain = ChooseBases(count, false), triple = ChooseBases(count, true);
  has_triple_ = triple.size() + 1 < plain.size();
  has_stride_ = count > 1;
  base_items_ = has_triple_ ? triple : plain;
  for (size_t i = 0; i < base_items_.size(); ++i) bases_.push_back(pool.Take());
  if (has_stride_) stride_ = pool.Take();
  if (has_triple_) triple_ = pool.Take();
  for (int item = 0; item < count; ++item) {
    for (size_t b = 0; b < base_items_.size(); ++b) {
      const int distance = item - base_items_[b];
      if (distance < 0 || !Reaches(distance, has_triple_)) continue;
      reach_.push_back({static_cast<int>(b), distance});
      break;
    }
  }
}

void StridedPointers::EmitStride(Assembler& a, const Address& stride_bytes) const {
  if (!has_stride_) return;
  a.mov(stride_, stride_bytes);
  if (has_triple_) a.lea(triple_, a.ptr[stride_ + stride_ * 2]);
}

void StridedPointers::EmitBases(Assembler& a, const Xbyak::Operand& first) const {
  a.mov(bases_[0], first);
  for (size_t b = 1; b < bases_.size(); ++b) {
    int distance = base_items_[b] - base_items_[b - 1];
    Reg64 from = bases_[b - 1];
    for (int step : {8, 4, 2, 1}) {
      for (; distance >= step; distance -= step) {
        a.lea(bases_[b], a.ptr[from + stride_ * step]);
        from = bases_[b];
      }
    }
  }
}

void StridedPointers::EmitAdvance(Assembler& a, int bytes) const {
  for (const Reg64& base : bases_) a.add(base, bytes);
}

void StridedPointers::EmitAdvance(Assembler& a, const Address& bytes) const {
  for (const Reg64& base : bases_) a.add(base, bytes);
}

Xbyak::RegExp StridedPointers::at(int i) const {
  const Reach& r = reach_[i];
  const Xbyak::RegExp base(bases_[r.base]);
  switch (r.multiple) {
    case 0: return base;
    case 1: case 2: case 4: case 8: return base + Xbyak::RegExp(stride_, r.multiple);
    default: return base + Xbyak::RegExp(triple_, r.multiple / 3);
  }
}

}  // namespace rafter::jit
