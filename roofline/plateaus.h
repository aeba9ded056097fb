// roofline/plateaus.h: finds the cache levels in a measured bandwidth curve. Virtual machines
// report caches that a guest does not get; what the curve shows is what the program has. Pure
// arithmetic.
#ifndef RAFTER_ROOFLINE_PLATEAUS_H_
#define RAFTER_ROOFLINE_PLATEAUS_H_

#include <cstdint>
#include <vector>

#include "rafter/cpu.h"
#include "roofline/bandwidth_curve.h"

namespace rafter::roofline {

// Stretch of the curve with about the same bandwidth.
struct Plateau {
  double first_bytes = 0, last_bytes = 0;  // footprints of its first and last point
  double gb_per_s = 0;                     // median of its points
};

// At most four plateaus of falling bandwidth: piecewise constant fit of log(bandwidth) with a price
// per piece; pieces that differ by less than 10 % are one, single points on a slope belong to none.
std::vector<Plateau> FindPlateaus(const BandwidthCurve& curve);

// Up to which footprint each level serves a program; 0 = there is no such level, or it is not
// known.
struct LevelCapacities {
  double l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
};

// Level ends seen in `curve`: the geometric mean between neighbouring plateaus. Which level an edge
// belongs to is decided by the reported sizes: the assignment in rising order that fits them best,
// however far off they are (the last level of a guest is often a fraction of what is reported).
LevelCapacities MeasuredCapacities(const BandwidthCurve& curve, const LevelCapacities& reported);

// Per level the smaller of what is reported and what was measured, if both are known.
LevelCapacities CrossCheck(const LevelCapacities& reported, const LevelCapacities& measured);

enum class Level : uint8_t { kL1, kL2, kL3, kDram };
// "L1", "L2", "L3", "DRAM".
const char* LevelName(Level level) noexcept;
// The level that serves a footprint.
Level LevelOf(const LevelCapacities& capacities, double footprint_bytes) noexcept;

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_PLATEAUS_H_
