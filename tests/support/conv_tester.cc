// tests/support/conv_tester.cc: see conv_tester.h.
#include "tests/support/conv_tester.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv/describe.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "kernels/conv/reference/reference.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/inline_threads.h"
#include "tests/support/tolerance.h"

namespace rafter::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

// Up to this many multiply-adds every output is checked (a few ms), otherwise a sample.
constexpr double kMacsInFull = 1 << 22;
constexpr int64_t kSample = 4096;
constexpr int64_t kBorderSample = 16384;

// Everything that one run reads. Guard positions differ, values do not.
struct Inputs {
  GuardedBuffer src;
  std::vector<GuardedBuffer> residuals;  // one per kResidualAdd; empty where dst itself is meant
};

struct LayerData {
  std::vector<float> weights, bias;
  const float* bias_or_null = nullptr;
};

int64_t ReferenceCost(const ConvProblem& problem) {
  return problem.ic_g * problem.desc.kernel.h * problem.desc.kernel.w;
}

LayerData MakeLayerData(const ConvProblem& problem, DataKind kind, uint64_t seed, bool bias) {
  // Special values come with the activations; a NaN among the weights would fill a whole channel.
  const DataKind weight_kind = kind == DataKind::kSpecials ? DataKind::kReal : kind;
  LayerData data;
  data.weights.resize(static_cast<size_t>(problem.desc.oc * ReferenceCost(problem)));
  data.bias.resize(static_cast<size_t>(problem.desc.oc));
  FillDense(data.weights.data(), data.weights.size(), weight_kind, seed + 1);
  FillDense(data.bias.data(), data.bias.size(), weight_kind, seed + 2);
  if (bias) data.bias_or_null = data.bias.data();
  return data;
}

Inputs MakeInputs(const ConvProblem& problem, DataKind kind, uint64_t seed, Guard guard) {
  Inputs inputs;
  const TensorView src = SrcView(problem);
  inputs.src = GuardedBuffer(static_cast<size_t>(src.Span()), guard);
  FillTensor(src, inputs.src.data(), kind, seed);
  inputs.src.MakeReadOnly();
  for (const PostOp& op : problem.desc.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    TensorView view = DstView(problem);
    view.strides = ResidualStrides(problem, op);
    GuardedBuffer residual(static_cast<size_t>(view.Span()), guard);
    FillTensor(view, residual.data(), kind, seed + 3 + inputs.residuals.size());
    residual.MakeReadOnly();
    inputs.residuals.push_back(std::move(residual));
  }
  return inputs;
}

// The same packed weights in a block that ends at (or starts behind) a guard page. The block
// belongs to `buffer`, so the Rep has no pool.
PackedWeights GuardedWeights(const PackedWeights& packed, Guard guard, GuardedBuffer* buffer) {
  const auto bytes = packed.bytes();
  *buffer = GuardedBuffer((bytes.size() + 3) / sizeof(float), guard, 64);
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  buffer->MakeReadOnly();
  auto rep = std::make_shared<PackedWeights::Rep>();
  rep->block = reinterpret_cast<std::byte*>(buffer->data());
  rep->block_bytes = bytes.size();
  return PackedWeights(std::move(rep));
}

// Compares outputs with the reference, one at a time, and remembers the first that is wrong.
class Comparison {
 public:
  Comparison(const ConvProblem& problem, const LayerData& layer, const Inputs& inputs,
             DataKind kind, bool transforms, const float* dst)
      : problem_(problem),
        layer_(layer),
        inputs_(inputs),
        exact_(kind == DataKind::kInteger && !transforms),
        transforms_(transforms),
        dst_(dst) {
    if (exact_) return;
    const auto absolute = [](const float* values, size_t count) {
      std::vector<float> result(values, values + count);
      for (float& value : result) value = std::fabs(value);
      return result;
    };
    abs_src_ = absolute(inputs.src.data(), inputs.src.size());
    if (transforms) {
      Spread(1, 0);
      Spread(0, 1);
    }
    abs_weights_ = absolute(layer.weights.data(), layer.weights.size());
    abs_bias_ = absolute(layer.bias.data(), layer.bias.size());
  }

