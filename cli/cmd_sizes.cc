// cli/cmd_sizes.cc: `rafter sizes`: FLOPs, parameters, memory access, footprint, intensity and the least time of layers
// and of whole models, by arithmetic (bench/layer_sizes.h); nothing is executed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/layer_sizes.h"
#include "bench/printable.h"
#include "bench/suite.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/local_roofs.h"
#include "cli/machine_option.h"
#include "cli/standard_output.h"
#include "roofline/input_text.h"
#include "roofline/model.h"
#include "runtime/affinity.h"

namespace rafter::cli {
namespace {

constexpr const char* kSizesExamples =
    "Examples:\n"
    "  rafter sizes mb1ic64ih56oc64oh56kh3ph1 maxpool:mb1ic64ih112kh3sh2ph1 fc:mb1ic2048oc1000\n"
    "  rafter sizes lstm:t10mb1ic256hc512 matmul:64x128:128x256 relu:1x64x56x56\n"
    "  rafter sizes concat:1x64x56x56:1x32x56x56 pad:1x3x224x224:3,3,3,3 deconv:mb1ic64ih28oc32kh2sh2\n"
    "  rafter sizes @resnet_50 --mb 1 --machine v100\n"
    "  rafter sizes model.txt --json\n"
    "\n"
    "A file holds layers separated by blanks or line ends; # starts a comment.";

constexpr size_t kMostLayers = 100'000;

struct SizesOptions {
  std::vector<std::string> layers;
  std::string machine, mb, threads = "1";
  bool json = false, quiet = false, no_measure = false;
};

struct TimedLayer {
  bench::LayerSizes sizes;
  std::optional<roofline::Bound> bound;
};

Status Append(const std::string& layer, std::vector<TimedLayer>& layers) {
  Result<bench::LayerSizes> sizes = bench::SizesOf(layer);
  if (!sizes.ok()) return sizes.status();
  layers.push_back({std::move(sizes).value(), std::nullopt});
  return {};
}

Status AppendSuite(const std::string& name, const std::string& mb, std::vector<TimedLayer>& layers) {
  Result<std::vector<bench::SuiteCase>> cases = bench::LoadSuite(name);
  if (!cases.ok()) return cases.status();
  if (!mb.empty()) {
    const Result<int64_t> batch = ParseInteger("--mb", mb, 1, 1'000'000);
    if (!batch.ok()) return batch.status();
    bench::OverrideBatch(*cases, *batch);
  }
  for (const bench::SuiteCase& one : *cases) {
    if (!one.status.ok() || one.op) continue;  // sizes of layers, not of operators
    const std::string text = bench::PrintDescriptor(one.descriptor.desc, bench::DescriptorForm::kShort);
    const std::string batch = one.descriptor.desc.n == 2 ? "mb2" : "";
    if (Status status = Append(batch + text, layers); !status.ok()) return status;
    if (!one.descriptor.name.empty()) layers.back().sizes.text = one.descriptor.name;
  }
  return {};
}

Status AppendFile(const std::string& path, std::vector<TimedLayer>& layers) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Status::InvalidArgument(fmt::format("file: '{}' is a directory", path));
  }
  const Result<std::string> text = roofline::ReadTextFile(path);
  if (!text.ok()) return Status::InvalidArgument(fmt::format("file: '{}' {}", path, text.status().message()));
  if (const size_t control = bench::FindControl(*text); control != std::string::npos) {
    return Status::InvalidArgument(fmt::format("file: '{}' is no text: byte {} is '{}'", path, control + 1,
                                               bench::Printable(text->substr(control, 1))));
  }
  std::istringstream file(*text);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      if (layers.size() >= kMostLayers) {
        return Status::InvalidArgument(fmt::format("file: '{}' holds too many layers; allowed: {}", path, kMostLayers));
      }
      if (Status status = Append(word, layers); !status.ok()) {
        return Status::InvalidArgument(fmt::format("{}:{}: {}", path, number, status.message()));
      }
    }
  }
  return {};
}

