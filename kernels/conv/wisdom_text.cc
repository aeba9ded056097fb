// kernels/conv/wisdom_text.cc: see wisdom_text.h.
#include "kernels/conv/wisdom_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "rafter/cpu.h"

namespace rafter {
namespace {

constexpr size_t kFields = 10;
constexpr size_t kLongestName = 64;  // of a CPU or an algorithm, in bytes
constexpr size_t kLongestQuote = 80;
constexpr int kMostThreads = 1024;
constexpr double kLeastUs = 0.001, kMostUs = 1e12;

constexpr std::string_view kSizesForm =
    "n=N,g=N,ic=N,oc=N,in=HxW,kernel=HxW,stride=HxW,dilation=HxW,pad=TOP:LEFT:BOTTOM:RIGHT";
constexpr std::string_view kTensorForm = "=LAYOUT:N:C:H:W with LAYOUT NHWC, NCHW, NCHW16c or NCHW8c";

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What names of CPUs and algorithms consist of.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsLetterOrDigit(c) || c == '_' || c == '-' || c == '+' || c == '.';
         });
}

const char* AccuracyName(Accuracy accuracy) {
  return accuracy == Accuracy::kStrict ? "strict" : "default";
}

// Reads literals and numbers from the front of a field; the first mismatch is remembered.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  FieldReader& Literal(std::string_view literal) {
    if (ok_ && rest_.starts_with(literal)) {
      rest_.remove_prefix(literal.size());
    } else {
      ok_ = false;
    }
    return *this;
  }
  FieldReader& Number(int64_t* value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    ok_ = ok_ && error == std::errc() && *value >= 0;
    if (ok_) rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return *this;
  }
  FieldReader& Size(Size2* size) { return Number(&size->h).Literal("x").Number(&size->w); }
  FieldReader& LayoutName(Layout* layout) {
    const std::string_view name = rest_.substr(0, rest_.find(':'));
    for (const Layout one : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
      if (name != rafter::LayoutName(one)) continue;
      *layout = one;
      return Literal(name);
    }
    ok_ = false;
    return *this;
  }
  // Whether everything matched and nothing is left.
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

Status Wrong(std::string_view field, std::string_view text, std::string_view allowed) {
  return Status::InvalidArgument(std::string(field) + ": " + QuotedWisdom(text) +
                                 " is not valid, allowed: " + std::string(allowed));
}

bool ParseSizes(std::string_view text, WisdomKey* key) {
  FieldReader reader(text);
  reader.Literal("n=").Number(&key->n).Literal(",g=").Number(&key->groups);
  reader.Literal(",ic=").Number(&key->ic).Literal(",oc=").Number(&key->oc);
  reader.Literal(",in=").Size(&key->in).Literal(",kernel=").Size(&key->kernel);
  reader.Literal(",stride=").Size(&key->stride).Literal(",dilation=").Size(&key->dilation);
  reader.Literal(",pad=").Number(&key->pad.top).Literal(":").Number(&key->pad.left);
  reader.Literal(":").Number(&key->pad.bottom).Literal(":").Number(&key->pad.right);
  return reader.AtEnd();
}

bool ParseTensor(std::string_view prefix, std::string_view text, Layout* layout, Strides* strides) {
  FieldReader reader(text);
  reader.Literal(prefix).LayoutName(layout).Literal(":").Number(&strides->n).Literal(":");
  reader.Number(&strides->c).Literal(":").Number(&strides->h).Literal(":").Number(&strides->w);
  return reader.AtEnd();
}

