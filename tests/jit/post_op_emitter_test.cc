// Every element-wise post-op against exact arithmetic, on every instruction set of the machine.
#include "jit/post_op_emitter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "tests/support/for_each_isa.h"

namespace rafter::jit {
namespace {

struct Args {
  const float* src;
  float* dst;
  int64_t vectors;
  const float* params;
};

Result<KernelPtr> CompilePostOp(const IsaInfo& isa, PostOpKind kind) {
  return Compile(std::string("post_op_") + PostOpName(kind), isa, [&](Assembler& a) {
    RegPool pool;
    const Reg64 src = pool.Take(), dst = pool.Take(), left = pool.Take(), params = pool.Take();
    Label next;
    a.EnterKernel();
    a.mov(src, a.ptr[a.rdi + offsetof(Args, src)]);
    a.mov(dst, a.ptr[a.rdi + offsetof(Args, dst)]);
    a.mov(left, a.ptr[a.rdi + offsetof(Args, vectors)]);
    a.mov(params, a.ptr[a.rdi + offsetof(Args, params)]);
    a.L(next);
    const Xmm value = a.vec(isa.num_vecs - 5);
    const PostOpTemps temps = {a.vec(isa.num_vecs - 4), a.vec(isa.num_vecs - 3),
                               a.vec(isa.num_vecs - 2), a.vec(isa.num_vecs - 1)};
    a.vmovups(value, a.ptr[src]);
    ApplyPostOp(a, kind, std::vector<Xmm>{value}, temps, params + 0);
    a.vmovups(a.ptr[dst], value);
    a.add(src, isa.vec_bytes);
    a.add(dst, isa.vec_bytes);
    a.dec(left);
    a.jnz(next, a.T_NEAR);
    a.LeaveKernel();
    a.EmitConstants();
  });
}

double Exact(PostOpKind kind, double x, double alpha, double beta) {
  if (std::isnan(x)) return x;
  const auto clamp01 = [](double v) { return std::min(std::max(v, 0.0), 1.0); };
  switch (kind) {
    case PostOpKind::kRelu: return std::max(x, 0.0);
    case PostOpKind::kLeakyRelu: return x >= 0 ? x : alpha * x;
    case PostOpKind::kClip: return std::min(std::max(x, alpha), beta);
    case PostOpKind::kHardSwish: return x * clamp01(x / 6 + 0.5);
    case PostOpKind::kHardSigmoid: return clamp01(alpha * x + beta);
    case PostOpKind::kSigmoid: return 1 / (1 + std::exp(-x));
    case PostOpKind::kSwish: return x / (1 + std::exp(-alpha * x));
    case PostOpKind::kTanh: return std::tanh(x);
    case PostOpKind::kGelu: return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case PostOpKind::kElu: return x >= 0 ? x : alpha * std::expm1(x);
    default: return x;
  }
}

// Dense over the finite floats by exponent, both signs.
std::vector<float> Inputs() {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 40961) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>(bits | 0x80000000u));
  }
  for (float x = -20; x <= 20; x += 0.0037f) values.push_back(x);
  while (values.size() % 16 != 0) values.push_back(0.5f);
  return values;
}

constexpr PostOpKind kElementwise[] = {
    PostOpKind::kRelu,    PostOpKind::kLeakyRelu, PostOpKind::kClip, PostOpKind::kHardSwish,
    PostOpKind::kHardSigmoid, PostOpKind::kSigmoid, PostOpKind::kSwish, PostOpKind::kTanh,
    PostOpKind::kGelu,    PostOpKind::kElu};

std::vector<float> Apply(const IsaInfo& isa, PostOpKind kind, const std::vector<float>& in,
                         const float* params) {
  const Result<KernelPtr> kernel = CompilePostOp(isa, kind);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<float> out(in.size(), -777.0f);
  Args args{in.data(), out.data(), static_cast<int64_t>(in.size()) / isa.vec_lanes(), params};
  (*kernel)->entry<void(Args*)>()(&args);
  return out;
}

