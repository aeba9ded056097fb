// bench/accuracy.cc: see accuracy.h.
#include "bench/accuracy.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "kernels/conv/dispatch.h"
#include "kernels/conv/problem.h"

namespace rafter::bench {
namespace {

constexpr int64_t kCheckedChannels = 16;  // output channels, spread over all of them

// One number of channels: NHWC, one image, no bias.
class Layer {
 public:
  Layer(const AccuracyOptions& options, int64_t channels) {
    desc_.ic = desc_.oc = channels;
    desc_.in = options.image, desc_.kernel = options.kernel;
    desc_.pad = {options.kernel.h / 2, options.kernel.w / 2, options.kernel.h / 2, options.kernel.w / 2};
    std::mt19937_64 random(options.seed);
    std::uniform_real_distribution<float> uniform(-options.scale, options.scale);
    src_.resize(static_cast<size_t>(channels * desc_.in.h * desc_.in.w));
    weights_.resize(static_cast<size_t>(channels * channels * desc_.kernel.h * desc_.kernel.w));
    for (float& value : src_) value = uniform(random);
    for (float& value : weights_) value = uniform(random);
    for (int64_t c = 0; c < channels; c += std::max<int64_t>(1, channels / kCheckedChannels)) Sum(c);
  }

  // kUnsupported when the algorithm refuses the layer.
  Result<AccuracyRow> Measure(const char* algorithm) const {
    const Result<Conv> conv = Conv::Create(desc_, {.threads = 1, .algorithm = algorithm});
    if (!conv.ok()) return conv.status();
    const Result<PackedWeights> packed = conv->PackWeights(weights_.data(), nullptr);
    if (!packed.ok()) return packed.status();
    std::vector<float> dst(src_.size());  // as many outputs as inputs
    if (Status status = conv->Run(src_.data(), *packed, dst.data()); !status.ok()) return status;
    AccuracyRow row;
    row.channels = desc_.ic;
    row.algorithm = conv->algorithm();
    row.isa = IsaName(conv->isa());
    double squares = 0, exact_squares = 0;
    for (const auto& [index, exact] : exact_) {
      const double error = std::abs(static_cast<double>(dst[index]) - exact);
      row.max_error = std::max(row.max_error, error);
      squares += error * error;
      exact_squares += exact * exact;
    }
    const auto count = static_cast<double>(exact_.size());
    const double rms = std::sqrt(exact_squares / count);
    row.max_error /= rms;
    row.rms_error = std::sqrt(squares / count) / rms;
    return row;
  }

 private:
  // The exact outputs of one channel.
  void Sum(int64_t c) {
    const Size2 &in = desc_.in, &kernel = desc_.kernel;
    for (int64_t y = 0; y < in.h; ++y) {
      for (int64_t x = 0; x < in.w; ++x) {
        double sum = 0;
        for (int64_t tap = 0; tap < kernel.h * kernel.w; ++tap) {
          const int64_t i = y - desc_.pad.top + tap / kernel.w, j = x - desc_.pad.left + tap % kernel.w;
          if (i < 0 || i >= in.h || j < 0 || j >= in.w) continue;
          const float* pixel = src_.data() + (i * in.w + j) * desc_.ic;
          const float* filter = weights_.data() + c * desc_.ic * kernel.h * kernel.w + tap;
          for (int64_t k = 0; k < desc_.ic; ++k) sum += double{pixel[k]} * double{filter[k * kernel.h * kernel.w]};
        }
        exact_.emplace_back(static_cast<size_t>((y * in.w + x) * desc_.oc + c), sum);
      }
    }
  }

  ConvDesc desc_;
  std::vector<float> src_, weights_;
  std::vector<std::pair<size_t, double>> exact_;  // index into the outputs, value
};

}  // namespace

Result<std::vector<AccuracyRow>> MeasureAccuracy(const AccuracyOptions& options) {
  std::vector<AccuracyRow> rows;
  for (const int64_t channels : options.channels) {
    const Layer layer(options, channels);
    double direct_rms = 0;
    const auto add = [&](const char* algorithm) {
      Result<AccuracyRow> row = layer.Measure(algorithm);
      if (!row.ok()) return row.status();
      if (direct_rms == 0) direct_rms = row->rms_error;
      row->rms_ratio = direct_rms > 0 ? row->rms_error / direct_rms : 0;
      rows.push_back(std::move(row).value());
      return Status();
    };
    if (Status status = add("direct"); status.code() == StatusCode::kUnsupported) {
      status = add("reference");  // without vector code
      if (!status.ok()) return status;
    } else if (!status.ok()) {
      return status;
    }
    for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
      if (algorithm.order != SumOrder::kTiles) continue;
      const Status status = add(algorithm.name);
      if (!status.ok() && status.code() != StatusCode::kUnsupported) return status;
    }
  }
  return rows;
}

}  // namespace rafter::bench
