// kernels/conv/winograd/input_emitter.cc: B^T d B, one vector of channels at a time, two columns of points per pass
// straight from memory: 84 loads, no temporary in memory, 36 stores for a tile of 4x4.
#include <cstddef>
#include <functional>
#include <vector>

#include "jit/assembler.h"
#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/isa.h"
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

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(InputArgs, field))]

class InputEmitter {
 public:
  InputEmitter(const InputSpec& spec, Assembler& a)
      : shape_{spec.rows, spec.columns}, scattered_(spec.scattered), a_(a),
        px_(pool_.Take()), px3_(pool_.Take()), px5_(pool_.Take()),
        plane_(pool_.Take()), plane3_(pool_.Take()), plane5_(pool_.Take()), v_(pool_.Take()) {
    for (int i = 0; i < (scattered_ ? 0 : shape_.in_h()); ++i) rows_.push_back(pool_.Take());
  }

  void Emit() {
    Label next;
    a_.EnterKernel();
    EmitStride(plane_, plane3_, plane5_, ARG(v_plane));
    StartInputs();
    KeepConstants();
    a_.align(32);
    a_.L(next);
    a_.mov(v_, ARG(v));
    for (int pair = 0; pair < (shape_.in_w() + 1) / 2; ++pair) {
      EmitColumns(pair);
      EmitRows(0);
      if (shape_.in_w() > 1) EmitRows(1);
    }
    a_.mov(v_, ARG(v_step));
    a_.add(ARG(v), v_);
    for (const Reg64& row : rows_) a_.add(row, ARG(src_step));
    if (scattered_) a_.add(px_, ARG(src_step));
    a_.dec(ARG(count));
    a_.jnz(next, a_.T_NEAR);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  void EmitStride(const Reg64& one, const Reg64& three, const Reg64& five, const Address& bytes) {
    a_.mov(one, bytes);
    a_.lea(three, a_.ptr[one + one * 2]);
    a_.lea(five, a_.ptr[one + one * 4]);
  }
  static RegExp Times(const Reg64& base, int multiple, const Reg64& one, const Reg64& three, const Reg64& five) {
    switch (multiple) {
      case 0: return base;
      case 3: return base + three;
      case 5: return base + five;
      default: return base + RegExp(one, multiple);
    }
  }
  void StartInputs() {
    if (scattered_) {
      a_.mov(px_, ARG(src_offset));
      return;
    }
    EmitStride(px_, px3_, px5_, ARG(src_px));
    a_.mov(rows_[0], ARG(src));
    for (size_t i = 1; i < rows_.size(); ++i) {
      a_.mov(rows_[i], rows_[i - 1]);
      a_.add(rows_[i], ARG(src_row));
    }
  }
  // For the next instruction only.
  Address input(int row, int column) {
    if (!scattered_) return a_.ptr[Times(rows_[row], column, px_, px3_, px5_)];
    const size_t at = offsetof(InputArgs, pixels) + sizeof(float*) * (row * shape_.in_w() + column);
    a_.mov(px3_, a_.qword[a_.rdi + static_cast<int>(at)]);
    return a_.ptr[px3_ + px_];
  }
  Address product(int point) const { return a_.ptr[Times(v_, point, plane_, plane3_, plane5_)]; }

  // After the first pass: row `row` of the pass's column `c`.
  Xmm value(int row, int c) const { return a_.vec(2 * row + c); }
  Xmm temp(int i) const { return a_.vec(a_.isa().num_vecs - 4 + i); }

  // Where there are registers enough, constants stay in them.
  static constexpr float kConstants[] = {2.5f, 2.0f, 0.5f, static_cast<float>(kRootHalf),
                                         static_cast<float>(kRootTwo)};
  bool keeps_constants() const { return a_.isa().num_vecs >= 32; }
  void KeepConstants() {
    if (!keeps_constants()) return;
    for (size_t i = 0; i < std::size(kConstants); ++i) {
      a_.vmovups(a_.vec(16 + static_cast<int>(i)), a_.constant(kConstants[i]));
    }
  }
  // Calls emit with the register or the memory operand that holds `value`.
  void With(float value, const std::function<void(const Xbyak::Operand&)>& emit) {
    for (size_t i = 0; keeps_constants() && i < std::size(kConstants); ++i) {
      if (kConstants[i] == value) return emit(a_.vec(16 + static_cast<int>(i)));
    }
    emit(a_.constant(value));
  }
  // acc -= x * value
  void SubtractTimes(const Xmm& acc, const Xmm& x, float value) {
    With(value, [&](const Xbyak::Operand& c) { a_.vfnmadd231ps(acc, x, c); });
  }

  // The first pass: the columns of points 2 * pair and 2 * pair + 1, all rows of inputs.
  void EmitColumns(int pair) {
    std::vector<Xmm> c;
    if (shape_.columns == Axis::kFour) {
      const auto root_half = static_cast<float>(kRootHalf), root_two = static_cast<float>(kRootTwo);
      if (pair == 0) c = LoadConstants({2.5f});
      if (pair == 1) c = LoadConstants({2.0f, root_half});
      if (pair == 2) c = LoadConstants({0.5f, root_two});
    }
    for (int i = 0; i < shape_.in_h(); ++i) EmitColumnPair(i, pair, c);
  }
  std::vector<Xmm> LoadConstants(std::initializer_list<float> values) {
    std::vector<Xmm> registers;
    for (const float value : values) {
      const Xmm t = temp(1 + static_cast<int>(registers.size()));
      With(value, [&](const Xbyak::Operand& c) { a_.vmovups(t, c); });
      registers.push_back(t);
    }
    return registers;
  }

  void EmitColumnPair(int row, int pair, const std::vector<Xmm>& c) {
    const Xmm x = value(row, 0), y = value(row, 1), t = temp(0);
    const auto d = [&](int column) { return input(row, column); };
    if (shape_.columns == Axis::kPlain) {
      a_.vmovups(x, d(0));
    } else if (shape_.columns == Axis::kTwo) {
      a_.vmovups(x, d(pair == 0 ? 0 : 2));
      if (pair == 0) {  // d0 - d2, d3 - d1
        a_.vmovups(y, d(3));
        a_.vsubps(x, x, d(2));
        a_.vsubps(y, y, d(1));
      } else {  // d2 + d1, d2 - d1
        a_.vsubps(y, x, d(1));
        a_.vaddps(x, x, d(1));
      }
    } else if (pair == 0) {  // d0 - 2.5 d2 + d4, d1 - 2.5 d3 + d5
      for (int i = 0; i < 2; ++i) {
        const Xmm& z = i == 0 ? x : y;
        a_.vmovups(z, d(i));
        a_.vaddps(z, z, d(i + 4));
        a_.vfnmadd231ps(z, c[0], d(i + 2));
      }
    } else {  // (d4 - c0 d2) +- c1 (d3 - c0 d1): three roundings
      a_.vmovups(x, d(4));
      a_.vmovups(y, d(3));
      a_.vfnmadd231ps(x, c[0], d(2));
      a_.vfnmadd231ps(y, c[0], d(1));
      a_.vmovaps(t, x);
      a_.vfmadd231ps(x, y, c[1]);
      a_.vfnmadd213ps(y, c[1], t);
    }
  }

  // The second pass: the rows of points of one column, stored; then on to the next column.
  void EmitRows(int c) {
    const auto d = [&](int row) { return value(row, c); };
    const Xmm t = temp(0), u = temp(1), w = temp(2);
    if (shape_.rows == Axis::kPlain) {
      a_.vmovups(product(0), d(0));
    } else if (shape_.rows == Axis::kTwo) {
      a_.vsubps(t, d(0), d(2));
      a_.vsubps(u, d(3), d(1));
      a_.vmovups(product(0), t);
      a_.vmovups(product(1), u);
      a_.vaddps(t, d(2), d(1));
      a_.vsubps(u, d(2), d(1));
      a_.vmovups(product(2), t);
      a_.vmovups(product(3), u);
    } else {
      EmitFourRows(d(0), d(2), d(4), 0);
      EmitFourRows(d(1), d(3), d(5), 1);
      for (int pair = 1; pair < 3; ++pair) {
        const auto root_half = static_cast<float>(kRootHalf), root_two = static_cast<float>(kRootTwo);
        a_.vmovaps(t, d(4));
        a_.vmovaps(u, d(3));
        SubtractTimes(t, d(2), pair == 1 ? 2.0f : 0.5f);
        SubtractTimes(u, d(1), pair == 1 ? 2.0f : 0.5f);
        a_.vmovaps(w, t);
        With(pair == 1 ? root_half : root_two, [&](const Xbyak::Operand& root) { a_.vfmadd231ps(w, u, root); });
        SubtractTimes(t, u, pair == 1 ? root_half : root_two);
        a_.vmovups(product(2 * pair), w);
        a_.vmovups(product(2 * pair + 1), t);
      }
    }
    a_.add(v_, ARG(v_column));
  }
  void EmitFourRows(const Xmm& first, const Xmm& middle, const Xmm& last, int point) {
    a_.vaddps(temp(point), first, last);
    SubtractTimes(temp(point), middle, 2.5f);
    a_.vmovups(product(point), temp(point));
  }

  const TileShape shape_;
  const bool scattered_;
  Assembler& a_;
  jit::RegPool pool_;
  const Reg64 px_, px3_, px5_, plane_, plane3_, plane5_, v_;
  std::vector<Reg64> rows_;
};

#undef ARG

}  // namespace

std::string KernelName(const InputSpec& spec) {
  return std::string("winograd_input_f32_") + IsaName(spec.isa) + "_" + std::to_string(Outputs(spec.rows)) + "x" +
         std::to_string(Outputs(spec.columns)) + (spec.scattered ? "_scattered" : "");
}

Result<jit::KernelPtr> GetKernel(const InputSpec& spec) {
  return jit::GetOrCompile("winograd_input", spec, [](const InputSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](Assembler& a) { InputEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::winograd