  void Check(int64_t n, int64_t oc, int64_t oh, int64_t ow) {
    const Bounded want = Want(n, oc, oh, ow);
    const float got = dst_[Offset(problem_.dst, problem_.desc.dst.layout, n, oc, oh, ow)];
    ++checked_;
    if (transforms_ && !std::isfinite(want.error)) return;  // NaN or infinity is near
    if (Within(want, got)) return;
    if (wrong_++ > 0) return;
    std::ostringstream text;
    text.precision(9);
    text << "output n " << n << " c " << oc << " h " << oh << " w " << ow << " is " << got
         << (IsPoison(got) ? " (not written)" : "") << ", want " << want.value << " +- "
         << want.error;
    first_wrong_ = text.str();
  }

  AssertionResult Result() const {
    if (wrong_ == 0) return AssertionSuccess();
    return AssertionFailure() << wrong_ << " of " << checked_
                              << " outputs compared are wrong; the first: " << first_wrong_;
  }

 private:
  Bounded Want(int64_t n, int64_t oc, int64_t oh, int64_t ow) const {
    const double sum = reference::SumAndBias(problem_, layer_.weights.data(), layer_.bias_or_null,
                                             inputs_.src.data(), n, oc, oh, ow);
    double magnitude = 0;
    if (!exact_) {
      magnitude = reference::SumAndBias(problem_, abs_weights_.data(),
                                        layer_.bias_or_null != nullptr ? abs_bias_.data() : nullptr,
                                        abs_src_.data(), n, oc, oh, ow);
    }
    Bounded bounded = BoundOfSum(sum, magnitude, ReferenceCost(problem_), exact_);
    if (transforms_ && !std::isfinite(magnitude)) bounded.error = std::numeric_limits<double>::infinity();
    size_t next_residual = 0;
    for (const PostOp& op : problem_.desc.post_ops) {
      double residual = 0;
      if (op.kind == PostOpKind::kResidualAdd) {
        const Strides strides = ResidualStrides(problem_, op);
        residual = inputs_.residuals[next_residual++]
                                    [Offset(strides, problem_.desc.dst.layout, n, oc, oh, ow)];
      }
      bounded = ApplyPostOp(op, bounded, oc, residual);
    }
    return bounded;
  }

  // A transform rounds relative to all inputs of a tile, which lie up to five rows and columns around the window:
  // every magnitude becomes the largest one around it.
  void Spread(int64_t rows, int64_t columns) {
    constexpr int64_t kReach = 5;
    const std::vector<float> from = abs_src_;
    const TensorView view = SrcView(problem_);
    ForEachElement(view, [&](int64_t, int64_t, int64_t h, int64_t w, int64_t offset) {
      float& most = abs_src_[static_cast<size_t>(offset)];
      for (int64_t i = -kReach; i <= kReach; ++i) {
        if ((h + i * rows) < 0 || h + i * rows >= view.h || w + i * columns < 0 || w + i * columns >= view.w) continue;
        const float near = from[static_cast<size_t>(offset + i * (rows * view.strides.h + columns * view.strides.w))];
        most = std::isnan(near) || near > most ? near : most;
      }
    });
  }

  const ConvProblem& problem_;
  const LayerData& layer_;
  const Inputs& inputs_;
  const bool exact_, transforms_;
  const float* dst_;
  std::vector<float> abs_src_, abs_weights_, abs_bias_;
  int64_t checked_ = 0, wrong_ = 0;
  std::string first_wrong_;
};

bool IsBorder(int64_t out, int64_t outs, const TapRange& taps, int64_t kernel) {
  return out == 0 || out == outs - 1 || taps.end - taps.begin != kernel;
}

// The output coordinates of an axis that see padding, and the first and last one.
std::vector<int64_t> Borders(int64_t outs, int64_t in, int64_t kernel, int64_t stride,
                             int64_t dilation, int64_t pad) {
  std::vector<int64_t> borders;
  for (int64_t out = 0; out < outs; ++out) {
    if (IsBorder(out, outs, ValidTaps(out, in, kernel, stride, dilation, pad), kernel)) {
      borders.push_back(out);
    }
  }
  return borders;
}

