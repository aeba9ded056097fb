// roofline/page_probe.h: what it costs to touch memory for the first time: the system hands out each page on its first
// use, zeroed, at the price of a trap. Why the first inference is slow, and why buffers are worth keeping.
#ifndef RAFTER_ROOFLINE_PAGE_PROBE_H_
#define RAFTER_ROOFLINE_PAGE_PROBE_H_

#include <cstddef>

namespace rafter::roofline {

struct PageCost {
  size_t bytes = 0;
  double fresh_us = 0;  // writing pages that nobody touched before
  double warm_us = 0;   // writing the same ones again
};

// The shortest of three trials with pages of the usual size (no huge ones). Zeros when there is no memory.
PageCost MeasureFirstTouch(size_t bytes);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_PAGE_PROBE_H_
