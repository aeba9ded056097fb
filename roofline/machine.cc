// This machine, data sheets, files; see machine.h.
#include "roofline/machine.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "roofline/data_sheets.h"
#include "roofline/fma_probe.h"
#include "roofline/machine_json.h"
#include "roofline/roof_cache.h"
#include "roofline/roof_plausibility.h"

namespace rafter::roofline {
namespace {

std::vector<Isa> WantedIsas(const LocalMachineOptions& options) {
  std::vector<Isa> isas = options.isas;
  if (isas.empty()) {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa <= EffectiveIsa()) isas.push_back(isa);
    }
  }
  return isas;
}

// Half of what may be had, at most 1 GiB: the sweep must not push others, or itself, out of memory.
double ArenaLimit(const SystemLimits& limits) {
  double limit = double{1 << 30};
  for (const double most : {limits.memory_limit_bytes, limits.memory_available_bytes}) {
    if (most > 0) limit = std::min(limit, most / 2);
  }
  return limit;
}

class LocalRoofs {
 public:
  explicit LocalRoofs(const LocalMachineOptions& options) : options_(options) {
    Machine& machine = result_.machine;
    machine.environment = ReadEnvironment();
    machine.name = machine.environment.cpu.model_name;
    machine.source = "measured";
    machine.measured_on = today_;
    FindCacheFile();
  }

  Result<LocalMachineResult> Get() {
    if (!options_.force) ReadCache();
    const std::vector<Isa> isas = WantedIsas(options_);
    if (isas.empty()) return Status::Unsupported("this machine has no instruction set to measure");
    pairs_in_all_ = static_cast<double>(isas.size() * options_.threads.size());
    for (const Isa isa : isas) {
      for (const int threads : options_.threads) {
        if (!Known(isa, threads)) {
          if (Status status = Measure(isa, threads); !status.ok()) return status;
        }
        pairs_done_ += 1;
      }
    }
    if (result_.measured_now) WriteCache();
    return std::move(result_);
  }

 private:
  void FindCacheFile() {
    if (!options_.use_cache) return;
    const std::string directory =
        options_.cache_dir.empty() ? CacheDirectory() : options_.cache_dir;
    if (directory.empty()) {
      result_.warnings.push_back("roofs are not kept: neither XDG_CACHE_HOME nor HOME is set");
      return;
    }
    result_.cache_file =
        directory + "/" + RoofCacheFileName(Fingerprint(result_.machine.environment), today_);
  }

  void ReadCache() {
    if (result_.cache_file.empty()) return;
    Result<Machine> cached = ReadRoofCache(result_.cache_file);
    if (cached.ok()) {
      // Quick roofs are no answer to a full question; full ones are to a quick one.
      if (options_.quick || !cached->roofs.quick) result_.machine.roofs = std::move(cached->roofs);
    } else if (cached.status().code() != StatusCode::kUnsupported) {
      result_.warnings.push_back("roofs are measured again: " +
                                 std::string(cached.status().message()));
    }
  }

  bool Known(Isa isa, int threads) {
    const Roofs& roofs = result_.machine.roofs;
    if (FindPeak(roofs, isa, threads) == nullptr || FindCurve(roofs, isa, threads, Mix::kLoad) == nullptr) return false;
    const std::string why = Implausibility(roofs, isa, threads);
    if (!why.empty()) result_.warnings.push_back("roofs are measured again, those of today are implausible: " + why);
    return why.empty();
  }

  RoofOptions OptionsFor(Isa isa, int threads) const {
    RoofOptions measure;
    measure.isas = {isa};
    measure.threads = {threads};
    measure.quick = options_.quick;
    measure.pool = options_.pool;
    measure.reported = result_.machine.environment.caches_reported;
    measure.memory_limit_bytes = ArenaLimit(result_.machine.environment.limits);
    measure.poll = options_.poll;
    measure.progress = [this](const std::string& what, double done) {
      if (options_.progress) options_.progress(what, (pairs_done_ + done) / pairs_in_all_);
    };
    return measure;
  }

  // What several threads must reach where nobody asked for the roofs of one: a few milliseconds.
  double OneThreadPeak(Isa isa, int threads) const {
    if (threads < 2 || FindPeak(result_.machine.roofs, isa, 1) != nullptr) return 0;
    constexpr double kBudgetUs = 10'000;
    const Result<FmaProbe> probe = FmaProbe::Create(isa);
    return probe.ok() ? probe->Measure(kBudgetUs) : 0;
  }

