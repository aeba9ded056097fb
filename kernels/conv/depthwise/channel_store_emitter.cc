// kernels/conv/depthwise/channel_store_emitter.cc: where the sums of a vector begin, and what happens when they are
// complete: bias, post-ops, store. Registers of inputs and weights are free by then and serve as temporaries.
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
  AddBias();
  ApplyPostOps();
  StoreOutput();
  a_.L(done);
  if (spec_.has(ChannelSpec::kPartial)) a_.add(ARG(partial), num_accs() * vec_bytes());
}

void ChannelEmitter::StorePartial() {
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i) a_.vmovups(a_.ptr[scratch_ + i * vec_bytes()], a_.vec(i));
}

// The biases of a block lie in front of its weights.
void ChannelEmitter::AddBias() {
  a_.vmovups(temp(0), a_.ptr[weights_ - static_cast<int>(kBlock * sizeof(float))]);
  for (int i = 0; i < num_accs(); ++i) a_.vaddps(a_.vec(i), a_.vec(i), temp(0));
}

void ChannelEmitter::ApplyPostOps() {
  std::vector<Xmm> values;
  for (int i = 0; i < num_accs(); ++i) values.push_back(a_.vec(i));
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kResidualAdd) {
      AddResidual(op);
    } else if (kind == PostOpKind::kChannelScale) {
      ApplyChannelScale(op);
    } else {
      a_.mov(scratch_, ARG(post_params));
      jit::ApplyPostOp(a_, kind, values, temps, scratch_ + op * 2 * static_cast<int>(sizeof(float)));
    }
  }
}

void ChannelEmitter::ApplyChannelScale(int op) {
  a_.mov(scratch_, arg(offsetof(ChannelArgs, scale_now) + op * sizeof(float*)));
  a_.vmovups(temp(0), a_.ptr[scratch_]);
  for (int i = 0; i < num_accs(); ++i) a_.vmulps(a_.vec(i), a_.vec(i), temp(0));
}

template <typename EmitAccess>
void ChannelEmitter::ForEachOutput(const Address& tensor, size_t columns, const Address& row,
                                   const EmitAccess& emit) {
  LoadColumnSteps(columns);
  a_.mov(row_, tensor);
  for (int r = 0; r < spec_.rows; ++r) {
    if (r > 0) a_.add(row_, row);
    RowCursor cursor{row_, column_, 0, true};
    for (int c = 0; c < spec_.columns; ++c) emit(a_.ptr[ColumnAt(cursor, c)], acc(r, c));
  }
}

void ChannelEmitter::AddResidual(int op) {
  const size_t at = op * sizeof(int64_t);
  const bool masked = spec_.has(ChannelSpec::kMaskedDst);
  if (masked) {
    a_.mov(scratch_, ARG(dst_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(1));
  }
  ForEachOutput(arg(offsetof(ChannelArgs, residual_now) + at),
                offsetof(ChannelArgs, residual_columns) + op * sizeof(ColumnSteps),
                arg(offsetof(ChannelArgs, residual_row) + at),
                [&](const Address& address, const Xmm& value) {
                  if (masked) {
                    a_.LoadTail(temp(0), address, temp(1));
                    a_.vaddps(value, value, temp(0));
                  } else {
                    a_.vaddps(value, value, address);
                  }
                });
}

void ChannelEmitter::StoreOutput() {
  const bool masked = spec_.has(ChannelSpec::kMaskedDst), zeroed = spec_.has(ChannelSpec::kZeroedDst);
  if (masked || zeroed) {
    a_.mov(scratch_, ARG(dst_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(0));
  }
  ForEachOutput(ARG(dst_now), offsetof(ChannelArgs, dst_columns), ARG(dst_row),
                [&](const Address& address, const Xmm& value) {
                  if (zeroed) a_.ZeroBehindTail(value, temp(0));
                  if (masked) {
                    a_.StoreTail(address, value, temp(0));
                  } else {
                    a_.vmovups(address, value);
                  }
                });
}

#undef ARG

}  // namespace rafter::depthwise
