// kernels/conv/wisdom_text.h: one entry of wisdom as a line of text and back. The form is shown in
// rafter/wisdom.h. Not for whole texts: wisdom.h.
//
// Every entry has exactly one line: what PrintWisdomLine would not print is refused, so that a cut or
// edited file is noticed and a text survives import and export unchanged.
#ifndef RAFTER_KERNELS_CONV_WISDOM_TEXT_H_
#define RAFTER_KERNELS_CONV_WISDOM_TEXT_H_

#include <string>
#include <string_view>

#include "kernels/conv/wisdom_key.h"
#include "rafter/status.h"

namespace rafter {

inline constexpr std::string_view kWisdomTitle = "rafter wisdom 1";

// What was found out.
struct WisdomChoice {
  std::string algorithm;  // name of a row of the dispatch table, of this version or another one
  double us = 0;          // time of one call
  bool operator==(const WisdomChoice&) const = default;
};

struct WisdomEntry {
  std::string cpu;  // WisdomCpuName
  WisdomKey key;
  WisdomChoice choice;
};

// Name of a CPU in an entry: "AuthenticAMD-25-1-1". Bytes of the vendor that are neither letters nor
// digits become '_'.
std::string WisdomCpuName(std::string_view vendor, int family, int model, int stepping);

// As the text carries it: to a nanosecond, at least one, at most 10^12 us.
double RoundWisdomUs(double us) noexcept;

// Without a newline. `us` is rounded by RoundWisdomUs.
std::string PrintWisdomLine(std::string_view cpu, const WisdomKey& key, const WisdomChoice& choice);

// kInvalidArgument: names the field, what it holds and what is allowed.
Result<WisdomEntry> ParseWisdomLine(std::string_view line);

// `text` in quotes for a message: long ones are cut, bytes that do not print are shown as '?'.
std::string QuotedWisdom(std::string_view text);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_WISDOM_TEXT_H_
