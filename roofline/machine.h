// roofline/machine.h: a machine: this one (measured, kept for the day) or one from a data sheet.
//
//   auto machine = LocalMachine({.threads = {1, 2}});        // measures at most once a day
//   auto sheet = DataSheetMachine("i9-10980xe-16c");         // roofs for teaching
//
// machine_json.h turns a machine into JSON and back; model.h computes bounds from its roofs.
#ifndef RAFTER_ROOFLINE_MACHINE_H_
#define RAFTER_ROOFLINE_MACHINE_H_

#include <functional>
#include <string>
#include <vector>

#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/threads.h"
#include "roofline/environment.h"
#include "roofline/peaks.h"

namespace rafter::roofline {

struct Machine {
  std::string name;         // "AMD EPYC", "Intel Core i9-10980XE, 16 cores"
  std::string source;       // "measured", "data sheet"
  std::string note;         // where the figures of a data sheet come from
  std::string measured_on;  // date of the oldest roof, "2025-03-01"; empty for data sheets
  Environment environment;
  Roofs roofs;
};

struct LocalMachineOptions {
  std::vector<Isa> isas;  // empty: every set up to EffectiveIsa()
  std::vector<int> threads{1};
  bool force = false;           // measure again what is cached
  bool quick = false;           // accepts and makes quick roofs
  bool use_cache = true;        // false: neither reads nor writes a file
  // CPUs that other work kept busy since the last call, on average; negative = not known; may be empty. While it was
  // at least `busy_from`, a warning says so.
  std::function<double()> busy_cpus;
  double busy_from = 0.25;
  std::string cache_dir;        // empty: CacheDirectory()
  ParallelFor* pool = nullptr;  // null: OpenMpThreads()
  // Called between measurements, on the calling thread; may throw to end the work.
  std::function<void(const std::string& what, double done)> progress;
  std::function<void()> poll;  // as RoofOptions::poll
  // What measures; empty: MeasureRoofs. For tests.
  std::function<Result<Roofs>(const RoofOptions&)> measure;
};

struct LocalMachineResult {
  Machine machine;
  bool measured_now = false;          // something was measured, not only read
  std::string cache_file;             // empty where something of this is not kept
  bool doubtful = false;              // some are implausible (roof_plausibility.h) and not kept
  std::vector<std::string> warnings;  // damaged or unwritable cache and the like; one line each
};

// This machine with roofs for all pairs of `isas` and `threads`: read from today's cache file, the
// missing ones measured and added to the file. Implausible ones count as missing and are measured up to three times;
// what stays implausible is used this time with a warning, and not added. A damaged, foreign or unwritable cache is a
// warning, never an error. Errors: those of MeasureRoofs.
Result<LocalMachineResult> LocalMachine(const LocalMachineOptions& options = {});

// The machines of machines/*.json, by file name without ".json".
std::vector<std::string> DataSheetNames();
// kInvalidArgument lists the names that exist.
Result<Machine> DataSheetMachine(const std::string& name);

// A machine from a JSON file (as `rafter info --json` writes, or a data sheet).
// kInvalidArgument: missing, unreadable or malformed.
Result<Machine> ReadMachineFile(const std::string& path);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_MACHINE_H_
