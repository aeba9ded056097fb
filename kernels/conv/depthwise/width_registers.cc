// kernels/conv/depthwise/width_registers.cc
#include "kernels/conv/depthwise/width_registers.h"

#include <algorithm>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/tuning.h"

namespace rafter::depthwise {

namespace {

constexpr int kMostVecs = 8;

// Of bands: most rows; instructions per output vector, per input row, per tile; runs for which there should be code.
constexpr int kMostBandRows = 4;
constexpr double kBandOutput = 3, kBandRow = 2, kBandTile = 16;
constexpr int kMostBandCode = 4;
// Few tiles per row pay so much: 4x4 stride 2 with 4 vectors per row takes 105 us by 3 rows of 3 vectors, 93 by 2 of 4.
constexpr double kBandWholeRows = 0.4;

// Whether sums, `others` and, at the end of a row, temporaries for the post-ops find a register.
bool Fits(int registers, const WidthTile& tile, int others) {
  return tile.rows * tile.vecs + std::max(others, jit::kPostOpTemps) <= registers;
}

// Loads of inputs for an input row.
int InputLoads(const WidthTile& tile, bool pairs) {
  return tile.vecs * (pairs ? 2 * ((tile.kw + 1) / 2) : tile.every_other ? 2 * tile.kw : tile.kw);
}

WidthRegisters HoldAll(int registers, const WidthTile& tile) {
  WidthRegisters r;
  const int taps = tile.kh * tile.kw;
  r.pairs = tile.every_other && !tile.dilated;
  r.held = taps, r.weights = 0;
  r.inputs = tile.every_other ? 3 : 1;
  r.fits = taps <= kMaxHeldWidthTaps && Fits(registers, tile, r.total());
  r.loads = InputLoads(tile, r.pairs);
  return r;
}

WidthRegisters WeightsOfTap(int registers, const WidthTile& tile) {
  WidthRegisters r;
  r.pairs = tile.every_other && !tile.dilated && tile.rows <= kMostPairedRows;
  r.weights = tile.rows * (r.pairs ? 2 : 1);
  r.inputs = r.pairs ? 3 : tile.every_other ? 2 : 1;
  r.fits = Fits(registers, tile, r.total());
  r.loads = InputLoads(tile, r.pairs) + tile.kw * tile.rows;
  return r;
}

WidthRegisters OneByOne(int registers, const WidthTile& tile) {
  WidthRegisters r;
  const int taps = tile.kh * tile.kw;
  r.pairs = tile.every_other && !tile.dilated;
  r.single = true, r.weights = 1;
  r.inputs = r.pairs ? 3 : tile.every_other ? 2 : tile.vecs;
  r.fits = Fits(registers, tile, r.total());
  r.held = std::clamp(registers - tile.rows * tile.vecs - r.weights - r.inputs, 0, taps - 1);
  const double loaded = static_cast<double>(taps - r.held) / taps;
  r.loads = InputLoads(tile, r.pairs) + loaded * tile.kw * tile.rows * (tile.every_other ? tile.vecs : 1);
  return r;
}

// With the shifts, which bind about as much.
double ShiftedLoads(const WidthTile& tile) { return 0.75 * tile.vecs * tile.kw; }

// Where an input row reaches one output row only: with a load for every FMA, many across two lines, loads would bind.
WidthRegisters Shifts(int registers, const WidthTile& tile) {
  WidthRegisters r;
  r.shifts = true;
  r.weights = kTapsPerShift, r.inputs = 3;
  const bool one_row = (tile.kh == 1 || tile.rows == 1) && tile.vecs >= kLeastShiftedVecs;
  const bool dense = !tile.every_other && !tile.dilated;
  r.fits = one_row && dense && tile.kw >= kLeastShiftedTaps && Fits(registers, tile, r.total());
  r.loads = ShiftedLoads(tile) + tile.kw;
  return r;
}

// Lines: the same, with all weights in registers.
WidthRegisters HeldShifts(int registers, const WidthTile& tile) {
  WidthRegisters r;
  r.shifts = true;
  r.held = tile.kw, r.inputs = 3;
  const bool enough = tile.kw > kTapsPerShift && (tile.vecs >= kLeastShiftedVecs || tile.kw > kMaxHeldWidthTaps);
  r.fits = tile.lines && !tile.every_other && enough && Fits(registers, tile, r.total());
  r.loads = tile.vecs * (tile.kw - (kTapsPerShift - 1));
  return r;
}

}  // namespace

WidthTile ShapeOf(const WidthSpec& spec) {
  return {spec.kh,   spec.kw, spec.rows, spec.vecs, spec.has(WidthSpec::kStride2), spec.has(WidthSpec::kDilated),
          spec.is_lines()};
}

WidthRegisters ChooseWidthRegisters(int registers, const WidthTile& tile) {
  const WidthRegisters held = HeldShifts(registers, tile);
  if (held.fits) return held;
  const WidthRegisters shifts = Shifts(registers, tile), all = HoldAll(registers, tile);
  if (shifts.fits) return shifts;
  if (all.fits) return all;
  const WidthRegisters of_tap = WeightsOfTap(registers, tile), single = OneByOne(registers, tile);
  if (!single.fits) return of_tap;
  return of_tap.fits && of_tap.loads < single.loads ? of_tap : single;
}

int MaxWidthVecs(int registers, WidthTile tile) {
  // Input rows of the start, of a lap and of every end, by products.
  const int code = kMostWidthProducts / (tile.rows * tile.kh * tile.kh * tile.kw);
  if (code < 1) return 0;
  for (tile.vecs = std::min(code, kMostVecs); tile.vecs > 1; --tile.vecs) {
    // With stride 2 weights that come one by one would come again for every vector.
    const bool one_row = Shifts(registers, tile).fits;
    if (one_row || WeightsOfTap(registers, tile).fits || (!tile.every_other && OneByOne(registers, tile).fits)) break;
  }
  return ChooseWidthRegisters(registers, tile).fits ? tile.vecs : 0;
}

int LineVecs(int registers, WidthTile tile) {
  tile.lines = true;
  for (tile.vecs = kMostVecs; tile.vecs >= kLeastShiftedVecs; --tile.vecs)
    if (HeldShifts(registers, tile).fits) return tile.vecs;
  return MaxWidthVecs(registers, tile);
}

double BandTileInstructions(int registers, const WidthTile& tile, int row_stride) {
  const WidthRegisters r = ChooseWidthRegisters(registers, tile);
  const int input_rows = (tile.rows - 1) * row_stride + tile.kh, outputs = tile.rows * tile.vecs;
  const double products = static_cast<double>(outputs * tile.kh * tile.kw);
  const double loads = r.shifts ? ShiftedLoads(tile) : InputLoads(tile, r.pairs);  // of inputs, of a row
  const double inputs = input_rows * loads * (tile.every_other ? 2 : 1);
  // Weights that are not held come for each product of a row, where they do not once for all its vectors.
  const double of_row = r.loads - loads;
  const double weights = of_row / (tile.kw * tile.rows) * (tile.rows * tile.kh * tile.kw);
  return products + inputs + weights + kBandOutput * outputs + kBandRow * input_rows + kBandTile;
}

WidthTile ChooseBandTile(int registers, WidthTile tile, int row_stride) {
  WidthTile best = tile;
  double least = 0;
  for (tile.rows = 1; tile.rows <= kMostBandRows; ++tile.rows) {
    for (tile.vecs = 1; tile.vecs <= kMostVecs; ++tile.vecs) {
      if (!ChooseWidthRegisters(registers, tile).fits) continue;
      if (kMostBandCode * tile.rows * tile.vecs * tile.kh * tile.kw > kMostWidthProducts) continue;
      const double instructions = BandTileInstructions(registers, tile, row_stride) / (tile.rows * tile.vecs);
      const double all = instructions * (1 + kBandWholeRows / tile.vecs);
      if (least > 0 && all >= least) continue;
      least = all, best = tile;
    }
  }
  return best;
}

}  // namespace rafter::depthwise
