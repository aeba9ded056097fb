// bench/roofline_plot.cc: reads the roofs of a report and places its cases under them.
#include "bench/roofline_plot.h"

#include <algorithm>
#include <set>
#include <utility>

#include "rafter/cpu.h"
#include "roofline/machine_json.h"
#include "roofline/model.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

// The roofs in a report's environment; none when it has none.
roofline::Roofs RoofsOf(const Json& environment) {
  const auto found = environment.find("roofs");
  if (found == environment.end() || !found->is_object()) return {};
  const Json machine = {{"schema", 1}, {"name", ""}, {"source", "measured"}, {"roofs", *found}};
  const Result<roofline::Machine> read = roofline::MachineFromJson(machine.dump());
  return read.ok() ? read->roofs : roofline::Roofs{};
}

std::string MachineName(const Json& environment) {
  const auto cpu = environment.find("cpu");
  if (cpu == environment.end() || !cpu->is_object()) return "unknown machine";
  const auto name = cpu->find("model_name");
  return name != cpu->end() && name->is_string() ? name->get<std::string>() : "unknown machine";
}

// The widest set whose peak is known for this many threads.
const roofline::FmaPeak* WidestPeak(const roofline::Roofs& roofs, int threads) {
  const roofline::FmaPeak* widest = nullptr;
  for (const roofline::FmaPeak& peak : roofs.peaks) {
    if (peak.threads == threads && (widest == nullptr || peak.isa > widest->isa)) widest = &peak;
  }
  return widest;
}

void AddRoofs(const roofline::Roofs& roofs, RooflineView& view) {
  const roofline::FmaPeak* peak = WidestPeak(roofs, view.threads);
  if (peak == nullptr) return;
  view.isa = IsaName(peak->isa);
  view.peak_gflops = peak->gflops;
  using roofline::Level;
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3, Level::kDram}) {
    double best = 0;
    // No layer only stores, and a pass in place names each byte twice while a dot counts it once.
    for (const roofline::Mix mix : {roofline::Mix::kLoad, roofline::Mix::kTwoToOne, roofline::Mix::kCopy}) {
      best = std::max(best, roofline::LevelBandwidth(roofs, peak->isa, view.threads, level, mix));
    }
    if (best > 0) view.levels.push_back({roofline::LevelName(level), best, peak->gflops / best});
  }
}

// What the clock and the width of the vector units promise. Without a table of products the clock is the
// measured one of scalar code, which vector load may lower.
void AddOwnSheet(const roofline::Roofs& roofs, RooflinePlot& plot) {
  for (const RooflineView& view : plot.views) {
    const roofline::FmaPeak* peak = WidestPeak(roofs, view.threads);
    if (peak == nullptr || !(roofs.clock.ghz > 0)) continue;
    const double lanes = peak->isa >= Isa::kAvx512 ? 16 : 8;
    constexpr double kPipes = 2, kFlopsPerFma = 2;
    const double gflops = view.threads * roofs.clock.ghz * kPipes * lanes * kFlopsPerFma;
    const std::string threads = std::to_string(view.threads) + (view.threads == 1 ? " thread" : " threads");
    plot.sheets.push_back(
        {"clock x 2 FMA x " + std::to_string(static_cast<int>(lanes)) + " lanes, " + threads, gflops, 0, view.threads});
  }
}

}  // namespace

bool SavesFlops(const std::string& algorithm) {
  return algorithm.find("winograd") != std::string::npos || algorithm.find("fft") != std::string::npos;
}

RooflinePlot MakeRooflinePlot(const Report& report) {
  RooflinePlot plot;
  plot.machine = MachineName(report.environment);
  const roofline::Roofs roofs = RoofsOf(report.environment);
  std::set<int> thread_counts;
  for (const CaseResult& result : report.cases) thread_counts.insert(result.threads);
  for (const int threads : thread_counts) {
    RooflineView view;
    view.threads = threads;
    AddRoofs(roofs, view);
    for (size_t i = 0; i < report.cases.size(); ++i) {
      const CaseResult& result = report.cases[i];
      if (result.threads != threads || !result.error.empty()) continue;
      if (!(result.flops_valid > 0 && result.bytes > 0 && result.gflops > 0)) continue;
      view.dots.push_back({i, result.name.empty() ? result.descriptor : result.name, result.algorithm,
                           result.flops_valid / result.bytes, result.gflops, result.time.median,
                           SavesFlops(result.algorithm)});
    }
    plot.views.push_back(std::move(view));
  }
  AddOwnSheet(roofs, plot);
  return plot;
}

}  // namespace rafter::bench
