// kernels/eltwise/spec.h: the contract between the element-wise kernel and its driver.
//
// One call works on `rows` rows of `count` floats, which lie together in source and destination:
//
//   for row in rows
//     groups:  load G vectors from src, apply the chain, store them      until group_bytes
//     units:   the same, one unit (a vector, or a block of channels)     until unit_bytes
//     tail:    the last tail_lanes, fewer than a vector has
//     every pointer moves by its step
//
// How an operand or the channel values (tables: scales, shifts, slopes, lane masks) go along with a row:
//   kFull    one value per element
//   kScalar  one value per row
//   kBlock   one value per lane of a block of channels, repeated along the row
#ifndef RAFTER_KERNELS_ELTWISE_SPEC_H_
#define RAFTER_KERNELS_ELTWISE_SPEC_H_

#include <cstdint>

#include "rafter/cpu.h"
#include "rafter/eltwise.h"

namespace rafter::eltwise {

enum class Mode : uint8_t { kFull, kScalar, kBlock };

struct Spec {
  Isa isa = Isa::kNone;
  bool non_temporal = false;  // dst and its rows start on a cache line
  uint8_t ops = 0;
  uint8_t operands = 0;
  uint8_t tables = 0;       // with the lane mask
  Mode tables_mode = Mode::kFull;
  bool masked = false;      // the last table holds all bits or none: the results' lanes to keep
  uint8_t block = 0;        // lanes of a block where something is kBlock
  EltwiseKind kinds[kMaxEltwiseOps] = {};
  Mode operand_modes[kMaxEltwiseOps] = {};
};

// Floats of a table in kBlock: a block, or a vector if that is longer (then the block repeats).
constexpr int TableLanes(int block, int vec_lanes) { return block > vec_lanes ? block : vec_lanes; }

// Tables lie interleaved behind `tables`:
//   kFull    [vector of the row][table][lanes of a vector], whole vectors
//   kScalar  [table]
//   kBlock   [table][TableLanes]
struct Args {
  const float* src;
  float* dst;
  const float* tables;
  const float* operands[kMaxEltwiseOps];
  int64_t rows;                                  // at least 1
  int64_t group_bytes, unit_bytes, tail_lanes;   // of a row; the first two rising multiples of their sizes
  int64_t src_step, dst_step, tables_step, operand_steps[kMaxEltwiseOps];  // bytes from row to row
  const int32_t* tail_mask;                      // a vector of lanes, -1 for the first tail_lanes
  float constants[kMaxEltwiseOps][2];            // alpha and beta of each operation
};
using Function = void(Args*);

}  // namespace rafter::eltwise

#endif  // RAFTER_KERNELS_ELTWISE_SPEC_H_
