// kernels/reorder/copy_kernel.cc: see the header.
#include "kernels/reorder/copy_kernel.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/reorder/row_pieces.h"
#include "kernels/sizes.h"

namespace rafter::reorder {

namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kBlockBytes = 256;

class CopyEmitter {
 public:
  CopyEmitter(const CopySpec& spec, Assembler& a)
      : spec_(spec), a_(a), src_(pool_.Take()), dst_(pool_.Take()), rows_(pool_.Take()), src_row_(pool_.Take()),
        dst_row_(pool_.Take()), run_(pool_.Take()), from_(pool_.Take()), to_(pool_.Take()), left_(pool_.Take()),
        skip_(pool_.Take()) {}

  void Emit() {
    const auto arg = [&](size_t offset) { return a_.qword[a_.rdi + static_cast<int>(offset)]; };
    a_.EnterKernel();
    a_.mov(src_, arg(offsetof(CopyArgs, src)));
    a_.mov(dst_, arg(offsetof(CopyArgs, dst)));
    a_.mov(rows_, arg(offsetof(CopyArgs, rows)));
    a_.mov(src_row_, arg(offsetof(CopyArgs, src_row_bytes)));
    a_.mov(dst_row_, arg(offsetof(CopyArgs, dst_row_bytes)));
    if (spec_.run == 0) a_.mov(run_, arg(offsetof(CopyArgs, run_bytes)));
    if (spec_.border == Border::kFill) {
      a_.mov(skip_, arg(offsetof(CopyArgs, fill)));
      a_.vbroadcastss(border(), a_.dword[skip_]);
    }
    Label row;
    a_.align(16);
    a_.L(row);
    EmitBorders();
    if (spec_.run == 0) {
      EmitOpenRow();
    } else {
      EmitBakedRow();
    }
    a_.add(src_, src_row_);
    a_.add(dst_, dst_row_);
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    a_.LeaveKernel();
  }

 private:
  Xmm border() const { return a_.vec(kBlockBytes / 32); }  // behind those that hold a block
  bool non_temporal() const { return spec_.non_temporal != 0; }

  void EmitBorders() {
    if (spec_.border == Border::kNone) return;
    // The end of the row as seen from its start.
    const Reg64 &src_end = from_, &dst_end = to_;
    if (spec_.after > 0) {
      if (spec_.run == 0) {
        a_.lea(src_end, a_.ptr[src_ + run_]);
        a_.lea(dst_end, a_.ptr[dst_ + run_]);
      } else {
        a_.lea(src_end, a_.ptr[src_ + spec_.run * kFloat]);
        a_.lea(dst_end, a_.ptr[dst_ + spec_.run * kFloat]);
      }
    }
    if (spec_.pixel > 1 && spec_.border != Border::kFill) return EmitPixels(src_end, dst_end);
    if (spec_.border == Border::kReflect) {
      for (int i = 1; i <= spec_.before; ++i) CopyFloat(src_ + i * kFloat, dst_ - i * kFloat);
      for (int i = 0; i < spec_.after; ++i) CopyFloat(src_end - (2 + i) * kFloat, dst_end + i * kFloat);
      return;
    }
    if (spec_.border == Border::kEdge && spec_.before > 0) a_.vbroadcastss(border(), a_.dword[src_]);
    StoreBorder(dst_, -spec_.before, spec_.before);
    if (spec_.border == Border::kEdge && spec_.after > 0) a_.vbroadcastss(border(), a_.dword[src_end - kFloat]);
    StoreBorder(dst_end, 0, spec_.after);
  }

  void EmitPixels(const Reg64& src_end, const Reg64& dst_end) {
    const int pixel = spec_.pixel * static_cast<int>(kFloat);
    const int first = spec_.border == Border::kReflect ? 1 : 0, step = first;  // mirrored: those beside the end ones
    for (int i = 0; i < spec_.before / spec_.pixel; ++i) {
      CopyPixel(src_ + (first + i * step) * pixel, dst_ - (i + 1) * pixel);
    }
    for (int i = 0; i < spec_.after / spec_.pixel; ++i) {
      CopyPixel(src_end - (1 + first + i * step) * pixel, dst_end + i * pixel);
    }
  }

  void CopyPixel(const Xbyak::RegExp& from, const Xbyak::RegExp& to) {
    const std::vector<RowPiece> pieces = RowPieces(spec_.pixel, a_.isa().vec_lanes());
    int v = 0;
    for (const RowPiece& piece : pieces) LoadPiece(a_, a_.vec(v++), from + piece.at * kFloat, piece.lanes);
    v = 0;
    for (const RowPiece& piece : pieces) StorePiece(a_, to + piece.at * kFloat, a_.vec(v++), piece.lanes, false);
  }

  void CopyFloat(const Xbyak::RegExp& from, const Xbyak::RegExp& to) {
    const Xmm scalar(border().getIdx());
    a_.vmovss(scalar, a_.dword[from]);
    a_.vmovss(a_.dword[to], scalar);
  }

  void StoreBorder(const Reg64& base, int first, int count) {
    for (const RowPiece& piece : RowPieces(count, a_.isa().vec_lanes())) {
      StorePiece(a_, base + (first + piece.at) * kFloat, border(), piece.lanes, false);
    }
  }

