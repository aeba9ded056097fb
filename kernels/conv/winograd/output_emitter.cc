// kernels/conv/winograd/output_emitter.cc: A^T M A, bias, post-ops and store, one vector of channels at a time. With 16
// registers two rows of outputs per pass, all four with 32. Rows are reduced first, straight from memory, so that
// a pass ends with whole rows of outputs.
#include <cstddef>
#include <vector>

#include "jit/assembler.h"
#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/isa.h"
#include "jit/post_op_emitter.h"
#include "jit/reg_pool.h"
#include "kernels/conv/winograd/emitter.h"

namespace rafter::winograd {

namespace {

using jit::Address;
using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;
using Xbyak::RegExp;

#define ARG(field) arg(offsetof(OutputArgs, field))

constexpr auto kHalf = static_cast<float>(kRootHalf);

class OutputEmitter {
 public:
  OutputEmitter(const OutputSpec& spec, Assembler& a)
      : spec_(spec), shape_{spec.rows, spec.columns}, a_(a), m_(pool_.Take()), plane_(pool_.Take()),
        plane3_(pool_.Take()), plane5_(pool_.Take()), row_(pool_.Take()), px_(pool_.Take()), px3_(pool_.Take()),
        pixels_(pool_.Take()), scratch_(pool_.Take()) {
    if (shape_.rows != Axis::kFour) {
      passes_ = {shape_.rows == Axis::kTwo ? std::vector<int>{0, 1} : std::vector<int>{0}};
    } else if (a_.isa().num_vecs >= 32) {
      passes_ = {{0, 1, 2, 3}};
    } else {
      passes_ = {{0, 2}, {1, 3}};
    }
  }

  void Emit() {
    Label next;
    a_.EnterKernel();
    a_.mov(plane_, ARG(m_plane));
    a_.lea(plane3_, a_.ptr[plane_ + plane_ * 2]);
    a_.lea(plane5_, a_.ptr[plane_ + plane_ * 4]);
    a_.mov(pixels_, ARG(pixels));
    a_.align(32);
    a_.L(next);
    for (const std::vector<int>& rows : passes_) EmitPass(rows);
    Advance(offsetof(OutputArgs, m), offsetof(OutputArgs, m_step));
    Advance(offsetof(OutputArgs, dst), offsetof(OutputArgs, dst_step));
    Advance(offsetof(OutputArgs, bias), offsetof(OutputArgs, channel_step));
    ForEachOp([&](int op, PostOpKind kind) {
      const size_t at = op * sizeof(int64_t);
      if (kind == PostOpKind::kResidualAdd) {
        Advance(offsetof(OutputArgs, residual) + at, offsetof(OutputArgs, residual_step) + at);
      } else if (kind == PostOpKind::kChannelScale) {
        Advance(offsetof(OutputArgs, scale) + at, offsetof(OutputArgs, channel_step));
      }
    });
    a_.dec(ARG(count));
    a_.jnz(next, a_.T_NEAR);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Address arg(size_t offset) const { return a_.qword[a_.rdi + static_cast<int>(offset)]; }
  void Advance(size_t pointer, size_t step) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  }
  template <typename Emit>
  void ForEachOp(const Emit& emit) {
    int op = 0;
    for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) emit(op, static_cast<PostOpKind>(ops & 0xff));
  }

  Xmm temp(int i) const { return a_.vec(a_.isa().num_vecs - 4 + i); }
  // Row `r` of a pass, column of points or of outputs.
  Xmm value(size_t r, int column) const { return a_.vec(static_cast<int>(r) * shape_.in_w() + column); }
  Address product(int point) const {
    switch (point) {
      case 0: return a_.ptr[m_];
      case 3: return a_.ptr[m_ + plane3_];
      case 5: return a_.ptr[m_ + plane5_];
      default: return a_.ptr[m_ + RegExp(plane_, point)];
    }
  }

  void EmitPass(const std::vector<int>& rows) {
    a_.mov(m_, ARG(m));
    for (int column = 0; column < shape_.in_w(); ++column) {
      ReduceRows(rows, column);
      if (column + 1 < shape_.in_w()) a_.add(m_, ARG(m_column));
    }
    std::vector<Xmm> values;  // row by row
    for (size_t r = 0; r < rows.size(); ++r) ReduceColumns(r, values);
    a_.mov(scratch_, ARG(bias));
    a_.vmovups(temp(0), a_.ptr[scratch_]);
    for (const Xmm& v : values) a_.vaddps(v, v, temp(0));
    ForEachOp([&](int op, PostOpKind kind) { ApplyOp(op, kind, rows, values); });
    Store(rows, values);
  }

