// roofline/bandwidth_curve.h: bandwidth as a function of the footprint and of the mix of loads and
// stores, and how a value between the measured points is read. Pure arithmetic; bandwidth_probe.h
// measures.
//
// Bytes are explicit bytes: what the program's loads and stores name, without the traffic that a
// cache adds on its own (write-allocate). Roof and case are counted the same way, so that traffic
// cancels out.
#ifndef RAFTER_ROOFLINE_BANDWIDTH_CURVE_H_
#define RAFTER_ROOFLINE_BANDWIDTH_CURVE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rafter/cpu.h"

namespace rafter::roofline {

enum class Mix : uint8_t {
  kLoad,      // one array read
  kTwoToOne,  // two arrays read, one written
  kCopy,      // one array read, another one written
  kInPlace,   // every line read and written back
  kStore,     // one array written
};
inline constexpr Mix kAllMixes[] = {Mix::kLoad, Mix::kTwoToOne, Mix::kCopy, Mix::kInPlace,
                                    Mix::kStore};

// "load", "2:1", "copy", "in-place", "store".
const char* MixName(Mix mix) noexcept;
std::optional<Mix> ParseMix(std::string_view name) noexcept;
// Stored bytes / all explicit bytes: 0, 1/3, 1/2, 1/2, 1.
double StoreShare(Mix mix) noexcept;

struct BandwidthPoint {
  double footprint_bytes = 0;  // distinct bytes touched, all threads and arrays together
  double gb_per_s = 0;         // explicit bytes / time of the best batch
  double median_gb_per_s = 0;  // the same for the median batch
};

struct BandwidthCurve {
  Isa isa = Isa::kNone;  // kNone: whatever set (data sheets)
  int threads = 0;       // 0: the whole machine (data sheets)
  Mix mix = Mix::kLoad;
  bool non_temporal = false;           // stores go past the caches
  std::vector<BandwidthPoint> points;  // rising footprint
};

// The value at `footprint_bytes`: straight lines between the points in log(footprint),
// log(bandwidth); constant beyond the ends. 0 for a curve without points.
double Interpolate(const BandwidthCurve& curve, double footprint_bytes) noexcept;

// The largest value between 0.8 and 1.25 times `footprint_bytes`: the roof at that footprint. The
// window absorbs the spread of a single point and the uncertainty of what "footprint" means for a
// blocked kernel.
double WindowMaximum(const BandwidthCurve& curve, double footprint_bytes) noexcept;

// Lets the curve pass through `point` where it lies below: a bandwidth that was reached once is no limit any more.
void RaiseCurve(BandwidthCurve& curve, const BandwidthPoint& point);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_BANDWIDTH_CURVE_H_