  // Until the roofs are plausible, a few times at most.
  Status Measure(Isa isa, int threads) {
    constexpr int kMostAttempts = 3;
    const double one_thread_gflops = OneThreadPeak(isa, threads);
    std::string why;
    double busy = -1;
    Roofs measured;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      if (options_.busy_cpus) static_cast<void>(options_.busy_cpus());
      const RoofOptions options = OptionsFor(isa, threads);
      Result<Roofs> roofs = options_.measure ? options_.measure(options) : MeasureRoofs(options);
      if (!roofs.ok()) return roofs.status();
      busy = options_.busy_cpus ? options_.busy_cpus() : -1;
      measured = *std::move(roofs);
      // Several threads are judged beside one.
      Roofs all = result_.machine.roofs;
      MergeRoofs(measured, all);
      why = Implausibility(all, isa, threads, one_thread_gflops);
      // Other work that was busy twice will be so a third time.
      if (why.empty() || (attempt == 1 && busy >= options_.busy_from)) break;
    }
    MergeRoofs(measured, result_.machine.roofs);
    result_.measured_now = true;
    if (why.empty()) {
      MergeRoofs(measured, worth_keeping_);
      worth_keeping_.quick = measured.quick;
    }
    if (!why.empty() || busy >= options_.busy_from) Remark(isa, threads, why, busy);
    return {};
  }

  void Remark(Isa isa, int threads, const std::string& why, double busy) {
    result_.doubtful = result_.doubtful || !why.empty();
    std::string text = "busy machine: roofs of " + std::string(IsaName(isa)) + ", " + std::to_string(threads) +
                       (threads == 1 ? " thread" : " threads") + " may be too low" +
                       (why.empty() ? "" : " and are not kept");
    if (busy >= options_.busy_from) {
      char number[32];
      std::snprintf(number, sizeof number, "%.1f", busy);
      text += "; other work kept " + std::string(number) + " CPUs busy meanwhile";
    }
    if (!why.empty()) text += "; implausible, repeatedly: " + why;
    result_.warnings.push_back(std::move(text));
  }

  void WriteCache() {
    if (result_.cache_file.empty()) return;
    const std::string path = result_.cache_file;
    if (result_.doubtful) result_.cache_file.clear();
    if (worth_keeping_.peaks.empty()) return;
    // Another process may have added roofs meanwhile, and a forced measurement replaces only its
    // own.
    Machine kept = result_.machine;
    kept.roofs = worth_keeping_;
    const Result<Machine> cached = ReadRoofCache(path);
    if (cached.ok() && kept.roofs.quick && !cached->roofs.quick)
      return;  // full roofs are worth more
    if (cached.ok() && cached->roofs.quick == kept.roofs.quick) {
      kept.roofs = cached->roofs;
      MergeRoofs(worth_keeping_, kept.roofs);
    }
    const Status status = WriteRoofCache(path, kept);
    if (status.ok()) return;
    result_.warnings.push_back("roofs are not kept: " + std::string(status.message()));
    result_.cache_file.clear();
  }

  const LocalMachineOptions& options_;
  const std::string today_ = Today();
  LocalMachineResult result_;
  Roofs worth_keeping_;  // measured now, plausible, on a quiet machine
  double pairs_done_ = 0, pairs_in_all_ = 1;
};

}  // namespace

Result<LocalMachineResult> LocalMachine(const LocalMachineOptions& options) {
  return LocalRoofs(options).Get();
}

std::vector<std::string> DataSheetNames() {
  std::vector<std::string> names;
  for (const DataSheet& sheet : DataSheets()) names.push_back(sheet.name);
  return names;
}

Result<Machine> DataSheetMachine(const std::string& name) {
  std::string known;
  for (const DataSheet& sheet : DataSheets()) {
    if (sheet.name == name) return MachineFromJson(sheet.json);
    known += (known.empty() ? "" : ", ") + sheet.name;
  }
  return Status::InvalidArgument("machine: \"" + name + "\"; allowed: " + known);
}

Result<Machine> ReadMachineFile(const std::string& path) {
  Result<Machine> machine = ReadRoofCache(path);
  if (machine.ok() || machine.status().code() == StatusCode::kInvalidArgument) return machine;
  return Status::InvalidArgument(std::string(machine.status().message()));
}

}  // namespace rafter::roofline
