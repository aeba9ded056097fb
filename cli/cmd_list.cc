// cli/cmd_list.cc: `rafter list`: what may be asked for: suites, algorithms, post-ops, layouts,
// ISAs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/baseline.h"
#include "bench/printable.h"
#include "bench/suite.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/standard_output.h"
#include "kernels/conv/dispatch.h"
#include "rafter/cpu.h"
#include "rafter/post_ops.h"
#include "rafter/tensor.h"

namespace rafter::cli {
namespace {

constexpr const char* kListExamples =
    "Examples:\n"
    "  rafter list\n"
    "  rafter list --json";

struct Names {
  std::vector<bench::SuiteInfo> suites;
  std::vector<std::string> algorithms, post_ops, layouts, isas, baselines;
};

Names Collect() {
  Names names;
  names.suites = bench::ListSuites();
  for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
    names.algorithms.emplace_back(algorithm.name);
  }
  for (int kind = 1; kind <= static_cast<int>(PostOpKind::kChannelScale); ++kind) {
    names.post_ops.emplace_back(PostOpName(static_cast<PostOpKind>(kind)));
  }
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    names.layouts.emplace_back(LayoutName(layout));
  }
  for (Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= DetectedIsa()) names.isas.emplace_back(IsaName(isa));
  }
  names.baselines = bench::AvailableBaselines();
  return names;
}

std::string ToText(const Names& names) {
  std::string text = "suites\n";
  for (const bench::SuiteInfo& suite : names.suites) {
    fmt::format_to(std::back_inserter(text), "  @{:<20} {:>10}  {}\n", suite.name,
                   bench::Counted(static_cast<size_t>(suite.cases), "case"), suite.description);
  }
  const auto row = [&](std::string_view what, const std::vector<std::string>& values) {
    text += what;
    text += "\n ";
    for (const std::string& value : values) text += " " + value;
    text += '\n';
  };
  row("algorithms", names.algorithms);
  row("post-ops", names.post_ops);
  row("layouts", names.layouts);
  row("instruction sets of this machine", names.isas);
  row("baselines", names.baselines);
  return text;
}

nlohmann::ordered_json ToJson(const Names& names) {
  nlohmann::ordered_json json;
  json["suites"] = nlohmann::ordered_json::array();
  for (const bench::SuiteInfo& suite : names.suites) {
    json["suites"].push_back(
        {{"name", suite.name}, {"cases", suite.cases}, {"description", suite.description}});
  }
  json["algorithms"] = names.algorithms;
  json["post_ops"] = names.post_ops;
  json["layouts"] = names.layouts;
  json["isas"] = names.isas;
  json["baselines"] = names.baselines;
  return json;
}

}  // namespace

void AddListCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("list", "List suites, algorithms, post-ops, layouts, instruction sets");
  command->footer(kListExamples);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "JSON instead of text");
  command->callback([&action, json] {
    action = [json]() -> Result<int> {
      const Names names = Collect();
      Print(*json ? JsonText(ToJson(names)) : ToText(names));
      return kExitOk;
    };
  });
}

}  // namespace rafter::cli
