// bench/descriptor.cc: scanning and completing problem strings. The checks against the library and
// the printing are in descriptor_convert.cc.
#include "bench/descriptor.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include "bench/printable.h"

namespace rafter::bench {
namespace {

// Wide enough for products of two int64 values and the sum of two such products.
__extension__ typedef __int128 Int128;

// The order does not matter: no key is a prefix of another one.
// Far beyond what descriptors need; expressions that search texts recurse once per character.
constexpr size_t kLongest = 1000;

constexpr std::array<std::string_view, 22> kKeys = {"g",  "mb", "ic", "id", "ih", "iw", "oc", "od",
                                                    "oh", "ow", "kd", "kh", "kw", "sd", "sh", "sw",
                                                    "pd", "ph", "pw", "dd", "dh", "dw"};

// A failed step: where (0-based offset in the text) and why.
struct Failure {
  size_t offset = 0;
  std::string reason;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool Parse() { return Scan() && CompleteChannels() && CompleteAxes() && FillMissingAxes(); }
  Problem& problem() { return problem_; }
  const Failure& failure() const { return failure_; }

 private:
  bool Fail(size_t offset, std::string reason) {
    failure_ = {offset, std::move(reason)};
    return false;
  }

  bool Scan();
  bool ScanField(std::string_view key);
  bool ScanName();
  bool CompleteChannels();
  bool CompleteAxes();
  bool CompleteAxis(char letter, ProblemAxis& axis, bool& present);
  bool FillMissingAxes();
  bool DerivePadEnd(char letter, ProblemAxis& axis);
  int64_t* Target(std::string_view key);
  // Where the first field of an axis stands, for messages.
  size_t AxisOffset(char letter) const;

