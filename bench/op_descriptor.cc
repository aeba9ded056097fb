// bench/op_descriptor.cc: see the header.
#include "bench/op_descriptor.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "bench/printable.h"
#include "runtime/system_files.h"

namespace rafter::bench {
namespace {

constexpr std::string_view kKinds[] = {"eltwise", "binary", "pool", "concat", "pad", "reorder", "softmax", "scratch"};

std::vector<std::string> Split(std::string_view text, char separator) {
  const std::vector<std::string_view> pieces = SplitText(text, separator);
  return {pieces.begin(), pieces.end()};
}

Status Wrong(const std::string& part, const std::string& allowed) {
  return Status::InvalidArgument("'" + Printable(part) + "' is not understood, allowed: " + allowed);
}

std::string JoinParts(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ":") + part;
  return text;
}

Result<int64_t> ParseCount(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Wrong(text, "a whole number of at least 0");
  }
  return value;
}

Result<std::vector<int64_t>> ParseCounts(const std::string& text) {
  std::vector<int64_t> values;
  for (const std::string& part : Split(text, 'x')) {
    const Result<int64_t> value = ParseCount(part);
    if (!value.ok()) return value.status();
    values.push_back(*value);
  }
  return values;
}

struct Shape {
  int64_t n = 1, c = 1, h = 1, w = 1;
};

Result<Shape> ParseShape(const std::string& text) {
  Result<std::vector<int64_t>> sizes = ParseCounts(text);
  if (!sizes.ok() || sizes->size() != 4) return Wrong(text, "a shape NxCxHxW, e.g. 1x64x56x56");
  return Shape{(*sizes)[0], (*sizes)[1], (*sizes)[2], (*sizes)[3]};
}

Result<EltwiseOp> ParseEltwiseOp(const std::string& text) {
  const std::vector<std::string> parts = Split(text, '=');
  std::string known;
  for (int kind = 1; kind <= static_cast<int>(EltwiseKind::kMax); ++kind) {
    const auto candidate = static_cast<EltwiseKind>(kind);
    known += std::string(known.empty() ? "" : ", ") + EltwiseName(candidate);
    if (parts[0] != EltwiseName(candidate)) continue;
    EltwiseOp op = EltwiseOp::Of(candidate);
    // Customary parameters where none are given.
    if (candidate == EltwiseKind::kClip) op.beta = 6.0f;
    if (candidate == EltwiseKind::kLeakyRelu) op.alpha = 0.1f;
    if (candidate == EltwiseKind::kSwish || candidate == EltwiseKind::kElu) op.alpha = 1.0f;
    if (candidate == EltwiseKind::kHardSigmoid) op.alpha = 0.2f, op.beta = 0.5f;
    if (candidate == EltwiseKind::kLinear) op.alpha = 2.0f, op.beta = 1.0f;
    if (parts.size() > 3) return Wrong(text, "at most two parameters, as in clip=0=6");
    for (size_t i = 1; i < parts.size(); ++i) {
      char* end = nullptr;
      const float value = std::strtof(parts[i].c_str(), &end);
      if (parts[i].empty() || *end != '\0') return Wrong(parts[i], "a number");
      (i == 1 ? op.alpha : op.beta) = value;
    }
    return op;
  }
  if (parts[0] == "silu") return EltwiseOp::Silu();
  return Wrong(parts[0], known + ", silu");
}