  // One column of products to the outputs' rows of the pass.
  void ReduceRows(const std::vector<int>& rows, int column) {
    const auto y = [&](size_t r) { return value(r, column); };
    if (shape_.rows == Axis::kPlain) {
      a_.vmovups(y(0), product(0));
    } else if (shape_.rows == Axis::kTwo) {  // m0 + (m2 + m3), (m2 - m3) + m1
      a_.vmovups(temp(0), product(2));
      a_.vmovups(temp(1), product(3));
      a_.vaddps(y(0), temp(0), temp(1));
      a_.vsubps(y(1), temp(0), temp(1));
      a_.vaddps(y(0), y(0), product(0));
      a_.vaddps(y(1), y(1), product(1));
    } else if (rows.size() == 4) {
      a_.vmovups(temp(0), product(2));
      a_.vmovups(temp(1), product(4));
      a_.vsubps(y(1), temp(0), product(3));
      a_.vaddps(y(0), temp(0), product(3));
      a_.vsubps(temp(2), temp(1), product(5));
      a_.vaddps(temp(1), temp(1), product(5));
      ReduceSums(y(0), y(2), temp(1));
      ReduceDifferences(y(1), y(3), temp(2));
    } else if (rows[0] == 0) {
      a_.vmovups(y(0), product(2));
      a_.vmovups(temp(1), product(4));
      a_.vaddps(y(0), y(0), product(3));
      a_.vaddps(temp(1), temp(1), product(5));
      ReduceSums(y(0), y(1), temp(1));
    } else {
      a_.vmovups(y(0), product(2));
      a_.vmovups(temp(1), product(4));
      a_.vsubps(y(0), y(0), product(3));
      a_.vsubps(temp(1), temp(1), product(5));
      ReduceDifferences(y(0), y(1), temp(1));
    }
  }
  // y0 = m0 + (y0 + other), y2 = y0 / 2 + 2 * other; y0 holds the sum of the first pair of points, `other` of the
  // second.
  void ReduceSums(const Xmm& y0, const Xmm& y2, const Xmm& other) {
    a_.vmulps(y2, y0, a_.constant(0.5f));
    a_.vaddps(y0, y0, other);
    a_.vfmadd231ps(y2, other, a_.constant(2.0f));
    a_.vaddps(y0, y0, product(0));
  }
  // y1 = r (y1 + 2 other), y3 = m1 + r (y1 / 2 + 4 other) with r = sqrt(1/2): the other root's odd powers are its
  // multiples by powers of two. y1 holds the difference of the first pair of points, `other` of the second.
  void ReduceDifferences(const Xmm& y1, const Xmm& y3, const Xmm& other) {
    a_.vmulps(y3, y1, a_.constant(0.5f));
    a_.vfmadd231ps(y1, other, a_.constant(2.0f));
    a_.vfmadd231ps(y3, other, a_.constant(4.0f));
    a_.vmulps(y1, y1, a_.constant(kHalf));
    a_.vmovups(other, a_.constant(kHalf));
    a_.vfmadd213ps(y3, other, product(1));
  }

  // The columns of points of a row to its outputs, in place; appends their registers to `values`.
  void ReduceColumns(size_t r, std::vector<Xmm>& values) {
    const auto m = [&](int point) { return value(r, point); };
    const Xmm t = temp(0), u = temp(1);
    if (shape_.columns == Axis::kPlain) {
      values.push_back(m(0));
      return;
    }
    a_.vaddps(t, m(2), m(3));  // sums and differences of pairs
    a_.vsubps(m(3), m(2), m(3));
    if (shape_.columns == Axis::kTwo) {
      a_.vaddps(m(0), m(0), t);
      a_.vaddps(m(1), m(3), m(1));
      values.insert(values.end(), {m(0), m(1)});
      return;
    }
    a_.vaddps(u, m(4), m(5));
    a_.vsubps(m(5), m(4), m(5));
    a_.vmulps(m(2), t, a_.constant(0.5f));
    a_.vaddps(t, t, u);
    a_.vfmadd231ps(m(2), u, a_.constant(2.0f));
    a_.vaddps(m(0), t, m(0));
    a_.vmulps(u, m(3), a_.constant(0.5f));
    a_.vfmadd231ps(m(3), m(5), a_.constant(2.0f));
    a_.vfmadd231ps(u, m(5), a_.constant(4.0f));
    a_.vmulps(m(3), m(3), a_.constant(kHalf));
    a_.vfmadd231ps(m(1), u, a_.constant(kHalf));
    values.insert(values.end(), {m(0), m(3), m(2), m(1)});
  }

  void ApplyOp(int op, PostOpKind kind, const std::vector<int>& rows, const std::vector<Xmm>& values) {
    if (kind == PostOpKind::kResidualAdd) {
      AddResidual(op, rows, values);
    } else if (kind == PostOpKind::kChannelScale) {
      a_.mov(scratch_, arg(offsetof(OutputArgs, scale) + op * sizeof(float*)));
      a_.vmovups(temp(0), a_.ptr[scratch_]);
      for (const Xmm& v : values) a_.vmulps(v, v, temp(0));
    } else {
      a_.mov(scratch_, ARG(post_params));
      const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
      jit::ApplyPostOp(a_, kind, values, temps, scratch_ + op * 2 * static_cast<int>(sizeof(float)));
    }
  }