void CheckSample(const ConvProblem& problem, Random& random, Comparison& comparison) {
  const ConvDesc& desc = problem.desc;
  const auto any = [&](int64_t size) { return random.Between(0, size - 1); };
  const auto rows =
      Borders(problem.oh, desc.in.h, desc.kernel.h, desc.stride.h, desc.dilation.h, desc.pad.top);
  const auto columns =
      Borders(problem.ow, desc.in.w, desc.kernel.w, desc.stride.w, desc.dilation.w, desc.pad.left);
  const auto border_pixels = static_cast<int64_t>(rows.size()) * problem.ow +
                             static_cast<int64_t>(columns.size()) * problem.oh;
  const int64_t step = border_pixels / kBorderSample + 1;
  int64_t pixel = 0;
  for (const int64_t oh : rows) {
    for (int64_t ow = 0; ow < problem.ow; ++ow) {
      if (pixel++ % step == 0) comparison.Check(any(desc.n), any(desc.oc), oh, ow);
    }
  }
  for (const int64_t ow : columns) {
    for (int64_t oh = 0; oh < problem.oh; ++oh) {
      if (pixel++ % step == 0) comparison.Check(any(desc.n), any(desc.oc), oh, ow);
    }
  }
  for (int64_t i = 0; i < kSample; ++i) {
    // Every channel in turn, the last ones included.
    comparison.Check(any(desc.n), i % 2 == 0 ? i / 2 % desc.oc : desc.oc - 1 - i / 2 % desc.oc,
                     any(problem.oh), any(problem.ow));
  }
}

AssertionResult Compare(const ConvProblem& problem, const LayerData& layer, const Inputs& inputs,
                        DataKind kind, bool transforms, const float* dst) {
  Comparison comparison(problem, layer, inputs, kind, transforms, dst);
  const TensorView view = DstView(problem);
  const double outputs =
      static_cast<double>(view.n * view.c) * static_cast<double>(view.h * view.w);
  if (outputs <= kSample || outputs * static_cast<double>(ReferenceCost(problem)) <= kMacsInFull) {
    ForEachElement(view, [&](int64_t n, int64_t c, int64_t h, int64_t w, int64_t) {
      comparison.Check(n, c, h, w);
    });
  } else {
    Random random(17);
    CheckSample(problem, random, comparison);
  }
  return comparison.Result();
}

// Lanes behind the last channel hold zero, gaps between the slices the poison.
AssertionResult CheckSurroundings(const ConvProblem& problem, const GuardedBuffer& dst) {
  if (!dst.SlackIntact()) return AssertionFailure() << "memory beside dst was written";
  TensorView view = DstView(problem);
  const int64_t block = ChannelBlock(view.layout), span = view.Span();
  view.c = (view.c + block - 1) / block * block;
  std::vector<bool> owned(static_cast<size_t>(span), false);
  int64_t dirty_lane = -1;
  ForEachElement(view, [&](int64_t, int64_t c, int64_t, int64_t, int64_t offset) {
    owned[static_cast<size_t>(offset)] = true;
    if (c >= problem.desc.oc && std::bit_cast<uint32_t>(dst[offset]) != 0) dirty_lane = offset;
  });
  if (dirty_lane >= 0) {
    return AssertionFailure() << "a lane behind the last channel is " << dst[dirty_lane]
                              << " instead of 0 at offset " << dirty_lane;
  }
  for (int64_t offset = 0; offset < span; ++offset) {
    if (!owned[static_cast<size_t>(offset)] && !IsPoison(dst[offset])) {
      return AssertionFailure() << "memory outside the dst slice was written at offset " << offset
                                << ": " << dst[offset];
    }
  }
  return AssertionSuccess();
}

std::vector<float> InLogicalOrder(const ConvProblem& problem, const GuardedBuffer& dst) {
  std::vector<float> values;
  ForEachElement(DstView(problem), [&](int64_t, int64_t, int64_t, int64_t, int64_t offset) {
    values.push_back(dst[offset]);
  });
  return values;
}

