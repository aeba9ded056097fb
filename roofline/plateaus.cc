// Piecewise constant fit of a bandwidth curve; see plateaus.h.
#include "roofline/plateaus.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "roofline/median.h"

namespace rafter::roofline {
namespace {

constexpr int kMaxPlateaus = 4;  // L1, L2, L3, DRAM
// A slope between two plateaus takes one to four points of the sweep; the fit may spend pieces on
// it.
constexpr int kMaxPieces = 2 * kMaxPlateaus - 1;
// Price of a piece in squared log units: noise of 3 % on 30 points adds 0.03, a step of 20 % seen
// in three points on each side 0.05.
constexpr double kPiecePrice = 0.03;
constexpr double kSameLevelRatio = 1.10;

struct Piece {
  size_t begin = 0, end = 0;  // points [begin, end)
};

// Sum of squared deviations from the mean of values [begin, end), from prefix sums.
class DeviationSums {
 public:
  explicit DeviationSums(const std::vector<double>& values)
      : sums_(values.size() + 1), squares_(values.size() + 1) {
    for (size_t i = 0; i < values.size(); ++i) {
      sums_[i + 1] = sums_[i] + values[i];
      squares_[i + 1] = squares_[i] + values[i] * values[i];
    }
  }
  double Of(size_t begin, size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }

