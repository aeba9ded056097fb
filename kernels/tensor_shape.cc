// kernels/tensor_shape.cc: see tensor_shape.h.
#include "kernels/tensor_shape.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rafter {
namespace {

struct Dimension {
  char name;
  int64_t size, stride;
};

// Every dimension that has neighbours must step over everything that lies inside it.
Status CheckNoOverlap(const std::string& field, std::array<Dimension, 4> dims, int64_t unit) {
  for (const Dimension& dim : dims) {
    if (dim.size > 1 && dim.stride < 1) {
      return InvalidField(field + "." + dim.name, dim.stride, "is too small, allowed: 1 and above");
    }
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  int64_t span = unit;
  for (const Dimension& dim : dims) {
    if (dim.size <= 1) continue;
    if (dim.stride < span) {
      return InvalidField(field + "." + dim.name, dim.stride,
                          "makes elements overlap, allowed: " + std::to_string(span) + " and above");
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(dim.stride, dim.size - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span) || span > kMaxElements) {
      return InvalidField(field + "." + dim.name, dim.stride,
                          "puts the last element beyond 64-bit byte offsets");
    }
  }
  return {};
}

// Whether a difference of indices, each within its dimension, adds up to `delta` elements. Strides fall; every stride
// is at least the span of what follows, so only two multiples of each can matter.
struct CommonAxis {
  int64_t stride, size_a, size_b;
};
bool Meets(const CommonAxis* axis, const CommonAxis* end, int64_t delta) noexcept {
  if (axis == end) return delta == 0;
  const int64_t floor = delta >= 0 ? delta / axis->stride : -((axis->stride - 1 - delta) / axis->stride);
  for (const int64_t steps : {floor, floor + 1}) {
    // steps = index in a - index in b
    if (steps >= axis->size_a || -steps >= axis->size_b) continue;
    if (Meets(axis + 1, end, delta - steps * axis->stride)) return true;
  }
  return false;
}

// Elements that lie together in the innermost unit.
int64_t UnitOf(Layout layout) { return ChannelBlock(layout); }

}  // namespace

Status InvalidField(std::string field, int64_t value, const std::string& allowed) {
  return Status::InvalidArgument(std::move(field) + ": " + std::to_string(value) + " " + allowed);
}

Status CheckLayout(const char* field, Layout layout) {
  switch (layout) {
    case Layout::kNhwc:
    case Layout::kNchw:
    case Layout::kNchw16c:
    case Layout::kNchw8c: return {};
  }
  return InvalidField(field, static_cast<int64_t>(layout),
                           "is unknown, allowed: 0 (NHWC), 1 (NCHW), 2 (NCHW16c), 3 (NCHW8c)");
}

Status CheckType(DataType type) {
  if (type == DataType::kF32) return {};
  return InvalidField("type", static_cast<int64_t>(type), "is unknown, allowed: 0 (f32)");
}

Status CheckSameFormat(DataType type, Layout src, Layout dst) {
  Status status = CheckType(type);
  if (status.ok()) status = CheckLayout("src.layout", src);
  if (status.ok()) status = CheckLayout("dst.layout", dst);
  if (!status.ok() || dst == src) return status;
  return InvalidField("dst.layout", static_cast<int64_t>(dst),
                      std::string("differs from the source's, allowed: ") + LayoutName(src));
}

Status CheckSizes(const TensorShape& shape) {
  if (shape.n < 0) return InvalidField("n", shape.n, "is negative, allowed: 0 and above");
  if (shape.c < 1) return InvalidField("c", shape.c, "is too small, allowed: 1 and above");
  if (shape.h < 1) return InvalidField("h", shape.h, "is too small, allowed: 1 and above");
  if (shape.w < 1) return InvalidField("w", shape.w, "is too small, allowed: 1 and above");
  return {};
}

bool ProductFits(std::initializer_list<int64_t> factors) noexcept {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return false;
  }
  return product <= kMaxElements;
}

// Every Run asks for it: no division by a number that the compiler does not know.
int64_t BlocksOf(Layout layout, int64_t c) noexcept {
  switch (layout) {
    case Layout::kNchw16c: return c / 16 + (c % 16 != 0 ? 1 : 0);
    case Layout::kNchw8c: return c / 8 + (c % 8 != 0 ? 1 : 0);
    default: return c;
  }
}

Strides WithDenseSingles(Layout layout, const Strides& given, const TensorShape& shape) noexcept {
  Strides strides = DenseStrides(layout, shape.c, shape.h, shape.w);
  if (shape.n > 1) strides.n = given.n;
  if (BlocksOf(layout, shape.c) > 1) strides.c = given.c;
  if (shape.h > 1) strides.h = given.h;
  if (shape.w > 1) strides.w = given.w;
  return strides;
}