// A plan with its weights, and how it is called.
struct Session {
  const ConvProblem& problem;
  const Conv& conv;
  const LayerData& layer;
  const PackedWeights& packed;
  ParallelFor* pool;
  DataKind data;
  uint64_t seed;
  bool residual_in_place;

  // One call with all buffers at `guard`.
  Status Execute(const Inputs& inputs, Guard guard, GuardedBuffer* dst) const {
    const TensorView view = DstView(problem);
    *dst = GuardedBuffer(static_cast<size_t>(view.Span()), guard);
    std::vector<const float*> residuals;
    for (const GuardedBuffer& residual : inputs.residuals) residuals.push_back(residual.data());
    if (residual_in_place && !residuals.empty()) {
      ForEachElement(view, [&](int64_t, int64_t, int64_t, int64_t, int64_t offset) {
        (*dst)[offset] = residuals[0][offset];
      });
      residuals[0] = dst->data();
    }
    GuardedBuffer weights_buffer, scratch((conv.scratch_bytes() + 3) / sizeof(float), guard, 64);
    RunOptions options;
    options.residuals = residuals;
    options.scratch = {reinterpret_cast<std::byte*>(scratch.data()), conv.scratch_bytes()};
    options.threads = pool;
    return conv.Run(inputs.src.data(), GuardedWeights(packed, guard, &weights_buffer), dst->data(),
                    options);
  }

  // Calls and checks at both guard positions; `output` gets the values.
  AssertionResult Run(std::vector<float>* output) const {
    for (const Guard guard : {Guard::kAtEnd, Guard::kAtStart}) {
      const Inputs inputs = MakeInputs(problem, data, seed, guard);
      GuardedBuffer dst;
      const Status status = Execute(inputs, guard, &dst);
      if (!status.ok()) return AssertionFailure() << status.message();
      if (AssertionResult result = CheckSurroundings(problem, dst); !result) return result;
      if (guard == Guard::kAtEnd) {
        AssertionResult result = Compare(problem, layer, inputs, data, conv.work().transforms, dst.data());
        if (!result) return result;
        *output = InLogicalOrder(problem, dst);
      } else if (AssertionResult same = SameBits(*output, InLogicalOrder(problem, dst)); !same) {
        return same << " between two places in memory";
      }
    }
    return AssertionSuccess();
  }
};

}  // namespace

AssertionResult SameBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) {
    return AssertionFailure() << a.size() << " values against " << b.size();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return AssertionFailure() << "value " << i << " differs: " << a[i] << " and " << b[i];
    }
  }
  return AssertionSuccess();
}

AssertionResult ConvTester::Run() {
  std::optional<ScopedMaxIsa> cap;
  if (max_isa_) cap.emplace(*max_isa_);
  const Result<ConvProblem> problem = Validate(desc_);
  if (!problem.ok()) return AssertionFailure() << problem.status().message();
  ConvOptions options;
  options.threads = threads_;
  options.algorithm = algorithm_;
  options.accuracy = algorithm_.starts_with("winograd") ? Accuracy::kDefault : accuracy_;
  const Result<Conv> conv = Conv::Create(desc_, options);
  if (!conv.ok()) {
    return AssertionFailure() << conv.status().message() << "\n" << DescribeProblem(*problem);
  }
  used_algorithm_ = conv->algorithm();
  kernel_name_ = conv->kernel_name();
  const LayerData layer = MakeLayerData(*problem, data_, seed_, bias_);
  const Result<PackedWeights> packed = conv->PackWeights(layer.weights.data(), layer.bias_or_null);
  if (!packed.ok()) return AssertionFailure() << packed.status().message();
  InlineThreads inline_threads(threads_);
  ParallelFor* pool = pool_ != nullptr ? pool_ : &inline_threads;
  AssertionResult result =
      Session{*problem, *conv, layer, *packed, pool, data_, seed_, residual_in_place_}.Run(
          &output_);
  if (result) return result;
  return result << "\n"
                << kernel_name_ << " on " << threads_ << " threads, seed " << seed_ << "\n"
                << DescribeProblem(*problem);
}

}  // namespace rafter::testing
