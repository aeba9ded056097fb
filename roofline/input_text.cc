// Limits of what is read; see input_text.h.
#include "roofline/input_text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rafter::roofline {
namespace {

// The level of nesting outside of strings; stops counting beyond the limit.
int LevelsOf(std::string_view text) {
  int level = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size() && deepest <= kMostJsonLevels; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++level);
    } else if (c == '}' || c == ']') {
      --level;
    }
  }
  return deepest;
}

constexpr size_t kBlock = 1 << 16;

Status CannotRead() { return Status::InvalidArgument("cannot be read"); }

// Text in blocks, refused as soon as it is none or too much.
class Collector {
 public:
  explicit Collector(size_t most_bytes) : most_bytes_(most_bytes) {}

  Status Append(std::string_view block) {
    if (block.find('\0') != std::string_view::npos) {
      return Status::InvalidArgument("is no text: it has a NUL byte");
    }
    if (text_.size() + block.size() > most_bytes_) {
      return Status::InvalidArgument("is too large; allowed: " + std::to_string(most_bytes_ >> 20) + " MiB");
    }
    text_.append(block);
    return {};
  }
  std::string Take() { return std::move(text_); }

 private:
  size_t most_bytes_;
  std::string text_;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Whether somebody writes to a pipe that is read without blocking; what came meanwhile goes to `text`. Until something
// is there, or a writer that came is gone again; a writer that is still silent by then counts.
bool HasWriter(int fd, int wait_ms, std::string& text) {
  pollfd one{fd, POLLIN, 0};
  if (poll(&one, 1, wait_ms) > 0) return true;
  char byte = 0;
  const ssize_t got = read(fd, &byte, 1);
  if (got > 0) text.push_back(byte);
  return got != 0;  // without writers the end is reached at once
}

}  // namespace

Result<std::string> ReadText(std::istream& stream, size_t most_bytes) {
  Collector collector(most_bytes);
  std::array<char, kBlock> block;
  while (stream) {
    stream.read(block.data(), kBlock);
    if (Status status = collector.Append({block.data(), static_cast<size_t>(stream.gcount())}); !status.ok()) {
      return status;
    }
  }
  if (stream.bad()) return CannotRead();
  return collector.Take();
}

Result<std::string> ReadTextFile(const std::string& path, size_t most_bytes, int wait_ms) {
  // A named pipe would keep the process waiting for a writer here.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts;
  if (file.fd() < 0 || fstat(file.fd(), &facts) != 0) return CannotRead();
  std::string first;
  if (S_ISFIFO(facts.st_mode) && !HasWriter(file.fd(), wait_ms, first)) {
    return Status::InvalidArgument("is a pipe that nobody writes to");
  }
  fcntl(file.fd(), F_SETFL, 0);
  Collector collector(most_bytes);
  if (Status status = collector.Append(first); !status.ok()) return status;
  std::array<char, kBlock> block;
  for (;;) {
    const ssize_t got = read(file.fd(), block.data(), kBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead();  // a directory, too
    if (got == 0) return collector.Take();
    if (Status status = collector.Append({block.data(), static_cast<size_t>(got)}); !status.ok()) return status;
  }
}

std::string ReasonOf(const nlohmann::json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 2, column 1: …"
  std::string_view what = error.what();
  if (const size_t name = what.find("] "); name != std::string_view::npos) what.remove_prefix(name + 2);
  constexpr std::string_view kAt = "parse error at ";
  if (what.starts_with(kAt)) what.remove_prefix(kAt.size());
  return std::string(what);
}

Result<nlohmann::ordered_json> ParseJson(std::string_view text) {
  if (LevelsOf(text) > kMostJsonLevels) {
    return Status::InvalidArgument("nested too deeply; allowed: " + std::to_string(kMostJsonLevels) + " levels");
  }
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return Status::InvalidArgument(ReasonOf(error));
  }
}

}  // namespace rafter::roofline
