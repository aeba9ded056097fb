// bench/baseline_self.cc: see baseline_self.h.
#include "bench/baseline_self.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "bench/tensor_buffer.h"
#include "kernels/conv/problem.h"
#include "rafter/version.h"
#include "roofline/wall_clock.h"

namespace rafter::bench {
namespace {

class SelfRun : public BaselineRun {
 public:
  SelfRun(const BaselineRequest& request, double slowdown, Conv conv, PackedWeights packed, double create_us)
      : request_(request),
        slowdown_(slowdown),
        conv_(std::move(conv)),
        packed_(std::move(packed)),
        scratch_((conv_.scratch_bytes() + sizeof(float) - 1) / sizeof(float)),
        name_(conv_.kernel_name()),
        layout_(LayoutName(request.desc->src.layout)),
        create_us_(create_us) {}

  const std::string& implementation() const noexcept override { return name_; }
  const std::string& layout() const noexcept override { return layout_; }
  double create_us() const noexcept override { return create_us_; }
  void Run() noexcept override {
    if (!(slowdown_ > 1)) return RunOnce();
    const int64_t start = roofline::NowNs();
    RunOnce();
    const int64_t end = start + std::llround(static_cast<double>(roofline::NowNs() - start) * slowdown_);
    while (roofline::NowNs() < end) {
    }
  }
  Status status() const override { return status_; }

  Status ReadOutput(std::vector<float>& nchw) override {
    ConvDesc desc = *request_.desc;
    const Result<ConvProblem> from = Validate(desc);
    desc.dst = {Layout::kNchw, {}};
    const Result<ConvProblem> to = Validate(desc);
    if (!from.ok()) return from.status();
    if (!to.ok()) return to.status();
    nchw.resize(static_cast<size_t>(desc.n * to->dst.n));
    float* out = nchw.data();
    for (int64_t n = 0; n < desc.n; ++n) {
      for (int64_t c = 0; c < desc.oc; ++c) {
        for (int64_t h = 0; h < from->oh; ++h) {
          for (int64_t w = 0; w < from->ow; ++w) {
            *out++ = request_.dst[Offset(from->dst, request_.desc->dst.layout, n, c, h, w)];
          }
        }
      }
    }
    return {};
  }

  void AppendMemory(bool weights_only, std::vector<Memory>& memory) const override {
    memory.push_back(packed_.bytes());
    if (!weights_only) memory.push_back(std::as_bytes(scratch_.span()));
  }

 private:
  // Other weights at another place in memory would differ by up to 1.5 %, steadily: the same calls where there are any.
  void RunOnce() noexcept {
    if (request_.ours != nullptr) return (*request_.ours)();
    RunOptions options;
    options.scratch = std::as_writable_bytes(scratch_.span());
    options.residuals = request_.residuals;
    Status status = conv_.Run(request_.src, packed_, request_.dst, options);
    if (!status.ok()) status_ = std::move(status);
  }

  BaselineRequest request_;
  double slowdown_;
  Conv conv_;
  PackedWeights packed_;
  TensorBuffer scratch_;
  std::string name_, layout_;
  double create_us_;
  Status status_;
};

class SelfBaseline : public Baseline {
 public:
  explicit SelfBaseline(double slowdown) : slowdown_(slowdown) {}
  const std::string& name() const noexcept override { return name_; }
  const std::string& version() const noexcept override { return version_; }
  bool too_old() const noexcept override { return false; }
  bool is_self() const noexcept override { return true; }

  Result<std::unique_ptr<BaselineRun>> Prepare(const BaselineRequest& request) override {
    if (request.layout != BaselineLayout::kSame) return Status::Unsupported("only its own layout");
    ConvOptions options;
    options.threads = request.threads;
    const int64_t start = roofline::NowNs();
    Result<Conv> conv = Conv::Create(*request.desc, options);
    const double create_us = static_cast<double>(roofline::NowNs() - start) * 1e-3;
    if (!conv.ok()) return conv.status();
    Result<PackedWeights> packed = conv->PackWeights(request.oihw, request.bias);
    if (!packed.ok()) return packed.status();
    return std::unique_ptr<BaselineRun>(
        std::make_unique<SelfRun>(request, slowdown_, std::move(conv).value(), std::move(packed).value(), create_us));
  }

 private:
  double slowdown_;
  std::string name_ = "rafter";
  std::string version_ = Version();
};

}  // namespace

std::unique_ptr<Baseline> MakeSelfBaseline(double slowdown) { return std::make_unique<SelfBaseline>(slowdown); }

std::optional<double> SelfSlowdown(std::string_view name) {
  constexpr std::string_view kSelf = "self";
  if (!name.starts_with(kSelf)) return std::nullopt;
  name.remove_prefix(kSelf.size());
  if (name.empty()) return 1;
  if (name.front() != ':') return std::nullopt;
  double factor = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), factor);
  constexpr double kMost = 100;
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && factor >= 1 && factor <= kMost ? std::optional(factor) : std::nullopt;
}

}  // namespace rafter::bench