Result<OpCase> ParseEltwise(const std::vector<std::string>& parts, bool binary) {
  const char* form = binary ? "binary:OP:SHAPE[:SHAPE]" : "eltwise:OP[+OP…]:SHAPE[:inplace]";
  if (parts.size() < 3 || parts.size() > 4) return Wrong(JoinParts(parts), form);
  EltwiseDesc desc;
  for (const std::string& text : Split(parts[1], '+')) {
    Result<EltwiseOp> op = ParseEltwiseOp(text);
    if (!op.ok()) return op.status();
    if (binary && op->kind < EltwiseKind::kAdd) return Wrong(text, "add, sub, mul, div, min, max; others as eltwise:");
    desc.ops.push_back(std::move(op).value());
  }
  const Result<Shape> shape = ParseShape(parts[2]);
  if (!shape.ok()) return shape.status();
  desc.n = shape->n, desc.c = shape->c, desc.h = shape->h, desc.w = shape->w;
  OpCase result;
  if (parts.size() == 4 && parts[3] == "inplace") {
    result.in_place = true;
  } else if (parts.size() == 4) {
    const Result<Shape> second = ParseShape(parts[3]);
    if (!second.ok()) return second.status();
    const auto one = [](int64_t operand, int64_t source) { return operand == 1 && source != 1; };
    const auto fits = [](int64_t operand, int64_t source) { return operand == 1 || operand == source; };
    if (!fits(second->n, desc.n) || !fits(second->c, desc.c) || !fits(second->h, desc.h) || !fits(second->w, desc.w)) {
      return Wrong(parts[3], "sizes of 1 or those of the first shape");
    }
    for (EltwiseOp& op : desc.ops) {
      op.operand = {one(second->n, desc.n), one(second->c, desc.c), one(second->h, desc.h), one(second->w, desc.w), {}};
    }
  }
  result.desc = std::move(desc);
  return result;
}

// "k3s2p1", "k3x1s2x1p1x0ceil".
Status ParseWindow(const std::string& window, PoolingDesc& desc) {
  std::string text = window;
  const auto takes = [&](std::string_view word, bool& flag) {
    if (flag || !text.ends_with(word)) return false;
    text.erase(text.size() - word.size());
    return flag = true;
  };
  while (takes("cip", desc.count_include_pad) || takes("ceil", desc.ceil_mode)) {
  }
  if (text == "global") {
    desc.kernel = desc.in;
    return {};
  }
  constexpr const char* kAllowed =
      "a window such as k3s2p1 or k3x1s2x1p1x0d1x1 (kernel, stride, padding, dilation, each once), or global; behind "
      "it ceil (round sizes up), cip (averages count the padding), or both";
  std::string seen;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of("kspd", at + 1), text.size());
    Result<std::vector<int64_t>> sizes = ParseCounts(text.substr(at + 1, end - at - 1));
    if (!sizes.ok() || sizes->size() > 2 || seen.find(text[at]) != std::string::npos) return Wrong(window, kAllowed);
    seen += text[at];
    const Size2 size{(*sizes)[0], sizes->back()};
    switch (text[at]) {
      case 'k': desc.kernel = size; break;
      case 's': desc.stride = size; break;
      case 'd': desc.dilation = size; break;
      case 'p': desc.pad = {size.h, size.w, size.h, size.w}; break;
      default: return Wrong(window, kAllowed);
    }
    at = end;
  }
  return seen.find('k') != std::string::npos ? Status() : Wrong(window, kAllowed);
}

Result<OpCase> ParsePool(const std::vector<std::string>& parts) {
  if (parts.size() != 4 || (parts[1] != "max" && parts[1] != "avg")) {
    return Wrong(JoinParts(parts), "pool:max|avg:WINDOW:SHAPE, e.g. pool:max:k3s2p1:1x64x112x112");
  }
  const Result<Shape> shape = ParseShape(parts[3]);
  if (!shape.ok()) return shape.status();
  PoolingDesc desc;
  desc.kind = parts[1] == "max" ? PoolingKind::kMax : PoolingKind::kAverage;
  desc.n = shape->n, desc.c = shape->c, desc.in = {shape->h, shape->w};
  if (Status status = ParseWindow(parts[2], desc); !status.ok()) return status;
  OpCase result;
  result.desc = desc;
  return result;
}

