// JSON in both directions; see machine_json.h.
#include "roofline/machine_json.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "roofline/input_text.h"

namespace rafter::roofline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Entries of data sheets hold for every instruction set.
const char* EntryIsaName(Isa isa) { return isa == Isa::kNone ? "any" : IsaName(isa); }

Json CapacitiesToJson(const LevelCapacities& c) {
  return {{"l1_bytes", Number(c.l1_bytes)},
          {"l2_bytes", Number(c.l2_bytes)},
          {"l3_bytes", Number(c.l3_bytes)}};
}

Json CurveToJson(const BandwidthCurve& curve) {
  Json points = Json::array();
  for (const BandwidthPoint& p : curve.points) {
    points.push_back({Number(p.footprint_bytes), Number(p.gb_per_s), Number(p.median_gb_per_s)});
  }
  return {{"isa", EntryIsaName(curve.isa)},
          {"threads", curve.threads},
          {"mix", MixName(curve.mix)},
          {"non_temporal", curve.non_temporal},
          {"points", std::move(points)}};
}

// --- reading ---

// What a reader throws; MachineFromJson turns it into a Status.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double NumberAt(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_null() ? 0 : value.get<double>();
}
double NumberOr(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? otherwise : found->get<double>();
}

// The elements of a member that may be absent.
const Json& ListAt(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const auto found = object.find(key);
  if (found == object.end()) return empty;
  if (!found->is_array()) throw Malformed(std::string(key) + ": not an array");
  return *found;
}

Isa IsaAt(const Json& object, const char* key) {
  const std::string name = object.at(key).get<std::string>();
  if (name == "any") return Isa::kNone;
  const Result<Isa> isa = ParseIsa(name);
  if (!isa.ok()) throw Malformed(std::string(key) + ": unknown instruction set \"" + name + "\"");
  return *isa;
}

LevelCapacities CapacitiesFrom(const Json& json) {
  return {NumberAt(json, "l1_bytes"), NumberAt(json, "l2_bytes"), NumberAt(json, "l3_bytes")};
}

BandwidthCurve CurveFrom(const Json& json) {
  const std::string name = json.at("mix").get<std::string>();
  const std::optional<Mix> mix = ParseMix(name);
  if (!mix) throw Malformed("mix: unknown \"" + name + "\"");
  BandwidthCurve curve{IsaAt(json, "isa"),
                       json.at("threads").get<int>(),
                       *mix,
                       json.value("non_temporal", false),
                       {}};
  for (const Json& entry : json.at("points")) {
    if (!entry.is_array() || entry.size() < 2) throw Malformed("points: not pairs of numbers");
    BandwidthPoint point{entry[0].get<double>(), entry[1].get<double>(), 0};
    point.median_gb_per_s =
        entry.size() > 2 && entry[2].is_number() ? entry[2].get<double>() : point.gb_per_s;
    const double before = curve.points.empty() ? 0 : curve.points.back().footprint_bytes;
    if (!(point.footprint_bytes > before) || !(point.gb_per_s > 0)) {
      throw Malformed("points: footprints must rise and bandwidths be positive");
    }
    curve.points.push_back(point);
  }
  return curve;
}

