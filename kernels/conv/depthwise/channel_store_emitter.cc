// kernels/conv/depthwise/channel_store_emitter.cc: where the sums of a vector begin, and what
// happens when they are complete: bias, post-ops, store. Registers of inputs and weights are free
// by then and serve as temporaries.
#include <cstddef>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/channel_emitter.h"

namespace rafter::depthwise {

using jit::Address;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) arg(offsetof(ChannelArgs, field))

void ChannelEmitter::StartSums() {
  if (!spec_.has(ChannelSpec::kPartial)) {
    for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
    return;
  }
  Label from_zero, done;
  a_.cmp(ARG(load_partial), 0);
  a_.jz(from_zero, a_.T_NEAR);
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i) a_.vmovups(a_.vec(i), a_.ptr[scratch_ + i * vec_bytes()]);
  a_.jmp(done, a_.T_NEAR);
  a_.L(from_zero);
  for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
  a_.L(done);
}

void ChannelEmitter::FinishSums() {
  Label finish, done;
  if (spec_.has(ChannelSpec::kPartial)) {
    a_.cmp(ARG(store_partial), 0);
    a_.jz(finish, a_.T_NEAR);
    StorePartial();
    a_.jmp(done, a_.T_NEAR);
  }
  a_.L(finish);
  const int last = spec_.rows - 1;
  AddBias(0, last);
  ApplyPostOps(0, last);
  StoreOutput(0, last);
  a_.L(done);
  if (spec_.has(ChannelSpec::kPartial)) a_.add(ARG(partial), num_accs() * vec_bytes());
}

// One output row of a tile that goes down the image; pointers move on to the next one.
void ChannelEmitter::FinishRow(int row) {
  for (depth_ = 0; depth_ < spec_.vecs(); ++depth_) {
    AddBias(row, row);
    ApplyPostOps(row, row);
    StoreOutput(row, row);
  }
  depth_ = 0;
  a_.add(row_weights_, ARG(dst_row));
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    if (static_cast<PostOpKind>(ops & 0xff) != PostOpKind::kResidualAdd) continue;
    Advance(offsetof(ChannelArgs, residual_row_now) + op * sizeof(float*),
            offsetof(ChannelArgs, residual_row) + op * sizeof(int64_t));
  }
  if (!spec_.has(ChannelSpec::kSameSteps))
    LoadSrcSteps();
}

void ChannelEmitter::StorePartial() {
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i) a_.vmovups(a_.ptr[scratch_ + i * vec_bytes()], a_.vec(i));
}

// The biases of a block lie in front of its weights.
void ChannelEmitter::AddBias(int first, int last) {
  const Address bias = a_.ptr[weights_ + (depth_bytes() - static_cast<int>(kBlock * sizeof(float)))];
  const bool held = HoldsWeights();  // no register is free
  if (!held) a_.vmovups(temp(0), bias);
  for (int row = first; row <= last; ++row) {
    for (int column = 0; column < spec_.columns; ++column) {
      const Xmm sum = acc(row, column);
      held ? a_.vaddps(sum, sum, bias) : a_.vaddps(sum, sum, temp(0));
    }
  }
}

// Output rows first … last of the tile.
void ChannelEmitter::ApplyPostOps(int first, int last) {
  std::vector<Xmm> values;
  for (int row = first; row <= last; ++row) {
    for (int column = 0; column < spec_.columns; ++column) values.push_back(acc(row, column));
  }
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kResidualAdd) {
      AddResidual(op, first, last);
    } else if (kind == PostOpKind::kChannelScale) {
      ApplyChannelScale(op, values);
    } else {
      a_.mov(scratch_, ARG(post_params));
      jit::ApplyPostOp(a_, kind, values, temps,
                       scratch_ + op * 2 * static_cast<int>(sizeof(float)));
    }
  }
}

void ChannelEmitter::ApplyChannelScale(int op, const std::vector<Xmm>& values) {
  a_.mov(scratch_, arg(offsetof(ChannelArgs, scale_now) + op * sizeof(float*)));
  a_.vmovups(temp(0), a_.ptr[scratch_ + depth_bytes()]);
  for (const Xmm& value : values) a_.vmulps(value, value, temp(0));
}

template <typename EmitAccess>
void ChannelEmitter::ForEachOutput(int first, int last, const Xbyak::Operand& tensor,
                                   size_t columns, const Address& row, const EmitAccess& emit) {
  // row_ stays with the input while the tile rolls.
  const Reg64& at = spec_.goes_down() ? scratch_ : row_;
  if (!spec_.has(ChannelSpec::kSameSteps)) LoadColumnSteps(columns, spec_.columns);
  a_.mov(at, tensor);
  for (int r = first; r <= last; ++r) {
    if (r > first) a_.add(at, row);
    RowCursor cursor{at, column_, 0, true};
    for (int c = 0; c < spec_.columns; ++c) emit(a_.ptr[ColumnAt(cursor, c) + depth_bytes()], acc(r, c), c);
  }
}

// Where the next output row goes.
const Xbyak::Operand& ChannelEmitter::DstNow() {
  return spec_.goes_down() ? static_cast<const Xbyak::Operand&>(row_weights_) : dst_now_;
}

void ChannelEmitter::AddResidual(int op, int first, int last) {
  const size_t at = op * sizeof(int64_t);
  const bool masked = spec_.has(ChannelSpec::kMaskedDst);
  const size_t now = spec_.goes_down() ? offsetof(ChannelArgs, residual_row_now)
                                                      : offsetof(ChannelArgs, residual_now);
  if (masked) {
    a_.mov(scratch_, ARG(dst_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(1));
  }
  ForEachOutput(first, last, arg(now + at),
                offsetof(ChannelArgs, residual_columns) + op * sizeof(ColumnSteps),
                arg(offsetof(ChannelArgs, residual_row) + at),
                [&](const Address& address, const Xmm& value, int) {
                  if (masked) {
                    a_.LoadTail(temp(0), address, temp(1));
                    a_.vaddps(value, value, temp(0));
                  } else {
                    a_.vaddps(value, value, address);
                  }
                });
}

void ChannelEmitter::StoreOutput(int first, int last) {
  Label plain, done;
  if (spec_.streams != 0) {
    a_.cmp(ARG(streams), 0);
    a_.jz(plain, a_.T_NEAR);
    ForEachOutput(first, last, DstNow(), offsetof(ChannelArgs, dst_columns), ARG(dst_row),
                  [&](const Address& address, const Xmm& value, int) { a_.vmovntps(address, value); });
    a_.jmp(done, a_.T_NEAR);
  }
  a_.L(plain);
  const bool masked = spec_.has(ChannelSpec::kMaskedDst),
             zeroed = spec_.has(ChannelSpec::kZeroedDst);
  if (masked || zeroed) {
    a_.mov(scratch_, ARG(dst_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(0));
  }
  const auto store = [&](const Address& address, const Xmm& value, int column) {
    if (zeroed) a_.ZeroBehindTail(value, temp(0));
    if (masked && column >= spec_.columns - spec_.exact) {
      a_.StoreTail(address, value, temp(0));
    } else {
      a_.vmovups(address, value);
    }
  };
  ForEachOutput(first, last, DstNow(), offsetof(ChannelArgs, dst_columns), ARG(dst_row), store);
  a_.L(done);
  // An opmask register holds one mask: that of the outputs has replaced the one of the inputs.
  if ((masked || zeroed) && spec_.goes_down() && spec_.has(ChannelSpec::kMaskedSrc))
    LoadSrcMask();
}

#undef ARG

}  // namespace rafter::depthwise
