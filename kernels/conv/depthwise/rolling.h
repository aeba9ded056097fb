// kernels/conv/depthwise/rolling.h: the control flow of a tile that rolls down the image: each
// input row adds to all output rows that it reaches; the oldest of them is then finished, and its
// registers start the next one. Shared by the kernels of both vector axes, which emit the rows.
//
//   3 kernel rows, stride 1:
//     input row 0: starts output 0                 code of its own: no output
//     input row 1: output 0, starts output 1       is finished here
//     input row 2: output 0 (done), 1, starts 2    repeats
//     input row 3: output 1 (done), 2, starts 3    after
//     input row 4: output 2 (done), 3, starts 4    three outputs
//
// The first input rows may lie above the image, and the image may end before the last outputs have
// all their rows.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_ROLLING_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_ROLLING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "jit/assembler.h"

namespace rafter::depthwise {

// Counts of one call. Every output row must reach an input row inside the image, and the last one
// must not start above the image.
struct RollingCounts {
  int64_t first_row =
      0;  // the first input row inside the image, from the first tap of the first output; below kh
  int64_t starting_rows =
      1;  // outputs that start at or behind it, one every `stride` input rows; at least 1
  int64_t last_rows =
      0;  // input rows inside the image behind the start of the last output; below kh

  bool operator==(const RollingCounts&) const = default;
};

// An output row, by the registers that hold its sums, and the kernel row that it applies to an
// input row.
struct RowUse {
  int slot = 0, kernel_row = 0;
  bool starts = false;  // the sums have no value yet
};

// How the rows of a tile with channels in the lanes use the registers beside their sums.
struct RollingShape {
  int kh = 1, kw = 1, row_stride = 1, stride = 1;  // stride: columns between neighbouring windows
  int columns = 1, depth = 1;                      // of outputs; vectors of channels
  int temps = 1;                                   // registers beside the sums
  bool permuted = false;                           // an input costs a load and a shuffle

  int slots() const { return (kh + row_stride - 1) / row_stride; }
};

// Two orders of a row's products. By inputs: each is loaded once, as many weights as there are registers stay in them
// while the tile rolls, the others are operands in memory. By taps: the weights of a kernel column are loaded for all
// columns of outputs, inputs stay for the next kernel column as far as registers go.
struct RollingOrder {
  bool by_inputs = false;
  double instructions = 0;  // per FMA, that included
};

// The order with fewer loads; of nearly as many, by inputs, which takes fewer instructions. Zen 3, AVX2, speed over
// 3x4 tiles by taps: 3x3 by inputs, 6 of 9 weights in registers (14 loads for 27 FMAs, as many as by taps): 192@28
// 1.06, 1000@10 1.06, 576@14 1.02 to 1.04, 144@56 1.03, multiplier 2 32@56 1.07; stride 2 2x4 144@56 1.03; but 3x4 by
// inputs (30 loads for 36 FMAs instead of 20) 144@56 0.89, 5x5 stride 2 672@14 (59 and 28 for 60) 0.84.
RollingOrder OrderOf(const RollingShape& shape);

// Blocks of at most so many output rows end before all output rows are in flight.
inline int RollingShortRows(int kh, int stride) { return kh < 2 ? 0 : (kh - 2) / stride + 1; }

struct Rolling {
  int kh = 1, stride = 1;
  int slots = 1;  // output rows in flight: kh / stride, rounded up
  jit::Reg64 row,
      row_step;  // input row, bytes to the next one; both set by the caller's code before
  jit::Reg64 counter, scratch;
  // All blocks have more output rows than RollingShortRows, or none has; code that no block needs is left out.
  bool long_blocks = false, short_blocks = false;
  int counts = 0;                                            // offset of the RollingCounts from rdi
  std::function<void(const std::vector<RowUse>&)> emit_row;  // one input row
  std::function<void(int slot)> finish_row;                  // one output row, the next in order

  // `row` must hold the address of input row 0, inside the image or not; all sums must be zero.
  void Emit(jit::Assembler& a) const;
  // The same without loops, for counts that are known: `outputs` rows, the other two as in RollingCounts. Sums need
  // not be zero.
  void EmitPlane(jit::Assembler& a, int first_row, int outputs, int last_rows) const;

 private:
  std::vector<RowUse> Uses(int input_row, int last, bool have_values) const;
  static jit::Address Count(jit::Assembler& a, size_t offset) {
    return a.qword[a.rdi + static_cast<int>(offset)];
  }
  bool MayEndAt(int input_row) const;
  void EmitStart(jit::Assembler& a, std::vector<jit::Label>& enter) const;
  void EmitLastRows(jit::Assembler& a, int input_row, std::vector<jit::Label>& finish,
                    jit::Label& done) const;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_ROLLING_H_
