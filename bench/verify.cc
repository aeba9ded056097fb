// bench/verify.cc: exact sums of chosen outputs.
#include "bench/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "bench/error_bound.h"

namespace rafter::bench {
namespace {

constexpr int64_t kLeastOutputs = 4096;

struct Output {
  int64_t n, c, h, w;
};

struct Sum {
  double value = 0;
  double magnitude = 0;  // sum of the absolute products: the scale of rounding errors
  int64_t terms = 0;
};

class Verifier {
 public:
  Verifier(const ConvProblem& problem, const float* src, const float* oihw, const float* bias,
           std::span<const ResidualTensor> residuals)
      : problem_(problem),
        desc_(problem.desc),
        src_(src),
        oihw_(oihw),
        bias_(bias),
        residuals_(residuals) {
    for (int64_t c = 0; c < desc_.ic; ++c) {
      channel_offset_.push_back(Offset(problem_.src, desc_.src.layout, 0, c, 0, 0));
    }
  }

  Sum Expected(const Output& output) const {
    Sum sum;
    const TapRange rows = ValidTaps(output.h, desc_.in.h, desc_.kernel.h, desc_.stride.h,
                                    desc_.dilation.h, desc_.pad.top);
    const TapRange columns = ValidTaps(output.w, desc_.in.w, desc_.kernel.w, desc_.stride.w,
                                       desc_.dilation.w, desc_.pad.left);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const int64_t y = output.h * desc_.stride.h - desc_.pad.top + kh * desc_.dilation.h;
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        const int64_t x = output.w * desc_.stride.w - desc_.pad.left + kw * desc_.dilation.w;
        AddPixel(output, y, x, kh * desc_.kernel.w + kw, sum);
      }
    }
    sum.terms = problem_.ic_g * (rows.end - rows.begin) * (columns.end - columns.begin);
    if (bias_ != nullptr) {
      sum.value += double{bias_[output.c]};
      sum.magnitude += std::abs(double{bias_[output.c]});
      ++sum.terms;
    }
    return sum;
  }

  Status Check(const Output& output, const float* dst, VerifyResult& result) const {
    const Sum sum = Expected(output);
    const BoundedValue expected =
        AfterPostOps(output, BoundSum(sum.value, sum.magnitude, sum.terms));
    const double got =
        dst[Offset(problem_.dst, desc_.dst.layout, output.n, output.c, output.h, output.w)];
    const double error = std::abs(got - expected.value);
    ++result.outputs;
    // Written so that NaN fails.
    if (error <= expected.error) {
      result.max_error = std::max(result.max_error, error);
      return {};
    }
    char text[200];
    std::snprintf(
        text, sizeof text,
        "wrong output at n %lld, channel %lld, row %lld, column %lld: %.9g instead of %.9g",
        static_cast<long long>(output.n), static_cast<long long>(output.c),
        static_cast<long long>(output.h), static_cast<long long>(output.w), got, expected.value);
    return Status::Internal(text);
  }

 private:
  BoundedValue AfterPostOps(const Output& output, BoundedValue value) const {
    size_t next_residual = 0;
    for (const PostOp& op : desc_.post_ops) {
      double residual = 0;
      if (op.kind == PostOpKind::kResidualAdd) {
        const ResidualTensor& tensor = residuals_[next_residual++];
        residual = tensor.data[Offset(tensor.strides, tensor.layout, output.n, output.c, output.h,
                                      output.w)];
      }
      value = BoundPostOp(op, value, output.c, residual);
    }
    return value;
  }

  // The products of one input pixel with one tap.
  void AddPixel(const Output& output, int64_t y, int64_t x, int64_t tap, Sum& sum) const {
    const int64_t taps = desc_.kernel.h * desc_.kernel.w;
    const int64_t group = output.c / problem_.oc_g;
    const float* pixel = src_ + output.n * problem_.src.n + y * problem_.src.h + x * problem_.src.w;
    const float* weights = oihw_ + output.c * problem_.ic_g * taps + tap;
    const int64_t* offsets = channel_offset_.data() + group * problem_.ic_g;
    for (int64_t i = 0; i < problem_.ic_g; ++i) {
      const double product = double{pixel[offsets[i]]} * double{weights[i * taps]};
      sum.value += product;
      sum.magnitude += std::abs(product);
    }
  }

