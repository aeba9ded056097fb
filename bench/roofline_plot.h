// bench/roofline_plot.h: what a roofline diagram of a report shows: per thread count the peak, the
// bandwidths of the cache levels, and one dot per case. Drawn by roofline_svg.h and by the report page.
//
// Three tiers, as the literature draws them: the data-sheet roof (dotted), the measured roofs, and what
// was achieved (dots). Levels are drawn with the best mix of loads and stores of the level, so that no
// dot may lie above its line.
#ifndef RAFTER_BENCH_ROOFLINE_PLOT_H_
#define RAFTER_BENCH_ROOFLINE_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bench/report_json.h"

namespace rafter::bench {

struct RoofLevel {
  std::string name;     // "L1" … "DRAM"
  double gb_per_s = 0;  // pure loads, largest of the level
  double ridge = 0;     // peak / gb_per_s, FLOP/byte
};

struct RooflineDot {
  size_t case_index = 0;  // in the report
  std::string label, algorithm;
  double intensity = 0;  // valid FLOPs per compulsory byte
  double gflops = 0;     // valid FLOPs / time
  double time_us = 0;
  bool hollow = false;  // does fewer FLOPs than it is credited with (Winograd): may lie above the roof
};

// One diagram: cases of one thread count share their roofs.
struct RooflineView {
  int threads = 1;
  std::string isa;  // of the roofs
  double peak_gflops = 0;
  std::vector<RoofLevel> levels;  // fastest first
  std::vector<RooflineDot> dots;
};

// A roof by arithmetic, not by measurement.
struct DataSheetRoof {
  std::string name;
  double gflops = 0, gb_per_s = 0;  // 0 = unknown
  int threads = 0;                  // of the views that it belongs to; 0 = all
};

struct RooflinePlot {
  std::string machine;
  std::vector<RooflineView> views;
  std::vector<DataSheetRoof> sheets;
};

// Cases that failed, or that have no FLOPs or bytes, have no dot. Roofs that are missing or malformed in the
// report leave a view without lines.
RooflinePlot MakeRooflinePlot(const Report& report);

// Whether the algorithm is credited with FLOPs that it does not execute.
bool SavesFlops(const std::string& algorithm);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_ROOFLINE_PLOT_H_