  void AddResidual(int op, const std::vector<int>& rows, const std::vector<Xmm>& values) {
    if (spec_.tail == Tail::kMasked) {
      a_.mov(scratch_, ARG(tail_mask));
      a_.LoadTailMask(a_.ptr[scratch_], temp(1));
    }
    const size_t at = op * sizeof(int64_t);
    ForEachPixel(arg(offsetof(OutputArgs, residual) + at), arg(offsetof(OutputArgs, residual_row) + at),
                 arg(offsetof(OutputArgs, residual_px) + at), rows, [&](const RegExp& from, size_t i) {
                   if (spec_.tail == Tail::kMasked) {
                     a_.LoadTail(temp(0), a_.ptr[from], temp(1));
                     a_.vaddps(values[i], values[i], temp(0));
                   } else {
                     a_.vaddps(values[i], values[i], a_.ptr[from]);
                   }
                 });
  }

  void Store(const std::vector<int>& rows, const std::vector<Xmm>& values) {
    const auto lanes = static_cast<int>(spec_.lanes);
    if (spec_.tail == Tail::kZeroed) {
      a_.mov(scratch_, ARG(tail_mask));
      a_.LoadTailMask(a_.ptr[scratch_], temp(0));
      for (const Xmm& v : values) a_.ZeroBehindTail(v, temp(0));
    }
    ForEachPixel(ARG(dst), ARG(dst_row), ARG(dst_px), rows, [&](const RegExp& to, size_t i) {
      if (spec_.tail == Tail::kMasked) {
        a_.StoreLanes(to, values[i], 0, lanes, temp(0));
      } else {
        a_.vmovups(a_.ptr[to], values[i]);
      }
    });
  }

  // Calls emit(address, index of the value) for the outputs of the pass: once for whole tiles, and once more with a
  // question before each output.
  template <typename EmitAccess>
  void ForEachPixel(const Address& tensor, const Address& row_bytes, const Address& px_bytes,
                    const std::vector<int>& rows, const EmitAccess& emit) {
    Label partial, done;
    const int all = (1 << shape_.outputs()) - 1;
    a_.mov(px_, px_bytes);
    a_.lea(px3_, a_.ptr[px_ + px_ * 2]);
    a_.cmp(pixels_, all);
    a_.jne(partial, a_.T_NEAR);
    ForEachRow(tensor, row_bytes, rows, [&](size_t i, int) { emit(pixel(i), i); });
    a_.jmp(done, a_.T_NEAR);
    a_.L(partial);
    ForEachRow(tensor, row_bytes, rows, [&](size_t i, int bit) {
      Label skip;
      a_.bt(pixels_, static_cast<uint8_t>(bit));
      a_.jnc(skip, a_.T_NEAR);
      emit(pixel(i), i);
      a_.L(skip);
    });
    a_.L(done);
  }
  RegExp pixel(size_t i) const {
    const int x = static_cast<int>(i) % shape_.out_w();
    if (x == 0) return row_;
    return x == 3 ? row_ + px3_ : row_ + RegExp(px_, x);
  }
  template <typename EmitPixel>
  void ForEachRow(const Address& tensor, const Address& row_bytes, const std::vector<int>& rows,
                  const EmitPixel& emit) {
    a_.mov(row_, tensor);
    int at = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (; at < rows[r]; ++at) a_.add(row_, row_bytes);
      for (int x = 0; x < shape_.out_w(); ++x) {
        emit(r * static_cast<size_t>(shape_.out_w()) + static_cast<size_t>(x), rows[r] * shape_.out_w() + x);
      }
    }
  }

  const OutputSpec spec_;
  const TileShape shape_;
  Assembler& a_;
  jit::RegPool pool_;
  const Reg64 m_, plane_, plane3_, plane5_, row_, px_, px3_, pixels_, scratch_;
  std::vector<std::vector<int>> passes_;  // output rows of each
};

#undef ARG

}  // namespace

std::string KernelName(const OutputSpec& spec) {
  std::string name = std::string("winograd_output_f32_") + IsaName(spec.isa) + "_" +
                     std::to_string(Outputs(spec.rows)) + "x" + std::to_string(Outputs(spec.columns));
  if (spec.tail == Tail::kMasked) name += "_tail" + std::to_string(spec.lanes);
  if (spec.tail == Tail::kZeroed) name += "_tailz";
  for (uint64_t ops = spec.post_ops; ops != 0; ops >>= 8) {
    name += std::string("_") + PostOpName(static_cast<PostOpKind>(ops & 0xff));
  }
  return name;
}

Result<jit::KernelPtr> GetKernel(const OutputSpec& spec) {
  return jit::GetOrCompile("winograd_output", spec, [](const OutputSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](Assembler& a) { OutputEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::winograd
