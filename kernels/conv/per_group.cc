// kernels/conv/per_group.cc
#include "kernels/conv/per_group.h"

#include <algorithm>
#include <utility>

#include "kernels/sizes.h"
#include "runtime/machine_model.h"
#include "runtime/parallel.h"

namespace rafter::per_group {

namespace {

// One group of one image.
ConvProblem GroupProblem(const ConvProblem& problem) {
  ConvProblem group = problem;
  ConvDesc& d = group.desc;
  d.n = 1, d.groups = 1, d.ic = problem.ic_g, d.oc = problem.oc_g;
  d.src.strides = problem.src, d.dst.strides = problem.dst;
  for (PostOp& op : d.post_ops) {
    if (op.kind == PostOpKind::kResidualAdd) op.residual_strides = ResidualStrides(problem, op);
  }
  return group;
}

class Plan final : public ConvPlan {
 public:
  Plan(const ConvProblem& problem, std::unique_ptr<ConvPlan> inner, int threads)
      : problem_(problem), inner_(std::move(inner)), threads_(threads), header_(inner_->packed_header()) {
    for (const PostOp& op : problem.desc.post_ops) {
      if (op.kind == PostOpKind::kResidualAdd) residuals_.push_back(ResidualStrides(problem, op));
    }
    const auto floats = static_cast<int64_t>(header_.payload_bytes / sizeof(float));
    group_floats_ = (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
    header_.format = static_cast<uint32_t>(PackedFormat::kPanelsPerGroup);
    header_.groups = problem.desc.groups;
    header_.payload_bytes = static_cast<uint64_t>(group_floats_ * problem.desc.groups) * sizeof(float);
    thread_bytes_ = (inner_->scratch_bytes() + 63) / 64 * 64;
  }

  const char* algorithm() const noexcept override { return inner_->algorithm(); }
  const std::string& kernel_name() const noexcept override { return inner_->kernel_name(); }
  Isa isa() const noexcept override { return inner_->isa(); }
  size_t scratch_bytes() const noexcept override { return thread_bytes_ * static_cast<size_t>(threads_); }
  int threads() const noexcept override { return threads_; }
  PackedHeader packed_header() const noexcept override { return header_; }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override;
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override {
    return "group by group, " + std::to_string(thread_bytes_) + " bytes of scratch per thread\n" + inner_->Describe();
  }

 private:
  void RunItem(const ConvCall& call, int64_t item, int thread) const;

  const ConvProblem problem_;
  const std::unique_ptr<ConvPlan> inner_;
  const int threads_;
  std::vector<Strides> residuals_;
  PackedHeader header_;
  int64_t group_floats_ = 0;  // weights of a group
  size_t thread_bytes_ = 0;
};

void Plan::Pack(const float* oihw, const float* bias, float* payload) const noexcept {
  const ConvDesc& d = problem_.desc;
  const int64_t weights = problem_.oc_g * problem_.ic_g * d.kernel.h * d.kernel.w;
  for (int64_t group = 0; group < d.groups; ++group) {
    inner_->Pack(oihw + group * weights, bias == nullptr ? nullptr : bias + group * problem_.oc_g,
                 payload + group * group_floats_);
  }
}

void Plan::RunItem(const ConvCall& call, int64_t item, int thread) const {
  const int64_t group = item % problem_.desc.groups, n = item / problem_.desc.groups;
  const auto offset = [&](const Strides& s, int64_t channels) { return n * s.n + group * channels * s.c; };
  ConvCall inner = call;
  inner.threads = 1;
  inner.src = call.src + offset(problem_.src, problem_.ic_g);
  inner.dst = call.dst + offset(problem_.dst, problem_.oc_g);
  inner.weights = call.weights + group * group_floats_;
  inner.scratch = call.scratch + static_cast<size_t>(thread) * thread_bytes_;
  const float* residuals[kMaxPostOps];
  for (size_t i = 0; i < residuals_.size(); ++i) {
    residuals[i] = call.residuals[i] + offset(residuals_[i], problem_.oc_g);
  }
  inner.residuals = residuals;
  inner_->Run(inner);
}

void Plan::Run(const ConvCall& call) const noexcept {
  const int64_t items = problem_.desc.n * problem_.desc.groups;
  RunOnThreads(*call.pool, std::min(call.threads, threads_), [&](int thread, int team) {
    const Range mine = SplitRange(items, team, thread);
    for (int64_t item = mine.begin; item < mine.end; ++item) RunItem(call, item, thread);
  });
}

int Threads(const ConvProblem& problem, const PlanContext& context) {
  return static_cast<int>(std::min<int64_t>(context.threads, std::max<int64_t>(1, problem.desc.n) *
                                                                 problem.desc.groups));
}

// Groups are shared out, not their insides.
PlanContext GroupContext(const PlanContext& context) {
  PlanContext group = context;
  group.threads = 1;
  return group;
}

}  // namespace

bool Applies(const ConvProblem& problem) {
  constexpr int64_t kLeastGroups = 4, kLeastChannels = 16;
  const ConvDesc& d = problem.desc;
  if (d.src.layout != Layout::kNchw || d.dst.layout != Layout::kNchw || d.groups < kLeastGroups) return false;
  // Scales would have to be those of the group.
  return problem.ic_g >= kLeastChannels && problem.oc_g >= kLeastChannels &&
         std::none_of(d.post_ops.begin(), d.post_ops.end(),
                      [](const PostOp& op) { return op.kind == PostOpKind::kChannelScale; });
}

Offer Consider(via_nhwc::ConsiderFunction inner, const ConvProblem& problem, const PlanContext& context) {
  Offer offer = via_nhwc::Consider(inner, GroupProblem(problem), GroupContext(context));
  if (!offer.refusal.empty()) return offer;
  offer.draft = nullptr;  // of one group
  const MachineModel& machine = *context.machine;
  const int threads = Threads(problem, context);
  const auto items = static_cast<double>(problem.desc.n * problem.desc.groups);
  offer.predicted_us = (offer.predicted_us - machine.call_us) * items / threads + machine.call_us +
                       (threads > 1 ? machine.fork_join_us : 0);
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(via_nhwc::MakePlanFunction inner, const ConvProblem& problem,
                                           const PlanContext& context) {
  Result<std::unique_ptr<ConvPlan>> group = via_nhwc::MakePlan(inner, GroupProblem(problem), GroupContext(context));
  if (!group.ok()) return group.status();
  if ((*group)->packed_header().format != static_cast<uint32_t>(PackedFormat::kPanels)) {
    return Status::Internal("weights of a group are not panels");
  }
  return std::unique_ptr<ConvPlan>(
      std::make_unique<Plan>(problem, std::move(group).value(), Threads(problem, context)));
}

}  // namespace rafter::per_group
