// Reading bandwidth curves; see bandwidth_curve.h.
#include "roofline/bandwidth_curve.h"

#include <algorithm>
#include <cmath>

namespace rafter::roofline {

const char* MixName(Mix mix) noexcept {
  switch (mix) {
    case Mix::kLoad:
      return "load";
    case Mix::kTwoToOne:
      return "2:1";
    case Mix::kCopy:
      return "copy";
    case Mix::kInPlace:
      return "in-place";
    case Mix::kStore:
      return "store";
  }
  return "unknown";
}

std::optional<Mix> ParseMix(std::string_view name) noexcept {
  for (Mix mix : kAllMixes) {
    if (name == MixName(mix)) return mix;
  }
  return std::nullopt;
}

double StoreShare(Mix mix) noexcept {
  switch (mix) {
    case Mix::kLoad:
      return 0;
    case Mix::kTwoToOne:
      return 1.0 / 3;
    case Mix::kCopy:
      return 0.5;
    case Mix::kInPlace:
      return 0.5;
    case Mix::kStore:
      return 1;
  }
  return 0;
}

double Interpolate(const BandwidthCurve& curve, double footprint_bytes) noexcept {
  const auto& points = curve.points;
  if (points.empty()) return 0;
  if (!(footprint_bytes > points.front().footprint_bytes)) return points.front().gb_per_s;
  if (footprint_bytes >= points.back().footprint_bytes) return points.back().gb_per_s;
  const auto right = std::upper_bound(
      points.begin(), points.end(), footprint_bytes,
      [](double value, const BandwidthPoint& point) { return value < point.footprint_bytes; });
  const auto left = right - 1;
  if (left->gb_per_s <= 0 || right->gb_per_s <= 0) return left->gb_per_s;
  const double part = std::log(footprint_bytes / left->footprint_bytes) /
                      std::log(right->footprint_bytes / left->footprint_bytes);
  return left->gb_per_s * std::pow(right->gb_per_s / left->gb_per_s, part);
}

double WindowMaximum(const BandwidthCurve& curve, double footprint_bytes) noexcept {
  const double low = 0.8 * footprint_bytes, high = 1.25 * footprint_bytes;
  // The curve is monotonic between two points, so its maximum is at an end of the window or at a
  // point.
  double best = std::max(Interpolate(curve, low), Interpolate(curve, high));
  for (const BandwidthPoint& point : curve.points) {
    if (point.footprint_bytes >= low && point.footprint_bytes <= high) {
      best = std::max(best, point.gb_per_s);
    }
  }
  return best;
}

void RaiseCurve(BandwidthCurve& curve, const BandwidthPoint& point) {
  if (Interpolate(curve, point.footprint_bytes) >= point.gb_per_s) return;
  auto& points = curve.points;
  const auto at = std::lower_bound(points.begin(), points.end(), point.footprint_bytes,
                                   [](const BandwidthPoint& known, double footprint) {
                                     return known.footprint_bytes < footprint;
                                   });
  if (at != points.end() && at->footprint_bytes == point.footprint_bytes) {
    *at = point;
  } else {
    points.insert(at, point);
  }
}

}  // namespace rafter::roofline