  void EmitBakedRow() {
    const std::vector<RowPiece> pieces = RowPieces(spec_.run, a_.isa().vec_lanes());
    constexpr size_t kAtOnce = kBlockBytes / 32;
    for (size_t first = 0; first < pieces.size(); first += kAtOnce) {
      const size_t end = std::min(pieces.size(), first + kAtOnce);
      for (size_t i = first; i < end; ++i) {
        LoadPiece(a_, a_.vec(static_cast<int>(i - first)), src_ + pieces[i].at * kFloat, pieces[i].lanes);
      }
      for (size_t i = first; i < end; ++i) {
        StorePiece(a_, dst_ + pieces[i].at * kFloat, a_.vec(static_cast<int>(i - first)), pieces[i].lanes,
                   non_temporal());
      }
    }
  }

  // `bytes` at from_ + at to to_ + at.
  void CopyBytes(int bytes, const Xbyak::RegExp& at, bool past_caches) {
    const int vec = a_.isa().vec_bytes, lanes = a_.isa().vec_lanes();
    for (int i = 0; i < bytes / vec; ++i) LoadPiece(a_, a_.vec(i), from_ + at + i * vec, lanes);
    for (int i = 0; i < bytes / vec; ++i) StorePiece(a_, to_ + at + i * vec, a_.vec(i), lanes, past_caches);
  }

  // Fewer than 64 bytes, exactly: as many as the bits of `bytes` from 4 to 32 say. Moves from_ and to_ behind them.
  void CopyPartOfLine(const Reg64& bytes) {
    for (int part = kLineBytes / 2; part >= kFloat; part /= 2) {
      Label skip;
      a_.test(bytes, part);
      a_.jz(skip);
      const int lanes = std::min(part / static_cast<int>(kFloat), a_.isa().vec_lanes());
      LoadPiece(a_, a_.vec(0), from_, lanes);
      StorePiece(a_, to_, a_.vec(0), lanes, false);
      a_.add(from_, part);
      a_.add(to_, part);
      a_.L(skip);
    }
  }

  // The bytes of a row before its first whole line of dst. Plain stores may overlap the next line; a line that is
  // stored past the caches must not be in them, which would cost hundreds of cycles.
  void EmitUpToWholeLines() {
    Label aligned;
    a_.mov(skip_, to_);
    a_.neg(skip_);
    a_.and_(skip_, kLineBytes - 1);
    a_.jz(aligned, a_.T_NEAR);
    a_.sub(left_, skip_);
    if (non_temporal()) {
      CopyPartOfLine(skip_);
    } else {
      CopyBytes(kLineBytes, Xbyak::RegExp(), false);
      a_.add(from_, skip_);
      a_.add(to_, skip_);
    }
    a_.L(aligned);
  }

  // The first line up to its end, blocks and lines with aligned stores, the last line from its begin.
  void EmitOpenRow() {
    Label block, lines, line, last, done;
    a_.mov(from_, src_);
    a_.mov(to_, dst_);
    a_.mov(left_, run_);
    EmitUpToWholeLines();
    a_.sub(left_, kBlockBytes);
    a_.jl(lines, a_.T_NEAR);
    a_.align(16);
    a_.L(block);
    CopyBytes(kBlockBytes, Xbyak::RegExp(), non_temporal());
    a_.add(from_, kBlockBytes);
    a_.add(to_, kBlockBytes);
    a_.sub(left_, kBlockBytes);
    a_.jge(block, a_.T_NEAR);
    a_.L(lines);
    a_.add(left_, kBlockBytes - kLineBytes);
    a_.jl(last);
    a_.L(line);
    CopyBytes(kLineBytes, Xbyak::RegExp(), non_temporal());
    a_.add(from_, kLineBytes);
    a_.add(to_, kLineBytes);
    a_.sub(left_, kLineBytes);
    a_.jge(line);
    a_.L(last);
    a_.add(left_, kLineBytes);
    a_.jz(done, a_.T_NEAR);
    if (non_temporal()) {
      CopyPartOfLine(left_);
    } else {
      CopyBytes(kLineBytes, left_ - kLineBytes, false);
    }
    a_.L(done);
  }

  const CopySpec& spec_;
  Assembler& a_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, rows_, src_row_, dst_row_, run_, from_, to_, left_, skip_;
};

std::string NameOf(const CopySpec& spec, const char* isa) {
  std::string name = std::string("copy_f32_") + isa;
  name += spec.run == 0 ? "_open" : "_run" + std::to_string(spec.run);
  constexpr const char* kBorders[] = {"", "_fill", "_edge", "_reflect"};
  name += kBorders[static_cast<int>(spec.border)];
  if (spec.border != Border::kNone) name += std::to_string(spec.before) + "_" + std::to_string(spec.after);
  if (spec.pixel > 1) name += "_of" + std::to_string(spec.pixel);
  return spec.non_temporal != 0 ? name + "_nt" : name;
}

}  // namespace

CopySpec SpecOfRun(Isa isa, int64_t run, bool non_temporal) noexcept {
  CopySpec spec;
  spec.isa = static_cast<int32_t>(isa);
  spec.run = run <= kMaxBakedRun ? static_cast<int32_t>(run) : 0;
  spec.non_temporal = non_temporal ? 1 : 0;
  return spec;
}

Result<jit::KernelPtr> GetCopyKernel(const CopySpec& spec) {
  return jit::GetOrCompile("copy", spec, [](const CopySpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    return jit::Compile(NameOf(s, isa.name), isa, [&](Assembler& a) { CopyEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::reorder
