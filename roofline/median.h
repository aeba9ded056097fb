// roofline/median.h: the middle of measured values.
#ifndef RAFTER_ROOFLINE_MEDIAN_H_
#define RAFTER_ROOFLINE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rafter::roofline {

// Of an even number the upper of the two in the middle: a value that was measured. At least one value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_MEDIAN_H_
