// cli/arguments.cc: see arguments.h.
#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>

#include "bench/printable.h"
#include "jit/isa.h"
#include "kernels/conv/dispatch.h"
#include "kernels/conv/tile/blocking.h"
#include "runtime/system_files.h"

namespace rafter::cli {
namespace {

template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

Status NotAllowed(std::string_view option, std::string_view value, std::string_view allowed) {
  return Status::InvalidArgument(
      fmt::format("{}: '{}' is not allowed; allowed: {}", option, bench::Printable(value), allowed));
}

Status NothingGiven(std::string_view argument, std::string_view needed) {
  return Status::InvalidArgument(fmt::format("{}: nothing given; needed: {}", argument, needed));
}

Status GivenTogether(std::string_view options, std::string_view allowed) {
  return Status::InvalidArgument(fmt::format("{}: given together; allowed: {}", options, allowed));
}

Status GivenAlone(std::string_view option, std::string_view allowed) {
  return Status::InvalidArgument(fmt::format("{}: given alone; allowed: {}", option, allowed));
}

Result<int64_t> ParseInteger(std::string_view option, std::string_view text, int64_t low,
                             int64_t high) {
  const auto value = ReadNumber<int64_t>(text);
  if (!value || *value < low || *value > high) {
    return NotAllowed(option, text, fmt::format("a whole number from {} to {}", low, high));
  }
  return *value;
}

Result<std::vector<int>> ParseThreads(std::string_view text, int available) {
  const std::string allowed =
      available == 1
          ? "1 (this process may use one CPU)"
          : fmt::format("1 to {} (CPUs that this process may use), or a list such as 1,{}",
                        available, available);
  std::vector<int> counts;
  for (std::string_view piece : SplitText(text, ',')) {
    const auto count = ReadNumber<int>(piece);
    if (!count || *count < 1 || *count > available) return NotAllowed("--threads", text, allowed);
    if (std::find(counts.begin(), counts.end(), *count) != counts.end()) {
      return NotAllowed("--threads", text, "each number once");
    }
    counts.push_back(*count);
  }
  return counts;
}

Result<Layout> ParseLayout(std::string_view text) {
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    if (Lower(text) == Lower(LayoutName(layout))) return layout;
  }
  return NotAllowed("--layout", text, "nhwc, nchw, nchw16c, nchw8c");
}

Result<Isa> ParseIsaOption(std::string_view text) {
  std::string allowed;
  for (Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectedIsa()) continue;
    if (Lower(text) == IsaName(isa)) return isa;
    allowed += std::string(allowed.empty() ? "" : ", ") + IsaName(isa);
  }
  return NotAllowed("--isa", text, allowed + " (what this machine has)");
}

Result<Accuracy> ParseAccuracy(std::string_view text) {
  if (text == "default") return Accuracy::kDefault;
  if (text == "strict") return Accuracy::kStrict;
  return NotAllowed("--accuracy", text, "default, strict");
}

Result<Planning> ParsePlanning(std::string_view text) {
  if (text == "model") return Planning::kModel;
  if (text == "measure") return Planning::kMeasure;
  return NotAllowed("--plan", text, "model, measure");
}

Result<std::vector<bench::CacheMode>> ParseCacheModes(std::string_view text) {
  std::vector<bench::CacheMode> modes;
  for (const std::string_view piece : SplitText(text, ',')) {
    const auto mode = bench::ParseCacheMode(piece);
    if (!mode || std::find(modes.begin(), modes.end(), *mode) != modes.end()) {
      return NotAllowed("--mode", text, "hot, cold-weights, cold, or a list of them, each once");
    }
    modes.push_back(*mode);
  }
  return modes;
}

Result<double> ParsePercent(std::string_view option, std::string_view text) {
  if (text.ends_with('%')) {
    const auto value = ReadNumber<double>(text.substr(0, text.size() - 1));
    if (value && *value >= 0 && *value <= 1000) return *value / 100;
  }
  return NotAllowed(option, text, "a percentage from 0% to 1000%, with its sign: 3%");
}

Result<std::string> ParseAlgorithm(std::string_view text) {
  if (text.empty()) return std::string();
  std::string allowed;
  for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
    if (text == algorithm.name) return std::string(text);
    allowed += std::string(allowed.empty() ? "" : ", ") + algorithm.name;
  }
  return NotAllowed("--algorithm", text, allowed);
}

Result<TileChoice> ParseTile(std::string_view text, Isa isa) {
  if (text.empty()) return TileChoice();
  constexpr int kMostVecs = 24;
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  const std::vector<std::string_view> parts = SplitText(text, 'x');
  if (parts.size() == 2 && info.vec_bytes > 0) {
    const auto px = ReadNumber<int>(parts[0]), vecs = ReadNumber<int>(parts[1]);
    if (px && vecs && *px >= 1 && *px <= tile::MaxPixels(info, *vecs)) return TileChoice{*px, *vecs};
  }
  std::string allowed = "at most the pixels of";
  for (int vecs = 1; vecs <= kMostVecs && info.vec_bytes > 0; ++vecs) {
    const int px = tile::MaxPixels(info, vecs);
    if (px > 0) allowed += fmt::format(" {}x{}", px, vecs);
  }
  return NotAllowed("--tile", text,
                    info.vec_bytes > 0 ? allowed : "nothing without vector instructions");
}

