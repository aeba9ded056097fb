// bench/case_runner.cc: the steps of measuring one case.
#include "bench/case_runner.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "bench/case_tensors.h"
#include "bench/contest.h"
#include "bench/neighbours.h"
#include "bench/omp_team.h"
#include "bench/op_runner.h"
#include "bench/plan_model.h"
#include "bench/verify.h"
#include "kernels/conv/problem.h"
#include "rafter/cost.h"
#include "runtime/machine_model.h"

namespace rafter::bench {
namespace {

constexpr double kConvCreationBudgetUs = 200e3;

ConvOptions OptionsOf(const CaseOptions& options) {
  ConvOptions conv_options;
  conv_options.threads = options.threads;
  conv_options.accuracy = options.accuracy;
  conv_options.algorithm = options.algorithm;
  conv_options.plan = options.planning;
  return conv_options;
}

// Roughly, on this kind of machine.
double LeastUs(double flops, double bytes, int threads) {
  const MachineModel& machine = CurrentMachineModel();
  const double peak = machine.PeakFlopsPerUs(EffectiveIsa()) * threads;
  const double dram = machine.dram_bytes_per_cycle * machine.clock_ghz * 1e3;
  return std::max(flops / std::max(peak, 1.0), bytes / dram);
}

class Measurement {
 public:
  Measurement(const CaseOptions& options, Bounds* bounds, Baseline* baseline,
              const SuiteCase& suite_case, CaseResult& result)
      : options_(options),
        bounds_(bounds),
        baseline_(baseline),
        suite_case_(suite_case),
        result_(result),
        team_(options.threads),
        watch_(MakeSystemStopwatch(options.threads)) {}

