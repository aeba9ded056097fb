// bench/suite.cc: reading problem lists. The texts of the built-in suites are generated at build
// time.
#include "bench/suite.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "bench/printable.h"
#include "bench/suite_texts.h"
#include "roofline/input_text.h"

namespace rafter::bench {
namespace {

constexpr std::string_view kAll = "all";
constexpr size_t kMostPathBytes = 4096;  // a path is shown whole

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// A token, and where each of the pieces that backslashes joined came from.
struct Piece {
  size_t offset = 0;  // in the token
  int line = 0, column = 0;
};
struct Token {
  std::string text;
  std::vector<Piece> pieces;

  // File position of character `offset` of the token.
  std::string Locate(std::string_view origin, size_t offset) const {
    const Piece* piece = &pieces.front();
    for (const Piece& candidate : pieces) {
      if (candidate.offset <= offset) piece = &candidate;
    }
    const size_t column = static_cast<size_t>(piece->column) + offset - piece->offset;
    return std::string(origin) + ":" + std::to_string(piece->line) + ":" + std::to_string(column);
  }
};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> Run() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '\n') {
        ++pos_;
        ++line_;
        line_start_ = pos_;
      } else if (IsBlank(c)) {
        ++pos_;
      } else if (c == '#') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else {
        TakeToken();
      }
    }
    return std::move(tokens_);
  }

 private:
  void TakeToken() {
    const size_t start = pos_;
    while (pos_ < text_.size() && text_[pos_] != '\n' && !IsBlank(text_[pos_])) ++pos_;
    std::string_view word = text_.substr(start, pos_ - start);
    const bool joins_next = word.back() == '\\';
    if (joins_next) word.remove_suffix(1);
    if (word.empty()) return;  // a backslash of its own only continues the line
    if (!joined_) tokens_.emplace_back();
    Token& token = tokens_.back();
    token.pieces.push_back({token.text.size(), line_, static_cast<int>(start - line_start_) + 1});
    token.text += word;
    joined_ = joins_next;
  }

  std::string_view text_;
  size_t pos_ = 0, line_start_ = 0;
  int line_ = 1;
  bool joined_ = false;
  std::vector<Token> tokens_;
};

SuiteCase MakeCase(const Token& token, std::string_view origin) {
  SuiteCase result;
  result.origin = token.Locate(origin, 0);
  if (token.text.starts_with("--")) {
    result.descriptor.text = Printable(token.text);
    result.status = Status::InvalidArgument(result.origin + ": '" + Printable(token.text) +
                                            "' is an option; a list holds descriptors only");
    return result;
  }
  if (LooksLikeOp(token.text)) {
    result.descriptor.text = Printable(token.text);
    Result<OpCase> op = ParseOp(token.text);
    if (op.ok()) {
      result.op = std::make_shared<const OpCase>(std::move(op).value());
    } else {
      result.status = Status(op.status().code(), result.origin + ": '" + Printable(token.text) +
                                                     "': " + std::string(op.status().message()));
    }
    return result;
  }
  size_t position = 1;
  Result<Descriptor> descriptor = ParseDescriptor(token.text, &position);
  if (descriptor.ok()) {
    result.descriptor = std::move(descriptor).value();
    return result;
  }
  result.descriptor.text = Printable(token.text);
  result.status =
      Status(descriptor.status().code(), token.Locate(origin, position - 1) + ": '" + Printable(token.text) +
                                             "': " + std::string(descriptor.status().message()));
  return result;
}

// The first comment line, without its '#'.
std::string DescriptionOf(std::string_view text) {
  if (text.empty() || text.front() != '#') return {};
  std::string_view line = text.substr(1, text.find('\n') - 1);
  while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
  return std::string(line);
}

std::vector<SuiteCase> LoadAll() {
  std::vector<SuiteCase> cases;
  for (const SuiteText& suite : SuiteTexts()) {
    std::vector<SuiteCase> part = ParseSuite(suite.text, std::string(suite.name) + ".txt");
    std::move(part.begin(), part.end(), std::back_inserter(cases));
  }
  std::erase_if(cases, [](const SuiteCase& one) { return one.op != nullptr; });  // "all" are convolutions
  RemoveDuplicates(cases);
  return cases;
}

}  // namespace

