// cli/cmd_accuracy.cc: `rafter accuracy`: rounding errors of the algorithms against double precision.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/accuracy.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/standard_output.h"

namespace rafter::cli {
namespace {

constexpr const char* kAccuracyExamples =
    "Examples:\n"
    "  rafter accuracy                               3x3 at 14x14, 16 to 512 channels\n"
    "  rafter accuracy --channels 64,256 --scale 100\n"
    "  rafter accuracy --kernel 1x3 --json";

struct Options {
  std::string channels = "16,32,64,128,256,512", kernel = "3x3", size = "14", scale = "1", seed = "1";
  bool json = false;
};

Result<std::vector<int64_t>> ParseChannels(std::string_view text) {
  std::vector<int64_t> channels;
  while (true) {
    const size_t comma = text.find(',');
    const Result<int64_t> one = ParseInteger("--channels", text.substr(0, comma), 1, 4096);
    if (!one.ok()) return one.status();
    channels.push_back(*one);
    if (comma == std::string_view::npos) return channels;
    text.remove_prefix(comma + 1);
  }
}

Result<Size2> ParseKernel(std::string_view text) {
  if (text == "3x3") return Size2{3, 3};
  if (text == "1x3") return Size2{1, 3};
  if (text == "3x1") return Size2{3, 1};
  return NotAllowed("--kernel", text, "3x3, 1x3, 3x1");
}

Result<bench::AccuracyOptions> Parse(const Options& options) {
  bench::AccuracyOptions parsed;
  const Result<std::vector<int64_t>> channels = ParseChannels(options.channels);
  if (!channels.ok()) return channels.status();
  const Result<Size2> kernel = ParseKernel(options.kernel);
  if (!kernel.ok()) return kernel.status();
  const Result<int64_t> size = ParseInteger("--size", options.size, 1, 64);
  if (!size.ok()) return size.status();
  const Result<int64_t> scale = ParseInteger("--scale", options.scale, 1, 1000000);
  if (!scale.ok()) return scale.status();
  const Result<int64_t> seed = ParseInteger("--seed", options.seed, 0, 1000000);
  if (!seed.ok()) return seed.status();
  parsed.channels = *channels;
  parsed.kernel = *kernel;
  parsed.image = {*size, *size};
  parsed.scale = static_cast<float>(*scale);
  parsed.seed = static_cast<uint64_t>(*seed);
  return parsed;
}

std::string ToText(const std::vector<bench::AccuracyRow>& rows) {
  std::string text = "errors relative to the root mean square of the outputs, against double precision\n";
  text += fmt::format("{:>8}  {:<16} {:<8} {:>10} {:>10} {:>14}\n", "channels", "algorithm", "isa", "max", "rms",
                      "rms / direct's");
  for (const bench::AccuracyRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "{:>8}  {:<16} {:<8} {:>10.2e} {:>10.2e} {:>14.2f}\n", row.channels,
                   row.algorithm, row.isa, row.max_error, row.rms_error, row.rms_ratio);
  }
  return text;
}

nlohmann::ordered_json ToJson(const std::vector<bench::AccuracyRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const bench::AccuracyRow& row : rows) {
    json.push_back({{"channels", row.channels},
                    {"algorithm", row.algorithm},
                    {"isa", row.isa},
                    {"max_error", row.max_error},
                    {"rms_error", row.rms_error},
                    {"rms_ratio", row.rms_ratio}});
  }
  return json;
}

Result<int> RunAccuracy(const Options& options) {
  const Result<bench::AccuracyOptions> parsed = Parse(options);
  if (!parsed.ok()) return parsed.status();
  const Result<std::vector<bench::AccuracyRow>> rows = bench::MeasureAccuracy(*parsed);
  if (!rows.ok()) return rows.status();
  Print(options.json ? JsonText(ToJson(*rows)) : ToText(*rows));
  return kExitOk;
}

}  // namespace

void AddAccuracyCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("accuracy", "Measure rounding errors of the algorithms against double precision");
  command->footer(kAccuracyExamples);
  auto options = std::make_shared<Options>();
  const auto value = [&](const char* name, std::string& text, const char* help) {
    command->add_option(name, text, help)->type_name("VALUE")->capture_default_str();
  };
  value("--channels", options->channels, "Input and output channels, a list such as 16,64");
  value("--kernel", options->kernel, "3x3, 1x3 or 3x1");
  value("--size", options->size, "Rows and columns of the image");
  value("--scale", options->scale, "Inputs and weights are uniform between -VALUE and VALUE");
  value("--seed", options->seed, "Seed of the data");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->callback([&action, options] {
    action = [options]() -> Result<int> { return RunAccuracy(*options); };
  });
}

}  // namespace rafter::cli