  // The first failing step's status; the result is filled as far as it got.
  Status Run() {
    for (auto step : {&Measurement::Describe, &Measurement::Create, &Measurement::Verify,
                      &Measurement::Time, &Measurement::Rate}) {
      if (Stopped()) return Status(StatusCode::kInternal, kInterrupted);
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return Stopped() ? Status(StatusCode::kInternal, kInterrupted) : Status();
  }

 private:
  bool Stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  Status Describe() {
    if (!suite_case_.status.ok()) return suite_case_.status;
    ConvDesc desc = suite_case_.descriptor.desc;
    desc.src.layout = desc.dst.layout = options_.layout;
    desc.bias = options_.bias;
    desc.post_ops = PostOpsFor(desc.oc);
    Result<ConvProblem> problem = Validate(desc);
    if (!problem.ok()) return problem.status();
    Result<ConvCost> cost = CostOf(desc);
    if (!cost.ok()) return cost.status();
    problem_ = std::move(problem).value();
    cost_ = *cost;
    result_.no_work = problem_.desc.n == 0;
    result_.flops_valid = cost_.flops_valid;
    result_.flops_nominal = cost_.flops_nominal;
    result_.bytes = cost_.bytes;
    return {};
  }

  // The post-ops asked for, with random factors where they scale channels.
  PostOps PostOpsFor(int64_t oc) const {
    PostOps ops = options_.post_ops;
    for (PostOp& op : ops) {
      if (op.kind != PostOpKind::kChannelScale) continue;
      op.scale.resize(static_cast<size_t>(std::max<int64_t>(oc, 0)));
      FillRandom(op.scale, options_.seed + 100);
    }
    return ops;
  }

  // Plans are made with an empty code cache each time: a plan keeps its kernels alive, so it goes
  // first.
  Status Create() {
    const ConvOptions conv_options = OptionsOf(options_);
    std::vector<double> times_us;
    double total_us = 0;
    for (int i = 0; i < std::max(options_.creations, 1) && total_us < kConvCreationBudgetUs; ++i) {
      conv_.reset();
      ClearKernelCache();
      const double start = watch_->NowUs();
      Result<Conv> conv = Conv::Create(problem_.desc, conv_options);
      times_us.push_back(watch_->NowUs() - start);
      total_us += times_us.back();
      if (!conv.ok()) return conv.status();
      conv_ = std::move(conv).value();
    }
    result_.create_us = Median(std::move(times_us));
    result_.kernel = conv_->kernel_name();
    result_.algorithm = conv_->algorithm();
    result_.isa = IsaName(conv_->isa());
    return {};
  }

  // Packs, runs once and compares with the exact sums.
  Status Verify() {
    Result<CaseTensors> tensors = MakeCaseTensors(problem_, options_.seed);
    if (!tensors.ok()) return tensors.status();
    tensors_ = std::move(tensors).value();
    Result<PackedWeights> packed =
        conv_->PackWeights(tensors_.oihw.data(), tensors_.bias_or_null());
    if (!packed.ok()) return packed.status();
    packed_ = std::move(packed).value();
    scratch_ = TensorBuffer((conv_->scratch_bytes() + sizeof(float) - 1) / sizeof(float));
    if (scratch_.data() == nullptr) return Status::OutOfMemory();
    residuals_ = tensors_.residual_pointers();
    RunOnce();
    if (!run_status_.ok()) return run_status_;
    Result<VerifyResult> verified =
        VerifyOutputs(problem_, tensors_.src.data(), tensors_.oihw.data(), tensors_.bias_or_null(),
                      tensors_.dst.data(), options_.seed, kThoroughProducts,
                      ResidualTensors(problem_, tensors_));
    if (!verified.ok()) return verified.status();
    result_.verified_outputs = verified->outputs;
    result_.max_error = verified->max_error;
    return {};
  }

  void RunOnce() {
    RunOptions run_options;
    run_options.scratch = std::as_writable_bytes(scratch_.span());
    run_options.residuals = residuals_;
    run_options.threads = options_.pool;
    Status status = conv_->Run(tensors_.src.data(), packed_, tensors_.dst.data(), run_options);
    if (!status.ok()) run_status_ = std::move(status);
  }

  Status Time() {
    DuelOptions duel;
    duel.sampling.budget_us = options_.budget_us;
    duel.sampling.stop = options_.stop;
    duel.seed = options_.seed;
    duel.least_noise_floor = options_.least_noise_floor;
    if (bounds_ != nullptr) bounds_->BeginCase(conv_->isa(), options_.threads);
    // Probes run on OpenMP's team, which would keep spinning beside a pool of other threads.
    if (bounds_ != nullptr && (options_.pool == nullptr || options_.threads == 1)) {
      duel.sampling.share = bounds_->ProbeFor(cost_, conv_->work(), conv_->isa(), options_.threads, options_.mode);
    }
    const Work ours = [this] { RunOnce(); };
    std::vector<Memory> memory = MemoryOf(tensors_);
    memory.push_back(std::as_bytes(scratch_.span()));
    const CpuTimes before = ReadCpuTimes();
    if (baseline_ != nullptr && problem_.desc.n > 0) {
      RunContest({&problem_, &tensors_, baseline_, options_.threads, options_.mode, {packed_.bytes()},
                  std::move(memory)},
                 ours, *watch_, duel, result_);
    } else {
      duel.sampling.before = FlushFor(options_.mode, {packed_.bytes()}, std::move(memory));
      result_.time = Measure(*watch_, ours, duel.sampling);
    }
    result_.busy_cpus = BusyCpusBetween(before, ReadCpuTimes());
    DoubtWhereBusy();
    return run_status_;
  }

  // Where others use the machine, both sides of a pair suffer, but code of another kind may suffer less: by no more
  // than what the probes between the rounds found missing. The same code suffers alike.
  void DoubtWhereBusy() {
    if (result_.busy_cpus < kBusyCpus || baseline_ == nullptr || baseline_->is_self()) return;
    for (std::optional<VersusResult>* versus : {&result_.vs_same, &result_.vs_best}) {
      if (!*versus || (*versus)->verdict == VerdictName(Verdict::kAmbiguous)) continue;
      const Verdict verdict =
          JudgeOnBusyMachine((*versus)->ci_low, (*versus)->ci_high, result_.noise_floor, result_.time);
      (*versus)->verdict = VerdictName(verdict);
    }
  }

  Status Rate() {
    const double median = result_.time.median;
    if (!(median > 0)) return Status::Internal("no sample was taken");
    result_.gflops = cost_.flops_valid / median * 1e-3;
    const AlgorithmWork own = conv_->work();
    if (own.transforms) {
      result_.own = {own.flops, own.load_bytes + own.store_bytes, own.intermediate_bytes, own.flops / median * 1e-3,
                     0, {}};
    }
    if (bounds_ == nullptr) return {};
    BoundResult bound = bounds_->EndCase(cost_, own, conv_->isa(), options_.threads, result_.time, options_.mode);
    if (own.transforms) {
      result_.own->bound_us = bound.own_bound_us;
      result_.own->binding = bound.own_binding;
    }
    result_.bound_us = bound.bound_us;
    result_.binding = bound.binding;
    result_.peak_gflops = bound.peak_gflops;
    result_.disturbed = bound.disturbed;
    result_.efficiency = ShownBoundUs(result_) / median;
    result_.core_share = bound.core_share;
    result_.roof_share = bound.roof_share;
    PlanModel model = ModelPlan({&problem_, conv_->algorithm(), conv_->isa(), options_.threads, options_.accuracy,
                                 options_.mode, options_.cold_gb_per_s}, bound);
    result_.model_us = model.model_us;
    result_.losses = std::move(model.losses);
    return {};
  }

  const CaseOptions& options_;
  Bounds* bounds_;
  Baseline* baseline_;
  const SuiteCase& suite_case_;
  CaseResult& result_;
  ScopedTeamSize team_;
  std::unique_ptr<Stopwatch> watch_;
  ConvProblem problem_;
  ConvCost cost_;
  std::optional<Conv> conv_;
  CaseTensors tensors_;
  PackedWeights packed_;
  TensorBuffer scratch_;
  std::vector<const float*> residuals_;
  Status run_status_;
};

void DescribeCase(const SuiteCase& suite_case, const CaseOptions& options, CaseResult& result) {
  result.layout = LayoutName(options.layout);
  result.threads = options.threads;
  result.isa = IsaName(EffectiveIsa());
  result.mode = CacheModeName(options.mode);
  result.sweep = suite_case.sweep;
  for (const PostOp& op : options.post_ops) {
    result.post_ops += std::string(result.post_ops.empty() ? "" : "+") + PostOpName(op.kind);
  }
  const Descriptor& descriptor = suite_case.descriptor;
  result.name = descriptor.name;
  if (!suite_case.status.ok()) {
    result.descriptor = descriptor.text;
    return;
  }
  if (suite_case.op) {
    DescribeOpCase(options, *suite_case.op, result);
    return;
  }
  Descriptor unnamed = descriptor;
  unnamed.name.clear();
  result.descriptor = PrintDescriptor(unnamed, DescriptorForm::kShort);
  // The default batch of the notation is 2, which surprises; say the batch always.
  if (descriptor.desc.n == 2) result.descriptor.insert(0, "mb2");
}

}  // namespace

CaseRunner::CaseRunner(const CaseOptions& options, Bounds* bounds, Baseline* baseline)
    : options_(options), bounds_(bounds), baseline_(baseline) {}

CaseResult CaseRunner::Run(const SuiteCase& suite_case) noexcept {
  CaseResult result;
  try {
    DescribeCase(suite_case, options_, result);
    Status status = suite_case.op && suite_case.status.ok()
                        ? RunOpCase(options_, bounds_, baseline_, *suite_case.op, result)
                        : Measurement(options_, bounds_, baseline_, suite_case, result).Run();
    if (!status.ok()) {
      result.error = status.message();
      if (result.error.empty()) result.error = StatusCodeName(status.code());
    }
  } catch (const std::bad_alloc&) {
    result.error = "out of memory";
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

double CaseRunner::CallUs(const SuiteCase& suite_case) const noexcept {
  if (!suite_case.status.ok() || suite_case.op) return 0;
  try {
    const Result<ConvCost> cost = CostOf(suite_case.descriptor.desc);
    return cost.ok() ? LeastUs(cost->flops_valid, cost->bytes, options_.threads) : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

double CaseRunner::PlannedCallUs(const SuiteCase& suite_case) const noexcept {
  const double direct_us = CallUs(suite_case);
  if (!(direct_us > 0)) return direct_us;
  try {
    ConvDesc desc = suite_case.descriptor.desc;
    desc.src.layout = desc.dst.layout = options_.layout;
    ConvOptions options = OptionsOf(options_);
    options.plan = Planning::kModel;  // nothing runs here
    const Result<Conv> conv = Conv::Create(desc, options);
    if (!conv.ok()) return 0;
    const AlgorithmWork own = conv->work();
    return own.transforms ? LeastUs(own.flops, own.load_bytes + own.store_bytes, options_.threads) : direct_us;
  } catch (const std::exception&) {
    return 0;
  }
}

double CaseRunner::EstimateUs(const SuiteCase& suite_case) const noexcept {
  if (!suite_case.status.ok()) return 0;
  if (suite_case.op) return EstimateOpUs(options_, *suite_case.op);
  try {
    const Result<ConvCost> cost = CostOf(suite_case.descriptor.desc);
    if (!cost.ok()) return 0;
    const double call_us = CallUs(suite_case);
    // About 40 rounds of one warm and one timed batch per contender; 3 rounds at least.
    const double contenders = baseline_ != nullptr ? 3 : 1;
    const double round_us = contenders * (std::max(call_us * 1.2, 50.0) + call_us * 1.2);
    const double timing_us = std::max(std::min(options_.budget_us, 40 * round_us), 3 * round_us);
    const double products = std::min(cost->flops_valid / 2, kThoroughProducts);
    return timing_us + products * 2e-3 + 5e3;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace rafter::bench
