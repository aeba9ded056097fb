// bench/layer_fields.cc: see layer_fields.h.
#include "bench/layer_fields.h"

#include <cctype>
#include <charconv>

#include "runtime/system_files.h"

namespace rafter::bench {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;
constexpr size_t kMostDimensions = 8;

}  // namespace

std::optional<int64_t> ReadNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kLargest) return std::nullopt;
  return value;
}

Result<Fields> Fields::Parse(std::string_view text) {
  Fields fields;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (size_t at = 0; at < text.size();) {
    size_t digits = at;
    while (digits < text.size() && std::isalpha(static_cast<unsigned char>(text[digits])) != 0) ++digits;
    size_t end = digits;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string name(text.substr(at, digits - at));
    const std::optional<int64_t> value = ReadNumber(text.substr(digits, end - digits));
    if (name.empty() || !value) return Wrong("names and whole numbers up to 2^31, such as mb1ic64ih56kh3");
    if (!fields.values_.emplace(name, *value).second) {
      return Status::InvalidArgument("'" + name + "' is there twice");
    }
    at = end < text.size() && text[end] == '_' ? end + 1 : end;
  }
  return fields;
}

int64_t Fields::Get(const std::string& name, int64_t missing) const {
  used_.insert(name);
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (missing >= 0) return missing;
  if (missing_.empty()) missing_ = name;
  return 1;
}

Size2 Fields::Pair(const std::string& letter, int64_t missing) const {
  const int64_t h = Get(letter + "h", missing);
  return {h, Get(letter + "w", h)};
}

Status Fields::CheckUse() const {
  if (!missing_.empty()) return Status::InvalidArgument("'" + missing_ + "' is missing");
  for (const auto& [name, value] : values_) {
    if (used_.count(name) != 0) continue;
    std::string allowed;
    for (const std::string& one : used_) allowed += " " + one;
    return Status::InvalidArgument("'" + name + "' is not a field of it; allowed:" + allowed);
  }
  return {};
}

std::optional<Shape> ReadShape(std::string_view text, char separator, int64_t least) {
  Shape shape;
  for (const std::string_view piece : SplitText(text, separator)) {
    const std::optional<int64_t> value = ReadNumber(piece);
    if (!value || *value < least || shape.size() == kMostDimensions) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

double Elements(const Shape& shape) {
  double elements = 1;
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

Status Wrong(std::string_view allowed) {
  return Status::InvalidArgument("cannot be taken; allowed: " + std::string(allowed));
}

}  // namespace rafter::bench