bool ParsePostOps(std::string_view text, uint64_t* post_ops) {
  constexpr std::string_view kPrefix = "post=";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  if (text == "none") return true;
  for (int count = 0; count < kMaxPostOps; ++count) {
    const size_t end = std::min(text.find('+'), text.size());
    uint64_t found = 0;
    for (auto kind = static_cast<uint64_t>(PostOpKind::kRelu);
         kind <= static_cast<uint64_t>(PostOpKind::kChannelScale); ++kind) {
      if (text.substr(0, end) == PostOpName(static_cast<PostOpKind>(kind))) found = kind;
    }
    if (found == 0) return false;
    *post_ops |= found << (8 * count);
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

bool ParseUs(std::string_view text, double* us) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *us, std::chars_format::fixed);
  return error == std::errc() && stop == end && *us >= kLeastUs && *us <= kMostUs;
}

// Whether there is such a problem, with these strides; post-ops cannot make it wrong.
Status CheckProblem(const WisdomKey& key) {
  const ConvDesc desc{.n = key.n,
                      .groups = key.groups,
                      .ic = key.ic,
                      .oc = key.oc,
                      .in = key.in,
                      .kernel = key.kernel,
                      .stride = key.stride,
                      .dilation = key.dilation,
                      .pad = key.pad,
                      .src = {key.src_layout, key.src},
                      .dst = {key.dst_layout, key.dst}};
  const Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  if (problem->src != key.src || problem->dst != key.dst) {
    return Status::InvalidArgument(
        "strides: one of a dimension of size 1 differs, allowed: that of a dense tensor");
  }
  return {};
}

using Fields = std::array<std::string_view, kFields>;

Result<Fields> SplitFields(std::string_view line) {
  Fields fields;
  size_t count = 0;
  for (std::string_view rest = line;; ++count) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (count < kFields) fields[count] = rest.substr(0, end);
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  ++count;
  if (count == kFields) return fields;
  return Status::InvalidArgument(QuotedWisdom(line) + " has " + std::to_string(count) +
                                 " fields, allowed: " + std::to_string(kFields) +
                                 ", with one blank between two");
}

// Where and for what: the fields in front of the algorithm.
Status ParseKey(const Fields& fields, WisdomEntry* entry) {
  const auto& [cpu, isa, threads, accuracy, sizes, src, dst, post_ops, algorithm, us] = fields;
  constexpr std::string_view kNameForm = "1 to 64 letters, digits and -+_.";
  WisdomKey& key = entry->key;
  if (!IsName(cpu)) return Wrong("CPU", cpu, kNameForm);
  entry->cpu = cpu;
  const Result<Isa> parsed_isa = ParseIsa(isa);
  if (!parsed_isa.ok()) return Wrong("ISA", isa, "none, avx2, avx512");
  key.isa = *parsed_isa;
  int64_t count = 0;
  if (!FieldReader(threads).Literal("threads=").Number(&count).AtEnd() || count < 1 ||
      count > kMostThreads) {
    return Wrong("threads", threads, "threads=1 to threads=1024");
  }
  key.threads = static_cast<int>(count);
  if (accuracy == AccuracyName(Accuracy::kStrict)) {
    key.accuracy = Accuracy::kStrict;
  } else if (accuracy != AccuracyName(Accuracy::kDefault)) {
    return Wrong("accuracy", accuracy, "default, strict");
  }
  if (!ParseSizes(sizes, &key)) return Wrong("sizes", sizes, kSizesForm);
  if (!ParseTensor("src=", src, &key.src_layout, &key.src)) {
    return Wrong("src", src, "src" + std::string(kTensorForm));
  }
  if (!ParseTensor("dst=", dst, &key.dst_layout, &key.dst)) {
    return Wrong("dst", dst, "dst" + std::string(kTensorForm));
  }
  if (!ParsePostOps(post_ops, &key.post_ops)) {
    return Wrong("post-ops", post_ops, "post=none or up to 8 kinds, as in post=residual_add+relu");
  }
  if (!IsName(algorithm)) return Wrong("algorithm", algorithm, kNameForm);
  return CheckProblem(key);
}

std::string Pair(const Size2& size) {
  return std::to_string(size.h) + "x" + std::to_string(size.w);
}

