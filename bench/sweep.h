// bench/sweep.h: many cases from one: "oc=16:256:16,kh=1,3,5,stride=1,2" applied to a base problem.
//
// An axis is a name and its values; a value is a number, a range "16:256:16" (both ends included) or a
// geometric range "16:1024:*2". Axes are combined (product) or walked side by side (zip).
//
// Names are those of descriptors (mb g ic oc ih iw kh kw sh sw ph pw dh dw) and, for both spatial axes or both
// channel counts together, size kernel stride pad dilation c. As in descriptors an h stands for w as well where
// the base is square and the sweep does not name the w. dh and dw count from 0 as in descriptors, dilation counts
// from 1 as in frameworks. In a depthwise base c means groups, too.
//
// Padding that keeps the size of the image ("same") keeps doing so when kernel or dilation change, unless the sweep
// sets it. The output size follows.
#ifndef RAFTER_BENCH_SWEEP_H_
#define RAFTER_BENCH_SWEEP_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suite.h"
#include "rafter/status.h"

namespace rafter::bench {

struct SweepAxis {
  std::string name;
  std::vector<int64_t> values;  // at least one, rising or as listed, none twice (but in axes behind the first of a zip)
};

struct Sweep {
  std::vector<SweepAxis> axes;
  bool zip = false;
};

inline constexpr int64_t kMostSweepCases = 20000;

// kInvalidArgument names the part that is wrong and what is allowed.
Result<Sweep> ParseSweep(std::string_view text, bool zip);

struct SweepCases {
  std::vector<SuiteCase> cases;       // named "oc=64 kh=3"
  std::vector<std::string> left_out;  // combinations that are no valid problem, with the reason
};

// kInvalidArgument: no combination is valid.
Result<SweepCases> ExpandSweep(const Sweep& sweep, const Descriptor& base);

// {"base", "kind", "axes": [{"name", "values"}]}, as reports hold it.
nlohmann::ordered_json SweepToJson(const Sweep& sweep, const Descriptor& base);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_SWEEP_H_
