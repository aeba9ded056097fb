// jit/assembler.cc: macro-instructions, each with its form for machines with and without opmask registers.
#include "jit/assembler.h"

#include <bit>
#include <utility>

namespace rafter::jit {

namespace {

const Xbyak::Opmask kTailMask(1), kCompareMask(7);

Xbyak::Ymm LowHalf(const Xmm& v) { return Xbyak::Ymm(v.getIdx()); }
Xbyak::Zmm Full(const Xmm& v) { return Xbyak::Zmm(v.getIdx()); }

}  // namespace

Assembler::Assembler(const IsaInfo& isa, uint8_t* buffer, size_t buffer_bytes)
    : Xbyak::CodeGenerator(buffer_bytes, buffer),
      isa_(isa),
      vec_kind_(isa.vec_bytes == 64 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM) {}

void Assembler::align(size_t bytes) {
  const size_t rest = getSize() % bytes;  // code begins on a page
  if (rest != 0) nop(bytes - rest);
}

void Assembler::EnterKernel() {
  for (const Reg64& r : {rbx, rbp, r12, r13, r14, r15}) push(r);
}

void Assembler::LeaveKernel() {
  for (const Reg64& r : {r15, r14, r13, r12, rbp, rbx}) pop(r);
  vzeroupper();
  ret();
}

Address Assembler::constant(float value) { return constant_bits(std::bit_cast<uint32_t>(value)); }

Address Assembler::constant_bits(uint32_t bits) {
  for (const Constant& c : constants_) {
    if (c.bits == bits) return ptr[rip + c.label];
  }
  constants_.push_back({bits, Label()});
  return ptr[rip + constants_.back().label];
}

Address Assembler::constant_lanes(std::vector<uint32_t> lanes) {
  for (const LaneConstant& c : lane_constants_) {
    if (c.lanes == lanes) return ptr[rip + c.label];
  }
  lane_constants_.push_back({std::move(lanes), Label()});
  return ptr[rip + lane_constants_.back().label];
}

void Assembler::EmitConstants() {
  if (constants_.empty() && lane_constants_.empty()) return;
  align(64);
  for (LaneConstant& c : lane_constants_) {
    L(c.label);
    for (const uint32_t bits : c.lanes) dd(bits);
  }
  for (Constant& c : constants_) {
    L(c.label);
    for (int lane = 0; lane < isa_.vec_lanes(); ++lane) dd(c.bits);
  }
}

void Assembler::Zero(const Xmm& v) {
  // The VEX form clears the whole register and is recognised as an idiom; it reaches registers 0 … 15 only.
  if (v.getIdx() < 16) {
    const Xmm narrow(v.getIdx());
    vxorps(narrow, narrow, narrow);
  } else {
    vpxord(v, v, v);
  }
}

void Assembler::FmaBroadcast(const Xmm& acc, const Xmm& multiplier, const Xbyak::RegExp& scalar,
                             const Xmm& temp) {
  if (isa_.has_opmask) {
    vfmadd231ps(acc, multiplier, ptr_b[scalar]);
  } else {
    vbroadcastss(temp, dword[scalar]);
    vfmadd231ps(acc, multiplier, temp);
  }
}

void Assembler::LoadTailMask(const Address& lane_mask, const Xmm& mask_vec) {
  vmovups(mask_vec, lane_mask);
  if (isa_.has_opmask) vptestmd(kTailMask, mask_vec, mask_vec);
}

void Assembler::LoadTail(const Xmm& dst, const Address& src, const Xmm& mask_vec) {
  if (isa_.has_opmask) {
    vmovups(dst | kTailMask | Xbyak::util::T_z, src);
  } else {
    vmaskmovps(dst, mask_vec, src);
  }
}

void Assembler::StoreTail(const Address& dst, const Xmm& src, const Xmm& mask_vec) {
  if (isa_.has_opmask) {
    vmovups(dst | kTailMask, src);
  } else {
    vmaskmovps(dst, mask_vec, src);
  }
}

void Assembler::ZeroBehindTail(const Xmm& v, const Xmm& mask_vec) {
  if (isa_.has_opmask) {
    vmovaps(v | kTailMask | Xbyak::util::T_z, v);
  } else {
    vandps(v, v, mask_vec);
  }
}

void Assembler::KeepTail(const Xmm& v, const Xmm& others, const Xmm& mask_vec) {
  if (isa_.has_opmask) {
    vblendmps(v | kTailMask, others, v);
  } else {
    vblendvps(v, others, v, mask_vec);
  }
}

void Assembler::UseTailMask(const Xmm& mask_vec) {
  if (isa_.has_opmask) vptestmd(kTailMask, mask_vec, mask_vec);
}

void Assembler::FmaTail(const Xmm& acc, const Xmm& x, const Xmm& multiplier, const Xbyak::Operand& mask,
                        const Xmm& temp) {
  if (isa_.has_opmask) {
    vfmadd231ps(acc | kTailMask, x, multiplier);
  } else {  // unused lanes of x are zero: zeros on the other side keep infinity out
    vandps(temp, multiplier, mask);
    vfmadd231ps(acc, x, temp);
  }
}

void Assembler::StoreFirstLanes(const Reg64& dst, const Xmm& src, const Reg64& lanes) {
  if (isa_.has_opmask) {
    vmovups(ptr[dst] | kTailMask, src);
    return;
  }
  Label pair, single, done;
  const Xmm low(src.getIdx());
  test(lanes, 4);
  jz(pair);
  vmovups(ptr[dst], low);
  vextractf128(low, Xbyak::Ymm(src.getIdx()), 1);
  add(dst, 16);
  L(pair);
  test(lanes, 2);
  jz(single);
  vmovlps(ptr[dst], low);
  vpermilpd(low, low, 1);
  add(dst, 8);
  L(single);
  test(lanes, 1);
  jz(done);
  vmovss(ptr[dst], low);
  L(done);
}

void Assembler::SelectWhere(const Xmm& dst, uint8_t predicate, const Xmm& a, const Xbyak::Operand& b,
                            const Xbyak::Operand& if_true, const Xmm& temp) {
  if (isa_.has_opmask) {
    vcmpps(kCompareMask, a, b, predicate);
    vblendmps(dst | kCompareMask, dst, if_true);
  } else {
    vcmpps(temp, a, b, predicate);
    vblendvps(dst, dst, if_true, temp);
  }
}

void Assembler::MarkNan(const Xmm& mark, const Xmm& a, const Xbyak::Operand& b, const Xmm& temp) {
  constexpr uint8_t kUnordered = 3;
  if (isa_.has_opmask) {
    vcmpps(kCompareMask, a, b, kUnordered);
    vpternlogd(mark | kCompareMask, mark, mark, 0xff);
  } else {
    vcmpps(temp, a, b, kUnordered);
    vorps(mark, mark, temp);
  }
}

void Assembler::LoadEightRepeated(const Xmm& dst, const Address& eight) {
  if (isa_.vec_bytes == 64) {
    vbroadcastf32x8(Full(dst), eight);
  } else {
    vmovups(dst, eight);
  }
}

void Assembler::EvenLanes(const Xmm& dst, const Xmm& a, const Xbyak::Operand& b) {
  vshufps(dst, a, b, 0x88);
}

void Assembler::OddLanes(const Xmm& dst, const Xmm& a, const Xbyak::Operand& b) {
  vshufps(dst, a, b, 0xDD);
}

void Assembler::OrderEvenLanes(const Xmm& v) {
  constexpr uint8_t kSwapMiddle = 0xD8;  // quarters 0, 2, 1, 3
  if (isa_.vec_bytes == 64) {
    vpermpd(Full(v), Full(v), kSwapMiddle);  // within each half
    vshuff64x2(Full(v), Full(v), Full(v), kSwapMiddle);
  } else {
    vpermpd(Xbyak::Ymm(v.getIdx()), Xbyak::Ymm(v.getIdx()), kSwapMiddle);
  }
}

void Assembler::LoadLowHalf(const Xmm& dst, const Address& low) { vmovups(LowHalf(dst), low); }

void Assembler::LoadHighHalf(const Xmm& dst, const Address& high) {
  Zero(dst);
  vinsertf32x8(Full(dst), Full(dst), high, 1);
}

void Assembler::StoreLowHalf(const Address& low, const Xmm& src) { vmovups(low, LowHalf(src)); }

void Assembler::StoreHighHalf(const Address& high, const Xmm& src) {
  vextractf32x8(high, Full(src), 1);
}

}  // namespace rafter::jit
