// cli/time_budget.h: shares the time of a run out among its cases. Pure arithmetic.
//
// A case costs its share of sampling time and an overhead (creation, verification, packing) that is
// not known before; the overheads seen so far shrink the shares of the cases to come. Long calls get larger shares, as
// an interval narrows with the number of samples: what a sample costs besides the call is kFixedUs.
#ifndef RAFTER_CLI_TIME_BUDGET_H_
#define RAFTER_CLI_TIME_BUDGET_H_

namespace rafter::cli {

struct TimeBudgetOptions {
  double total_us = 100e6;
  double largest_share_us = 4e6;  // more samples than fit into this tell nothing new
  double smallest_share_us = 20e3;
  // The total is a promise: cases that do not fit are left out. Otherwise it is an aim.
  bool strict = false;
};

class TimeBudget {
 public:
  explicit TimeBudget(const TimeBudgetOptions& options) : options_(options) {}

  // A case is to come whose calls take `call_us`; 0 = unknown.
  void Expect(double call_us);

  // Sampling time for the next case; 0 = leave it out, the time is used up.
  double NextShareUs(double elapsed_us, double call_us) const;

  // A case that got `share_us` has taken `wall_us` altogether.
  void Report(double share_us, double wall_us, double call_us);

 private:
  static constexpr double kFixedUs = 200;
  static double WeightOf(double call_us) { return kFixedUs + call_us; }

  TimeBudgetOptions options_;
  int left_ = 0;
  double left_weight_ = 0;
  int reported_ = 0;
  double overhead_us_ = 0;  // sum of what went beyond the shares
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_TIME_BUDGET_H_