std::vector<SuiteInfo> ListSuites() {
  std::vector<SuiteInfo> suites;
  for (const SuiteText& suite : SuiteTexts()) {
    const auto cases = ParseSuite(suite.text, suite.name);
    suites.push_back(
        {std::string(suite.name), DescriptionOf(suite.text), static_cast<int>(cases.size())});
  }
  suites.push_back({std::string(kAll), "the convolutions of every suite above, equal geometry once",
                    static_cast<int>(LoadAll().size())});
  return suites;
}

Result<std::vector<SuiteCase>> LoadSuite(std::string_view name) {
  if (name.starts_with('@')) name.remove_prefix(1);
  if (name == kAll) return LoadAll();
  std::string known;
  for (const SuiteText& suite : SuiteTexts()) {
    if (suite.name == name) return ParseSuite(suite.text, std::string(name) + ".txt");
    known += std::string(suite.name) + ", ";
  }
  return Status::InvalidArgument("suite: '" + Printable(name) + "' is unknown; there are " +
                                 known + std::string(kAll));
}

Result<std::vector<SuiteCase>> LoadSuiteFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Status::InvalidArgument("file: '" + path + "' is a directory");
  }
  const Result<std::string> text = roofline::ReadTextFile(path);
  if (!text.ok()) return Status::InvalidArgument("file: '" + path + "' " + std::string(text.status().message()));
  if (const size_t control = FindControl(*text); control != std::string::npos) {
    return Status::InvalidArgument("file: '" + path + "' is no text: byte " + std::to_string(control + 1) + " is '" +
                                   Printable(text->substr(control, 1)) + "'");
  }
  std::vector<SuiteCase> cases = ParseSuite(*text, path);
  if (cases.empty()) return Status::InvalidArgument("file: '" + path + "' holds no descriptor");
  return cases;
}

std::vector<SuiteCase> ParseSuite(std::string_view text, std::string_view origin) {
  std::vector<SuiteCase> cases;
  for (const Token& token : Tokenizer(text).Run()) cases.push_back(MakeCase(token, origin));
  return cases;
}

Result<std::vector<SuiteCase>> LoadCases(const std::string& argument) {
  if (argument.starts_with('@')) return LoadSuite(argument);
  std::error_code error;
  if (std::filesystem::exists(argument, error)) return LoadSuiteFile(argument);
  if (LooksLikeOp(argument)) {
    Result<OpCase> op = ParseOp(argument);
    if (!op.ok()) {
      return Status(op.status().code(),
                    "descriptor: '" + Printable(argument) + "': " + std::string(op.status().message()));
    }
    std::vector<SuiteCase> cases(1);
    cases[0].descriptor.text = argument;
    cases[0].op = std::make_shared<const OpCase>(std::move(op).value());
    return cases;
  }
  Result<Descriptor> descriptor = ParseDescriptor(argument);
  if (!descriptor.ok()) {
    const bool like_a_path = argument.find_first_of("/.") != std::string::npos;
    return Status(descriptor.status().code(),
                  (like_a_path ? "file: '" + Printable(argument, kMostPathBytes) + "' does not exist; as a descriptor: "
                               : "descriptor: '" + Printable(argument) + "': ") +
                      std::string(descriptor.status().message()));
  }
  std::vector<SuiteCase> cases(1);
  cases[0].descriptor = std::move(descriptor).value();
  return cases;
}

void OverrideBatch(std::vector<SuiteCase>& cases, int64_t mb) {
  for (SuiteCase& suite_case : cases) {
    if (!suite_case.status.ok()) continue;
    if (suite_case.op) {
      OpCase op = *suite_case.op;
      OverrideBatch(op, mb);
      suite_case.op = std::make_shared<const OpCase>(std::move(op));
    } else {
      suite_case.descriptor.desc.n = mb;
    }
  }
}

void RemoveDuplicates(std::vector<SuiteCase>& cases) {
  std::set<std::string> seen;
  std::erase_if(cases, [&](const SuiteCase& suite_case) {
    if (!suite_case.status.ok()) return false;
    if (suite_case.op) return !seen.insert(suite_case.op->text).second;
    return !seen.insert(PrintDescriptor(suite_case.descriptor.desc, DescriptorForm::kCanonical))
                .second;
  });
}

}  // namespace rafter::bench
