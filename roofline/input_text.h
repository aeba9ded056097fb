// roofline/input_text.h: text that users hand over, read with a limit: files, pipes, devices. /dev/zero is a file, too.
#ifndef RAFTER_ROOFLINE_INPUT_TEXT_H_
#define RAFTER_ROOFLINE_INPUT_TEXT_H_

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "rafter/status.h"

namespace rafter::roofline {

inline constexpr size_t kMostInputBytes = size_t{256} << 20;
// Reports and machines have 7 levels.
inline constexpr int kMostJsonLevels = 64;

// Everything up to the end. kInvalidArgument without the name of the file: a NUL byte (in the first block that has one,
// so that endless zeros end at once), more than `most_bytes`, a directory, an error of reading.
Result<std::string> ReadText(std::istream& stream, size_t most_bytes = kMostInputBytes);
// A named pipe is read, too, if somebody writes to it within `wait_ms`.
Result<std::string> ReadTextFile(const std::string& path, size_t most_bytes = kMostInputBytes, int wait_ms = 5000);

// What an error of nlohmann's library says, without its name and number.
std::string ReasonOf(const nlohmann::json::exception& error);

// nlohmann's parser, which recurses when it frees values: refuses more than kMostJsonLevels levels. Never throws.
Result<nlohmann::ordered_json> ParseJson(std::string_view text);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_INPUT_TEXT_H_
