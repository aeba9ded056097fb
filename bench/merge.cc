// bench/merge.cc: see merge.h.
#include "bench/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

// A value of the environment by its path, as text; empty when it is missing.
std::string ValueAt(const Json& environment, std::initializer_list<const char*> path) {
  const Json* at = &environment;
  for (const char* name : path) {
    if (!at->is_object()) return {};
    const auto found = at->find(name);
    if (found == at->end()) return {};
    at = &*found;
  }
  return at->is_string() ? at->get<std::string>() : at->dump();
}

// What shards share: the sweep without the number of the part.
Json WithoutShard(const Report& report) {
  Json sweep = report.sweep;
  if (sweep.is_object()) sweep.erase("shard");
  return sweep;
}

struct Shard {
  int64_t number = 0, of = 0;  // zeros: no shard
};

Shard ShardOf(const Report& report) {
  if (!report.sweep.is_object() || !report.sweep.contains("shard")) return {};
  const Json& shard = report.sweep["shard"];
  if (!shard.is_object() || !shard.contains("number") || !shard.contains("of")) return {};
  if (!shard["number"].is_number_integer() || !shard["of"].is_number_integer()) return {};
  return {shard["number"].get<int64_t>(), shard["of"].get<int64_t>()};
}

Status CheckShards(std::span<const NamedReport> parts) {
  const Shard first = ShardOf(parts.front().report);
  std::set<int64_t> seen;
  for (const NamedReport& part : parts) {
    const Shard shard = ShardOf(part.report);
    if (shard.of != first.of) return Status::InvalidArgument("file: '" + part.name + "' is a part of another division");
    if (shard.of == 0) continue;
    if (!seen.insert(shard.number).second) {
      return Status::InvalidArgument(
          fmt::format("file: '{}': shard {}/{} is there twice", part.name, shard.number, shard.of));
    }
  }
  if (first.of == 0) return {};
  for (int64_t number = 1; number <= first.of; ++number) {
    if (seen.count(number) == 0) {
      return Status::InvalidArgument(fmt::format("shard {}/{} is missing", number, first.of));
    }
  }
  return {};
}

Status CheckParts(std::span<const NamedReport> parts, bool allow_different) {
  std::map<std::string, std::string> owners;
  for (const NamedReport& part : parts) {
    if (WithoutShard(part.report) != WithoutShard(parts.front().report)) {
      return Status::InvalidArgument("file: '" + part.name + "' belongs to another sweep than '" + parts.front().name +
                                     "'");
    }
    const auto differences = EnvironmentDifferences(parts.front().report.environment, part.report.environment, true);
    if (!differences.empty() && !allow_different) {
      return Status::InvalidArgument("file: '" + part.name + "': " + differences.front() +
                                     " (--allow-different merges all the same)");
    }
    for (const CaseResult& result : part.report.cases) {
      const auto [owner, fresh] = owners.emplace(CaseKey(result), part.name);
      if (!fresh) {
        return Status::InvalidArgument("file: '" + part.name + "': case " + result.descriptor + " is in '" +
                                       owner->second + "', too");
      }
    }
  }
  return CheckShards(parts);
}

// Sorts by (mode, threads, place in the whole list), where a shard has every of-th place.
std::vector<CaseResult> Interleave(std::span<const NamedReport> parts) {
  using Place = std::tuple<size_t, int, int64_t>;
  std::vector<std::pair<Place, const CaseResult*>> placed;
  std::vector<std::string> modes;
  for (const NamedReport& part : parts) {
    const Shard shard = ShardOf(part.report);
    std::map<std::pair<std::string, int>, int64_t> next;
    for (const CaseResult& result : part.report.cases) {
      auto mode = std::find(modes.begin(), modes.end(), result.mode);
      if (mode == modes.end()) mode = modes.insert(mode, result.mode);
      const int64_t index = next[{result.mode, result.threads}]++;
      placed.push_back(
          {{static_cast<size_t>(mode - modes.begin()), result.threads, index * shard.of + shard.number}, &result});
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CaseResult> cases;
  for (const auto& [place, result] : placed) cases.push_back(*result);
  return cases;
}

}  // namespace

std::string DoubledCase(const Report& report) {
  std::set<std::string> keys;
  for (const CaseResult& result : report.cases) {
    if (!keys.insert(CaseKey(result)).second) return result.name.empty() ? result.descriptor : result.name;
  }
  return {};
}

std::string CaseKey(const CaseResult& result) {
  return fmt::format("{}|{}|{}|{}|{}", result.descriptor, result.layout, result.threads, result.mode, result.post_ops);
}

std::vector<std::string> EnvironmentDifferences(const Json& a, const Json& b, bool same_build) {
  struct Fact {
    const char* name;
    std::initializer_list<const char*> path;
    bool of_build;
  };
  static constexpr const char* kCpu = "cpu";
  const Fact facts[] = {{"processor", {kCpu, "model_name"}, false},
                        {"family", {kCpu, "family"}, false},
                        {"model", {kCpu, "model"}, false},
                        {"microcode", {kCpu, "microcode"}, false},
                        {"instruction set", {"rafter", "isa_used"}, false},
                        {"executable memory", {"rafter", "executable_memory"}, false},
                        {"CPUs", {"limits", "allowed_cpus"}, false},
                        {"CPU quota", {"limits", "cpu_quota"}, false},
                        {"kernel", {"settings", "kernel"}, false},
                        {"huge pages", {"settings", "transparent_huge_pages"}, false},
                        {"governor", {"settings", "governor"}, false},
                        {"variables", {"settings", "variables"}, false},
                        {"baselines", {"baselines"}, false},
                        {"rafter", {"rafter", "version"}, true},
                        {"compiler", {"rafter", "compiler"}, true},
                        {"build", {"rafter", "build"}, true}};
  std::vector<std::string> differences;
  for (const Fact& fact : facts) {
    if (fact.of_build && !same_build) continue;
    const std::string in_a = ValueAt(a, fact.path), in_b = ValueAt(b, fact.path);
    if (in_a != in_b) differences.push_back(fmt::format("{}: {} against {}", fact.name, in_a, in_b));
  }
  return differences;
}

Result<Report> MergeReports(std::span<const NamedReport> parts, bool allow_different) {
  if (parts.empty()) return Status::InvalidArgument("no reports to merge");
  if (Status status = CheckParts(parts, allow_different); !status.ok()) return status;
  Report merged;
  merged.environment = parts.front().report.environment;
  merged.calibration = parts.front().report.calibration;
  merged.sweep = WithoutShard(parts.front().report);
  // Shards of a plain list have no axes.
  if (merged.sweep.is_object() && merged.sweep.value("kind", "") == "none") merged.sweep = nullptr;
  for (const NamedReport& part : parts) {
    merged.complete = merged.complete && part.report.complete;
    merged.environment["merged_from"].push_back({{"file", part.name},
                                                 {"date", ValueAt(part.report.environment, {"date"})},
                                                 {"cases", part.report.cases.size()}});
  }
  if (ShardOf(parts.front().report).of > 0) {
    merged.cases = Interleave(parts);
    return merged;
  }
  for (const NamedReport& part : parts) {
    merged.cases.insert(merged.cases.end(), part.report.cases.begin(), part.report.cases.end());
  }
  return merged;
}

}  // namespace rafter::bench
