// kernels/padding/stream_kernel.cc: see the header.
#include "kernels/padding/stream_kernel.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/sizes.h"

namespace rafter::padding {

namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kBlockBytes = 256;

class StreamEmitter {
 public:
  StreamEmitter(const StreamSpec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), line_(pool_.Take()),
        rows_(pool_.Take()), src_row_(pool_.Take()), run_(pool_.Take()), seam_(pool_.Take()), pending_(pool_.Take()),
        foreign_(pool_.Take()), from_(pool_.Take()), to_(pool_.Take()), left_(pool_.Take()), part_(pool_.Take()),
        saved_(pool_.Take()) {}

  void Emit() {
    const auto arg = [&](size_t offset) { return a_.qword[a_.rdi + static_cast<int>(offset)]; };
    Label row;
    a_.EnterKernel();
    a_.mov(src_, arg(offsetof(StreamArgs, src)));
    a_.mov(line_, arg(offsetof(StreamArgs, dst)));
    a_.mov(rows_, arg(offsetof(StreamArgs, rows)));
    a_.mov(src_row_, arg(offsetof(StreamArgs, src_row_bytes)));
    a_.mov(run_, arg(offsetof(StreamArgs, run_bytes)));
    a_.mov(seam_, arg(offsetof(StreamArgs, seam)));
    a_.mov(from_, arg(offsetof(StreamArgs, fill)));
    a_.vbroadcastss(border(), a_.dword[from_]);
    // The first line belongs to somebody else up to here.
    a_.mov(pending_, line_);
    a_.and_(pending_, kLineBytes - 1);
    a_.mov(foreign_, pending_);
    a_.sub(line_, pending_);
    a_.L(row);
    EmitBorder(spec_.before);
    EmitHead();
    EmitLines();
    EmitTail();
    EmitBorder(spec_.after);
    a_.add(src_, src_row_);
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    EmitEnd();
    a_.LeaveKernel();
  }

 private:
  Xmm border() const { return a_.vec(8); }

  Xmm Narrowed(int index, int lanes) const {
    if (lanes * kFloat == vec_bytes_) return a_.vec(index);
    return lanes == 8 ? Xmm(Xbyak::Ymm(index)) : Xmm(index);
  }

  // `count` values behind what is pending; more of the seam may be overwritten.
  void EmitBorder(int count) {
    for (int at = 0; at < count * kFloat; at += vec_bytes_) a_.vmovups(a_.ptr[seam_ + pending_ + at], border());
    if (count > 0) a_.add(pending_, count * kFloat);
  }

  // Fewer than 64 bytes, exactly: as many as the bits of part_ say. Moves from_ and to_ behind them.
  void EmitPartOfLine() {
    for (int bytes = kLineBytes / 2; bytes >= kFloat; bytes /= 2) {
      Label skip;
      a_.test(part_, bytes);
      a_.jz(skip);
      const Xmm v = Narrowed(0, bytes / kFloat);
      if (bytes == 4) {
        a_.vmovss(v, a_.dword[from_]);
        a_.vmovss(a_.dword[to_], v);
      } else if (bytes == 8) {
        a_.vmovq(v, a_.qword[from_]);
        a_.vmovlps(a_.qword[to_], v);
      } else {
        a_.vmovups(v, a_.ptr[from_]);
        a_.vmovups(a_.ptr[to_], v);
      }
      a_.add(from_, bytes);
      a_.add(to_, bytes);
      a_.L(skip);
    }
  }

  // Fills the seam up to a whole line from the begin of a row, and stores its lines.
  void EmitHead() {
    a_.mov(part_, pending_);
    a_.neg(part_);
    a_.and_(part_, kLineBytes - 1);
    a_.mov(left_, run_);
    a_.sub(left_, part_);
    a_.mov(from_, src_);
    a_.lea(to_, a_.ptr[seam_ + pending_]);
    a_.add(pending_, part_);
    EmitPartOfLine();
    EmitSeamLines();
  }