Roofs RoofsFrom(const Json& json) {
  Roofs roofs;
  roofs.quick = json.value("quick", false);
  for (const Json& e : json.at("peaks")) {
    FmaPeak peak{IsaAt(e, "isa"), e.at("threads").get<int>(), NumberAt(e, "gflops"),
                 NumberOr(e, "with_load_gflops", 0), NumberOr(e, "with_add_gflops", 0)};
    if (!(peak.gflops > 0)) throw Malformed("peaks: gflops must be positive");
    roofs.peaks.push_back(peak);
  }
  for (const Json& e : json.at("bandwidth")) roofs.curves.push_back(CurveFrom(e));
  for (const Json& e : ListAt(json, "chains")) {
    roofs.chains.push_back({IsaAt(e, "isa"), e.at("chains").get<int>(), NumberAt(e, "gflops")});
  }
  for (const Json& e : ListAt(json, "levels")) {
    roofs.levels.push_back({IsaAt(e, "isa"), e.at("threads").get<int>(),
                            CapacitiesFrom(e.at("measured")), CapacitiesFrom(e.at("effective"))});
  }
  if (const auto clock = json.find("clock"); clock != json.end()) {
    roofs.clock = {NumberAt(*clock, "ghz"), NumberAt(*clock, "imul_ghz"),
                   NumberAt(*clock, "add_ghz")};
  }
  for (const Json& e : ListAt(json, "fork_join")) {
    roofs.fork_joins.push_back({e.at("backend").get<std::string>(), e.at("threads").get<int>(),
                                NumberAt(e, "min_us"), NumberAt(e, "median_us")});
  }
  return roofs;
}

CpuIdentity CpuFrom(const Json& json) {
  return {json.at("vendor").get<std::string>(),
          json.at("model_name").get<std::string>(),
          json.at("microcode").get<std::string>(),
          json.at("family").get<int>(),
          json.at("model").get<int>(),
          json.at("stepping").get<int>(),
          IsaAt(json, "isa_detected"),
          IsaAt(json, "isa_effective"),
          json.at("hypervisor").get<std::string>()};
}

Environment EnvironmentFrom(const Json& json) {
  Environment environment;
  environment.date = json.at("date").get<std::string>();
  environment.cpu = CpuFrom(json.at("cpu"));
  environment.caches_reported = CapacitiesFrom(json.at("caches_reported"));
  environment.getconf_l3_bytes = NumberAt(json, "getconf_l3_bytes");
  const Json& limits = json.at("limits");
  environment.limits = {limits.at("allowed_cpus").get<std::vector<int>>(),
                        limits.at("allowed_cores").get<int>(), NumberAt(limits, "cpu_quota"),
                        NumberAt(limits, "memory_limit_bytes"),
                        NumberAt(limits, "memory_available_bytes")};
  const Json& s = json.at("settings");
  environment.settings = {s.at("kernel").get<std::string>(),
                          s.at("clocksource").get<std::string>(),
                          s.at("transparent_huge_pages").get<std::string>(),
                          s.at("governor").get<std::string>(),
                          s.at("smt").get<std::string>(),
                          NumberAt(s, "timer_cost_ns"),
                          NumberAt(s, "load_average"),
                          {}};
  for (const auto& [name, value] : s.at("variables").items()) {
    environment.settings.variables.emplace_back(name, value.get<std::string>());
  }
  return environment;
}

Machine MachineFrom(const Json& json) {
  if (json.at("schema").get<int>() != kSchema) throw Malformed("schema: only 1 is known");
  Machine machine;
  machine.name = json.at("name").get<std::string>();
  machine.source = json.at("source").get<std::string>();
  machine.note = json.value("note", std::string());
  machine.measured_on = json.value("measured_on", std::string());
  if (const auto found = json.find("environment"); found != json.end()) {
    machine.environment = EnvironmentFrom(*found);
  }
  machine.roofs = RoofsFrom(json.at("roofs"));
  return machine;
}

}  // namespace

