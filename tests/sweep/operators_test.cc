// Every operator beside convolution with random descriptions, against its reference: layouts, slices, alignments,
// tails, in place, threads that share even small tensors, on machines with caches of 512 bytes to 8 MB, so that
// whatever is stored past the caches, staged or cut into pieces comes up. RAFTER_SWEEP_CASES and RAFTER_SWEEP_SEED as
// in random_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/concat/problem.h"
#include "kernels/concat/reference.h"
#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/reference.h"
#include "kernels/padding/problem.h"
#include "kernels/padding/reference.h"
#include "kernels/pooling/problem.h"
#include "kernels/pooling/reference.h"
#include "kernels/reorder/problem.h"
#include "kernels/reorder/reference.h"
#include "kernels/sizes.h"
#include "kernels/softmax/problem.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/from_environment.h"
#include "tests/support/guarded_tensor.h"
#include "tests/support/inline_threads.h"
#include "tests/support/random_desc.h"
#include "tests/support/scoped_machine.h"

namespace rafter::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};

bool Chance(Random& random, int64_t one_in) { return random.Between(1, one_in) == 1; }

ScopedCaches::Sizes RandomMachine(Random& random) {
  ScopedCaches::Sizes sizes;
  sizes.l1d = int64_t{512} << random.Between(0, 6);
  sizes.l2 = sizes.l1d << random.Between(0, 5);
  sizes.l3 = sizes.l2 << random.Between(0, 3);
  if (Chance(random, 2)) sizes.fork_join_us = 1e-3;
  return sizes;
}

// A few pixels of many channels, images of few, long rows; sizes that are multiples of lines and blocks about as often
// as any others.
TensorShape RandomShape(Random& random) {
  const auto even = [&](int64_t size) {
    const int64_t unit = int64_t{4} << random.Between(0, 3);
    return Chance(random, 2) ? RoundUp(size, unit) : size;
  };
  TensorShape s{random.Between(1, 3), 1, 1, 1};
  switch (random.Between(0, 3)) {
    case 0: s.c = even(Skewed(random, 1, 400)), s.h = random.Between(1, 4), s.w = Skewed(random, 1, 20); break;
    case 1: s.c = even(Skewed(random, 1, 40)), s.h = random.Between(1, 20), s.w = even(random.Between(1, 40)); break;
    case 2: s.c = Skewed(random, 1, 24), s.h = random.Between(1, 3), s.w = even(Skewed(random, 1, 700)); break;
    default: s.c = even(random.Between(1, 130)), s.h = Skewed(random, 1, 30), s.w = Skewed(random, 1, 30);
  }
  return s;
}

Layout RandomLayout(Random& random) { return kLayouts[random.Between(0, 3)]; }

// A dense tensor or a slice, on a line, beside one, or up to the end of a page.
GuardedTensor RandomPlace(Random& random, Layout layout, const TensorShape& shape) {
  Slack slack;
  if (Chance(random, 3)) slack = {random.Between(0, 2), random.Between(0, 2), random.Between(0, 1)};
  const Guard guard = Chance(random, 3) ? Guard::kAtEnd : Guard::kAtStart;
  return GuardedTensor(layout, shape, slack, guard, Chance(random, 3) ? random.Between(1, 15) : 0);
}

bool Near(float want, float got, double relative, double absolute) {
  if (IsPoison(want)) return IsPoison(got);
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::fabs(double{got} - want) <= absolute + relative * std::fabs(double{want});
}

void ExpectNear(const GuardedTensor& got, const GuardedTensor& want, double relative, double absolute) {
  for (int64_t i = 0; i < got.view().Span(); ++i) {
    ASSERT_TRUE(Near(want.data()[i], got.data()[i], relative, absolute))
        << "float " << i << " of " << got.view().Span() << ": " << got.data()[i] << ", wanted " << want.data()[i];
  }
  EXPECT_TRUE(got.NothingAround());
}

// Copies the part of `from` that begins at `offset` to the same place of `to`, whole blocks of channels.
void Put(const GuardedTensor& from, int64_t offset, const TensorShape& part, GuardedTensor& to) {
  const Layout layout = from.view().layout;
  TensorView view{layout, from.view().strides, part.n, part.c, part.h, part.w};
  view.c = BlocksOf(layout, part.c) * ChannelBlock(layout);
  ForEachElement(view, [&](int64_t, int64_t, int64_t, int64_t, int64_t at) {
    to.data()[offset + at] = from.data()[offset + at];
  });
}

// What a case runs with.
struct Call {
  Random& random;
  InlineThreads threads;
  OperatorOptions options{};

