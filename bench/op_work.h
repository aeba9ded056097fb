// bench/op_work.h: a memory-bound operator ready to be timed: created, with tensors, and its results to be checked
// against the reference. What is timed and how: bench/op_runner.h.
#ifndef RAFTER_BENCH_OP_WORK_H_
#define RAFTER_BENCH_OP_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/op_descriptor.h"
#include "bench/pages.h"
#include "bench/tensor_buffer.h"
#include "rafter/cpu.h"
#include "rafter/memory_pool.h"
#include "rafter/status.h"
#include "rafter/tensor.h"
#include "rafter/threads.h"

namespace rafter::bench {

// Bytes that one call must read and write, and that it occupies.
struct OpTraffic {
  double load_bytes = 0, store_bytes = 0, footprint_bytes = 0;
  bool in_place = false;
};

struct OpSetup {
  Layout layout = Layout::kNhwc;
  int threads = 1;
  ParallelFor* pool = nullptr;  // null: OpenMP
  Pages pages = Pages::kKept;
  uint64_t seed = 1;
};

// What another library needs to do the same.
struct OpTensors {
  std::vector<const float*> inputs;  // source first; operands; inputs of a concatenation
  float* dst = nullptr;              // where kept
};

class OpWork {
 public:
  // Creates the operator and fills tensors. `op` outlives it.
  static Result<std::unique_ptr<OpWork>> Make(const OpCase& op, const OpSetup& setup);
  virtual ~OpWork() = default;

  // Creates the operator anew and drops it; for timing.
  virtual Status Create() = 0;
  // One call. Failures are kept in status().
  void Run() noexcept;
  const Status& status() const noexcept { return status_; }

  // Compares the result of the last Run (kKept pages) with the reference: outputs compared and the largest difference.
  // kInternal names the first wrong element.
  struct Verified {
    int64_t outputs = 0;
    double max_error = 0;
  };
  Result<Verified> Verify();
  // Compares what lies in the kept result now with what Verify wanted: another library may have written it, for which
  // `least_tolerance` is allowed at least.
  Result<Verified> CompareResult(double least_tolerance = 0) const;

  const OpTraffic& traffic() const noexcept { return traffic_; }
  double flops() const noexcept { return flops_; }
  const std::string& kernel() const noexcept { return kernel_; }
  Isa isa() const noexcept { return isa_; }
  const OpTensors& tensors() const noexcept { return tensors_; }

 protected:
  explicit OpWork(const OpSetup& setup) : setup_(setup) {}
  // The operator on the tensors.
  virtual Status Call(float* dst) noexcept = 0;
  // The right result into `wanted`, of as many floats as the result.
  virtual void Reference(float* wanted) = 0;
  // Largest allowed difference, relative and absolute; 0: bit for bit.
  virtual double tolerance() const noexcept { return 0; }

  Status AddInput(int64_t floats);       // filled with random values
  Status MakeResult(int64_t floats);
  void ForgetResult() noexcept;

  OpSetup setup_;
  OpTraffic traffic_;
  double flops_ = 0;
  std::string kernel_;
  Isa isa_ = Isa::kNone;
  OpTensors tensors_;
  bool in_place_ = false;
  std::vector<TensorBuffer> buffers_;
  int64_t result_floats_ = 0;
  MemoryPool pool_;

 private:
  TensorBuffer wanted_;
  Status status_;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_OP_WORK_H_