  // Whole lines of the seam to the result. Leaves from_ alone.
  void EmitSeamLines() {
    Label line, done, own;
    a_.test(foreign_, foreign_);
    a_.jz(own, a_.T_NEAR);
    EmitFirstLine();
    a_.L(own);
    a_.mov(part_, seam_);
    a_.add(part_, foreign_);  // 64 where the first line is done
    a_.sub(pending_, foreign_);
    a_.mov(foreign_, 0);
    a_.L(line);
    a_.sub(pending_, kLineBytes);
    a_.jl(done);
    CopyLines(kLineBytes, part_, line_);
    a_.add(part_, kLineBytes);
    a_.add(line_, kLineBytes);
    a_.jmp(line);
    a_.L(done);
  }

  // The part of the first line behind what is foreign, the plain way. Then foreign_ is a whole line.
  void EmitFirstLine() {
    a_.mov(saved_, from_);
    a_.lea(from_, a_.ptr[seam_ + foreign_]);
    a_.lea(to_, a_.ptr[line_ + foreign_]);
    a_.mov(part_, kLineBytes);
    a_.sub(part_, foreign_);
    EmitPartOfLine();
    a_.mov(from_, saved_);
    a_.add(line_, kLineBytes);
    a_.mov(foreign_, kLineBytes);
  }

  void CopyLines(int bytes, const Reg64& from, const Reg64& to) {
    for (int at = 0; at < bytes; at += vec_bytes_) a_.vmovups(a_.vec(at / vec_bytes_), a_.ptr[from + at]);
    for (int at = 0; at < bytes; at += vec_bytes_) a_.vmovntps(a_.ptr[to + at], a_.vec(at / vec_bytes_));
  }

  // Copies `bytes` and moves on behind them; the flags are those of what is left.
  void CopyOn(int bytes) {
    CopyLines(bytes, from_, line_);
    a_.add(from_, bytes);
    a_.add(line_, bytes);
    a_.sub(left_, bytes);
  }

  // Lines that lie inside of a row.
  void EmitLines() {
    Label block, lines, line, done;
    a_.sub(left_, kBlockBytes);
    a_.jl(lines, a_.T_NEAR);
    a_.align(16);
    a_.L(block);
    CopyOn(kBlockBytes);
    a_.jge(block);
    a_.L(lines);
    a_.add(left_, kBlockBytes - kLineBytes);
    a_.jl(done);
    a_.L(line);
    CopyOn(kLineBytes);
    a_.jge(line);
    a_.L(done);
    a_.add(left_, kLineBytes);
  }

  // What is left of a row begins the next seam.
  void EmitTail() {
    a_.mov(part_, left_);
    a_.mov(pending_, left_);
    a_.mov(to_, seam_);
    EmitPartOfLine();
  }

  // Whole lines of the last seam, then its rest.
  void EmitEnd() {
    EmitSeamLines();
    a_.mov(from_, part_);
    a_.add(pending_, kLineBytes);
    a_.mov(part_, pending_);
    a_.mov(to_, line_);
    EmitPartOfLine();
  }

  const StreamSpec& spec_;
  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  // line_: the line of the result that is being made; pending_: bytes of it (and the next ones) in the seam; foreign_:
  // bytes of the first line that belong to somebody else, 0 once it is done.
  const Reg64 src_, line_, rows_, src_row_, run_, seam_, pending_, foreign_, from_, to_, left_, part_,
      saved_;
};

}  // namespace

Result<jit::KernelPtr> GetStreamKernel(const StreamSpec& spec) {
  return jit::GetOrCompile("pad_stream", spec, [](const StreamSpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    const std::string name = std::string("pad_f32_") + isa.name + "_stream" + std::to_string(s.before) + "_" +
                             std::to_string(s.after);
    return jit::Compile(name, isa, [&](Assembler& a) { StreamEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::padding