  explicit Call(Random& r) : random(r), threads(static_cast<int>(r.Between(1, 5))), options{threads.concurrency()} {}
  bool Chance(int64_t one_in) { return testing::Chance(random, one_in); }
};

std::string Text(const char* what, Layout layout, const TensorShape& s) {
  return std::string(what) + " " + LayoutName(layout) + " n" + std::to_string(s.n) + " c" + std::to_string(s.c) +
         " h" + std::to_string(s.h) + " w" + std::to_string(s.w);
}

template <typename Operator, typename Desc>
void CheckCopy(Call& call, const Desc& desc, GuardedTensor& src, GuardedTensor& dst, const GuardedTensor& wanted) {
  const auto made = Operator::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(made->kernel_name());
  const Status status = made->Run(src.data(), dst.data(), {&call.threads, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  dst.ExpectSame(wanted);
}

void CheckReorder(Call& call) {
  const TensorShape s = RandomShape(call.random);
  GuardedTensor src = RandomPlace(call.random, RandomLayout(call.random), s);
  GuardedTensor dst = RandomPlace(call.random, RandomLayout(call.random), s), wanted = dst.Fresh();
  src.Fill(DataKind::kSpecials, 5), src.MakeReadOnly();
  const ReorderDesc desc{s.n, s.c, s.h, s.w, src.format(), dst.format()};
  SCOPED_TRACE(Text("reorder", desc.src.layout, s) + " to " + LayoutName(desc.dst.layout));
  reference::RunReorder(*Validate(desc), src.data(), wanted.data());
  CheckCopy<Reorder>(call, desc, src, dst, wanted);
}

void CheckPad(Call& call) {
  Random& random = call.random;
  const TensorShape in = RandomShape(random);
  const Layout layout = RandomLayout(random);
  PadDesc desc{static_cast<PadMode>(random.Between(0, 2)), 1.5f, in.n, in.c, {in.h, in.w}};
  const auto width = [&](int64_t size) {
    const int64_t any = Chance(random, 4) ? Skewed(random, 0, 40) : random.Between(0, 3);
    return desc.mode == PadMode::kReflect ? std::min(any, size - 1) : any;
  };
  desc.pad = {width(in.h), width(in.w), width(in.h), width(in.w)};
  const TensorShape out{in.n, in.c, in.h + desc.pad.top + desc.pad.bottom, in.w + desc.pad.left + desc.pad.right};
  GuardedTensor src = RandomPlace(random, layout, in), dst = RandomPlace(random, layout, out), wanted = dst.Fresh();
  src.Fill(DataKind::kSpecials, 3), src.MakeReadOnly();
  desc.src = src.format(), desc.dst = dst.format();
  SCOPED_TRACE(Text(PadModeName(desc.mode), layout, in) + " left " + std::to_string(desc.pad.left) + " right " +
               std::to_string(desc.pad.right) + " top " + std::to_string(desc.pad.top));
  const PadProblem problem = *Validate(desc);
  reference::RunPad(problem, src.data(), wanted.data());
  if (!call.Chance(4)) return CheckCopy<Pad>(call, desc, src, dst, wanted);
  // The image is at its place already, with its missing lanes: the rest is written around it.
  desc.src.strides = dst.view().strides;
  const float* const image = dst.data() + problem.inner_offset;
  Put(wanted, problem.inner_offset, in, dst);
  const auto made = Pad::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_TRUE(made->Run(image, dst.data(), {&call.threads, 0}).ok());
  dst.ExpectSame(wanted);
}

void CheckConcat(Call& call) {
  Random& random = call.random;
  TensorShape s = RandomShape(random);
  ConcatDesc desc;
  desc.axis = static_cast<Axis>(random.Between(0, 3));
  int64_t& along = desc.axis == Axis::kN ? s.n : desc.axis == Axis::kC ? s.c : desc.axis == Axis::kH ? s.h : s.w;
  desc.n = s.n, desc.c = s.c, desc.h = s.h, desc.w = s.w;
  const int64_t base = along, count = random.Between(1, 5);
  const bool one_layout = call.Chance(2);
  const Layout layout = RandomLayout(random);
  std::vector<GuardedTensor> inputs;
  std::vector<const float*> pointers;
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    along = call.Chance(2) ? base : Skewed(random, 1, base + 8);
    total += along;
    inputs.push_back(RandomPlace(random, one_layout ? layout : RandomLayout(random), s));
    inputs.back().Fill(DataKind::kSpecials, static_cast<uint64_t>(i) + 1), inputs.back().MakeReadOnly();
    pointers.push_back(inputs.back().data());
    desc.inputs.push_back({along, inputs.back().format()});
  }
  along = total;
  GuardedTensor dst = RandomPlace(random, call.Chance(2) ? layout : RandomLayout(random), s), wanted = dst.Fresh();
  desc.dst = dst.format();
  SCOPED_TRACE(Text("concat to", desc.dst.layout, s) + " axis " + std::to_string(static_cast<int>(desc.axis)));
  const ConcatProblem problem = *Validate(desc);
  reference::RunConcat(problem, pointers, wanted.data());
  // Some inputs may lie at their place already: those whose blocks of channels are nobody else's.
  for (size_t i = 0; i < pointers.size() && call.Chance(3); ++i) {
    const ConcatProblem::Input& input = problem.inputs[i];
    const bool last = desc.axis != Axis::kC || i + 1 == pointers.size();
    if (input.lane != 0 || (!last && input.shape.c % ChannelBlock(desc.dst.layout) != 0)) continue;
    desc.inputs[i].format = {desc.dst.layout, problem.dst};
    pointers[i] = dst.data() + input.offset;
    Put(wanted, input.offset, input.shape, dst);
  }
  const auto made = Concat::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(made->kernel_name());
  ASSERT_TRUE(made->Run(pointers, dst.data(), {&call.threads, 0}).ok());
  dst.ExpectSame(wanted);
}

// Integers and the maximum exactly, averages of other numbers by their distance.
void CheckPooling(Call& call) {
  Random& random = call.random;
  const TensorShape s = RandomShape(random);
  const auto pair = [&](int64_t low, int64_t high) {
    const int64_t h = Skewed(random, low, high);
    return Size2{h, Skewed(random, low, high)};
  };
  PoolingDesc desc{.kind = call.Chance(2) ? PoolingKind::kMax : PoolingKind::kAverage, .n = s.n, .c = s.c};
  desc.in = {s.h, s.w}, desc.kernel = pair(1, 5), desc.stride = pair(1, 3), desc.dilation = {1, 1};
  if (call.Chance(3)) desc.dilation = pair(1, 3);
  if (call.Chance(2)) desc.pad = {random.Between(0, 2), random.Between(0, 2), random.Between(0, 2), 1};
  if (call.Chance(6)) desc.kernel = desc.in, desc.pad = {}, desc.dilation = {1, 1};
  desc.ceil_mode = call.Chance(2), desc.count_include_pad = desc.kind == PoolingKind::kAverage && call.Chance(2);
  const Layout layout = RandomLayout(random);
  desc.src.layout = desc.dst.layout = layout;
  const Result<PoolingProblem> shapes = Validate(desc);
  if (!shapes.ok()) return;  // windows beyond the padded image
  GuardedTensor src = RandomPlace(random, layout, s), dst = RandomPlace(random, layout, shapes->dst_shape());
  GuardedTensor wanted = dst.Fresh();
  const DataKind data = call.Chance(3) ? DataKind::kSpecials : DataKind::kInteger;
  src.Fill(data, 3), src.MakeReadOnly();
  desc.src = src.format(), desc.dst = dst.format();
  SCOPED_TRACE(Text(PoolingName(desc.kind), layout, s) + " k" + std::to_string(desc.kernel.h) + "x" +
               std::to_string(desc.kernel.w) + " s" + std::to_string(desc.stride.h) + "x" +
               std::to_string(desc.stride.w));
  reference::RunPooling(*Validate(desc), src.data(), wanted.data(), {0, s.n * shapes->h.out});
  const auto made = Pooling::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(made->kernel_name());
  ASSERT_TRUE(made->Run(src.data(), dst.data(), {&call.threads, 0}).ok());
  const bool exact = data == DataKind::kInteger || desc.kind == PoolingKind::kMax;
  ExpectNear(dst, wanted, 0, exact ? 0 : 2e-6);
}

EltwiseOp RandomOp(Random& random, int64_t c) {
  const auto values = [&] {
    std::vector<float> v(static_cast<size_t>(c));
    for (float& value : v) value = static_cast<float>(random.Between(-4, 4)) * 0.5f;
    return v;
  };
  switch (random.Between(0, 7)) {
    case 0: return EltwiseOp::Prelu(values());
    case 1: return EltwiseOp::ChannelLinear(values(), values());
    case 2: return EltwiseOp::Clip(-3, static_cast<float>(random.Between(-2, 9)));
    case 3: return EltwiseOp::Linear(2, -1);
    case 4: return EltwiseOp::Of(static_cast<EltwiseKind>(Chance(random, 2) ? 1 : random.Between(5, 6)));
    default: break;
  }
  constexpr EltwiseKind kBinary[] = {EltwiseKind::kAdd, EltwiseKind::kSub, EltwiseKind::kMul, EltwiseKind::kMin,
                                     EltwiseKind::kMax};
  EltwiseOperand operand;
  if (Chance(random, 2)) {
    const int64_t mask = random.Between(0, 15);
    operand = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0};
  }
  return EltwiseOp::Binary(kBinary[random.Between(0, 4)], operand);
}