  std::string text_;
  size_t pos_ = 0;
  Problem problem_;
  bool has_d_ = false, has_h_ = false, has_w_ = false;
  size_t offset_of_d_ = std::string::npos, offset_of_h_ = std::string::npos,
         offset_of_w_ = std::string::npos;
  std::set<std::string_view> seen_;  // keys
  Failure failure_;
};

std::string Quoted(std::string_view text) { return "'" + Printable(text) + "'"; }

int64_t* Parser::Target(std::string_view key) {
  if (key == "g") return &problem_.groups;
  if (key == "mb") return &problem_.mb;
  if (key == "ic") return &problem_.ic;
  if (key == "oc") return &problem_.oc;
  ProblemAxis& axis = key[1] == 'd' ? problem_.d : key[1] == 'h' ? problem_.h : problem_.w;
  switch (key[0]) {
    case 'i':
      return &axis.in;
    case 'o':
      return &axis.out;
    case 'k':
      return &axis.kernel;
    case 's':
      return &axis.stride;
    case 'p':
      return &axis.pad;
    default:
      return &axis.dilation;
  }
}

size_t Parser::AxisOffset(char letter) const {
  const size_t offset = letter == 'd' ? offset_of_d_ : letter == 'h' ? offset_of_h_ : offset_of_w_;
  return offset == std::string::npos ? text_.size() : offset;
}

bool Parser::Scan() {
  if (text_.empty()) return Fail(0, "the descriptor is empty");
  if (text_.size() > kLongest) {
    return Fail(kLongest, "the descriptor is too long; allowed: " + std::to_string(kLongest) + " characters");
  }
  while (pos_ < text_.size()) {
    if (text_[pos_] == 'n') return ScanName();
    std::string_view found;
    for (std::string_view key : kKeys) {
      if (text_.compare(pos_, key.size(), key) == 0) found = key;
    }
    if (found.empty()) {
      return Fail(pos_, "unrecognized field " + Quoted(text_.substr(pos_, 12)) +
                            "; fields are g mb ic oc, {i,o,k,s,p,d}{d,h,w} and nNAME");
    }
    if (!ScanField(found)) return false;
    if (pos_ < text_.size() && text_[pos_] == '_') ++pos_;
  }
  return true;
}

// Everything behind the n. Quotes are a part of it, but a quote that nothing closes is a slip.
bool Parser::ScanName() {
  const size_t start = pos_ + 1;
  problem_.name = text_.substr(start);
  if (problem_.name.starts_with('"') && problem_.name.find('"', 1) == std::string::npos) {
    return Fail(start, "the name " + Quoted(problem_.name) + " has no closing '\"'");
  }
  if (const size_t control = FindUnprintable(problem_.name); control != std::string::npos) {
    return Fail(start + control, "the name has a control character; allowed: printable text");
  }
  return true;
}

// One field: a key and what strtoll accepts after it (blanks and a sign included).
bool Parser::ScanField(std::string_view key) {
  const size_t start = pos_;
  const char* number = text_.c_str() + pos_ + key.size();
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(number, &end, 10);
  if (end == number) return Fail(pos_ + key.size(), "no value after " + Quoted(key));
  if (!seen_.insert(key).second) return Fail(start, Quoted(key) + " is there twice; allowed: each field once");
  pos_ = static_cast<size_t>(end - text_.c_str());
  if (errno == ERANGE) {
    return Fail(start + key.size(),
                Quoted(std::string_view(number, static_cast<size_t>(end - number))) + " is beyond int64; allowed for " +
                    Quoted(key) + ": up to 9223372036854775807");
  }
  if (value < 0) return Fail(start + key.size(), Quoted(key) + " must not be negative");
  const bool is_stride = key[0] == 's';
  if (value == 0 && (key == "g" || is_stride)) {
    return Fail(start + key.size(), Quoted(key) + " must be at least 1");
  }
  *Target(key) = value;
  if (key == "g") problem_.has_groups = true;
  if (key.size() == 2 && key != "mb" && key[1] != 'c') {
    size_t& first = key[1] == 'd' ? offset_of_d_ : key[1] == 'h' ? offset_of_h_ : offset_of_w_;
    if (first == std::string::npos) first = start;
  }
  return true;
}

bool Parser::CompleteChannels() {
  if (problem_.ic == 0) return Fail(text_.size(), "'ic' was not specified or is 0");
  if (problem_.oc == 0) return Fail(text_.size(), "'oc' was not specified or is 0");
  return true;
}

bool FitsInt64(Int128 value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

Int128 Extent(const ProblemAxis& axis) {
  return (Int128{axis.kernel} - 1) * (Int128{axis.dilation} + 1) + 1;
}

// An axis is absent when all its fields have their defaults; `pad` 0 counts as a default here.
bool Parser::CompleteAxis(char letter, ProblemAxis& axis, bool& present) {
  present = axis.in != 0 || axis.kernel != 0 || axis.out != 0 || axis.dilation != 0 ||
            axis.stride != 1 || axis.pad >= 1;
  if (!present) return true;
  const size_t offset = AxisOffset(letter);
  const std::string suffix(1, letter);
  if (axis.in == 0) return Fail(offset, Quoted("i" + suffix) + " was not specified or is 0");
  if (axis.kernel == 0) return Fail(offset, Quoted("k" + suffix) + " was not specified or is 0");
  const Int128 slack = Int128{axis.in} - Extent(axis);  // input beyond one kernel, without padding
  if (axis.out == 0) {
    if (axis.pad < 0) axis.pad = 0;
    // Division truncates towards zero, as in benchdnn: ih2kh3sh2 has one output.
    const Int128 out = (slack + 2 * Int128{axis.pad}) / axis.stride + 1;
    if (out <= 0) return Fail(offset, "the output size " + Quoted("o" + suffix) + " would be <= 0");
    if (!FitsInt64(out)) return Fail(offset, Quoted("o" + suffix) + " would exceed int64");
    axis.out = static_cast<int64_t>(out);
  } else if (axis.pad < 0) {
    const Int128 pad = ((Int128{axis.out} - 1) * axis.stride - slack) / 2;
    if (!FitsInt64(pad)) return Fail(offset, Quoted("p" + suffix) + " would exceed int64");
    axis.pad = static_cast<int64_t>(pad);
  }
  return DerivePadEnd(letter, axis);
}

bool Parser::DerivePadEnd(char letter, ProblemAxis& axis) {
  const Int128 pad_end = (Int128{axis.out} - 1) * axis.stride - axis.in + Extent(axis) - axis.pad;
  if (!FitsInt64(pad_end)) {
    return Fail(AxisOffset(letter),
                std::string("the ") + PadEndName(letter) + " padding would exceed int64");
  }
  axis.pad_end = static_cast<int64_t>(pad_end);
  return true;
}

bool Parser::CompleteAxes() {
  return CompleteAxis('d', problem_.d, has_d_) && CompleteAxis('h', problem_.h, has_h_) &&
         CompleteAxis('w', problem_.w, has_w_);
}

// Missing axes are copied as a block: a cube from d, a square from h. Axes above are 1 wide.
bool Parser::FillMissingAxes() {
  constexpr ProblemAxis kUnit = {1, 1, 1, 1, 0, 0, 0};
  if (has_d_) {
    if (has_h_ != has_w_) {
      return Fail(AxisOffset('d'), std::string("3-D with '") + (has_h_ ? "h" : "w") +
                                       "' but without '" + (has_h_ ? "w" : "h") + "'");
    }
    if (!has_h_) problem_.h = problem_.w = problem_.d;
    problem_.spatial_dims = 3;
    return true;
  }
  problem_.d = kUnit;
  if (has_h_) {
    if (!has_w_) problem_.w = problem_.h;
    problem_.spatial_dims = 2;
    return true;
  }
  problem_.h = kUnit;
  if (has_w_) {
    problem_.spatial_dims = 1;
    return true;
  }
  return Fail(text_.size(), "there must be at least one spatial dimension (ih or iw)");
}

}  // namespace

Result<Problem> ParseProblem(std::string_view text, size_t* error_position) {
  Parser parser(text);
  if (parser.Parse()) return std::move(parser.problem());
  const size_t position = parser.failure().offset + 1;
  if (error_position != nullptr) *error_position = position;
  return Status::InvalidArgument("position " + std::to_string(position) + ": " +
                                 parser.failure().reason);
}

Result<Descriptor> ParseDescriptor(std::string_view text, size_t* error_position) {
  Result<Problem> problem = ParseProblem(text, error_position);
  if (!problem.ok()) return problem.status();
  Result<ConvDesc> desc = ToConvDesc(*problem);
  if (!desc.ok()) {
    if (error_position != nullptr) *error_position = 1;
    return Status(desc.status().code(), "position 1: " + std::string(desc.status().message()));
  }
  Descriptor result;
  result.desc = std::move(desc).value();
  result.name = problem->name;
  if (result.name.size() >= 2 && result.name.front() == '"' && result.name.back() == '"') {
    result.name = result.name.substr(1, result.name.size() - 2);
  }
  result.text = std::string(text);
  result.has_groups = problem->has_groups;
  result.spatial_dims = problem->spatial_dims;
  return result;
}

}  // namespace rafter::bench
