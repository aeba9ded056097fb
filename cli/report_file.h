// cli/report_file.h: reports that `rafter bench --json` wrote, read back.
#ifndef RAFTER_CLI_REPORT_FILE_H_
#define RAFTER_CLI_REPORT_FILE_H_

#include <string>

#include "bench/report_json.h"
#include "rafter/status.h"

namespace rafter::cli {

// "-" is the standard input. kInvalidArgument names the file and what is wrong with it.
Result<bench::Report> ReadReportFile(const std::string& path);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_REPORT_FILE_H_
