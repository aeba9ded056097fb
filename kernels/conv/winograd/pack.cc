// kernels/conv/winograd/pack.cc: see pack.h.
#include "kernels/conv/winograd/pack.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/winograd/tuning.h"

namespace rafter::winograd {

namespace {

constexpr int64_t kLineFloats = 16;
constexpr int kChunk = 8;  // output channels transformed together

using Values = double[kChunk];

// The points of one axis from its taps.
void ApplyPoints(Axis axis, const Values* taps, int64_t tap_stride, Values* points) {
  const Values &g0 = taps[0], &g1 = taps[tap_stride], &g2 = taps[2 * tap_stride];
  if (axis == Axis::kPlain) {
    std::copy_n(g0, kChunk, points[0]);
    return;
  }
  std::copy_n(g0, kChunk, points[0]);
  std::copy_n(g2, kChunk, points[1]);
  for (int point = 2; point < Inputs(axis); point += 2) {
    const WeightRow row = WeightRowOf(axis, point);
    for (int i = 0; i < kChunk; ++i) {
      const double even = row.tap[0] * g0[i] + row.tap[2] * g2[i], odd = row.tap[1] * g1[i];
      points[point][i] = even + odd;
      points[point + 1][i] = even - odd;
    }
  }
}

// The positions of `channels` neighbouring filters, which lie `oc_stride` floats apart.
void TransformFilters(TileShape shape, const float* filters, int64_t oc_stride, int64_t channels,
                      float* to, int64_t position_stride) {
  constexpr int kMaxTaps = 3;
  Values taps[kMaxTaps * kMaxTaps] = {}, columns[kMaxTaps * kMaxInputs];
  const int kw = Taps(shape.columns), kh = Taps(shape.rows);
  for (int64_t i = 0; i < channels; ++i) {
    for (int t = 0; t < kh * kw; ++t) taps[t][i] = filters[i * oc_stride + t];
  }
  // columns[point of the columns][kernel row]
  Values points[kMaxInputs];
  for (int row = 0; row < kh; ++row) {
    ApplyPoints(shape.columns, taps + row * kw, 1, points);
    for (int j = 0; j < shape.in_w(); ++j) std::copy_n(points[j], kChunk, columns[j * kh + row]);
  }
  for (int j = 0; j < shape.in_w(); ++j) {
    ApplyPoints(shape.rows, columns + j * kh, 1, points);
    for (int i = 0; i < shape.in_h(); ++i) {
      float* lane = to + (j * shape.in_h() + i) * position_stride;
      for (int64_t c = 0; c < kChunk; ++c) lane[c] = static_cast<float>(points[i][c]);
    }
  }
}

}  // namespace

int Chains(int64_t ic_g) { return ic_g <= kMostShortChannels ? 2 : 1; }

int MaxTiles(int vecs, int chains, const jit::IsaInfo& isa) {
  return (isa.num_vecs >= 32 ? kTiles32[vecs] : kTiles16[vecs]) / chains;
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
  const int taps = layout.shape.taps();
  const int64_t oc_stride = layout.ic_g * taps;
  for (int64_t group = 0; group < layout.groups; ++group) {
    if (bias != nullptr) std::copy_n(bias + group * layout.oc_g, layout.oc_g, payload + layout.bias(group));
    for (const PanelRun& run : layout.runs) {
      const int64_t width = run.vecs * layout.lanes;
      const int64_t position_stride = run.panels * layout.ic_g * width;
      float* u = payload + layout.weights(group, run.first_vec);
      for (int64_t panel = 0; panel < run.panels; ++panel) {
        for (int64_t lane = 0; lane < width; lane += kChunk) {
          const int64_t oc = run.first_vec * layout.lanes + panel * width + lane;
          const int64_t channels = std::min<int64_t>(kChunk, layout.oc_g - oc);
          if (channels <= 0) break;
          const float* filters = oihw + (group * layout.oc_g + oc) * oc_stride;
          for (int64_t k = 0; k < layout.ic_g; ++k) {
            TransformFilters(layout.shape, filters + k * taps, oc_stride, channels,
                             u + (panel * layout.ic_g + k) * width + lane, position_stride);
          }
        }
      }
    }
  }
}

}  // namespace rafter::winograd
