// cli/output_file.cc: see output_file.h.
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "cli/arguments.h"

namespace rafter::cli {

Result<OutputFile> OutputFile::Open(std::string_view option, const std::string& path) {
  if (path == "-") return OutputFile(option, path, STDOUT_FILENO, false);
  if (path.empty() || path.starts_with("--")) {
    return NotAllowed(option, path, "the name of a file that can be written, or '-'");
  }
  bool created = true;
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) {
    created = false;
    // A named pipe would keep the process waiting for a reader here.
    fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0) fcntl(fd, F_SETFL, 0);
  }
  if (fd < 0 && errno == ENXIO) {
    return NotAllowed(option, path, "a file that can be written (nobody reads from this pipe or device)");
  }
  if (fd < 0) {
    return NotAllowed(option, path,
                      fmt::format("a file that can be written ({})", std::strerror(errno)));
  }
  return OutputFile(option, path, fd, created);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : option_(std::move(other.option_)),
      path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      created_(std::exchange(other.created_, false)),
      written_(other.written_) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) close(fd_);
  if (created_ && !written_) unlink(path_.c_str());
}

bool OutputFile::SameAs(const OutputFile& other) const noexcept {
  struct stat mine, theirs;
  if (fstat(fd_, &mine) != 0 || fstat(other.fd_, &theirs) != 0) return false;
  // A character device such as /dev/null takes any number of writers.
  return !S_ISCHR(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

bool OutputFile::IsAt(const std::string& path) const noexcept {
  struct stat mine, theirs;
  if (is_stdout() || fstat(fd_, &mine) != 0 || stat(path.c_str(), &theirs) != 0) return false;
  return S_ISREG(mine.st_mode) && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

Status OutputFile::Write(std::string_view text) {
  const auto failure = [&] {
    return Status::Internal(
        fmt::format("{}: '{}' cannot be written: {}", option_, path_, std::strerror(errno)));
  };
  if (is_stdout()) {
    std::fflush(stdout);
  } else if (ftruncate(fd_, 0) == 0) {
    lseek(fd_, 0, SEEK_SET);
  } else if (errno != EINVAL) {  // EINVAL: a pipe or a device
    return failure();
  }
  while (!text.empty()) {
    const ssize_t count = write(fd_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure();
    text.remove_prefix(static_cast<size_t>(count));
  }
  written_ = true;
  return {};
}

}  // namespace rafter::cli
