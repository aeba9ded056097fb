// bench/merge.h: the parts of a sweep that several jobs measured (--shard K/N), as one report.
#ifndef RAFTER_BENCH_MERGE_H_
#define RAFTER_BENCH_MERGE_H_

#include <span>
#include <string>
#include <vector>

#include "bench/report_json.h"
#include "rafter/status.h"

namespace rafter::bench {

// What identifies a case across reports: descriptor, layout, threads, mode and post-ops.
std::string CaseKey(const CaseResult& result);

// Name or descriptor of a case that is there twice; empty when each is there once.
std::string DoubledCase(const Report& report);

// What differs between the environments of two runs and makes their times differ, one line each: "processor: A
// against B". Empty: comparable. `same_build` also compares versions and compilers.
std::vector<std::string> EnvironmentDifferences(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b,
                                                bool same_build);

struct NamedReport {
  std::string name;  // of the file
  Report report;
};

// Cases in the order of the whole list where all parts are shards of it, else one part after the other. The
// environment is that of the first, with "merged_from" listing all. kInvalidArgument: no reports, different sweeps, a
// case that two parts have, shards that are missing or given twice, or (unless `allow_different`) environments that
// differ; the message names file and difference.
Result<Report> MergeReports(std::span<const NamedReport> parts, bool allow_different);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_MERGE_H_
