// runtime/system_files.cc: see the header.
#include "runtime/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace rafter {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;
constexpr int kMaxCpuNumber = 1 << 20;  // a list that names more is damaged

}  // namespace

std::optional<std::string> ReadSystemFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  char chunk[4096];
  ssize_t got = 0;
  while (text.size() < kMaxFileBytes) {
    got = read(file, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(chunk, static_cast<size_t>(got));
  }
  close(file);
  if (got < 0) return std::nullopt;  // a directory, or a controller that refuses
  return text;
}

std::string_view TrimSpace(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> ParseDecimal(std::string_view text) {
  text = TrimSpace(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> SplitText(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (std::string_view part : SplitText(TrimSpace(text), ',')) {
    const size_t dash = part.find('-');
    const auto first = ParseDecimal(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseDecimal(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > kMaxCpuNumber) continue;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

int64_t ParseCacheSize(std::string_view text) {
  text = TrimSpace(text);
  if (text.empty()) return 0;
  int shift = 0;
  switch (text.back()) {
    case 'K':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) text.remove_suffix(1);
  const int64_t number = ParseDecimal(text).value_or(0);
  return number < 0 || number > (int64_t{1} << 32) ? 0 : number << shift;
}

}  // namespace rafter
