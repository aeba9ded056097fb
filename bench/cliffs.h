// bench/cliffs.h: steps in a swept parameter: where a small change of a layer makes each of its FLOPs much
// dearer or cheaper, and why.
//
// Compared is the time per valid FLOP of neighbouring values, everything else being equal, without what others took of
// the core meanwhile (the loss kSharedCore). A step counts when
// it exceeds 10 % by more than what both confidence intervals leave open. Its cause is the first of: another
// roof binds; another algorithm was chosen; the loss of the plan's model that changed most in its direction.
#ifndef RAFTER_BENCH_CLIFFS_H_
#define RAFTER_BENCH_CLIFFS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/case_result.h"

namespace rafter::bench {

struct Cliff {
  std::string axis;
  int64_t from = 0, to = 0;  // neighbouring values, rising
  size_t case_index = 0;     // of the case at `to`
  double ratio = 1;          // time per FLOP at `to` / at `from`
  std::string cause;         // "idle lanes", "algorithm", "roof", or "unexplained"
  std::string text;          // "oc 64 -> 80 (kh=3): each FLOP takes 18 % longer: idle lanes (…)"
};

// Of every axis, in order of the cases. `zipped`: the axes were walked side by side, so that no two cases differ in one
// thing only; then their first axis is followed.
std::vector<Cliff> FindCliffs(std::span<const CaseResult> cases, bool zipped = false);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CLIFFS_H_
