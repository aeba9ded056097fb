// Limits of what is read; see input_text.h.
#include "roofline/input_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

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

}  // namespace

Result<std::string> ReadText(std::istream& stream, size_t most_bytes) {
  constexpr size_t kBlock = 1 << 16;
  std::array<char, kBlock> block;
  std::string text;
  while (stream) {
    stream.read(block.data(), kBlock);
    const auto got = static_cast<size_t>(stream.gcount());
    if (std::memchr(block.data(), 0, got) != nullptr) {
      return Status::InvalidArgument("is no text: it has a NUL byte");
    }
    if (text.size() + got > most_bytes) {
      return Status::InvalidArgument("is too large; allowed: " + std::to_string(most_bytes >> 20) + " MiB");
    }
    text.append(block.data(), got);
  }
  if (stream.bad()) return Status::InvalidArgument("cannot be read");
  return text;
}

Result<std::string> ReadTextFile(const std::string& path, size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  // A directory opens, but cannot be read.
  if (!file || (file.peek() == std::ifstream::traits_type::eof() && file.bad())) {
    return Status::InvalidArgument("cannot be read");
  }
  file.clear();
  return ReadText(file, most_bytes);
}

Result<nlohmann::ordered_json> ParseJson(std::string_view text) {
  if (LevelsOf(text) > kMostJsonLevels) {
    return Status::InvalidArgument("nested too deeply; allowed: " + std::to_string(kMostJsonLevels) + " levels");
  }
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return Status::InvalidArgument(error.what());
  }
}

}  // namespace rafter::roofline
