// kernels/conv/winograd/pack.cc: see pack.h.
#include "kernels/conv/winograd/pack.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/winograd/spec.h"
#include "kernels/conv/winograd/tuning.h"
#include "kernels/sizes.h"

namespace rafter::winograd {

namespace {

constexpr int kChunk = 8;  // output channels transformed together
constexpr int kMaxTaps = 3;

// Winograd plans exist where AVX2 does (plan.cc). Without FMA every compiler rounds alike.
#define RAFTER_AVX2 __attribute__((target("avx2")))

using Quad = double __attribute__((vector_size(32)));
constexpr int kQuads = kChunk / 4;
using Values = Quad[kQuads];

// The points of one axis from its taps, both at their strides.
template <Axis axis>
RAFTER_AVX2 inline void ApplyPointsOf(const Values* taps, int64_t tap_stride, Values* points, int64_t point_stride) {
  for (int i = 0; i < kQuads; ++i) {
    const Quad g0 = taps[0][i];
    points[0][i] = g0;
    if constexpr (axis == Axis::kPlain) continue;
    const Quad g1 = taps[tap_stride][i], g2 = taps[2 * tap_stride][i];
    points[point_stride][i] = g2;
    for (int point = 2; point < Inputs(axis); point += 2) {
      const WeightRow row = WeightRowOf(axis, point);
      const Quad even = row.tap[0] * g0 + row.tap[2] * g2, odd = row.tap[1] * g1;
      points[point * point_stride][i] = even + odd;
      points[(point + 1) * point_stride][i] = even - odd;
    }
  }
}

RAFTER_AVX2 void ApplyPoints(Axis axis, const Values* taps, int64_t tap_stride, Values* points, int64_t point_stride) {
  switch (axis) {
    case Axis::kPlain: return ApplyPointsOf<Axis::kPlain>(taps, tap_stride, points, point_stride);
    case Axis::kTwo: return ApplyPointsOf<Axis::kTwo>(taps, tap_stride, points, point_stride);
    case Axis::kFour: return ApplyPointsOf<Axis::kFour>(taps, tap_stride, points, point_stride);
  }
}

// The positions of `channels` neighbouring filters, which lie `oc_stride` floats apart; to[position * stride + lane].
// Lanes from `channels` on are zero.
RAFTER_AVX2 void TransformFilters(TileShape shape, const float* filters, int64_t oc_stride, int64_t channels, float* to,
                                  int64_t stride) {
  const int kw = Taps(shape.columns), kh = Taps(shape.rows), in_w = shape.in_w(), in_h = shape.in_h();
  Values taps[kMaxTaps * kMaxTaps], columns[kMaxTaps * kMaxInputs], points[kMaxInputs];
  if (channels < kChunk) std::fill_n(&taps[0][0], kh * kw * kQuads, Quad{});
  for (int64_t i = 0; i < channels; ++i) {
    for (int t = 0; t < kh * kw; ++t) taps[t][i / 4][i % 4] = filters[i * oc_stride + t];
  }
  // columns[point of the columns][kernel row]
  for (int row = 0; row < kh; ++row) ApplyPoints(shape.columns, taps + row * kw, 1, columns + row, kh);
  for (int j = 0; j < in_w; ++j) {
    ApplyPoints(shape.rows, columns + j * kh, 1, points, 1);
    for (int i = 0; i < in_h; ++i) {
      float* lane = to + (j * in_h + i) * stride;
      for (int c = 0; c < kChunk; ++c) lane[c] = static_cast<float>(points[i][c / 4][c % 4]);
    }
  }
}

// The most floats of one position that are collected before they go to the payload. Positions lie there at multiples
// of large powers of two: stored one filter at a time, 36 lines would compete for one set of the cache.
constexpr int64_t kBlockFloats = 128;

// One panel: `channels` filters at `oihw`, [channel][input channel][tap], to u[position][input channel][lane].
void PackPanel(TileShape shape, const float* oihw, int64_t channels, int64_t ic_g, int64_t width, float* u,
               int64_t position_stride) {
  float block[kMaxInputs * kMaxInputs * kBlockFloats];
  const int taps = shape.taps();
  const int64_t most = std::max<int64_t>(kBlockFloats / width, 1), oc_stride = ic_g * taps;
  for (int64_t first = 0; first < ic_g; first += most) {
    const int64_t count = std::min(most, ic_g - first);
    for (int64_t lane = 0; lane < width; lane += kChunk) {
      const int64_t filters = std::clamp<int64_t>(channels - lane, 0, kChunk);
      const float* from = oihw + lane * oc_stride + first * taps;
      for (int64_t k = 0; k < count; ++k) {
        TransformFilters(shape, from + k * taps, oc_stride, filters, block + k * width + lane, kBlockFloats);
      }
    }
    for (int position = 0; position < shape.positions(); ++position) {
      std::copy_n(block + position * kBlockFloats, count * width, u + position * position_stride + first * width);
    }
  }
}

}  // namespace

int SumParts(int64_t ic_g) {
  if (ic_g <= kMostParkedChannels) return 4;
  return ic_g <= kMostShortChannels ? 2 : 1;
}

int MaxTiles(int vecs, int parts, const jit::IsaInfo& isa) {
  const int tiles = (isa.num_vecs >= 32 ? kTiles32[vecs] : kTiles16[vecs]) / Accumulators(parts);
  return parts > Accumulators(parts) ? std::min(tiles, kMostParkedTiles) : tiles;
}

PanelRuns CutPanels(int64_t vecs, const jit::IsaInfo& isa) {
  PanelRuns runs;
  const int main = isa.num_vecs >= 32 ? 4 : 2;
  int64_t panels = vecs / main, rest = vecs % main;
  int last = 0;
  if (rest == 1 && panels > 0) {  // an odd vector joins the panel before it
    --panels, rest += main;
    if (rest > 4) last = 2, rest = 3;
  }
  if (panels > 0) runs.push_back({0, panels, main});
  if (rest > 0) runs.push_back({panels * main, 1, static_cast<int>(rest)});
  if (last > 0) runs.push_back({panels * main + rest, 1, last});
  return runs;
}

PackLayout LayOut(const ConvProblem& problem, TileShape shape, const jit::IsaInfo& isa) {
  PackLayout layout;
  layout.shape = shape;
  layout.lanes = isa.vec_lanes();
  layout.groups = problem.desc.groups, layout.ic_g = problem.ic_g, layout.oc_g = problem.oc_g;
  layout.vecs = (problem.oc_g + layout.lanes - 1) / layout.lanes;
  layout.runs = CutPanels(layout.vecs, isa);
  layout.bias_floats = (layout.groups * layout.vecs * layout.lanes + kLineFloats - 1) / kLineFloats * kLineFloats;
  layout.group_floats = shape.positions() * layout.ic_g * layout.vecs * layout.lanes;
  return layout;
}

PackedHeader HeaderOf(const PackLayout& layout, const ConvProblem& problem) {
  const bool four = layout.shape.rows == Axis::kFour || layout.shape.columns == Axis::kFour;
  const bool two = layout.shape.rows == Axis::kTwo || layout.shape.columns == Axis::kTwo;
  PackedFormat format = four ? PackedFormat::kWinogradFour : PackedFormat::kWinogradTwo;
  if (four && two) {
    format = layout.shape.rows == Axis::kFour ? PackedFormat::kWinogradFourTwo : PackedFormat::kWinogradTwoFour;
  }
  PackedHeader header;
  header.format = static_cast<uint32_t>(format);
  header.vec_lanes = static_cast<uint32_t>(layout.lanes);
  header.groups = layout.groups, header.ic_g = layout.ic_g, header.oc_g = layout.oc_g;
  header.kh = problem.desc.kernel.h, header.kw = problem.desc.kernel.w;
  header.payload_bytes = static_cast<uint64_t>(layout.payload_floats()) * sizeof(float);
  return header;
}

void PackWeights(const PackLayout& layout, const float* oihw, const float* bias, float* payload) noexcept {
  const int64_t oc_stride = layout.ic_g * layout.shape.taps();
  for (int64_t group = 0; group < layout.groups; ++group) {
    if (bias != nullptr) std::copy_n(bias + group * layout.oc_g, layout.oc_g, payload + layout.bias(group));
    for (const PanelRun& run : layout.runs) {
      const int64_t width = run.vecs * layout.lanes;
      float* u = payload + layout.weights(group, run.first_vec);
      for (int64_t panel = 0; panel < run.panels; ++panel) {
        const int64_t oc = run.first_vec * layout.lanes + panel * width;
        PackPanel(layout.shape, oihw + (group * layout.oc_g + oc) * oc_stride, std::min(width, layout.oc_g - oc),
                  layout.ic_g, width, u + panel * layout.ic_g * width, run.panels * layout.ic_g * width);
      }
    }
  }
}

}  // namespace rafter::winograd