TEST(PostOpEmitter, MatchesExactArithmetic) {
  const std::vector<float> in = Inputs();
  const float params[2] = {0.75f, 2.5f};
  testing::ForEachIsa([&](Isa isa) {
    for (const PostOpKind kind : kElementwise) {
      const std::vector<float> out = Apply(GetIsaInfo(isa), kind, in, params);
      double worst = 0;
      float worst_at = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        const double exact = Exact(kind, in[i], params[0], params[1]);
        const double error = std::abs(out[i] - exact) / std::max(1.0, std::abs(exact));
        if (!(error <= worst)) worst = error, worst_at = in[i];
      }
      EXPECT_LE(worst, 3e-7) << PostOpName(kind) << " at " << worst_at;
    }
  });
}

TEST(PostOpEmitter, NanOfEveryPayloadPassesInEveryLane) {
  const float params[2] = {0.75f, 2.5f};
  testing::ForEachIsa([&](Isa isa) {
    for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc0deadu, 0x7fffffffu, 0x7fc001ffu}) {
      for (size_t lane = 0; lane < 16; ++lane) {
        std::vector<float> in(16, 1.0f);
        in[lane] = std::bit_cast<float>(bits);
        for (const PostOpKind kind : kElementwise) {
          const std::vector<float> out = Apply(GetIsaInfo(isa), kind, in, params);
          for (size_t i = 0; i < 16; ++i) {
            EXPECT_EQ(std::isnan(out[i]), i == lane) << PostOpName(kind) << " lane " << i;
          }
        }
      }
    }
  });
}

TEST(PostOpEmitter, InfinityGivesTheLimit) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float params[2] = {0.75f, 2.5f};
  std::vector<float> in(16, kInf);
  for (size_t i = 0; i < 16; i += 2) in[i] = -kInf;
  struct Limits {
    PostOpKind kind;
    float low, high;
  };
  testing::ForEachIsa([&](Isa isa) {
    for (const Limits& want : {Limits{PostOpKind::kRelu, 0, kInf}, {PostOpKind::kLeakyRelu, -kInf, kInf},
                               {PostOpKind::kClip, 0.75f, 2.5f}, {PostOpKind::kHardSigmoid, 0, 1},
                               {PostOpKind::kSigmoid, 0, 1}, {PostOpKind::kTanh, -1, 1},
                               {PostOpKind::kGelu, 0, kInf}, {PostOpKind::kElu, -0.75f, kInf}}) {
      const std::vector<float> out = Apply(GetIsaInfo(isa), want.kind, in, params);
      for (size_t i = 0; i < 16; ++i) {
        const float limit = i % 2 == 0 ? want.low : want.high;
        if (std::isinf(limit)) {
          EXPECT_EQ(out[i], limit) << PostOpName(want.kind);
        } else {
          EXPECT_NEAR(out[i], limit, 1e-7) << PostOpName(want.kind);
        }
      }
    }
  });
}

TEST(PostOpChain, HoldsTheOperationsInOrder) {
  const PostOps ops = {PostOp::ResidualAdd(), PostOp::Relu(), PostOp::Clip(-1, 2)};
  const uint64_t chain = PostOpChain(ops);
  std::vector<PostOpKind> kinds;
  ForEachPostOp(chain, [&](int op, PostOpKind kind) {
    EXPECT_EQ(op, static_cast<int>(kinds.size()));
    kinds.push_back(kind);
  });
  EXPECT_EQ(kinds, (std::vector<PostOpKind>{PostOpKind::kResidualAdd, PostOpKind::kRelu, PostOpKind::kClip}));
  EXPECT_EQ(PostOpSuffix(chain), std::string("_") + PostOpName(kinds[0]) + "_" + PostOpName(kinds[1]) + "_" +
                                     PostOpName(kinds[2]));
  EXPECT_EQ(PostOpChain({}), 0U);
  EXPECT_EQ(PostOpSuffix(0), "");
}

}  // namespace
}  // namespace rafter::jit
