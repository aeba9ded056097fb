// roofline/machine_json.h: machines as JSON. Numbers that are not finite become null; unknown
// fields are ignored when reading; missing or wrong ones are an error, except those that a data
// sheet may leave out.
#ifndef RAFTER_ROOFLINE_MACHINE_JSON_H_
#define RAFTER_ROOFLINE_MACHINE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "rafter/status.h"
#include "roofline/environment.h"
#include "roofline/machine.h"
#include "roofline/peaks.h"

namespace rafter::roofline {

// {"peaks": [...], "chains": [...], "bandwidth": [...], "levels": [...], "clock": {...},
// "fork_join": [...]}
nlohmann::ordered_json RoofsToJson(const Roofs& roofs);
nlohmann::ordered_json EnvironmentToJson(const Environment& environment);
// {"schema": 1, "name", "source", "note", "measured_on", "environment": {…}, "roofs": {…}}
nlohmann::ordered_json MachineToJson(const Machine& machine);

// kInvalidArgument says what is wrong.
Result<Machine> MachineFromJson(const std::string& text);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_MACHINE_JSON_H_
