// kernels/conv/depthwise/width_program.cc
#include "kernels/conv/depthwise/width_program.h"

#include <algorithm>

namespace rafter::depthwise {

namespace {

constexpr size_t kMaxMaskedRuns = 64;

class Builder {
 public:
  Builder(const Axis& columns, const WidthShape& shape)
      : axis_(columns),
        shape_(shape),
        overlaps_(shape.may_overlap && columns.out() >= shape.lanes) {
    vectors_ = (columns.out() + shape.lanes - 1) / shape.lanes;
  }

  std::optional<WidthProgram> Build() {
    for (int64_t vector = 0; vector < vectors_;) {
      const int64_t inside = InsideVectors(vector);
      if (inside > 0) {
        AddPlain(vector, inside);
        vector += inside;
        continue;
      }
      const bool pair =
          shape_.masked_vecs > 1 && vector + 1 < vectors_ && InsideVectors(vector + 1) == 0;
      AddMasked(vector, pair ? 2 : 1);
      vector += pair ? 2 : 1;
      if (++masked_runs_ > kMaxMaskedRuns) return std::nullopt;
    }
    return std::move(program_);
  }

 private:
  int64_t Begin(int64_t vector) const {
    const int64_t begin = vector * shape_.lanes;
    return overlaps_ ? std::min(begin, axis_.out() - shape_.lanes) : begin;
  }

  // How many vectors from this one on, `lanes` columns apart, read nothing outside the image.
  int64_t InsideVectors(int64_t vector) const {
    const int64_t begin = Begin(vector);
    if (begin + shape_.lanes > axis_.out()) return 0;
    const int64_t first = axis_.input(0, 0) + begin * axis_.stride();
    const int64_t read = (axis_.kernel() - 1) * axis_.dilation() + shape_.lanes * axis_.stride();
    const int64_t room = axis_.in() - first - read;
    if (first < 0 || room < 0) return 0;
    const int64_t regular = axis_.out() / shape_.lanes;  // vectors that do not overlap
    if (vector >= regular) return 1;
    return std::min(room / (shape_.lanes * axis_.stride()) + 1, regular - vector);
  }

  // Tiles of nearly equal width.
  void AddPlain(int64_t vector, int64_t count) {
    const int64_t tiles = (count + shape_.plain_vecs - 1) / shape_.plain_vecs;
    const int64_t vecs = count / tiles, wide = count % tiles;
    const auto add = [&](int64_t first, int64_t number, int64_t width) {
      if (number > 0)
        program_.runs.push_back({Begin(first), number, static_cast<int>(width), false, 0, 0, 0});
    };
    add(vector, wide, vecs + 1);
    add(vector + wide * (vecs + 1), tiles - wide, vecs);
  }

  void AddMasked(int64_t vector, int vecs) {
    WidthRun run{Begin(vector), 1, vecs, true, 0, 0, program_.masks.size()};
    if (vecs > 1) run.vec_step = Begin(vector + 1) - run.begin;
    const int64_t last = Begin(vector + vecs - 1);
    run.last_lanes = static_cast<int>(last + shape_.lanes > axis_.out() ? axis_.out() - last : 0);
    for (int64_t tap = 0; tap < axis_.kernel(); ++tap) {
      for (int vec = 0; vec < vecs; ++vec)
        program_.masks.push_back(MasksOf(Begin(vector + vec), tap));
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
    for (int lane = 0; lane < lanes; ++lane) {
      if (!used(lane)) continue;
      const int64_t input = lane * axis_.stride();
      masks.inputs[input / lanes][input % lanes] = -1;
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
  size_t masked_runs_ = 0;
  WidthProgram program_;
};

}  // namespace

std::optional<WidthProgram> MakeWidthProgram(const Axis& columns, const WidthShape& shape) {
  return Builder(columns, shape).Build();
}

}  // namespace rafter::depthwise