Json RoofsToJson(const Roofs& roofs) {
  Json json = {{"quick", roofs.quick}};
  json["peaks"] = Json::array();
  for (const FmaPeak& p : roofs.peaks) {
    json["peaks"].push_back({{"isa", EntryIsaName(p.isa)},
                             {"threads", p.threads},
                             {"gflops", Number(p.gflops)},
                             {"with_load_gflops", Number(p.with_load_gflops)},
                             {"with_add_gflops", Number(p.with_add_gflops)}});
  }
  json["chains"] = Json::array();
  for (const ChainPeak& c : roofs.chains) {
    json["chains"].push_back(
        {{"isa", EntryIsaName(c.isa)}, {"chains", c.chains}, {"gflops", Number(c.gflops)}});
  }
  json["bandwidth"] = Json::array();
  for (const BandwidthCurve& curve : roofs.curves) json["bandwidth"].push_back(CurveToJson(curve));
  json["levels"] = Json::array();
  for (const LevelEnds& ends : roofs.levels) {
    json["levels"].push_back({{"isa", EntryIsaName(ends.isa)},
                              {"threads", ends.threads},
                              {"measured", CapacitiesToJson(ends.measured)},
                              {"effective", CapacitiesToJson(ends.effective)}});
  }
  json["clock"] = {{"ghz", Number(roofs.clock.ghz)},
                   {"imul_ghz", Number(roofs.clock.imul_ghz)},
                   {"add_ghz", Number(roofs.clock.add_ghz)}};
  json["fork_join"] = Json::array();
  for (const ForkJoinCost& f : roofs.fork_joins) {
    json["fork_join"].push_back({{"backend", f.backend},
                                 {"threads", f.threads},
                                 {"min_us", Number(f.min_us)},
                                 {"median_us", Number(f.median_us)}});
  }
  return json;
}

Json EnvironmentToJson(const Environment& environment) {
  const CpuIdentity& cpu = environment.cpu;
  const SystemLimits& limits = environment.limits;
  const SystemSettings& settings = environment.settings;
  Json variables = Json::object();
  for (const auto& [name, value] : settings.variables) variables[name] = value;
  return {{"date", environment.date},
          {"cpu",
           {{"vendor", cpu.vendor},
            {"model_name", cpu.model_name},
            {"microcode", cpu.microcode},
            {"family", cpu.family},
            {"model", cpu.model},
            {"stepping", cpu.stepping},
            {"isa_detected", IsaName(cpu.isa_detected)},
            {"isa_effective", IsaName(cpu.isa_effective)},
            {"hypervisor", cpu.hypervisor}}},
          {"caches_reported", CapacitiesToJson(environment.caches_reported)},
          {"getconf_l3_bytes", Number(environment.getconf_l3_bytes)},
          {"limits",
           {{"allowed_cpus", limits.allowed_cpus},
            {"allowed_cores", limits.allowed_cores},
            {"cpu_quota", Number(limits.cpu_quota)},
            {"memory_limit_bytes", Number(limits.memory_limit_bytes)},
            {"memory_available_bytes", Number(limits.memory_available_bytes)}}},
          {"settings",
           {{"kernel", settings.kernel},
            {"clocksource", settings.clocksource},
            {"transparent_huge_pages", settings.transparent_huge_pages},
            {"governor", settings.governor},
            {"smt", settings.smt},
            {"timer_cost_ns", Number(settings.timer_cost_ns)},
            {"load_average", Number(settings.load_average)},
            {"variables", std::move(variables)}}}};
}

Json MachineToJson(const Machine& machine) {
  Json json = {{"schema", kSchema}, {"name", machine.name}, {"source", machine.source}};
  if (!machine.note.empty()) json["note"] = machine.note;
  if (!machine.measured_on.empty()) json["measured_on"] = machine.measured_on;
  // Data sheets know no environment.
  if (!machine.environment.date.empty())
    json["environment"] = EnvironmentToJson(machine.environment);
  json["roofs"] = RoofsToJson(machine.roofs);
  return json;
}

Result<Machine> MachineFromJson(const std::string& text) {
  try {
    const Result<Json> json = ParseJson(text);
    if (!json.ok()) return Status::InvalidArgument("not a machine in JSON: " + std::string(json.status().message()));
    return MachineFrom(*json);
  } catch (const nlohmann::json::exception& error) {
    return Status::InvalidArgument("not a machine in JSON: " + ReasonOf(error));
  } catch (const Malformed& error) {
    return Status::InvalidArgument(std::string("not a machine in JSON: ") + error.what());
  }
}

}  // namespace rafter::roofline
