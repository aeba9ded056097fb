// kernels/conv/depthwise/column_program.cc
#include "kernels/conv/depthwise/column_program.h"

#include <algorithm>
#include <limits>

#include "kernels/conv/depthwise/channel_spec.h"

namespace rafter::depthwise {

namespace {

constexpr int64_t kMaxWindow = std::numeric_limits<uint8_t>::max();

// Builds one program, tile by tile at the ends of the row and in one step where all taps lie
// inside.
class ColumnProgramBuilder {
 public:
  ColumnProgramBuilder(const Axis& axis, int64_t phase, int max_columns) : axis_(axis), phase_(phase) {
    program_.pieces = (axis.kernel() + kMaxTaps - 1) / kMaxTaps;
    const int64_t outputs = axis.outputs(phase);
    tiles_ = (outputs + max_columns - 1) / max_columns;
    columns_ = outputs / tiles_;
    wide_ = outputs % tiles_;
  }

  std::optional<ColumnProgram> Build() {
    for (int64_t tile = 0; tile < tiles_;) {
      const int64_t same = std::max<int64_t>(1, InsideTiles(tile));
      Append(tile, same);
      tile += same;
      if (program_.runs.size() > kMaxRuns) return std::nullopt;
    }
    return std::move(program_);
  }

 private:
  int64_t Columns(int64_t tile) const { return columns_ + (tile < wide_); }
  int64_t Begin(int64_t tile) const { return tile * columns_ + std::min(tile, wide_); }

  // How many tiles of the same width, from this one on, have all their taps inside the image.
  int64_t InsideTiles(int64_t tile) const {
    const int64_t columns = Columns(tile), begin = axis_.input(phase_, Begin(tile));
    const int64_t window = (columns - 1) * axis_.step() + axis_.kernel();
    const int64_t room = axis_.in() - 1 - (window - 1) * axis_.dilation() - begin;
    if (begin < 0 || room < 0) return 0;
    const int64_t inside = room / (columns * axis_.distance() * axis_.stride()) + 1;
    return std::min(inside, (tile < wide_ ? wide_ : tiles_) - tile);
  }

  void Append(int64_t tile, int64_t count) {
    const int columns = static_cast<int>(Columns(tile));
    std::vector<Skip> skips;
    for (int64_t piece = 0; piece < program_.pieces; ++piece) {
      const int64_t window = (columns - 1) * axis_.step() + PieceTaps(axis_.kernel(), piece);
      const int64_t begin = axis_.input(phase_, Begin(tile)) + piece * kMaxTaps * axis_.dilation();
      const TapRange inside = axis_.Inside(begin, window);
      skips.push_back(
          {static_cast<uint8_t>(inside.begin), static_cast<uint8_t>(window - inside.end)});
    }
    if (!program_.runs.empty() && program_.runs.back().columns == columns &&
        std::equal(skips.begin(), skips.end(), program_.skips.end() - program_.pieces)) {
      program_.runs.back().tiles += count;
      return;
    }
    program_.runs.push_back({Begin(tile), count, columns});
    program_.skips.insert(program_.skips.end(), skips.begin(), skips.end());
  }

  const Axis& axis_;
  const int64_t phase_;
  int64_t tiles_ = 0, columns_ = 0, wide_ = 0;
  ColumnProgram program_;
};

}  // namespace

int64_t PieceTaps(int64_t kw, int64_t piece) { return std::min(kMaxTaps, kw - piece * kMaxTaps); }

int LimitColumns(const Axis& axis, int max_columns) {
  if (axis.step() > axis.kernel() || axis.step() > kMaxTaps) return 1;  // windows that do not meet
  const int64_t most = 1 + (kMaxWindow - std::min(kMaxTaps, axis.kernel())) / axis.step();
  return static_cast<int>(std::min<int64_t>(max_columns, most));
}

std::optional<ColumnProgram> MakeColumnProgram(const Axis& axis, int64_t phase, int max_columns) {
  return ColumnProgramBuilder(axis, phase, LimitColumns(axis, max_columns)).Build();
}

}  // namespace rafter::depthwise