Result<Strides> ResolveStrides(const std::string& field, Layout layout,
                               const std::optional<Strides>& given, const TensorShape& shape) {
  const int64_t block = ChannelBlock(layout), blocks = BlocksOf(layout, shape.c);
  if (!ProductFits({std::max<int64_t>(shape.n, 1), blocks, block, shape.h, shape.w})) {
    return Status::InvalidArgument(field + ": " + std::to_string(shape.n) + "x" +
                                   std::to_string(shape.c) + "x" + std::to_string(shape.h) + "x" +
                                   std::to_string(shape.w) +
                                   " elements are beyond 64-bit byte offsets");
  }
  if (!given) return DenseStrides(layout, shape.c, shape.h, shape.w);
  const std::string name = field + ".strides";
  if (layout == Layout::kNhwc && shape.c > 1 && given->c != 1) {
    return InvalidField(name + ".c", given->c, "is not allowed in NHWC: 1 (channels are contiguous)");
  }
  if (layout == Layout::kNchw && shape.w > 1 && given->w != 1) {
    return InvalidField(name + ".w", given->w, "is not allowed in NCHW: 1 (columns are contiguous)");
  }
  Status status = CheckNoOverlap(name,
                                 {{{'n', shape.n, given->n},
                                   {'c', blocks, given->c},
                                   {'h', shape.h, given->h},
                                   {'w', shape.w, given->w}}},
                                 block);
  if (!status.ok()) return status;
  return WithDenseSingles(layout, *given, shape);
}

Strides DenseStrides(Layout layout, int64_t c, int64_t h, int64_t w) noexcept {
  const int64_t block = ChannelBlock(layout);
  switch (layout) {
    case Layout::kNhwc:
      return {.n = h * w * c, .c = 1, .h = w * c, .w = c};
    case Layout::kNchw:
      return {.n = c * h * w, .c = h * w, .h = w, .w = 1};
    case Layout::kNchw16c:
    case Layout::kNchw8c:
      return {
          .n = BlocksOf(layout, c) * h * w * block, .c = h * w * block, .h = w * block, .w = block};
  }
  return {};
}

int64_t SpanOf(const TensorPlace& p) noexcept {
  const TensorShape& s = p.shape;
  if (s.n == 0 || s.c == 0 || s.h == 0 || s.w == 0) return 0;
  const Strides& steps = p.strides;
  return (s.n - 1) * steps.n + (BlocksOf(p.layout, s.c) - 1) * steps.c + (s.h - 1) * steps.h + (s.w - 1) * steps.w +
         ChannelBlock(p.layout);
}

Overlap OverlapOf(const TensorPlace& a, const TensorPlace& b) noexcept {
  const int64_t span_a = SpanOf(a), span_b = SpanOf(b);
  if (span_a == 0 || span_b == 0) return Overlap::kNone;
  // As numbers: the pointers may belong to different objects.
  const auto begin_a = reinterpret_cast<uintptr_t>(a.data), begin_b = reinterpret_cast<uintptr_t>(b.data);
  if (begin_a + static_cast<uintptr_t>(span_a) * 4 <= begin_b ||
      begin_b + static_cast<uintptr_t>(span_b) * 4 <= begin_a) {
    return Overlap::kNone;
  }
  const Strides &s = a.strides, &t = b.strides;
  const bool same_unit = UnitOf(a.layout) == UnitOf(b.layout);
  if (a.data == b.data && same_unit && s == t && a.shape == b.shape) return Overlap::kSame;
  if ((begin_b - begin_a) % 4 != 0 || !same_unit) return Overlap::kPartial;
  const int64_t blocks_a = BlocksOf(a.layout, a.shape.c), blocks_b = BlocksOf(b.layout, b.shape.c);
  // A stride matters only where one of the two has neighbours along it; then they must agree.
  const std::array<std::array<int64_t, 4>, 5> dims = {{{s.n, t.n, a.shape.n, b.shape.n},
                                                       {s.c, t.c, blocks_a, blocks_b},
                                                       {s.h, t.h, a.shape.h, b.shape.h},
                                                       {s.w, t.w, a.shape.w, b.shape.w},
                                                       {1, 1, UnitOf(a.layout), UnitOf(b.layout)}}};
  std::array<CommonAxis, 5> axes{};
  size_t count = 0;
  for (const auto& [stride_a, stride_b, size_a, size_b] : dims) {
    if (size_a == 1 && size_b == 1) continue;
    if (size_a > 1 && size_b > 1 && stride_a != stride_b) return Overlap::kPartial;
    axes[count++] = {size_a > 1 ? stride_a : stride_b, size_a, size_b};
  }
  // The unused ones, of stride 0, come last.
  std::sort(axes.begin(), axes.end(), [](const CommonAxis& x, const CommonAxis& y) { return x.stride > y.stride; });
  // Nested in both together? Otherwise more multiples than two could matter.
  int64_t span = 1;
  for (size_t i = count; i-- > 0;) {
    if (axes[i].stride < span) return Overlap::kPartial;
    span += axes[i].stride * (std::max(axes[i].size_a, axes[i].size_b) - 1);
  }
  const int64_t delta = (static_cast<int64_t>(begin_b) - static_cast<int64_t>(begin_a)) / 4;
  return Meets(axes.data(), axes.data() + count, delta) ? Overlap::kPartial : Overlap::kNone;
}

}  // namespace rafter
