// tests/fuzz/conv_desc_input.h: bytes → a convolution problem and how to run it.
//
// Two families. Small ones are valid most of the time and cheap enough to run (at most about a
// million multiplications). Hostile ones have sizes, strides and post-ops from the edges of int64:
// creating a plan for them must answer quickly and allocate nothing in proportion to the sizes;
// they are never run.
#ifndef RAFTER_TESTS_FUZZ_CONV_DESC_INPUT_H_
#define RAFTER_TESTS_FUZZ_CONV_DESC_INPUT_H_

#include "rafter/conv.h"
#include "tests/fuzz/byte_reader.h"

namespace rafter::fuzz {

struct FuzzCase {
  ConvDesc desc;
  bool runnable = false;
  bool with_bias = false;    // weights are packed with a bias
  int threads = 1;           // of plan and call
  bool own_workers = false;  // else the tasks run one after the other
  uint64_t seed = 1;         // of the data
};

FuzzCase ReadFuzzCase(ByteReader& reader);

}  // namespace rafter::fuzz

#endif  // RAFTER_TESTS_FUZZ_CONV_DESC_INPUT_H_
