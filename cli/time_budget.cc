// cli/time_budget.cc: see time_budget.h.
#include "cli/time_budget.h"

#include <algorithm>

namespace rafter::cli {

void TimeBudget::Expect(double call_us) {
  ++left_;
  left_weight_ += WeightOf(call_us);
}

double TimeBudget::NextShareUs(double elapsed_us, double call_us) const {
  const double remaining = options_.total_us - elapsed_us;
  if (remaining <= 0 && options_.strict) return 0;
  const double overhead = reported_ > 0 ? overhead_us_ / reported_ : 0;
  // Of what the cases to come leave unused or need besides, as of the time itself.
  const double part = WeightOf(call_us) / std::max(left_weight_, WeightOf(call_us));
  const double share = (remaining - overhead * std::max(1, left_)) * part;
  return std::clamp(share, options_.smallest_share_us, options_.largest_share_us);
}

void TimeBudget::Report(double share_us, double wall_us, double call_us) {
  --left_;
  left_weight_ -= WeightOf(call_us);
  ++reported_;
  // Negative when the interval became narrow early: that time serves the others.
  overhead_us_ += wall_us - share_us;
}

}  // namespace rafter::cli
