// kernels/reorder/row_pieces.h: how a row of a known number of floats is copied by registers without masks: what the
// generated kernels of copies share. The loops around it are the kernels' own.
#ifndef RAFTER_KERNELS_REORDER_ROW_PIECES_H_
#define RAFTER_KERNELS_REORDER_ROW_PIECES_H_

#include <algorithm>
#include <bit>
#include <vector>

#include "jit/assembler.h"
#include "kernels/sizes.h"

namespace rafter::reorder {

// A part of a row that one register holds: `lanes` floats, a power of two.
struct RowPiece {
  int at, lanes;
};

// Covers [0, count) by pieces of at most `vec_lanes`. Where the count is no sum of whole pieces, the last one starts
// earlier and overlaps its neighbour.
inline std::vector<RowPiece> RowPieces(int count, int vec_lanes) {
  std::vector<RowPiece> pieces;
  if (count == 0) return pieces;
  const int lanes = std::min(vec_lanes, static_cast<int>(std::bit_floor(static_cast<unsigned>(count))));
  for (int at = 0; at + lanes <= count; at += lanes) pieces.push_back({at, lanes});
  if (count % lanes != 0) pieces.push_back({count - lanes, lanes});
  return pieces;
}

// The register `v` of a whole vector, as wide as `lanes` floats: 4 at least.
inline jit::Xmm AsWideAs(const jit::Assembler& a, const jit::Xmm& v, int lanes) {
  if (lanes * kFloat == a.isa().vec_bytes) return v;
  return lanes == 8 ? jit::Xmm(Xbyak::Ymm(v.getIdx())) : jit::Xmm(v.getIdx());
}

inline void LoadPiece(jit::Assembler& a, const jit::Xmm& v, const Xbyak::RegExp& at, int lanes) {
  const jit::Xmm r = AsWideAs(a, v, lanes);
  if (lanes == 1) a.vmovss(r, a.dword[at]);
  else if (lanes == 2) a.vmovq(r, a.qword[at]);
  else a.vmovups(r, a.ptr[at]);
}

// `past_caches`: pieces of at least 4 floats, at multiples of their size.
inline void StorePiece(jit::Assembler& a, const Xbyak::RegExp& at, const jit::Xmm& v, int lanes, bool past_caches) {
  const jit::Xmm r = AsWideAs(a, v, lanes);
  if (lanes == 1) a.vmovss(a.dword[at], r);
  else if (lanes == 2) a.vmovlps(a.qword[at], r);
  else if (past_caches) a.vmovntps(a.ptr[at], r);
  else a.vmovups(a.ptr[at], r);
}

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_ROW_PIECES_H_
