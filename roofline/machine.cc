// This machine, data sheets, files; see machine.h.
#include "roofline/machine.h"

#include <algorithm>
#include <utility>

#include "roofline/data_sheets.h"
#include "roofline/machine_json.h"
#include "roofline/roof_cache.h"

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
    for (size_t i = 0; i < isas.size(); ++i) {
      const auto progress = [&](const std::string& what, double done) {
        if (!options_.progress) return;
        options_.progress(what, (static_cast<double>(i) + done) / static_cast<double>(isas.size()));
      };
      if (Status status = MeasureMissing(isas[i], progress); !status.ok()) return status;
    }
    if (result_.measured_now) WriteCache();
    return std::move(result_);
  }

 private:
  using Progress = std::function<void(const std::string& what, double done)>;

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

  Status MeasureMissing(Isa isa, const Progress& progress) {
    Roofs& roofs = result_.machine.roofs;
    RoofOptions measure;
    measure.threads.clear();
    for (const int threads : options_.threads) {
      const bool known = FindPeak(roofs, isa, threads) != nullptr &&
                         FindCurve(roofs, isa, threads, Mix::kLoad) != nullptr;
      const bool listed = std::find(measure.threads.begin(), measure.threads.end(), threads) !=
                          measure.threads.end();
      if (!known && !listed) measure.threads.push_back(threads);
    }
    if (measure.threads.empty()) return {};
    measure.isas = {isa};
    measure.quick = options_.quick;
    measure.pool = options_.pool;
    measure.reported = result_.machine.environment.caches_reported;
    measure.memory_limit_bytes = ArenaLimit(result_.machine.environment.limits);
    measure.progress = progress;
    Result<Roofs> measured = MeasureRoofs(measure);
    if (!measured.ok()) return measured.status();
    MergeRoofs(*measured, roofs);
    result_.measured_now = true;
    return {};
  }

  void WriteCache() {
    if (result_.cache_file.empty()) return;
    // Another process may have added roofs meanwhile, and a forced measurement replaces only its
    // own.
    Machine kept = result_.machine;
    const Result<Machine> cached = ReadRoofCache(result_.cache_file);
    if (cached.ok() && kept.roofs.quick && !cached->roofs.quick)
      return;  // full roofs are worth more
    if (cached.ok() && cached->roofs.quick == kept.roofs.quick) {
      kept.roofs = cached->roofs;
      MergeRoofs(result_.machine.roofs, kept.roofs);
    }
    const Status status = WriteRoofCache(result_.cache_file, kept);
    if (status.ok()) return;
    result_.warnings.push_back("roofs are not kept: " + std::string(status.message()));
    result_.cache_file.clear();
  }

  const LocalMachineOptions& options_;
  const std::string today_ = Today();
  LocalMachineResult result_;
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