Result<std::vector<TimedLayer>> TakeLayers(const SizesOptions& options) {
  if (options.layers.empty()) {
    return NothingGiven("layer", "layers such as mb1ic64ih56oc64kh3ph1 or fc:mb1ic2048oc1000, files, @suites");
  }
  const bool any_suite = std::any_of(options.layers.begin(), options.layers.end(),
                                     [](const std::string& argument) { return argument.starts_with('@'); });
  if (!options.mb.empty() && !any_suite) return NotAllowed("--mb", options.mb, "together with @suites only");
  std::vector<TimedLayer> layers;
  for (const std::string& argument : options.layers) {
    std::error_code error;
    const Status status = argument.starts_with('@')                  ? AppendSuite(argument, options.mb, layers)
                          : std::filesystem::exists(argument, error) ? AppendFile(argument, layers)
                                                                     : Append(argument, layers);
    if (!status.ok()) return status;
  }
  if (layers.empty()) return NothingGiven("layer", "at least one in the files");
  return layers;
}

struct Where {
  roofline::Machine machine;
  Isa isa = Isa::kNone;
  int threads = 1;
};

Result<Where> TakeMachine(const SizesOptions& options) {
  const auto available = static_cast<int64_t>(AllowedCpus().size());
  const Result<int64_t> threads = ParseInteger("--threads", options.threads, 1, available);
  if (!threads.ok()) return threads.status();
  Where where;
  where.threads = static_cast<int>(*threads);
  if (!options.machine.empty()) {
    Result<roofline::Machine> machine = FindNamedMachine(options.machine);
    if (!machine.ok()) return machine.status();
    where.machine = std::move(machine).value();
  } else {
    RoofRequest request;
    request.isas = MeasurableIsas();
    if (!request.isas.empty()) request.isas = {request.isas.back()};
    request.threads = {where.threads};
    request.policy = options.no_measure ? RoofPolicy::kCacheOnly : RoofPolicy::kAsNeeded;
    Progress progress = StderrProgress(options.quiet);
    LocalRoofs local = GetLocalRoofs(request, progress);
    for (const std::string& remark : local.remarks) progress.Note(remark);
    where.machine = std::move(local.machine);
  }
  for (const roofline::FmaPeak& peak : where.machine.roofs.peaks) {
    if (peak.threads == where.threads || peak.threads == 0) where.isa = std::max(where.isa, peak.isa);
  }
  return where;
}

void Bound(const Where& where, TimedLayer& layer) {
  const bench::LayerSizes& sizes = layer.sizes;
  const roofline::Work work{sizes.flops, sizes.read_bytes, sizes.write_bytes, false};
  const Result<roofline::Bound> bound = roofline::BoundOf(where.machine, where.isa, where.threads, work);
  if (bound.ok()) layer.bound = *bound;
}

std::string Row(const TimedLayer& layer, const std::string& name) {
  const bench::LayerSizes& s = layer.sizes;
  std::string text =
      fmt::format("{:<42} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>9.4g}", name, s.flops, s.macs,
                  s.macs_nominal, s.parameters, s.bytes(), s.footprint_bytes, s.intensity());
  if (layer.bound) {
    text += fmt::format(" {:>10.3f} {:<7} {:>6.4g}", layer.bound->bound_us, roofline::BindingName(layer.bound->binding),
                        layer.bound->ridge);
  }
  return text + "\n";
}

