// kernels/conv/strip/pack.cc
#include "kernels/conv/strip/pack.h"

#include <algorithm>

#include "kernels/conv/strip/result_map.h"
#include "kernels/sizes.h"

namespace rafter::strip {

namespace {

// Where one lane of one step takes its weight from.
struct Source {
  int64_t channel = 0;  // output channel of the convolution
  int64_t input = 0;    // input channel of the group
  bool exists = false;
};

Source SourceOf(const Layer& layer, const Piece& piece, int64_t unit, int64_t step, int v, int lane) {
  const int64_t group = piece.first_group + unit * piece.groups;
  if (HoldsGroups(piece.feed)) {
    const int64_t per_group = piece.channels / piece.groups;
    const int64_t input =
        piece.feed == Feed::kInLane
            ? InLaneInput(static_cast<int>(per_group), static_cast<int>(step), static_cast<int>(lane % per_group))
            : step;
    return {group * layer.oc_g + lane, input, lane < per_group * piece.groups};
  }
  const int64_t per_step = ChannelsPerStep(piece.feed, layer.lanes);
  const int64_t outputs = OutputsPerVector(piece.feed, layer.lanes);
  const int64_t channel = v * outputs + lane / per_step, input = step * per_step + lane % per_step;
  return {group * layer.oc_g + piece.first_channel + channel, input,
          channel < piece.channels && input < layer.ic_g};
}

void PackUnit(const Layer& layer, const Piece& piece, int64_t unit, const float* oihw, float* to) {
  const int64_t columns = ColumnsPerStep(layer, piece.feed), steps = StepsPerTap(layer, piece.feed);
  const int64_t taps = layer.kh * layer.kw;
  for (int64_t step = 0; step < steps; ++step) {
    for (int v = 0; v < piece.vecs; ++v) {
      for (int lane = 0; lane < layer.lanes; ++lane) {
        const Source source = SourceOf(layer, piece, unit, step, v, lane);
        if (!source.exists) continue;
        const float* from = oihw + (source.channel * layer.ic_g + source.input) * taps;
        for (int64_t kh = 0; kh < layer.kh; ++kh) {
          for (int64_t kw = 0; kw < layer.kw; ++kw) {
            const int64_t group_of_columns = kh * (layer.kw / columns) + kw / columns;
            const int64_t at = ((group_of_columns * steps + step) * columns + kw % columns) * piece.vecs + v;
            to[at * layer.lanes + lane] = from[kh * layer.kw + kw];
          }
        }
      }
    }
  }
}

}  // namespace

PackLayout LayOut(const Layer& layer, const std::vector<Piece>& pieces) {
  PackLayout layout;
  layout.pieces.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    PackedPiece& packed = layout.pieces[i];
    packed.bias = layout.bias_floats;
    packed.bias_unit =
        RoundUp(PatternCount(piece.feed, piece.vecs, layer.lanes) * layer.lanes, kLineFloats);
    layout.bias_floats += piece.units * packed.bias_unit;
  }
  layout.payload_floats = layout.bias_floats;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    PackedPiece& packed = layout.pieces[i];
    const int64_t columns = ColumnsPerStep(layer, piece.feed);
    packed.weights = layout.payload_floats;
    packed.weights_column = StepsPerTap(layer, piece.feed) * columns * piece.vecs * layer.lanes;
    packed.weights_row = layer.kw / columns * packed.weights_column;
    packed.weights_unit = RoundUp(layer.kh * packed.weights_row, kLineFloats);
    layout.payload_floats += piece.units * packed.weights_unit;
  }
  return layout;
}

PackedHeader HeaderOf(const Layer& layer, const PackLayout& layout, PackedFormat format) {
  PackedHeader header;
  header.format = static_cast<uint32_t>(format);
  header.vec_lanes = static_cast<uint32_t>(layer.lanes);
  header.groups = layer.groups, header.ic_g = layer.ic_g, header.oc_g = layer.oc_g;
  header.kh = layer.kh, header.kw = layer.kw;
  header.payload_bytes = static_cast<uint64_t>(layout.payload_floats) * sizeof(float);
  return header;
}

void PackPerChannel(const Layer& layer, const std::vector<Piece>& pieces, const PackLayout& layout,
                    const float* values, float* to) noexcept {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const int patterns = PatternCount(piece.feed, piece.vecs, layer.lanes);
    const int lanes = ResultLanes(piece.feed, layer.lanes);
    for (int64_t unit = 0; unit < piece.units; ++unit) {
      float* vectors = to + layout.pieces[i].bias + unit * layout.pieces[i].bias_unit;
      const int64_t first =
          (piece.first_group + unit * piece.groups) * layer.oc_g + piece.first_channel;
      for (int pattern = 0; pattern < patterns; ++pattern) {
        for (int lane = 0; lane < lanes; ++lane) {
          const int channel = PatternChannel(piece.feed, piece.vecs, layer.lanes, pattern, lane);
          if (channel < piece.channels) vectors[pattern * layer.lanes + lane] = values[first + channel];
        }
      }
    }
  }
}

void PackPieces(const Layer& layer, const std::vector<Piece>& pieces, const PackLayout& layout,
                const float* oihw, const float* bias, float* payload) noexcept {
  if (bias != nullptr) PackPerChannel(layer, pieces, layout, bias, payload);
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (int64_t unit = 0; unit < pieces[i].units; ++unit) {
      PackUnit(layer, pieces[i], unit, oihw,
               payload + layout.pieces[i].weights + unit * layout.pieces[i].weights_unit);
    }
  }
}

}  // namespace rafter::strip
