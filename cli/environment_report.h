// cli/environment_report.h: what `rafter info` knows, as JSON and as text. The JSON is also the
// `environment` of every benchmark report.
#ifndef RAFTER_CLI_ENVIRONMENT_REPORT_H_
#define RAFTER_CLI_ENVIRONMENT_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/local_roofs.h"
#include "cli/roof_bounds.h"
#include "roofline/environment.h"
#include "roofline/peaks.h"

namespace rafter::cli {

struct BaselineInfo {
  std::string name, version;
  bool too_old = false;
  std::string error;  // why it cannot be used; then the version is empty
};

// The libraries that this program can compare with. Loads them: not for a process that will cap
// one.
std::vector<BaselineInfo> ReadBaselines();

// "RAFTER_MAX_ISA: 'sse9' is not understood and caps nothing; allowed: none, avx2, avx512", or "".
std::string MaxIsaWarning();

// The environment itself, what rafter makes of it, the baselines, and `roofs`.
nlohmann::ordered_json EnvironmentReport(const roofline::Environment& environment,
                                         const roofline::Roofs& roofs,
                                         const std::vector<BaselineInfo>& baselines);

// Adds the peaks measured beside the cases to the `roofs` of a report.
void AddPeakSeries(const std::vector<PeakSeries>& series, nlohmann::ordered_json& environment);

// The same for the bandwidths measured beside cases.
void AddBandwidths(const std::vector<roofline::BandwidthCurve>& bandwidths,
                   nlohmann::ordered_json& environment);

// The screen of `rafter info`.
std::string InfoText(const LocalRoofs& local, const std::vector<BaselineInfo>& baselines);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_ENVIRONMENT_REPORT_H_
