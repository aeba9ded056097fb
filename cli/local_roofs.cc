// cli/local_roofs.cc: see local_roofs.h.
#include "cli/local_roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/neighbours.h"
#include "bench/omp_team.h"
#include "cli/interrupt.h"
#include "roofline/roof_cache.h"
#include "roofline/roof_plausibility.h"
#include "roofline/wall_clock.h"

namespace rafter::cli {
namespace {

// What a measurement takes on a machine with a large last-level cache, per set and thread count.
constexpr double kFullSeconds = 6, kQuickSeconds = 2;

template <typename Value>
bool Contains(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void ReadCacheOnly(LocalRoofs& local) {
  using namespace roofline;  // NOLINT: a dozen names of one file
  local.machine.environment = ReadEnvironment();
  local.machine.name = local.machine.environment.cpu.model_name;
  local.machine.source = "measured";
  const std::string directory = CacheDirectory();
  if (directory.empty()) return;
  const std::string path =
      directory + "/" + RoofCacheFileName(Fingerprint(local.machine.environment), Today());
  Result<Machine> cached = ReadRoofCache(path);
  if (cached.ok()) {
    local.machine.roofs = std::move(cached->roofs);
    local.machine.measured_on = cached->measured_on;
    local.cache_file = path;
    for (const FmaPeak& peak : local.machine.roofs.peaks) {
      const std::string why = Implausibility(local.machine.roofs, peak.isa, peak.threads);
      if (!why.empty()) local.remarks.push_back("busy machine: today's roofs are implausible: " + why);
    }
  } else if (cached.status().code() != StatusCode::kUnsupported) {
    local.remarks.emplace_back(cached.status().message());
  }
}

// Shows the measurement and ends it when the user wants that. One sweep per set: each starts at 0.
class ProgressRelay {
 public:
  ProgressRelay(Progress& progress, double expected_seconds)
      : progress_(progress), expected_seconds_(expected_seconds) {}

  void operator()(const std::string& what, double done) {
    if (Interrupted()) throw MeasurementInterrupted();
    if (done < last_ || last_ < 0) {
      begin_ns_ = roofline::NowNs();
      progress_.Begin("measuring the roofs of this machine:", expected_seconds_);
    }
    last_ = done;
    progress_.Show(done, static_cast<double>(roofline::NowNs() - begin_ns_) * 1e-9, what);
  }

 private:
  Progress& progress_;
  double expected_seconds_;
  int64_t begin_ns_ = 0;
  double last_ = -1;
};

}  // namespace

std::vector<Isa> MeasurableIsas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= EffectiveIsa()) isas.push_back(isa);
  }
  if (isas.empty() && DetectedIsa() != Isa::kNone) isas.push_back(DetectedIsa());
  return isas;
}

namespace {

roofline::LocalMachineOptions OptionsOf(const RoofRequest& request) {
  roofline::LocalMachineOptions options;
  options.isas = request.isas.empty() ? MeasurableIsas() : request.isas;
  options.threads = request.threads;
  options.force = request.policy == RoofPolicy::kRemeasure;
  options.quick = request.quick;
  options.poll = [] {
    if (Interrupted()) throw MeasurementInterrupted();
  };
  options.busy_cpus = [before = bench::ReadCpuTimes()]() mutable {
    const bench::CpuTimes now = bench::ReadCpuTimes();
    const double busy = bench::BusyCpusBetween(before, now);
    before = now;
    return busy;
  };
  options.busy_from = bench::kBusyCpus;
  return options;
}

}  // namespace

LocalRoofs GetLocalRoofs(const RoofRequest& request, Progress& progress) {
  LocalRoofs local;
  if (request.policy == RoofPolicy::kCacheOnly) {
    ReadCacheOnly(local);
    return local;
  }
  const double seconds = request.quick ? kQuickSeconds : kFullSeconds;
  ProgressRelay relay(progress, seconds * static_cast<double>(request.threads.size()));
  roofline::LocalMachineOptions options = OptionsOf(request);
  options.progress = [&relay](const std::string& what, double done) { relay(what, done); };

  const bench::ScopedTeamSize team(
      *std::max_element(request.threads.begin(), request.threads.end()));
  Result<roofline::LocalMachineResult> measured =
      options.isas.empty() ? Status::Unsupported("this machine has no instruction set to measure")
                           : roofline::LocalMachine(options);
  progress.Clear();
  if (measured.ok()) {
    local.machine = std::move(measured->machine);
    local.measured_now = measured->measured_now;
    local.doubtful = measured->doubtful;
    local.cache_file = std::move(measured->cache_file);
    local.remarks = std::move(measured->warnings);
  } else {
    ReadCacheOnly(local);
    local.remarks.push_back(fmt::format("no roofs, so no bounds: {}", measured.status().message()));
  }
  return local;
}

roofline::Roofs SelectRoofs(const roofline::Roofs& roofs, const std::vector<Isa>& isas,
                            const std::vector<int>& threads) {
  roofline::Roofs selected = roofs;
  const auto unwanted = [&](const auto& entry) {
    return !Contains(isas, entry.isa) || !Contains(threads, entry.threads);
  };
  std::erase_if(selected.peaks, unwanted);
  std::erase_if(selected.curves, unwanted);
  std::erase_if(selected.levels, unwanted);
  std::erase_if(selected.chains, [&](const auto& entry) { return !Contains(isas, entry.isa); });
  std::erase_if(selected.fork_joins,
                [&](const auto& entry) { return !Contains(threads, entry.threads); });
  return selected;
}

}  // namespace rafter::cli
