// Loops over arrays; see stream_kernel.h.
//
//   passes:  offset = 0
//   blocks:    load  8 vectors from a (and add 8 from b)      ┐ until 512 bytes of each array
//              store 8 vectors to dst                         ┘
//              offset += 512; blocks left? again
//            passes left? again
//   Non-temporal stores are fenced once at the end: their write-combining buffers belong to the
//   measurement.
#include "roofline/stream_kernel.h"

#include <algorithm>
#include <string>

#include "jit/assembler.h"
#include "jit/compile.h"
#include "jit/isa.h"

namespace rafter::roofline {
namespace {

constexpr int kGroupVecs = 8;

class StreamEmitter {
 public:
  StreamEmitter(jit::Assembler& as, Mix mix, bool non_temporal)
      : as_(as), mix_(mix), non_temporal_(non_temporal) {}

  void Emit() {
    as_.EnterKernel();
    as_.mov(a(), as_.ptr[as_.rdi + offsetof(StreamArgs, a)]);
    as_.mov(b(), as_.ptr[as_.rdi + offsetof(StreamArgs, b)]);
    as_.mov(dst(), as_.ptr[as_.rdi + offsetof(StreamArgs, dst)]);
    as_.mov(pass_bytes(), as_.ptr[as_.rdi + offsetof(StreamArgs, blocks)]);
    as_.imul(pass_bytes(), pass_bytes(), static_cast<int>(kStreamBlockBytes));
    as_.mov(passes(), as_.ptr[as_.rdi + offsetof(StreamArgs, passes)]);
    FillVectors();
    EmitLoops();
    if (non_temporal_) as_.sfence();
    as_.LeaveKernel();
  }

 private:
  // What the store mix writes: not zeros, whose lines some cores drop on the way to L2.
  void FillVectors() {
    const int kOnePointFive = 0x3fc00000;
    as_.mov(as_.eax, kOnePointFive);
    for (int v = 0; v < kGroupVecs; ++v) {
      const jit::Xmm low(v);
      as_.vmovd(low, as_.eax);
      as_.vbroadcastss(as_.vec(v), low);
    }
  }

  void EmitLoops() {
    jit::Label pass, block;
    as_.L(pass);
    as_.xor_(offset().cvt32(), offset().cvt32());
    as_.align(32);
    as_.L(block);
    const int vec_bytes = as_.isa().vec_bytes;
    for (int64_t at = 0; at < kStreamBlockBytes; at += kGroupVecs * vec_bytes) {
      EmitGroup(static_cast<int>(at), vec_bytes);
    }
    as_.add(offset(), static_cast<int>(kStreamBlockBytes));
    as_.cmp(offset(), pass_bytes());
    as_.jl(block, jit::Assembler::T_NEAR);
    as_.dec(passes());
    as_.jnz(pass, jit::Assembler::T_NEAR);
  }

  void EmitGroup(int at, int vec_bytes) {
    for (int v = 0; v < kGroupVecs; ++v) {
      const int disp = at + v * vec_bytes;
      if (mix_ == Mix::kInPlace) as_.vmovups(as_.vec(v), addr(dst(), disp));
      if (mix_ == Mix::kLoad || mix_ == Mix::kCopy || mix_ == Mix::kTwoToOne) {
        as_.vmovups(as_.vec(v), addr(a(), disp));
      }
      if (mix_ == Mix::kTwoToOne) as_.vaddps(as_.vec(v), as_.vec(v), addr(b(), disp));
    }
    if (mix_ == Mix::kLoad) return;
    for (int v = 0; v < kGroupVecs; ++v) {
      const jit::Address to = addr(dst(), at + v * vec_bytes);
      if (non_temporal_) {
        as_.vmovntps(to, as_.vec(v));
      } else {
        as_.vmovups(to, as_.vec(v));
      }
    }
  }

  jit::Reg64 a() const { return as_.rsi; }
  jit::Reg64 b() const { return as_.rdx; }
  jit::Reg64 dst() const { return as_.r8; }
  jit::Reg64 pass_bytes() const { return as_.r9; }
  jit::Reg64 passes() const { return as_.r10; }
  jit::Reg64 offset() const { return as_.rcx; }
  jit::Address addr(const jit::Reg64& array, int disp) const {
    return as_.ptr[array + offset() + disp];
  }

  jit::Assembler& as_;
  const Mix mix_;
  const bool non_temporal_;
};

std::string StreamName(Mix mix, bool non_temporal, const char* isa) {
  std::string name = std::string("probe_stream_") + MixName(mix);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '-'; }, '_');
  return name + (non_temporal ? "_nt_" : "_") + isa;
}

// Smallest offset from `from` on at which stores do not meet loads that are 1 to 2,047 bytes ahead
// in the page: the core would hold such a load back until the store of the same 12 low bits is done
// ("4K aliasing"). The loaded arrays start at 0 and, if there are two, at `second`.
int64_t AliasFreeOffset(int64_t from, int64_t second) {
  auto clash = [](int64_t distance) {
    const int64_t low = distance & 4095;
    return low > 0 && low < 2048;
  };
  int64_t offset = from;
  while (offset < from + 4096 && (clash(offset) || clash(offset - second))) offset += 64;
  return offset;
}

}  // namespace

StreamShape ShapeOf(Mix mix) noexcept {
  switch (mix) {
    case Mix::kLoad:
      return {1, 1};
    case Mix::kTwoToOne:
      return {3, 3};
    case Mix::kCopy:
      return {2, 2};
    case Mix::kInPlace:
      return {1, 2};
    case Mix::kStore:
      return {1, 1};
  }
  return {1, 1};
}

StreamArgs StreamArgsFor(std::byte* part, Mix mix, int64_t blocks) noexcept {
  const int64_t array_bytes = blocks * kStreamBlockBytes;
  StreamArgs args{part, part, part, blocks, 1};
  if (mix == Mix::kCopy) args.dst = part + AliasFreeOffset(array_bytes, 0);
  if (mix == Mix::kTwoToOne) {
    args.b = part + array_bytes;
    args.dst = part + AliasFreeOffset(2 * array_bytes, array_bytes);
  }
  return args;
}

StreamArgs StreamSliceFor(std::byte* memory, Mix mix, int64_t blocks, int64_t begin, int64_t count,
                          int64_t passes) noexcept {
  StreamArgs args = StreamArgsFor(memory, mix, blocks);
  const int64_t offset = begin * kStreamBlockBytes;
  args.a += offset;
  args.b += offset;
  args.dst += offset;
  args.blocks = count;
  args.passes = passes;
  return args;
}

Result<jit::KernelPtr> CompileStream(Isa isa, Mix mix, bool non_temporal) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  if (info.vec_bytes == 0 || isa > DetectedIsa()) {
    return Status::Unsupported(std::string("isa: this machine cannot run ") + IsaName(isa));
  }
  if (non_temporal && mix == Mix::kLoad) {
    return Status::InvalidArgument("mix: load has no non-temporal variant");
  }
  return jit::Compile(StreamName(mix, non_temporal, info.name), info,
                      [&](jit::Assembler& as) { StreamEmitter(as, mix, non_temporal).Emit(); });
}

}  // namespace rafter::roofline
