// bench/descriptor.h: convolution problems as benchdnn writes them
// ("mb1ic64ih56oc64oh56kh3ph1n\"conv2\"").
//
// Accepted is what benchdnn accepts (fields in any order, one optional '_' after each, missing axes
// and missing outputs filled in). Differences between the notation and rafter's ConvDesc, bridged
// here:
//   * dilation is 0-based in descriptors, 1-based in ConvDesc;
//   * only the left and top padding is written; right and bottom follow from the output size. A
//   negative
//     one (the last rows are never read) becomes 0, which gives the same output size and the same
//     sums;
//   * 1-D problems (only w given) become h = 1; 3-D problems parse and are answered with
//   kUnsupported.
// Every error names the position in the text, counted from 1.
#ifndef RAFTER_BENCH_DESCRIPTOR_H_
#define RAFTER_BENCH_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rafter/conv.h"
#include "rafter/status.h"

namespace rafter::bench {

// One spatial axis, completed. `pad_end` is derived and may be negative.
struct ProblemAxis {
  int64_t in = 0, out = 0, kernel = 0, stride = 1, pad = -1, pad_end = 0;
  int64_t dilation = 0;  // 0 = dense
  bool operator==(const ProblemAxis&) const = default;
};

// What a descriptor says after all rules of completion, before any check of the library.
struct Problem {
  int64_t groups = 1, mb = 2, ic = 0, oc = 0;
  bool has_groups = false;  // 'g' was written, even as g1
  int spatial_dims = 0;     // 1, 2 or 3; axes above it are 1 wide
  ProblemAxis d, h, w;
  std::string name;  // what follows 'n', quotes included; may be empty
};

// A 2-D (or 1-D) problem that rafter can be asked for. `desc` holds sizes only: dense NHWC, no
// bias.
struct Descriptor {
  ConvDesc desc;
  std::string name;  // without enclosing quotes
  std::string text;  // as given
  bool has_groups = false;
  int spatial_dims = 2;
};

// Parses and completes. kInvalidArgument: "position 4: no value after 'ic'". `error_position`, when
// given, receives that position.
Result<Problem> ParseProblem(std::string_view text, size_t* error_position = nullptr);

// Checks what the library demands of a parsed problem and converts it. kInvalidArgument: a rule is
// violated; kUnsupported: 3-D.
Result<ConvDesc> ToConvDesc(const Problem& problem);

// Both steps.
Result<Descriptor> ParseDescriptor(std::string_view text, size_t* error_position = nullptr);

enum class DescriptorForm {
  kShort,      // fields that have their default are left out; square images print h only
  kCanonical,  // every field: g1mb1_ic64ih56iw56oc64oh56ow56kh3kw3sh1sw1ph1pw1dh0dw0
};

// Prints sizes of `desc` (its layouts, bias and post-ops have no place in the notation). Parsing
// the text gives the same geometry: equal sizes, and paddings that differ at most in rows that
// nothing reads. `name` is appended quoted when not empty. `has_groups` prints the 'g' even when it
// is 1.
std::string PrintDescriptor(const ConvDesc& desc, DescriptorForm form, std::string_view name = {},
                            bool has_groups = false);

// PrintDescriptor of everything a parsed descriptor holds; 1-D problems print w only.
std::string PrintDescriptor(const Descriptor& descriptor, DescriptorForm form);

// Where the padding at the end of an axis lies: "back" (d), "bottom" (h), "right" (w).
const char* PadEndName(char letter) noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_DESCRIPTOR_H_
