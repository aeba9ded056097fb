// kernels/conv/tile/emitter.h: TileSpec → machine code. Reads like the loop nest in spec.h.
#ifndef RAFTER_KERNELS_CONV_TILE_EMITTER_H_
#define RAFTER_KERNELS_CONV_TILE_EMITTER_H_

#include <cstddef>
#include <string>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/post_op_emitter.h"
#include "jit/reg_pool.h"
#include "jit/strided_pointers.h"
#include "kernels/conv/tile/spec.h"
#include "rafter/status.h"

namespace rafter::tile {

// "tile_f32_avx2_px6_oc2v_edge1+1_relu".
std::string KernelName(const TileSpec& spec);

// From the code cache, compiled when it is not there.
Result<jit::KernelPtr> GetTileKernel(const TileSpec& spec);

class TileEmitter {
 public:
  TileEmitter(const TileSpec& spec, jit::Assembler& assembler);
  void Emit();

 private:
  using Address = jit::Address;
  using Label = jit::Label;
  using Reg64 = jit::Reg64;
  using Xmm = jit::Xmm;

  // --- the sum (emitter.cc) ---
  void StartAccumulators();
  void EmitChannelBlocks();
  void StartBlock(const Address& src, const Address& weights);
  void EmitRows();
  void EmitColumns();
  void EmitColumnDispatch(const Label& column_end);
  // One kernel column for the pixels [begin, end) of the tile.
  void EmitColumn(int px_begin, int px_end);
  void EmitChannels(int px_begin, int px_end);
  void EmitPrefetch();
  void EmitStep(int px_begin, int px_end, int k);

  // --- the end of a tile (store_emitter.cc) ---
  void FinishTile();
  void StorePartial();
  void AddBias();
  void ApplyPostOps();
  void ApplyChannelScale(int op);
  void AddResidual(int op);
  void PrefetchResiduals();
  void StoreOutput();
  void StoreCached();
  void NextTile();
  // Calls emit(address of the vector or half, pixel, vector, half) for all of a tensor in dst order;
  // half is -1 for whole vectors.
  template <typename EmitAccess>
  void ForEachVector(const Address& tensor, const Address& px_stride, const Address& block_stride,
                     const EmitAccess& emit);
  template <typename EmitAccess>
  void ForEachVectorFrom(const Address& px_stride, const Address& block_stride, const EmitAccess& emit);
  bool IsTail(int v) const { return spec_.tail != Tail::kNone && v == spec_.oc_vecs - 1; }

  // --- registers and addresses, named by content ---
  Xmm acc(int p, int v) const { return a_.vec(p * spec_.oc_vecs + v); }
  int num_accs() const { return spec_.px * spec_.oc_vecs; }
  Xmm temp(int i) const { return a_.vec(num_accs() + i); }
  Address arg(size_t offset) const { return a_.qword[args_ + static_cast<int>(offset)]; }
  Address block_param(size_t offset) const { return a_.qword[params_ + static_cast<int>(offset)]; }

  const TileSpec spec_;
  jit::Assembler& a_;
  jit::RegPool pool_;
  const Reg64 args_;
  jit::StridedPointers pixels_, panels_;
  Reg64 params_, k_left_, columns_left_, scratch_, column_;  // column_: edge kernels only
  // Tiles that leave no register for it do without the prefetch.
  const bool has_prefetch_;
  Reg64 prefetch_;
};

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_EMITTER_H_