Result<OpCase> ParseConcat(const std::vector<std::string>& parts) {
  constexpr std::string_view kAxes = "nchw";
  if (parts.size() != 3 || parts[1].size() != 1 || kAxes.find(parts[1]) == std::string_view::npos) {
    return Wrong(JoinParts(parts), "concat:n|c|h|w:SHAPE+SHAPE…");
  }
  const size_t axis = kAxes.find(parts[1]);
  ConcatDesc desc;
  desc.axis = static_cast<Axis>(axis);
  Shape first;
  for (const std::string& text : Split(parts[2], '+')) {
    Result<Shape> shape = ParseShape(text);
    if (!shape.ok()) return shape.status();
    int64_t* sizes[] = {&shape->n, &shape->c, &shape->h, &shape->w};
    ConcatInput input;
    input.size = std::exchange(*sizes[axis], 1);
    if (desc.inputs.empty()) first = *shape;
    if (shape->n != first.n || shape->c != first.c || shape->h != first.h || shape->w != first.w) {
      return Wrong(text, "shapes that differ along the axis only");
    }
    desc.inputs.push_back(std::move(input));
  }
  desc.n = first.n, desc.c = first.c, desc.h = first.h, desc.w = first.w;
  OpCase result;
  result.desc = std::move(desc);
  return result;
}

Result<OpCase> ParsePad(const std::vector<std::string>& parts) {
  if (parts.size() != 4) return Wrong(JoinParts(parts), "pad:constant|edge|reflect:pT[xLxBxR]:SHAPE");
  PadDesc desc;
  bool known = false;
  for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
    if (parts[1] == PadModeName(mode)) desc.mode = mode, known = true;
  }
  if (!known) return Wrong(parts[1], "constant, edge, reflect");
  const Result<std::vector<int64_t>> pads =
      parts[2].starts_with("p") ? ParseCounts(parts[2].substr(1)) : Wrong(parts[2], "p1 or p1x2x1x2");
  if (!pads.ok() || (pads->size() != 1 && pads->size() != 4)) {
    return Wrong(parts[2], "p and one number, or four: top x left x bottom x right");
  }
  const auto pad = [&](size_t i) { return pads->size() == 1 ? (*pads)[0] : (*pads)[i]; };
  desc.pad = {pad(0), pad(1), pad(2), pad(3)};
  const Result<Shape> shape = ParseShape(parts[3]);
  if (!shape.ok()) return shape.status();
  desc.n = shape->n, desc.c = shape->c, desc.in = {shape->h, shape->w};
  OpCase result;
  result.desc = desc;
  return result;
}

Result<Layout> LayoutOf(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    std::string name = LayoutName(layout);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == text) return layout;
  }
  return Wrong(text, "nhwc, nchw, nchw16c, nchw8c");
}

Result<OpCase> ParseReorder(const std::vector<std::string>& parts) {
  const std::vector<std::string> layouts = Split(parts.size() > 1 ? parts[1] : std::string(), '-');
  if (parts.size() != 3 || layouts.size() != 2) return Wrong(JoinParts(parts), "reorder:LAYOUT-LAYOUT:SHAPE");
  ReorderDesc desc;
  for (int side = 0; side < 2; ++side) {
    const Result<Layout> layout = LayoutOf(layouts[static_cast<size_t>(side)]);
    if (!layout.ok()) return layout.status();
    (side == 0 ? desc.src : desc.dst).layout = *layout;
  }
  const Result<Shape> shape = ParseShape(parts[2]);
  if (!shape.ok()) return shape.status();
  desc.n = shape->n, desc.c = shape->c, desc.h = shape->h, desc.w = shape->w;
  OpCase result;
  result.desc = desc;
  return result;
}

Result<OpCase> ParseSoftmax(const std::vector<std::string>& parts) {
  if (parts.size() != 2) return Wrong(JoinParts(parts), "softmax:SHAPE");
  const Result<Shape> shape = ParseShape(parts[1]);
  if (!shape.ok()) return shape.status();
  SoftmaxDesc desc;
  desc.n = shape->n, desc.c = shape->c, desc.h = shape->h, desc.w = shape->w;
  OpCase result;
  result.desc = desc;
  return result;
}

