// kernels/conv/gemm/picker.cc
#include "kernels/conv/gemm/picker.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/lane_masks.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

#define ARG(field) a_.qword[args_ + static_cast<int>(offsetof(PickArgs, field))]

namespace {

constexpr int kUnrolledChunks = 8;

const int32_t* LanesUpTo(int64_t count, int64_t lanes) { return FirstLanes(std::clamp<int64_t>(count, 0, lanes)); }

class PickEmitter {
 public:
  PickEmitter(const PickSpec& spec, jit::Assembler& assembler) : spec_(spec), a_(assembler), args_(a_.rdi) {
    for (jit::Reg64* reg : {&src_, &dst_, &src_step_, &dst_step_, &ks_left_, &chunk_, &left_, &from_, &to_, &mask_,
                            &ahead_, &ahead_end_}) {
      *reg = pool_.Take();
    }
  }
  void Emit();

 private:
  void EmitWhole();
  void CopyWhole(int chunk);
  void EmitCareful();
  void LoadCarefully();

  const PickSpec spec_;
  jit::Assembler& a_;
  jit::RegPool pool_;
  const jit::Reg64 args_;
  jit::Reg64 src_, dst_, src_step_, dst_step_, ks_left_, chunk_, left_, from_, to_, mask_;
  // src_ some planes later, whose lines are prefetched; the last lane of a chunk there. Chunks of larger strides lie in
  // several lines: of up to three of them all, of more the first ones and the last.
  jit::Reg64 ahead_, ahead_end_;
  // Values; a second vector, or a mask; the index of whole chunks.
  const jit::Xmm x_ = a_.vec(0), y_ = a_.vec(1), index_ = a_.vec(2);
};

void PickEmitter::Emit() {
  jit::Label next_k;
  a_.EnterKernel();
  a_.mov(src_, ARG(src));
  a_.mov(dst_, ARG(dst));
  a_.mov(src_step_, ARG(src_step));
  a_.mov(dst_step_, ARG(dst_step));
  a_.mov(ks_left_, ARG(ks));
  if (spec_.stride == 0) {
    a_.mov(mask_, ARG(index));
    a_.vmovups(index_, a_.ptr[mask_]);
  }
  a_.lea(ahead_, a_.ptr[src_ + src_step_ * 8]);
  if (spec_.stride == 0) {
    a_.mov(ahead_end_, ARG(last_lane));
    a_.add(ahead_end_, ahead_);
  }
  a_.L(next_k);
  a_.mov(chunk_, ARG(chunks));
  EmitWhole();
  EmitCareful();
  a_.add(src_, src_step_);
  a_.add(ahead_, src_step_);
  if (spec_.stride == 0) a_.add(ahead_end_, src_step_);
  a_.add(dst_, dst_step_);
  a_.dec(ks_left_);
  a_.jnz(next_k, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

// The first chunks are written out: each has its own branch, which goes one way while the tile stays the same.
void PickEmitter::EmitWhole() {
  jit::Label next, done;
  a_.mov(left_, ARG(whole));
  for (int i = 0; i < kUnrolledChunks; ++i) {
    a_.cmp(left_, i);
    a_.je(done, a_.T_NEAR);
    CopyWhole(i);
  }
  a_.sub(left_, kUnrolledChunks);
  a_.jz(done, a_.T_NEAR);
  a_.add(chunk_, kUnrolledChunks * static_cast<int>(sizeof(PickChunk)));
  a_.L(next);
  CopyWhole(0);
  a_.add(chunk_, static_cast<int>(sizeof(PickChunk)));
  a_.dec(left_);
  a_.jnz(next, a_.T_NEAR);
  a_.L(done);
}

void PickEmitter::CopyWhole(int chunk) {
  const int at = chunk * static_cast<int>(sizeof(PickChunk));
  a_.mov(from_, a_.qword[chunk_ + (at + static_cast<int>(offsetof(PickChunk, src)))]);
  a_.mov(to_, a_.qword[chunk_ + (at + static_cast<int>(offsetof(PickChunk, dst)))]);
  a_.prefetcht0(a_.ptr[ahead_ + from_]);
  if (spec_.stride == 0) {
    a_.prefetcht0(a_.ptr[ahead_ + from_ + kLineBytes]);
    a_.prefetcht0(a_.ptr[ahead_end_ + from_]);
    a_.add(from_, src_);
    a_.GatherLanes(x_, from_, index_, y_);
  } else {
    a_.vmovups(x_, a_.ptr[src_ + from_]);
  }
  if (spec_.stride == 2) {
    a_.EvenLanes(x_, x_, a_.ptr[src_ + from_ + a_.isa().vec_bytes]);
    a_.OrderEvenLanes(x_);
  }
  a_.vmovups(a_.ptr[dst_ + to_], x_);
}

// Few: those at the end of a plane.
void PickEmitter::EmitCareful() {
  jit::Label next, done;
  a_.mov(left_, ARG(careful));
  a_.test(left_, left_);
  a_.jz(done, a_.T_NEAR);
  a_.mov(chunk_, ARG(careful_chunks));
  a_.L(next);
  a_.mov(from_, a_.qword[chunk_ + static_cast<int>(offsetof(PickChunk, src))]);
  a_.mov(to_, a_.qword[chunk_ + static_cast<int>(offsetof(PickChunk, dst))]);
  a_.add(from_, src_);
  LoadCarefully();
  a_.vmovups(a_.ptr[dst_ + to_], x_);
  a_.add(chunk_, static_cast<int>(sizeof(PickChunk)));
  a_.dec(left_);
  a_.jnz(next, a_.T_NEAR);
  a_.L(done);
}

void PickEmitter::LoadCarefully() {
  a_.mov(mask_, a_.qword[chunk_ + static_cast<int>(offsetof(PickChunk, first))]);
  if (spec_.stride == 0) {
    a_.vmovups(a_.vec(3), a_.ptr[mask_]);
    return a_.GatherLanes(x_, from_, a_.vec(3), y_);
  }
  a_.LoadTailMask(a_.ptr[mask_], y_);
  a_.LoadTail(x_, a_.ptr[from_], y_);
  if (spec_.stride == 1) return;
  a_.mov(mask_, a_.qword[chunk_ + static_cast<int>(offsetof(PickChunk, second))]);
  a_.LoadTailMask(a_.ptr[mask_], y_);
  a_.LoadTail(y_, a_.ptr[from_ + a_.isa().vec_bytes], y_);
  a_.EvenLanes(x_, x_, y_);
  a_.OrderEvenLanes(x_);
}

}  // namespace

void EmitPicker(const PickSpec& spec, jit::Assembler& assembler) { PickEmitter(spec, assembler).Emit(); }

bool Picker::Fits(const ConvProblem& problem) {
  constexpr int64_t kMaxStride = 1 << 26;  // indices of a vector stay within 32 bits
  const ConvDesc& d = problem.desc;
  return d.kernel == Size2{1, 1} && d.pad == Padding{} && d.stride.w <= kMaxStride;
}

Result<Picker> Picker::Make(const ConvProblem& problem, Isa isa) {
  Picker picker;
  const ConvDesc& d = problem.desc;
  picker.out_w_ = problem.ow, picker.pixels_ = problem.oh * problem.ow;
  picker.plane_ = (d.in.h - 1) * problem.src.h + d.in.w;
  picker.row_step_ = d.stride.h * problem.src.h, picker.pixel_step_ = d.stride.w;
  picker.channel_step_ = problem.src.c;
  picker.lanes_ = jit::GetIsaInfo(isa).vec_lanes();
  for (int lane = 0; lane < kMaxLanes; ++lane) picker.index_[lane] = static_cast<int32_t>(lane * d.stride.w);
  const PickSpec spec{isa, static_cast<uint8_t>(d.stride.w <= 2 ? d.stride.w : 0)};
  Result<jit::KernelPtr> kernel = jit::GetOrCompile("pick", spec, [](const PickSpec& s) {
    const std::string name = std::string("pick_f32_") + IsaName(s.isa) + "_stride" +
                             (s.stride == 0 ? "_any" : std::to_string(s.stride));
    return jit::Compile(name, jit::GetIsaInfo(s.isa), [&](jit::Assembler& a) { EmitPicker(s, a); });
  });
  if (!kernel.ok()) return kernel.status();
  picker.kernel_ = *kernel;
  return picker;
}

void Picker::Fill(const float* image, Range ks, int64_t pixel, int32_t width, float* panel) const {
  PickChunk chunks[kMaxWidth];
  int32_t indices[kMaxWidth][kMaxLanes];
  PickArgs args{image + ks.begin * channel_step_, panel, ks.end - ks.begin, channel_step_ * kFloat, width * kFloat,
                chunks, nullptr, 0, 0, index_, (lanes_ - 1) * pixel_step_ * kFloat};
  const int64_t used = std::min<int64_t>(width, pixels_ - pixel);
  // Lanes behind the last pixel are written by nobody else.
  if (used < width) {
    constexpr int kEight = 8;  // of known length: two instructions
    for (float* row = panel + width; row <= panel + args.ks * width; row += width) {
      for (int lane = kEight; lane <= lanes_; lane += kEight) std::fill_n(row - lane, kEight, 0.0F);
    }
  }
  const int64_t reach = pixel_step_ <= 2 ? pixel_step_ * lanes_ : pixel_step_ * (lanes_ - 1) + 1;
  int64_t y = pixel / out_w_, x = pixel % out_w_, count = 0;
  for (int64_t done = 0; done < used; ++count) {
    const int64_t at = y * row_step_ + x * pixel_step_, room = plane_ - at;
    const int64_t run = std::min<int64_t>({out_w_ - x, used - done, lanes_});
    PickChunk& chunk = chunks[count] = {at * kFloat, done * kFloat, nullptr, nullptr};
    if (room >= reach) {
      ++args.whole;
    } else if (++args.careful, pixel_step_ <= 2) {
      chunk.first = LanesUpTo(room, lanes_), chunk.second = LanesUpTo(room - lanes_, lanes_);
    } else {
      for (int lane = 0; lane < lanes_; ++lane) indices[count][lane] = index_[lane] < room ? index_[lane] : 0;
      chunk.first = indices[count];
    }
    done += run, x += run;
    if (x == out_w_) x = 0, ++y;
  }
  args.careful_chunks = chunks + args.whole;
  kernel_->entry<PickFunction>()(&args);
}

#undef ARG

}  // namespace rafter::gemm
