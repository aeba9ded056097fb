// jit/assembler_lanes.cc: macro-instructions that work on parts of a register: permutes, stores of some lanes, sums
// of lanes. The rest of the assembler: assembler.cc.
#include <algorithm>

#include "jit/assembler.h"

namespace rafter::jit {

namespace {

using Xbyak::Ymm;
using Xbyak::Zmm;

const Xbyak::Opmask LaneMask(int slot) { return Xbyak::Opmask(2 + slot); }  // k1 is the tail mask

Xmm Narrow(const Xmm& v) { return Xmm(v.getIdx()); }
Ymm Eight(const Xmm& v) { return Ymm(v.getIdx()); }

}  // namespace

void Assembler::BroadcastPairs(const Xmm& dst, const Xbyak::Operand& pair) {
  if (isa_.vec_bytes == 64) {
    vbroadcastsd(Zmm(dst.getIdx()), pair);
  } else {
    vbroadcastsd(Eight(dst), pair);
  }
}

void Assembler::InsertQuarter(const Xmm& dst, const Xbyak::Operand& src, int quarter) {
  if (dst.isZMM()) {
    vinsertf32x4(Zmm(dst.getIdx()), Zmm(dst.getIdx()), src, static_cast<uint8_t>(quarter));
  } else {
    vinsertf128(Eight(dst), Eight(dst), src, static_cast<uint8_t>(quarter));
  }
}

void Assembler::PermuteLanes(const Xmm& dst, const Xmm& index, const Xbyak::Operand& src) {
  if (isa_.vec_bytes == 64) {
    vpermps(Zmm(dst.getIdx()), Zmm(index.getIdx()), src);
  } else {
    vpermps(Eight(dst), Eight(index), src);
  }
}

void Assembler::PrepareLanes(int slot, int first, int count, const Reg64& scratch) {
  if (!isa_.has_opmask) return;
  mov(scratch.cvt32(), ((1u << count) - 1) << first);
  kmovw(LaneMask(slot), scratch.cvt32());
}

void Assembler::BroadcastIntoLanes(const Xmm& dst, const Xbyak::RegExp& scalar, int slot, int first,
                                   int count, const Xmm& temp) {
  if (isa_.has_opmask) {
    vbroadcastss(dst | LaneMask(slot), dword[scalar]);
  } else {
    vbroadcastss(temp, dword[scalar]);
    vblendps(dst, dst, temp, static_cast<uint8_t>(((1u << count) - 1) << first));
  }
}

void Assembler::StoreLanes(const Xbyak::RegExp& to, const Xmm& src, int first, int count,
                           const Xmm& temp) {
  for (int lane = first, left = count, n = 0; left > 0; lane += n, left -= n) {
    const Xbyak::RegExp at = to + (lane - first) * 4;
    const int within = lane % 4;
    if (lane == 0 && left >= 16) {
      vmovups(ptr[at], Zmm(src.getIdx()));
      n = 16;
      continue;
    }
    if (lane % 8 == 0 && left >= 8) {
      if (lane == 0) {
        vmovups(ptr[at], Eight(src));
      } else {
        StoreHighHalf(ptr[at], src);
      }
      n = 8;
      continue;
    }
    Xmm quarter = Narrow(src);
    if (lane >= 4) {
      quarter = Narrow(temp);
      if (isa_.has_opmask) {
        vextractf32x4(quarter, Zmm(src.getIdx()), static_cast<uint8_t>(lane / 4));
      } else {
        vextractf128(quarter, Eight(src), 1);
      }
    }
    n = std::min(left, 4 - within);
    if (n == 4) {
      vmovups(ptr[at], quarter);
    } else if (n >= 2 && within % 2 == 0) {
      n = 2;
      if (within == 0) {
        vmovlps(ptr[at], quarter);
      } else {
        vmovhps(ptr[at], quarter);
      }
    } else {
      n = 1;
      if (within == 0) {
        vmovss(dword[at], quarter);
      } else {
        vextractps(dword[at], quarter, static_cast<uint8_t>(within));
      }
    }
  }
}

void Assembler::UpperPart(const Xmm& dst, const Xmm& src, int lanes) {
  switch (lanes) {
    case 8: return vextractf32x8(Eight(dst), Zmm(src.getIdx()), 1);
    case 4: return vextractf128(Narrow(dst), Eight(src), 1);
    case 2: return vpermilpd(Narrow(dst), Narrow(src), 1);
    default: return vmovshdup(Narrow(dst), Narrow(src));
  }
}

void Assembler::GatherLanes(const Xmm& dst, const Reg64& base, const Xmm& index, const Xmm& temp) {
  // All lanes: the mask is used up by each gather.
  if (isa_.has_opmask) {
    kxnorw(LaneMask(kLaneSlots - 1), LaneMask(kLaneSlots - 1), LaneMask(kLaneSlots - 1));
    vgatherdps(Zmm(dst.getIdx()) | LaneMask(kLaneSlots - 1), ptr[base + Zmm(index.getIdx()) * 4]);
  } else {
    vpcmpeqd(Eight(temp), Eight(temp), Eight(temp));
    vgatherdps(Eight(dst), ptr[base + Eight(index) * 4], Eight(temp));
  }
}

void Assembler::FoldToEightLanes(const Xmm& v, const Xmm& temp) {
  if (isa_.vec_bytes != 64) return;
  vextractf32x8(Eight(temp), Zmm(v.getIdx()), 1);
  vaddps(Eight(v), Eight(v), Eight(temp));
}

void Assembler::AddQuartersOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp) {
  vunpckhps(Eight(temp), Eight(a), Eight(b));
  vunpcklps(Eight(a), Eight(a), Eight(b));
  vaddps(Eight(a), Eight(a), Eight(temp));
}

void Assembler::AddPairsOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp) {
  vunpckhpd(Eight(temp), Eight(a), Eight(b));
  vunpcklpd(Eight(a), Eight(a), Eight(b));
  vaddps(Eight(a), Eight(a), Eight(temp));
}

void Assembler::AddHalvesOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp) {
  if (isa_.has_opmask) {  // the AVX form reaches registers 0 … 15 only
    vshuff32x4(Eight(temp), Eight(a), Eight(b), 3);
    vshuff32x4(Eight(a), Eight(a), Eight(b), 0);
  } else {
    vperm2f128(Eight(temp), Eight(a), Eight(b), 0x31);
    vperm2f128(Eight(a), Eight(a), Eight(b), 0x20);
  }
  vaddps(Eight(a), Eight(a), Eight(temp));
}

void Assembler::AddNeighbours(const Xmm& a, const Xmm& b, const Xmm& temp) {
  if (isa_.vec_bytes == 64) {
    const Zmm wide(a.getIdx()), odd(temp.getIdx());
    vmovshdup(odd, wide);
    vaddps(wide, wide, odd);
    vpmovqd(Eight(a), wide);  // the even lanes, together
    return;
  }
  vshufps(Eight(temp), Eight(a), Eight(b), 0xdd);
  vshufps(Eight(a), Eight(a), Eight(b), 0x88);
  vaddps(Eight(a), Eight(a), Eight(temp));
  vpermpd(Eight(a), Eight(a), 0xd8);
}

}  // namespace rafter::jit