Result<double> ParseDuration(std::string_view option, std::string_view text) {
  struct Unit {
    std::string_view suffix;
    double us;
  };
  // The longer suffix first: "ms" ends like "s".
  constexpr Unit kUnits[] = {{"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}};
  constexpr double kLongestUs = 24 * 3600e6;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto value = ReadNumber<double>(text.substr(0, text.size() - unit.suffix.size()));
    const double us = value ? *value * unit.us : 0;
    if (us >= 1e3 && us <= kLongestUs) return us;  // false for NaN
    break;
  }
  return NotAllowed(option, text, "a time from 1ms to 24h with its unit: 500ms, 90s, 3m, 1h");
}

Result<std::regex> ParseFilter(std::string_view text) {
  // The standard library's compiler and matcher recurse: longer ones could exhaust the stack.
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest) {
    return NotAllowed("--filter", text, fmt::format("an expression of at most {} characters", kLongest));
  }
  try {
    return std::regex(text.begin(), text.end(), std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return NotAllowed("--filter", text,
                      fmt::format("a regular expression (ECMAScript); {}", error.what()));
  }
}

namespace {

struct PostOpRule {
  std::string_view name;
  PostOpKind kind;
  int least, most;    // parameters
  float defaults[2];  // of those left out
};

constexpr PostOpRule kPostOpRules[] = {
    {"relu", PostOpKind::kRelu, 0, 0, {0, 0}},
    {"relu6", PostOpKind::kClip, 0, 0, {0, 6}},
    {"leaky_relu", PostOpKind::kLeakyRelu, 0, 1, {0.01f, 0}},
    {"clip", PostOpKind::kClip, 2, 2, {0, 0}},
    {"hard_swish", PostOpKind::kHardSwish, 0, 0, {0, 0}},
    {"hard_sigmoid", PostOpKind::kHardSigmoid, 0, 2, {0.2f, 0.5f}},
    {"sigmoid", PostOpKind::kSigmoid, 0, 0, {0, 0}},
    {"swish", PostOpKind::kSwish, 0, 1, {1, 0}},
    {"silu", PostOpKind::kSwish, 0, 0, {1, 0}},
    {"tanh", PostOpKind::kTanh, 0, 0, {0, 0}},
    {"gelu", PostOpKind::kGelu, 0, 0, {0, 0}},
    {"elu", PostOpKind::kElu, 0, 1, {1, 0}},
    {"residual_add", PostOpKind::kResidualAdd, 0, 0, {0, 0}},
    {"add", PostOpKind::kResidualAdd, 0, 0, {0, 0}},
    {"sum", PostOpKind::kResidualAdd, 0, 0, {0, 0}},
    {"channel_scale", PostOpKind::kChannelScale, 0, 0, {0, 0}},
};

Status BadPostOp(std::string_view text) {
  std::string allowed = fmt::format("up to {} of", kMaxPostOps);
  for (const PostOpRule& rule : kPostOpRules) allowed += fmt::format(" {}", rule.name);
  return NotAllowed("--post-ops", text,
                    allowed + ", joined by '+' or ',', parameters as in clip:0:6 or leaky_relu:0.1");
}

std::optional<PostOp> ReadPostOp(std::string_view text, int64_t oc) {
  const std::vector<std::string_view> parts = SplitText(text, ':');
  const auto* rule = std::find_if(std::begin(kPostOpRules), std::end(kPostOpRules),
                                  [&](const PostOpRule& r) { return r.name == parts[0]; });
  if (rule == std::end(kPostOpRules)) return std::nullopt;
  const int given = static_cast<int>(parts.size()) - 1;
  if (given < rule->least || given > rule->most) return std::nullopt;
  PostOp op{rule->kind, rule->defaults[0], rule->defaults[1], {}, {}};
  for (int i = 0; i < given; ++i) {
    const auto value = ReadNumber<float>(parts[static_cast<size_t>(i) + 1]);
    if (!value) return std::nullopt;
    (i == 0 ? op.alpha : op.beta) = *value;
  }
  if (op.kind == PostOpKind::kChannelScale) op.scale.assign(static_cast<size_t>(oc), 1.0f);
  return op;
}

}  // namespace

Result<PostOps> ParsePostOps(std::string_view text, int64_t oc) {
  PostOps ops;
  if (text.empty()) return ops;
  std::string chain(text);
  std::replace(chain.begin(), chain.end(), ',', '+');
  for (std::string_view piece : SplitText(chain, '+')) {
    std::optional<PostOp> op = ReadPostOp(piece, oc);
    if (!op || ops.size() == kMaxPostOps) return BadPostOp(text);
    ops.push_back(std::move(*op));
  }
  return ops;
}

}  // namespace rafter::cli
