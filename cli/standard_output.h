// cli/standard_output.h: data for the user. Everything else (progress, remarks, errors) goes to
// stderr.
#ifndef RAFTER_CLI_STANDARD_OUTPUT_H_
#define RAFTER_CLI_STANDARD_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rafter::cli {

// Writes and flushes; failures show at the end (StandardOutputFailed).
void Print(std::string_view text);

// Whether anything printed so far was lost.
bool StandardOutputFailed();

// stdout is a terminal that understands colours, and NO_COLOR is not set (https://no-color.org).
bool ColorWanted();

// Indented JSON with a newline at the end. Bytes that are no UTF-8 (descriptors, environment
// variables) become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_STANDARD_OUTPUT_H_
