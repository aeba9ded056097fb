// cli/bench_outputs.h: where the results of `rafter bench` go: a table while they come, files at
// the end.
#ifndef RAFTER_CLI_BENCH_OUTPUTS_H_
#define RAFTER_CLI_BENCH_OUTPUTS_H_

#include <optional>

#include "bench/report_json.h"
#include "bench/report_table.h"
#include "cli/bench_plan.h"
#include "cli/output_file.h"
#include "rafter/status.h"

namespace rafter::cli {

class BenchOutputs {
 public:
  // Opens every file, and loads the wisdom. kInvalidArgument: one cannot be written, two are the
  // same, or the wisdom is damaged.
  static Result<BenchOutputs> Open(const BenchOptions& options);

  // No table when a document goes to the standard output.
  bool shows_table() const;

  // Writes all files, the wisdom of the process included; the first failure is returned, the others
  // are tried all the same.
  Status Write(const bench::Report& report, const bench::TableOptions& table);

 private:
  std::optional<OutputFile> json_, csv_, md_, plot_, wisdom_;
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_BENCH_OUTPUTS_H_