Result<OpCase> ParseScratch(const std::vector<std::string>& parts) {
  constexpr int64_t kMostBytes = int64_t{1} << 32;
  if (parts.size() != 2 || parts[1].empty()) return Wrong(parts[0], "scratch:BYTES, e.g. scratch:8M");
  std::string digits = parts[1];
  int shift = 0;
  if (digits.back() == 'K') shift = 10;
  if (digits.back() == 'M') shift = 20;
  if (shift > 0) digits.pop_back();
  const Result<int64_t> count = ParseCount(digits);
  if (!count.ok() || *count < 1 || *count > (kMostBytes >> shift)) return Wrong(parts[1], "1 to 4096M, also in K");
  OpCase result;
  result.desc = ScratchDesc{*count << shift};
  return result;
}

}  // namespace

bool LooksLikeOp(std::string_view text) noexcept {
  const std::string_view name = text.substr(0, text.find(':'));
  return std::find(std::begin(kKinds), std::end(kKinds), name) != std::end(kKinds);
}

Result<OpCase> ParseOp(std::string_view text) {
  constexpr size_t kLongest = 1000;  // as of descriptors of convolutions
  if (text.size() > kLongest) return Wrong(std::string(text), "at most 1000 characters");
  const std::vector<std::string> parts = Split(text, ':');
  Result<OpCase> op = Wrong(parts[0], "eltwise, binary, pool, concat, pad, reorder, softmax, scratch");
  if (parts[0] == "eltwise" || parts[0] == "binary") op = ParseEltwise(parts, parts[0] == "binary");
  if (parts[0] == "pool") op = ParsePool(parts);
  if (parts[0] == "concat") op = ParseConcat(parts);
  if (parts[0] == "pad") op = ParsePad(parts);
  if (parts[0] == "reorder") op = ParseReorder(parts);
  if (parts[0] == "softmax") op = ParseSoftmax(parts);
  if (parts[0] == "scratch") op = ParseScratch(parts);
  if (op.ok()) op->text = text;
  return op;
}

namespace {

// Makes a plan and drops it.
struct PlanOnce {
  static constexpr int64_t kMostFactors = 1 << 24;

  Status operator()(EltwiseDesc desc) const {
    for (EltwiseOp& op : desc.ops) {
      if (op.kind != EltwiseKind::kPrelu && op.kind != EltwiseKind::kChannelLinear) continue;
      if (desc.c > kMostFactors) {  // too many to be made here: the shape is judged without them
        op.kind = EltwiseKind::kRelu;
        continue;
      }
      op.scale.assign(static_cast<size_t>(desc.c), 1.0f);
      if (op.kind == EltwiseKind::kChannelLinear) op.shift = op.scale;
    }
    return Eltwise::Create(desc, {.threads = 1}).status();
  }
  Status operator()(const PoolingDesc& desc) const { return Pooling::Create(desc, {.threads = 1}).status(); }
  Status operator()(const ConcatDesc& desc) const { return Concat::Create(desc, {.threads = 1}).status(); }
  Status operator()(const PadDesc& desc) const { return Pad::Create(desc, {.threads = 1}).status(); }
  Status operator()(const ReorderDesc& desc) const { return Reorder::Create(desc, {.threads = 1}).status(); }
  Status operator()(const SoftmaxDesc& desc) const { return Softmax::Create(desc, {.threads = 1}).status(); }
  Status operator()(const ScratchDesc&) const { return {}; }
};

}  // namespace

Status CheckOp(const OpCase& op) { return std::visit(PlanOnce(), op.desc); }

void OverrideBatch(OpCase& op, int64_t mb) {
  std::visit(
      [&](auto& desc) {
        if constexpr (requires { desc.n; }) desc.n = mb;
      },
      op.desc);
}

}  // namespace rafter::bench
