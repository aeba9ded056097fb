// jit/assembler.h: the assembler that emitters write with: every instruction of xbyak under its own name,
// plus macro-instructions, which hide what differs between instruction sets. The only place (with its .cc)
// that asks whether the machine has opmask registers.
//
// Naming: lowercase() is exactly one instruction, CamelCase() may emit several.
#ifndef RAFTER_JIT_ASSEMBLER_H_
#define RAFTER_JIT_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

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
  Xmm vec(int index) const { return Xmm(vec_kind_, index); }

  // Fills up with nops to a multiple of `bytes`, a power of two of at most a page. (xbyak's own can print.)
  void align(size_t bytes);

  // --- frame of a kernel: void kernel(Args*) in the System V ABI ---
  // Saves the callee-saved registers; the argument pointer stays in rdi.
  void EnterKernel();
  // Restores them, clears the upper vector halves (vzeroupper) and returns.
  void LeaveKernel();

  // --- constants: a full vector of one 32-bit value, placed behind the code by EmitConstants ---
  Address constant(float value);
  Address constant_bits(uint32_t bits);
  // A vector of different values, one per lane (lanes.size() of them).
  Address constant_lanes(std::vector<uint32_t> lanes);
  void EmitConstants();

  // --- macro-instructions ---
  void Zero(const Xmm& v);
  // acc += multiplier * (the f32 at `scalar`, in all lanes). Uses `temp` where the machine cannot
  // broadcast inside the FMA.
  void FmaBroadcast(const Xmm& acc, const Xmm& multiplier, const Xbyak::RegExp& scalar, const Xmm& temp);

  // Tails: the first lanes of a vector, as an int32 lane mask (-1 used, 0 not) in memory says.
  // LoadTailMask prepares it, in `mask_vec` or in an opmask register; the others then use it.
  void LoadTailMask(const Address& lane_mask, const Xmm& mask_vec);
  void LoadTail(const Xmm& dst, const Address& src, const Xmm& mask_vec);  // other lanes: 0
  void StoreTail(const Address& dst, const Xmm& src, const Xmm& mask_vec);
  void ZeroBehindTail(const Xmm& v, const Xmm& mask_vec);
  // v's lanes behind the tail become those of `others`.
  void KeepTail(const Xmm& v, const Xmm& others, const Xmm& mask_vec);
  // A lane mask that is in a register already (any lanes, not only the first).
  void UseTailMask(const Xmm& mask_vec);
  // acc += x * multiplier in the used lanes; the others are not even multiplied. Destroys `temp`.
  // The mask may lie in memory; `temp` may be the multiplier.
  void FmaTail(const Xmm& acc, const Xmm& x, const Xmm& multiplier, const Xbyak::Operand& mask, const Xmm& temp);
  // Whether FmaTail costs no more than an FMA.
  bool fma_tail_is_free() const { return isa_.has_opmask; }
  // Stores the first `lanes` lanes, fewer than a vector has, whose mask was prepared by LoadTailMask. Destroys
  // `dst` and `src`: without opmask registers the pieces of 4, 2 and 1 are stored one by one, since masked stores
  // take dozens of cycles on AMD.
  void StoreFirstLanes(const Reg64& dst, const Xmm& src, const Reg64& lanes);

  // dst = if_true in the lanes where a compares with b as `predicate` (of vcmpps) says. Without opmask registers
  // `temp` holds the comparison.
  void SelectWhere(const Xmm& dst, uint8_t predicate, const Xmm& a, const Xbyak::Operand& b,
                   const Xbyak::Operand& if_true, const Xmm& temp);
  // mark |= all bits, in the lanes where a or b is NaN. Without opmask registers `temp` holds the comparison.
  void MarkNan(const Xmm& mark, const Xmm& a, const Xbyak::Operand& b, const Xmm& temp);
  // The 8 floats at `eight`, once or, in 16 lanes, twice.
  void LoadEightRepeated(const Xmm& dst, const Address& eight);

  // dst = the even (odd) lanes of a, then those of b, in an order of lanes that OrderEvenLanes puts right.
  void EvenLanes(const Xmm& dst, const Xmm& a, const Xbyak::Operand& b);
  void OddLanes(const Xmm& dst, const Xmm& a, const Xbyak::Operand& b);
  void OrderEvenLanes(const Xmm& v);

  // Vectors whose two halves lie apart in memory (8-channel blocks under 16 lanes). The other half of a
  // loaded register is zero.
  void LoadLowHalf(const Xmm& dst, const Address& low);
  void LoadHighHalf(const Xmm& dst, const Address& high);
  void StoreLowHalf(const Address& low, const Xmm& src);
  void StoreHighHalf(const Address& high, const Xmm& src);

  // --- parts of a register (assembler_lanes.cc) ---
  // The pair of f32 at `pair` (memory, or the low lanes of a register) into all pairs of lanes.
  void BroadcastPairs(const Xmm& dst, const Xbyak::Operand& pair);
  // Four floats (memory or a register of four lanes) into quarter 1 … 3 of dst, whose width is that of its operand.
  void InsertQuarter(const Xmm& dst, const Xbyak::Operand& src, int quarter);
  // dst[i] = src[index[i]].
  void PermuteLanes(const Xmm& dst, const Xmm& index, const Xbyak::Operand& src);
  // The f32 at `scalar` into lanes [first, first + count) of dst; other lanes stay. PrepareLanes must have been
  // emitted with the same slot (0 … kLaneSlots - 1) and lanes; `temp` and `scratch` may be destroyed.
  static constexpr int kLaneSlots = 6;
  void PrepareLanes(int slot, int first, int count, const Reg64& scratch);
  void BroadcastIntoLanes(const Xmm& dst, const Xbyak::RegExp& scalar, int slot, int first, int count,
                          const Xmm& temp);
  // Stores lanes [first, first + count) to memory, and nothing else, without masks (which store slowly on Zen).
  void StoreLanes(const Xbyak::RegExp& to, const Xmm& src, int first, int count, const Xmm& temp);

  // dst's first `lanes` lanes = those of src from `lanes` on (1, 2, 4 or 8); its others are anything.
  void UpperPart(const Xmm& dst, const Xmm& src, int lanes);
  // dst[i] = the f32 at base + 4 * index[i]. Without opmask registers `temp` is destroyed.
  void GatherLanes(const Xmm& dst, const Reg64& base, const Xmm& index, const Xmm& temp);

  // Sums of lanes, in an order that depends on nothing. Operands are registers of full width.
  // Lanes l and l + 8 of a 16-lane register into lane l; nothing to do for 8 lanes. The result has 8 lanes.
  void FoldToEightLanes(const Xmm& v, const Xmm& temp);
  // Of 8 lanes each, per half: a = (a0 + a2, b0 + b2, a1 + a3, b1 + b3).
  void AddQuartersOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp);
  // The results of two AddQuartersOfTwo, a and b: per half, a = (sums of its four registers).
  void AddPairsOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp);
  // a = (low half of a + its high half, low half of b + its high half), 4 lanes each.
  void AddHalvesOfTwo(const Xmm& a, const Xmm& b, const Xmm& temp);
  // Neighbouring lanes added. 8 lanes: a = (4 sums of a, 4 sums of b). 16 lanes: a = 8 sums of a, b is unused.
  void AddNeighbours(const Xmm& a, const Xmm& b, const Xmm& temp);

 private:
  struct Constant {
    uint32_t bits;
    Label label;
  };
  struct LaneConstant {
    std::vector<uint32_t> lanes;
    Label label;
  };
  const IsaInfo& isa_;
  const Xbyak::Operand::Kind vec_kind_;  // emitters ask for registers all the time
  std::deque<Constant> constants_;  // stable addresses: labels must not move
  std::deque<LaneConstant> lane_constants_;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_ASSEMBLER_H_
