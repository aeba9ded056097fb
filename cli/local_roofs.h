// cli/local_roofs.h: this machine with its roofs, for every subcommand the same way: today's cache,
// or a measurement with progress. A machine that cannot be measured (no vector set, executable
// memory refused) is no error: its roofs are empty and a remark says why.
#ifndef RAFTER_CLI_LOCAL_ROOFS_H_
#define RAFTER_CLI_LOCAL_ROOFS_H_

#include <string>
#include <vector>

#include "cli/progress.h"
#include "rafter/cpu.h"
#include "roofline/machine.h"

namespace rafter::cli {

enum class RoofPolicy {
  kAsNeeded,   // today's cache, measuring what is missing
  kRemeasure,  // everything anew
  kCacheOnly,  // what today's cache has, nothing else
};

struct RoofRequest {
  std::vector<Isa> isas;  // empty: MeasurableIsas()
  std::vector<int> threads{1};
  RoofPolicy policy = RoofPolicy::kAsNeeded;
  bool quick = false;  // a rough sweep of two seconds will do
};

struct LocalRoofs {
  roofline::Machine machine;
  bool measured_now = false;
  bool doubtful = false;             // measured on a busy machine, or implausible: not kept
  std::string cache_file;            // empty: nothing is kept
  std::vector<std::string> remarks;  // one line each
};

// Thrown out of a measurement that Ctrl-C ended (cli/interrupt.h).
struct MeasurementInterrupted {};

// The sets of this machine that plans may use now, narrow first; with everything capped away the
// best one of the machine, against which even plain code is measured.
std::vector<Isa> MeasurableIsas();

LocalRoofs GetLocalRoofs(const RoofRequest& request, Progress& progress);

// The part of the roofs that belongs to these sets and thread counts.
roofline::Roofs SelectRoofs(const roofline::Roofs& roofs, const std::vector<Isa>& isas,
                            const std::vector<int>& threads);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_LOCAL_ROOFS_H_
