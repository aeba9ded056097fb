// The rules; see roof_plausibility.h.
#include "roofline/roof_plausibility.h"

#include <cmath>
#include <cstdio>

#include "roofline/model.h"

namespace rafter::roofline {
namespace {

// Measurements repeat within a few percent; threads that share a core still reach what one thread does.
constexpr double kLeastOfOneThread = 0.9;
// L1 has 1.5 times L3's bandwidth or more on every known core.
constexpr double kLeastOfL3 = 0.5;

std::string Said(const char* what, double found, const char* unit, const char* than_what, double than) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %.1f %s, %s %.1f", what, found, unit, than_what, than);
  return text;
}

bool Positive(double value) noexcept { return std::isfinite(value) && value > 0; }

std::string OfPeak(const Roofs& roofs, Isa isa, int threads, double one_thread_gflops) {
  const FmaPeak* peak = FindPeak(roofs, isa, threads);
  if (peak == nullptr) return {};
  if (!Positive(peak->gflops)) return "FMA peak of 0";
  if (threads < 2) return {};
  if (const FmaPeak* one = FindPeak(roofs, isa, 1); one != nullptr && one->threads == 1) {
    one_thread_gflops = one->gflops;
  }
  if (peak->gflops >= kLeastOfOneThread * one_thread_gflops) return {};
  return Said("FMA peak", peak->gflops, "GFLOP/s", "of one thread", one_thread_gflops);
}

std::string OfCurve(const Roofs& roofs, const BandwidthCurve& curve) {
  const std::string name = std::string(MixName(curve.mix)) + " bandwidth of ";
  for (const BandwidthPoint& point : curve.points) {
    if (!Positive(point.gb_per_s)) return name + "0";
  }
  if (curve.non_temporal) return {};
  const auto level = [&](int threads, Level which) {
    return LevelBandwidth(roofs, curve.isa, threads, which, curve.mix);
  };
  const double l1 = level(curve.threads, Level::kL1), l3 = level(curve.threads, Level::kL3);
  if (l1 > 0 && l1 < kLeastOfL3 * l3) return Said((name + "L1").c_str(), l1, "GB/s", "of L3", l3);
  const double one = curve.threads > 1 ? level(1, Level::kL1) : 0;
  if (l1 > 0 && l1 < kLeastOfOneThread * one) return Said((name + "L1").c_str(), l1, "GB/s", "of one thread", one);
  return {};
}

}  // namespace

std::string Implausibility(const Roofs& roofs, Isa isa, int threads, double one_thread_gflops) {
  std::string why = OfPeak(roofs, isa, threads, one_thread_gflops);
  for (const BandwidthCurve& curve : roofs.curves) {
    if (why.empty() && curve.isa == isa && curve.threads == threads) why = OfCurve(roofs, curve);
  }
  if (why.empty()) return {};
  return std::string(IsaName(isa)) + ", " + std::to_string(threads) + (threads == 1 ? " thread: " : " threads: ") + why;
}

}  // namespace rafter::roofline