 private:
  std::vector<double> sums_, squares_;
};

// The cheapest partition into at most kMaxPieces pieces, by dynamic programming: cost[k][i] is the
// least deviation of the first i values in k pieces.
std::vector<Piece> FitPieces(const std::vector<double>& values) {
  const size_t n = values.size();
  const DeviationSums deviation(values);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<std::vector<double>, kMaxPieces + 1> cost;
  std::array<std::vector<size_t>, kMaxPieces + 1> start;
  for (int k = 0; k <= kMaxPieces; ++k) {
    cost[k].assign(n + 1, kInfinity);
    start[k].assign(n + 1, 0);
  }
  cost[0][0] = 0;
  for (int k = 1; k <= kMaxPieces; ++k) {
    for (size_t i = 1; i <= n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double total = cost[k - 1][j] + deviation.Of(j, i);
        if (total < cost[k][i]) {
          cost[k][i] = total;
          start[k][i] = j;
        }
      }
    }
  }
  int best = 1;
  for (int k = 2; k <= kMaxPieces; ++k) {
    if (cost[k][n] + k * kPiecePrice < cost[best][n] + best * kPiecePrice) best = k;
  }
  std::vector<Piece> pieces;
  for (size_t end = n; best > 0; --best) {
    pieces.insert(pieces.begin(), {start[best][end], end});
    end = pieces.front().begin;
  }
  return pieces;
}

Plateau MakePlateau(const std::vector<BandwidthPoint>& points, const Piece& piece) {
  std::vector<double> values;
  for (size_t i = piece.begin; i < piece.end; ++i) values.push_back(points[i].gb_per_s);
  return {points[piece.begin].footprint_bytes, points[piece.end - 1].footprint_bytes,
          Median(std::move(values))};
}

// Joins neighbours of the same level, and rises (measurement noise: bandwidth never grows with the
// footprint once loops are long) with what follows or precedes.
std::vector<Plateau> Join(const std::vector<Plateau>& pieces) {
  std::vector<Plateau> joined;
  for (const Plateau& piece : pieces) {
    if (!joined.empty() && piece.gb_per_s * kSameLevelRatio > joined.back().gb_per_s) {
      joined.back().last_bytes = piece.last_bytes;
      joined.back().gb_per_s = std::max(joined.back().gb_per_s, piece.gb_per_s);
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

constexpr int kCaches = 3;
using Sizes = std::array<double, kCaches>;  // of L1, L2, L3; 0 = none

// Edges in order on the levels of `set` (bit 0 = L1).
Sizes Spread(const std::vector<double>& edges, unsigned set) {
  Sizes sizes{};
  size_t next = 0;
  for (size_t level = 0; level < sizes.size(); ++level) {
    if ((set >> level & 1) != 0) sizes[level] = edges[next++];
  }
  return sizes;
}

// Sum of |log(measured / reported)|. A level that nothing reports is as far off as a factor of
// three, so that it takes an edge only when the others fit worse; among equals the lower levels
// come first.
double Distance(const Sizes& measured, const Sizes& reported) {
  double distance = 0;
  for (size_t level = 0; level < measured.size(); ++level) {
    if (measured[level] <= 0) continue;
    distance +=
        reported[level] > 0 ? std::abs(std::log(measured[level] / reported[level])) : std::log(3.0);
  }
  return distance;
}

}  // namespace

std::vector<Plateau> FindPlateaus(const BandwidthCurve& curve) {
  std::vector<BandwidthPoint> points;
  std::vector<double> logs;
  for (const BandwidthPoint& point : curve.points) {
    if (point.gb_per_s <= 0) continue;
    points.push_back(point);
    logs.push_back(std::log(point.gb_per_s));
  }
  if (points.empty()) return {};
  const std::vector<Piece> pieces = FitPieces(logs);
  std::vector<Plateau> plateaus;
  for (size_t i = 0; i < pieces.size(); ++i) {
    // A single point inside is a slope; at the ends it may be all that was measured of a level.
    const bool inside = i > 0 && i + 1 < pieces.size();
    if (inside && pieces[i].end - pieces[i].begin == 1) continue;
    plateaus.push_back(MakePlateau(points, pieces[i]));
  }
  plateaus = Join(plateaus);
  // A long slope can look like a short plateau: drop the shortest until at most four are left.
  while (plateaus.size() > kMaxPlateaus) {
    auto span = [](const Plateau& p) { return p.last_bytes / p.first_bytes; };
    plateaus.erase(
        std::min_element(plateaus.begin() + 1, plateaus.end() - 1,
                         [&](const Plateau& a, const Plateau& b) { return span(a) < span(b); }));
  }
  return plateaus;
}

LevelCapacities MeasuredCapacities(const BandwidthCurve& curve, const LevelCapacities& reported) {
  const std::vector<Plateau> plateaus = FindPlateaus(curve);
  std::vector<double> edges;
  for (size_t i = 0; i + 1 < plateaus.size(); ++i) {
    edges.push_back(std::sqrt(plateaus[i].last_bytes * plateaus[i + 1].first_bytes));
  }
  // All ways to give the edges to levels in their order: sets of as many levels as there are edges.
  Sizes best{};
  double best_distance = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < 1u << kCaches; ++set) {
    if (static_cast<size_t>(std::popcount(set)) != edges.size()) continue;
    const Sizes sizes = Spread(edges, set);
    const double distance =
        Distance(sizes, {reported.l1_bytes, reported.l2_bytes, reported.l3_bytes});
    if (distance < best_distance) {
      best_distance = distance;
      best = sizes;
    }
  }
  return {best[0], best[1], best[2]};
}

LevelCapacities CrossCheck(const LevelCapacities& reported, const LevelCapacities& measured) {
  auto smaller = [](double a, double b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
  };
  return {smaller(reported.l1_bytes, measured.l1_bytes),
          smaller(reported.l2_bytes, measured.l2_bytes),
          smaller(reported.l3_bytes, measured.l3_bytes)};
}

const char* LevelName(Level level) noexcept {
  switch (level) {
    case Level::kL1:
      return "L1";
    case Level::kL2:
      return "L2";
    case Level::kL3:
      return "L3";
    case Level::kDram:
      return "DRAM";
  }
  return "unknown";
}

Level LevelOf(const LevelCapacities& capacities, double footprint_bytes) noexcept {
  if (footprint_bytes <= capacities.l1_bytes) return Level::kL1;
  if (footprint_bytes <= capacities.l2_bytes) return Level::kL2;
  if (footprint_bytes <= capacities.l3_bytes) return Level::kL3;
  return Level::kDram;
}

}  // namespace rafter::roofline