std::string ToText(const std::vector<TimedLayer>& layers, const Where& where) {
  std::string text =
      fmt::format("{:<42} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>10} {:<7} {:>6}\n", "layer", "FLOPs",
                  "MACs", "nominal", "parameters", "bytes", "footprint", "FLOP/byte", "least us", "roof", "ridge");
  double total_us = 0;
  std::vector<bench::LayerSizes> sizes;
  for (const TimedLayer& layer : layers) {
    text += Row(layer, layer.sizes.text);
    sizes.push_back(layer.sizes);
    if (layer.bound) total_us += layer.bound->bound_us;
  }
  if (layers.size() > 1) text += Row({bench::SumOf(sizes), std::nullopt}, fmt::format("sum of {}", layers.size()));
  if (total_us > 0) {
    text += fmt::format("least time on {}: {:.3f} us = sum of max(FLOPs / peak, bytes / bandwidth)\n",
                        where.machine.name.empty() ? "this machine" : where.machine.name, total_us);
  } else {
    text += "no roofs are known: no times (rafter info measures them)\n";
  }
  text +=
      "FLOPs and MACs by valid taps (nominal: padding counts as data); 1 MAC = 2 FLOPs; bytes: read or written once\n";
  return text;
}

nlohmann::ordered_json LayerJson(const TimedLayer& layer) {
  const bench::LayerSizes& s = layer.sizes;
  nlohmann::ordered_json json = {{"layer", s.text},
                                 {"kind", s.kind},
                                 {"flops", s.flops},
                                 {"flops_nominal", s.flops_nominal},
                                 {"macs", s.macs},
                                 {"macs_nominal", s.macs_nominal},
                                 {"parameters", s.parameters},
                                 {"read_bytes", s.read_bytes},
                                 {"write_bytes", s.write_bytes},
                                 {"bytes", s.bytes()},
                                 {"footprint_bytes", s.footprint_bytes},
                                 {"intensity", s.intensity()}};
  if (layer.bound) {
    json["least_us"] = layer.bound->bound_us;
    json["binding"] = roofline::BindingName(layer.bound->binding);
    json["ridge"] = layer.bound->ridge;
  }
  return json;
}

nlohmann::ordered_json ToJson(const std::vector<TimedLayer>& layers, const Where& where) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"machine", where.machine.name},
                                 {"threads", where.threads},
                                 {"flop_table", bench::kFlopTableVersion}};
  json["layers"] = nlohmann::ordered_json::array();
  std::vector<bench::LayerSizes> sizes;
  double total_us = 0;
  for (const TimedLayer& layer : layers) {
    json["layers"].push_back(LayerJson(layer));
    sizes.push_back(layer.sizes);
    if (layer.bound) total_us += layer.bound->bound_us;
  }
  json["sum"] = LayerJson({bench::SumOf(sizes), std::nullopt});
  json["least_us"] = total_us > 0 ? nlohmann::ordered_json(total_us) : nlohmann::ordered_json(nullptr);
  return json;
}

Result<int> RunSizes(const SizesOptions& options) {
  Result<std::vector<TimedLayer>> layers = TakeLayers(options);
  if (!layers.ok()) return layers.status();
  CatchInterrupts();
  try {
    const Result<Where> where = TakeMachine(options);
    if (!where.ok()) return where.status();
    for (TimedLayer& layer : *layers) Bound(*where, layer);
    Print(options.json ? JsonText(ToJson(*layers, *where)) : ToText(*layers, *where));
  } catch (const MeasurementInterrupted&) {
    return kExitSignal + InterruptSignal();
  }
  return kExitOk;
}

}  // namespace

void AddSizesCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("sizes", "Count FLOPs, parameters, bytes and the least time of layers");
  command->footer(kSizesExamples);
  auto options = std::make_shared<SizesOptions>();
  command->add_option("layer", options->layers, "Layers, files of them, or @suites")->type_name("LAYER");
  command->add_option("--mb", options->mb, "Batch of the layers of suites")->type_name("N");
  command->add_option("--threads", options->threads, "Threads of the roofs (default 1)")->type_name("N");
  command->add_option("--machine", options->machine, "Roofs of a data sheet or of a JSON file of rafter info")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->add_flag("--no-measure", options->no_measure, "Measure no roofs: use today's, if any");
  command->add_flag("--quiet", options->quiet, "No progress and no remarks on standard error");
  command->callback([&action, options] { action = [options] { return RunSizes(*options); }; });
}

}  // namespace rafter::cli
