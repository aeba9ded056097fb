// kernels/conv/depthwise/width_program.cc
#include "kernels/conv/depthwise/width_program.h"

#include <algorithm>

namespace rafter::depthwise {

namespace {

constexpr size_t kMaxEdgeRuns = 64;

class WidthProgramBuilder {
 public:
  WidthProgramBuilder(const Axis& columns, const WidthShape& shape)
      : axis_(columns),
        shape_(shape),
        overlaps_(shape.may_overlap && columns.out() >= shape.lanes) {
    vectors_ = (columns.out() + shape.lanes - 1) / shape.lanes;
  }

  std::optional<WidthProgram> Build() {
    for (int64_t vector = 0; vector < vectors_;) {
      const int vecs = TileVecs(vector);
      const bool regular = vecs == 1 || Begin(vector + vecs - 1) - Begin(vector) ==
                                            static_cast<int64_t>(vecs - 1) * shape_.lanes;
      if (regular && Masked(vector) == 0 && Masked(vector + vecs - 1) == 0 &&
          Begin(vector + vecs - 1) + shape_.lanes <= axis_.out()) {
        AddPlain(vector, vecs);
      } else if (AddEdge(vector, vecs); ++edge_runs_ > kMaxEdgeRuns) {
        return std::nullopt;
      }
      vector += vecs;
    }
    return std::move(program_);
  }

 private:
  int64_t Begin(int64_t vector) const {
    const int64_t begin = vector * shape_.lanes;
    return overlaps_ ? std::min(begin, axis_.out() - shape_.lanes) : begin;
  }

  // The taps of a vector that would read something outside the image.
  uint16_t Masked(int64_t vector) const {
    const int64_t begin = Begin(vector);
    uint16_t taps = 0;
    for (int64_t tap = 0; tap < axis_.kernel(); ++tap) {
      const int64_t first = axis_.input(0, 0) + begin * axis_.stride() + tap * axis_.dilation();
      const bool inside = first >= 0 && first + shape_.lanes * axis_.stride() <= axis_.in() &&
                          begin + shape_.lanes <= axis_.out();
      if (!inside) taps = static_cast<uint16_t>(taps | 1 << tap);
    }
    return taps;
  }

  // Vectors of the tile that starts with `vector`: tiles of nearly equal width, and only the first and the
  // last vector of each may be masked.
  int TileVecs(int64_t vector) const {
    const int64_t left = vectors_ - vector, tiles = (left + shape_.vecs - 1) / shape_.vecs;
    const int64_t wish = (left + tiles - 1) / tiles;
    int64_t vecs = 1;
    while (vecs < wish && (vecs == 1 || Masked(vector + vecs - 1) == 0)) ++vecs;
    return static_cast<int>(vecs);
  }

  void AddPlain(int64_t vector, int vecs) {
    if (!program_.runs.empty()) {
      WidthRun& last = program_.runs.back();
      if (!last.edge && last.vecs == vecs &&
          last.begin + last.tiles * vecs * shape_.lanes == Begin(vector)) {
        ++last.tiles;
        return;
      }
    }
    program_.runs.push_back({Begin(vector), 1, vecs, false, 0, 0, 0, 0, 0});
  }

  void AddEdge(int64_t vector, int vecs) {
    const int64_t end = vector + vecs - 1, last = Begin(end);
    WidthRun run{Begin(vector), 1, vecs, true, Masked(vector), 0, 0, 0, program_.masks.size()};
    if (vecs > 1) run.last_taps = Masked(end), run.vec_step = last - run.begin;
    run.last_lanes = static_cast<int>(last + shape_.lanes > axis_.out() ? axis_.out() - last : 0);
    for (int64_t tap = 0; tap < axis_.kernel(); ++tap) {
      program_.masks.push_back(MasksOf(run.begin, tap));
      program_.masks.push_back(MasksOf(last, tap));
    }
    program_.runs.push_back(run);
  }

  TapMasks MasksOf(int64_t begin, int64_t tap) const {
    TapMasks masks;
    const int64_t first = axis_.input(0, 0) + begin * axis_.stride() + tap * axis_.dilation();
    const auto used = [&](int64_t lane) {
      const int64_t at = first + lane * axis_.stride();
      return begin + lane < axis_.out() && at >= 0 && at < axis_.in();
    };
    const int lanes = shape_.lanes;
    for (int input = 0; input < lanes * axis_.stride(); ++input) {
      const int64_t at = first + input;
      if (at >= 0 && at < axis_.in()) masks.inputs[input / lanes][input % lanes] = -1;
    }
    for (int place = 0; place < lanes; ++place) {  // the order of Assembler::EvenLanes
      const int quarter = place % 4;
      const int lane = place / 4 * 2 + (quarter < 2 ? quarter : lanes / 2 + quarter - 2);
      masks.products[place] = used(lane) ? -1 : 0;
    }
    return masks;
  }

  const Axis& axis_;
  const WidthShape shape_;
  const bool overlaps_;
  int64_t vectors_ = 0;
  size_t edge_runs_ = 0;
  WidthProgram program_;
};

}  // namespace

std::optional<WidthProgram> MakeWidthProgram(const Axis& columns, const WidthShape& shape) {
  return WidthProgramBuilder(columns, shape).Build();
}

}  // namespace rafter::depthwise
