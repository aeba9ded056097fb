// bench/prepared_conv.h: a convolution ready to run on tensors of its own, for comparisons of layers with each other.
// Not for claims about one layer: case_runner.h verifies and bounds.
#ifndef RAFTER_BENCH_PREPARED_CONV_H_
#define RAFTER_BENCH_PREPARED_CONV_H_

#include <memory>
#include <string>
#include <vector>

#include "bench/case_tensors.h"
#include "rafter/conv.h"

namespace rafter::bench {

class PreparedConv {
 public:
  // Errors: those of Conv::Create, kOutOfMemory.
  static Result<std::unique_ptr<PreparedConv>> Make(const ConvDesc& desc, const ConvOptions& options,
                                                    uint64_t seed = 1);
  // One call; the caller's OpenMP team must have options.threads.
  void Run() noexcept;
  const Conv& conv() const noexcept { return conv_; }

 private:
  explicit PreparedConv(Conv conv) : conv_(std::move(conv)) {}

  Conv conv_;
  CaseTensors tensors_;
  PackedWeights packed_;
  TensorBuffer scratch_;
  std::vector<const float*> residuals_;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_PREPARED_CONV_H_