  const ConvProblem& problem_;
  const ConvDesc& desc_;
  const float* src_;
  const float* oihw_;
  const float* bias_;
  const std::span<const ResidualTensor> residuals_;
  std::vector<int64_t> channel_offset_;  // in src, of each input channel
};

void AppendEverything(const ConvProblem& problem, std::vector<Output>& outputs) {
  for (int64_t n = 0; n < problem.desc.n; ++n) {
    for (int64_t c = 0; c < problem.desc.oc; ++c) {
      for (int64_t h = 0; h < problem.oh; ++h) {
        for (int64_t w = 0; w < problem.ow; ++w) outputs.push_back({n, c, h, w});
      }
    }
  }
}

// Every pixel of the image's border, each with `channels` channels that move on from pixel to
// pixel, so that neighbours cover all of them.
void AppendBorder(const ConvProblem& problem, int64_t channels, std::vector<Output>& outputs) {
  int64_t next_channel = 0;
  for (int64_t n = 0; n < problem.desc.n; ++n) {
    for (int64_t h = 0; h < problem.oh; ++h) {
      const bool whole_row = h == 0 || h == problem.oh - 1;
      const int64_t step = whole_row ? 1 : std::max<int64_t>(problem.ow - 1, 1);
      for (int64_t w = 0; w < problem.ow; w += step) {
        for (int64_t i = 0; i < channels; ++i) {
          outputs.push_back({n, next_channel % problem.desc.oc, h, w});
          ++next_channel;
        }
      }
    }
  }
}

std::vector<Output> ChooseOutputs(const ConvProblem& problem, uint64_t seed,
                                  double cheap_products) {
  const ConvDesc& desc = problem.desc;
  const double pixels = static_cast<double>(desc.n) * static_cast<double>(problem.oh) *
                        static_cast<double>(problem.ow);
  const double window = static_cast<double>(problem.ic_g) * static_cast<double>(desc.kernel.h) *
                        static_cast<double>(desc.kernel.w);
  const double all = pixels * static_cast<double>(desc.oc);
  std::vector<Output> outputs;
  if (all * window <= cheap_products || all <= static_cast<double>(kLeastOutputs)) {
    AppendEverything(problem, outputs);
    return outputs;
  }
  // Half of the cheap work for the border, at least one channel per pixel; the rest at random.
  const double border =
      2.0 * static_cast<double>(desc.n) * static_cast<double>(problem.oh + problem.ow);
  const double affordable = cheap_products / 2 / window / border;
  const int64_t channels = std::clamp<int64_t>(static_cast<int64_t>(affordable), 1, desc.oc);
  AppendBorder(problem, channels, outputs);
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (int64_t i = 0; i < kLeastOutputs; ++i) {
    outputs.push_back({below(desc.n), below(desc.oc), below(problem.oh), below(problem.ow)});
  }
  return outputs;
}

}  // namespace

std::vector<ResidualTensor> ResidualTensors(const ConvProblem& problem,
                                            const CaseTensors& tensors) {
  std::vector<ResidualTensor> residuals;
  for (const float* data : tensors.residual_pointers()) {
    residuals.push_back({data, problem.desc.dst.layout, problem.dst});
  }
  return residuals;
}

Result<VerifyResult> VerifyOutputs(const ConvProblem& problem, const float* src, const float* oihw,
                                   const float* bias, const float* dst, uint64_t seed,
                                   double cheap_products,
                                   std::span<const ResidualTensor> residuals) {
  VerifyResult result;
  if (problem.desc.n == 0) return result;
  const Verifier verifier(problem, src, oihw, bias, residuals);
  for (const Output& output : ChooseOutputs(problem, seed, cheap_products)) {
    Status status = verifier.Check(output, dst, result);
    if (!status.ok()) return status;
  }
  return result;
}

}  // namespace rafter::bench