// Exact operations on small integers and halves, then perhaps a transcendental one.
void CheckEltwise(Call& call) {
  Random& random = call.random;
  const TensorShape s = RandomShape(random);
  const Layout layout = RandomLayout(random);
  EltwiseDesc desc{s.n, s.c, s.h, s.w};
  GuardedTensor src = RandomPlace(random, layout, s), dst = RandomPlace(random, layout, s), wanted = dst.Fresh();
  src.Fill(DataKind::kInteger, 3);
  std::vector<GuardedTensor> operands;
  std::vector<const float*> pointers;
  const int64_t count = random.Between(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    EltwiseOp op = RandomOp(random, s.c);
    if (IsBinary(op.kind)) {
      const EltwiseOperand& o = op.operand;
      const TensorShape own{o.one_n ? 1 : s.n, o.one_c ? 1 : s.c, o.one_h ? 1 : s.h, o.one_w ? 1 : s.w};
      operands.push_back(RandomPlace(random, layout, own));
      operands.back().Fill(DataKind::kInteger, static_cast<uint64_t>(i) + 7), operands.back().MakeReadOnly();
      op.operand.strides = operands.back().format().strides;
      pointers.push_back(operands.back().data());
    }
    desc.ops.push_back(std::move(op));
  }
  const bool exact = !call.Chance(3);
  constexpr EltwiseKind kFunctions[] = {EltwiseKind::kSigmoid, EltwiseKind::kTanh, EltwiseKind::kGelu,
                                        EltwiseKind::kGeluTanh, EltwiseKind::kSwish};
  if (!exact) desc.ops.push_back(EltwiseOp::Of(kFunctions[random.Between(0, 4)], 1.0f));
  const bool in_place = call.Chance(3);
  if (in_place) wanted = src.Fresh();
  desc.src = src.format(), desc.dst = in_place ? src.format() : dst.format();
  SCOPED_TRACE(Text(in_place ? "eltwise in place" : "eltwise", layout, s));
  reference::RunEltwise(*Validate(desc), src.data(), pointers.data(), wanted.data(), {0, s.n * s.h});
  const auto made = Eltwise::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(made->kernel_name());
  GuardedTensor& result = in_place ? src : dst;
  const Status status = made->Run(src.data(), result.data(), {pointers, &call.threads, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectNear(result, wanted, exact ? 0 : 4.8e-7, exact ? 0 : 1e-7);
}

void CheckSoftmax(Call& call) {
  const TensorShape s = RandomShape(call.random);
  const Layout layout = RandomLayout(call.random);
  GuardedTensor src = RandomPlace(call.random, layout, s), dst = RandomPlace(call.random, layout, s);
  const bool in_place = call.Chance(3);
  GuardedTensor wanted = (in_place ? src : dst).Fresh(), &result = in_place ? src : dst;
  src.Fill(call.Chance(3) ? DataKind::kSpecials : DataKind::kReal, 3);
  const SoftmaxDesc desc{s.n, s.c, s.h, s.w, src.format(), result.format()};
  SCOPED_TRACE(Text(in_place ? "softmax in place" : "softmax", layout, s));
  reference::RunSoftmax(*Validate(desc), src.data(), wanted.data(), {0, s.n * s.h});
  const auto made = Softmax::Create(desc, call.options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  SCOPED_TRACE(made->kernel_name());
  ASSERT_TRUE(made->Run(src.data(), result.data(), {&call.threads, 0}).ok());
  ExpectNear(result, wanted, 2e-6, 1e-7);
}

void Sweep(void (*check)(Call&)) {
  const int64_t seed = FromEnvironment("RAFTER_SWEEP_SEED", 1);
  ForEachIsa([&](Isa) {
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 1500); ++i) {
      Random random(static_cast<uint64_t>(seed * 1000003 + i));
      const ScopedCaches caches(RandomMachine(random));
      Call call(random);
      SCOPED_TRACE("case " + std::to_string(i) + ", " + std::to_string(call.options.threads) + " threads");
      check(call);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(OperatorSweep, Reorder) { Sweep(CheckReorder); }
TEST(OperatorSweep, Pad) { Sweep(CheckPad); }
TEST(OperatorSweep, Concat) { Sweep(CheckConcat); }
TEST(OperatorSweep, Pooling) { Sweep(CheckPooling); }
TEST(OperatorSweep, Eltwise) { Sweep(CheckEltwise); }
TEST(OperatorSweep, Softmax) { Sweep(CheckSoftmax); }

}  // namespace
}  // namespace rafter::testing
