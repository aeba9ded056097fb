// kernels/conv/reference/plan.cc: the oracle as a plan: one output element after the other, rows of
// all images split over threads. Weights stay as they are given (OIHW), followed by the bias.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "kernels/conv/plan.h"
#include "kernels/conv/reference/reference.h"
#include "runtime/parallel.h"

namespace rafter::reference {
namespace {

// Multiply-adds per microsecond and thread: one dependent addition per 3 to 4 cycles and the
// address arithmetic around it. It only has to be far below every generated kernel.
constexpr double kMacsPerUs = 400;
// Finding the valid taps of one output.
constexpr double kOutputUs = 0.02;

class ReferencePlan final : public ConvPlan {
 public:
  ReferencePlan(const ConvProblem& problem, int threads) : problem_(problem), threads_(threads) {
    for (const PostOp& op : problem_.desc.post_ops) {
      kernel_name_ += std::string("_") + PostOpName(op.kind);
    }
  }

  const char* algorithm() const noexcept override { return "reference"; }
  const std::string& kernel_name() const noexcept override { return kernel_name_; }
  Isa isa() const noexcept override { return Isa::kNone; }
  int threads() const noexcept override { return threads_; }

  PackedHeader packed_header() const noexcept override {
    PackedHeader header;
    header.format = static_cast<uint32_t>(PackedFormat::kPlain);
    header.groups = problem_.desc.groups;
    header.ic_g = problem_.ic_g;
    header.oc_g = problem_.oc_g;
    header.kh = problem_.desc.kernel.h;
    header.kw = problem_.desc.kernel.w;
    header.payload_bytes = static_cast<uint64_t>(WeightCount() + problem_.desc.oc) * sizeof(float);
    return header;
  }

  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    std::memcpy(payload, oihw, static_cast<size_t>(WeightCount()) * sizeof(float));
    if (bias != nullptr) {
      std::memcpy(payload + WeightCount(), bias,
                  static_cast<size_t>(problem_.desc.oc) * sizeof(float));
    }
  }

  void Run(const ConvCall& call) const noexcept override {
    const int64_t rows = problem_.desc.n * problem_.oh;
    RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
      const Range range = SplitRange(rows, threads, thread);
      for (int64_t row = range.begin; row < range.end; ++row) {
        RunRow(call, row / problem_.oh, row % problem_.oh);
      }
    });
  }

  std::string Describe() const override {
    return "order of the sum: blocks of input channels, kernel rows, kernel columns, channels; in "
           "double precision, rounded to f32 once after the post-ops\n"
           "split: rows of all images over threads\n"
           "weights: OIHW as given\n";
  }

 private:
  int64_t WeightCount() const noexcept {
    return problem_.desc.oc * problem_.ic_g * problem_.desc.kernel.h * problem_.desc.kernel.w;
  }

  void RunRow(const ConvCall& call, int64_t n, int64_t oh) const noexcept {
    const ConvDesc& desc = problem_.desc;
    const int64_t block = ChannelBlock(desc.dst.layout);
    const int64_t lanes_end = (desc.oc + block - 1) / block * block;
    const float* bias = call.weights + WeightCount();
    for (int64_t ow = 0; ow < problem_.ow; ++ow) {
      for (int64_t oc = 0; oc < lanes_end; ++oc) {
        float* dst = call.dst + Offset(problem_.dst, desc.dst.layout, n, oc, oh, ow);
        // Lanes behind the last channel of a blocked layout are written as zero.
        *dst = oc < desc.oc
                   ? static_cast<float>(ReferenceOutput(problem_, call.weights, bias, call.src,
                                                        call.residuals, n, oc, oh, ow))
                   : 0.0f;
      }
    }
  }

  const ConvProblem problem_;
  const int threads_;
  std::string kernel_name_ = "reference_f32";
};

// Of one thread.
double PredictUs(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  const auto product = [](auto... sizes) { return (static_cast<double>(sizes) * ...); };
  const double outputs = product(d.n, d.oc, problem.oh, problem.ow);
  // Taps in the padding count too: to know how many they are would take as long as all other rows together.
  const double taps = product(problem.ic_g, d.kernel.h, d.kernel.w);
  return outputs * (taps / kMacsPerUs + kOutputUs);
}

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  const double us = PredictUs(problem);
  Offer offer;
  offer.predicted_us =
      context.machine->TeamPays(us, context.threads) ? us / context.threads + context.machine->fork_join_us : us;
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  const int threads = context.machine->TeamPays(PredictUs(problem), context.threads) ? context.threads : 1;
  return std::unique_ptr<ConvPlan>(std::make_unique<ReferencePlan>(problem, threads));
}

}  // namespace rafter::reference
