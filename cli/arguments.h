// cli/arguments.h: option values from text. Every error has one form and names option, value and
// what is allowed: "--threads: '0' is not allowed; allowed: 1 to 2, or a list such as 1,2".
#ifndef RAFTER_CLI_ARGUMENTS_H_
#define RAFTER_CLI_ARGUMENTS_H_

#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cache_mode.h"
#include "kernels/conv/tile_choice.h"
#include "rafter/conv.h"
#include "rafter/cpu.h"
#include "rafter/post_ops.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter::cli {

// The error itself, for checks that live elsewhere. The value is made printable.
Status NotAllowed(std::string_view option, std::string_view value, std::string_view allowed);
// "case: nothing given; needed: descriptors such as …": an argument that cannot be left out.
Status NothingGiven(std::string_view argument, std::string_view needed);
// "--pin, --no-pin: given together; allowed: one of the two": of flags and options that do not go together.
Status GivenTogether(std::string_view options, std::string_view allowed);
// "--zip: given alone; allowed: together with --sweep".
Status GivenAlone(std::string_view option, std::string_view allowed);

Result<int64_t> ParseInteger(std::string_view option, std::string_view text, int64_t low,
                             int64_t high);

// "2" or "1,2"; each from 1 to `available`, none twice.
Result<std::vector<int>> ParseThreads(std::string_view text, int available);

// "nhwc", "nchw", "nchw16c", "nchw8c"; upper case too.
Result<Layout> ParseLayout(std::string_view text);

// A set that this machine has.
Result<Isa> ParseIsaOption(std::string_view text);

// "default", "strict".
Result<Accuracy> ParseAccuracy(std::string_view text);

// "model", "measure".
Result<Planning> ParsePlanning(std::string_view text);

// "hot", or a list such as "hot,cold-weights,cold"; none twice.
Result<std::vector<bench::CacheMode>> ParseCacheModes(std::string_view text);

// "3%" or "0.5%": from 0 to 1000 %, as a fraction.
Result<double> ParsePercent(std::string_view option, std::string_view text);

// The name of an algorithm of the library; empty is allowed.
Result<std::string> ParseAlgorithm(std::string_view text);

// "90s", "3m", "1h", "500ms"; at least 1 ms, at most 24 hours. In microseconds.
Result<double> ParseDuration(std::string_view option, std::string_view text);

// A regular expression (ECMAScript); matches anywhere in a text.
Result<std::regex> ParseFilter(std::string_view text);

// "6x2": register tiles of at most 6 pixels by 2 vectors, as kernels/conv/tile/tuning.h has them for
// `isa`, with fewer pixels if you like. Empty: no choice.
Result<TileChoice> ParseTile(std::string_view text, Isa isa);

// "relu+clip:0:6+residual_add": names of rafter/post_ops.h, parameters behind colons, commas instead
// of '+' if you like, and the short names relu6, silu, add and sum. A channel_scale has `oc` factors
// of one. Empty: none.
Result<PostOps> ParsePostOps(std::string_view text, int64_t oc);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_ARGUMENTS_H_
