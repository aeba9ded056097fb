// cli/output_file.h: a file that is opened before hours of measuring and written behind them.
#ifndef RAFTER_CLI_OUTPUT_FILE_H_
#define RAFTER_CLI_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "rafter/status.h"

namespace rafter::cli {

class OutputFile {
 public:
  // Opens `path` ("-" is the standard output) for writing; an old content stays until Write, so
  // that a run that dies does not take the results of the one before with it. kInvalidArgument
  // names `option`, the path and the system's reason.
  static Result<OutputFile> Open(std::string_view option, const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  bool is_stdout() const noexcept { return path_ == "-"; }
  // Whether both write to the same place (links and device files included).
  bool SameAs(const OutputFile& other) const noexcept;

  // Whether `path` leads to the same file, which Write would replace.
  bool IsAt(const std::string& path) const noexcept;

  // Replaces the whole content. kInternal with the system's reason.
  Status Write(std::string_view text);

 private:
  OutputFile(std::string_view option, std::string path, int fd, bool created)
      : option_(option), path_(std::move(path)), fd_(fd), created_(created) {}

  std::string option_, path_;
  int fd_;
  bool created_;  // by Open; removed again when nothing gets written
  bool written_ = false;
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_OUTPUT_FILE_H_