std::string Tensor(Layout layout, const Strides& strides) {
  std::string text = LayoutName(layout);
  for (const int64_t value : {strides.n, strides.c, strides.h, strides.w}) {
    text += ':' + std::to_string(value);
  }
  return text;
}

std::string PostOpKinds(uint64_t post_ops) {
  std::string text;
  for (; post_ops != 0; post_ops >>= 8) {
    if (!text.empty()) text += '+';
    text += PostOpName(static_cast<PostOpKind>(post_ops & 0xFF));
  }
  return text.empty() ? "none" : text;
}

std::string Sizes(const WisdomKey& key) {
  std::string text = "n=" + std::to_string(key.n) + ",g=" + std::to_string(key.groups);
  text += ",ic=" + std::to_string(key.ic) + ",oc=" + std::to_string(key.oc);
  text += ",in=" + Pair(key.in) + ",kernel=" + Pair(key.kernel) + ",stride=" + Pair(key.stride);
  text += ",dilation=" + Pair(key.dilation) + ",pad=" + std::to_string(key.pad.top);
  for (const int64_t pad : {key.pad.left, key.pad.bottom, key.pad.right}) {
    text += ':' + std::to_string(pad);
  }
  return text;
}

}  // namespace

std::string WisdomCpuName(std::string_view vendor, int family, int model, int stepping) {
  std::string name(vendor.substr(0, 16));
  for (char& c : name) {
    if (!IsLetterOrDigit(c)) c = '_';
  }
  for (const int number : {family, model, stepping}) name += '-' + std::to_string(number);
  return name;
}

double RoundWisdomUs(double us) noexcept {
  if (!(us >= kLeastUs)) return kLeastUs;
  return us >= kMostUs ? kMostUs : std::round(us * 1000) / 1000;
}

std::string PrintWisdomLine(std::string_view cpu, const WisdomKey& key,
                            const WisdomChoice& choice) {
  char us[32];
  const std::to_chars_result end =
      std::to_chars(us, us + sizeof us, RoundWisdomUs(choice.us), std::chars_format::fixed, 3);
  std::string line(cpu);
  line += std::string(" ") + IsaName(key.isa) + " threads=" + std::to_string(key.threads) + " ";
  line += AccuracyName(key.accuracy);
  line += " " + Sizes(key) + " src=" + Tensor(key.src_layout, key.src);
  line += " dst=" + Tensor(key.dst_layout, key.dst) + " post=" + PostOpKinds(key.post_ops);
  return line + " " + choice.algorithm + " " + std::string(us, end.ptr);
}

Result<WisdomEntry> ParseWisdomLine(std::string_view line) {
  const Result<Fields> fields = SplitFields(line);
  if (!fields.ok()) return fields.status();
  WisdomEntry entry;
  if (Status status = ParseKey(*fields, &entry); !status.ok()) return status;
  entry.choice.algorithm = (*fields)[kFields - 2];
  const std::string_view us = (*fields)[kFields - 1];
  if (!ParseUs(us, &entry.choice.us)) {
    return Wrong("microseconds", us, "0.001 to 1000000000000.000, with three decimals");
  }
  const std::string printed = PrintWisdomLine(entry.cpu, entry.key, entry.choice);
  if (printed == line) return entry;
  const size_t where = static_cast<size_t>(
      std::mismatch(line.begin(), line.end(), printed.begin(), printed.end()).first - line.begin());
  return Wrong("number", line.substr(where),
               QuotedWisdom(std::string_view(printed).substr(where)) +
                   " there (no leading zeros, three decimals)");
}

std::string QuotedWisdom(std::string_view text) {
  std::string quoted(text.substr(0, kLongestQuote));
  for (char& c : quoted) {
    if (c < ' ' || c > '~') c = '?';
  }
  return '"' + quoted + (text.size() > kLongestQuote ? "…\"" : "\"");
}

}  // namespace rafter
