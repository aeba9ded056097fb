// kernels/eltwise/region.h: one region of a tensor, with its kernels, its tables and its loops: all channels, or in
// blocked layouts with a partly filled last block all full blocks and that one.
#ifndef RAFTER_KERNELS_ELTWISE_REGION_H_
#define RAFTER_KERNELS_ELTWISE_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/eltwise/loops.h"
#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/spec.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter::eltwise {

struct Call {
  const float* src = nullptr;
  float* dst = nullptr;
  const float* const* operands = nullptr;
  bool past_caches = false;  // non-temporal stores are wanted; used where alignment allows them
};

class Region {
 public:
  // Channels from block `first` on. `masked`: it is one block with fewer channels than lanes; the lanes behind them
  // become zero. `past_caches`: also gets a kernel with non-temporal stores.
  static Result<Region> Make(const EltwiseProblem& problem, Isa isa, int64_t first, int64_t blocks, bool masked,
                             bool past_caches);

  // Pieces of about `floats` elements into which the work may be cut.
  int64_t Items(int64_t floats) const noexcept;
  void Run(const Call& call, int64_t floats, Range items) const noexcept;
  const std::string& kernel_name() const noexcept { return kernel_->name(); }

 private:
  struct Delete {
    void operator()(float* tables) const { ::operator delete(tables, std::align_val_t{64}); }
  };
  struct Cut {
    int64_t rows, run;            // of an item, the last ones may have fewer
    int64_t row_items, run_items;
  };

  Status PackTables(const EltwiseProblem& problem, int64_t first, int64_t blocks, bool masked);
  // Small dense NHWC rows with tables: several pixels become one row, so that vectors fill up.
  void JoinPixels(int64_t channels);
  void FillArgs(const EltwiseProblem& problem);
  Cut CutFor(int64_t floats) const noexcept;
  void RunItem(const Call& call, const Cut& cut, bool past_caches, int64_t item) const noexcept;
  void CallKernel(bool past_caches, Args& args, int64_t rows, int64_t run) const noexcept;
  bool Aligned(const Call& call) const noexcept;
  int64_t TablesOffset(int64_t pieces, int64_t run_begin) const noexcept;

  Spec spec_;
  Loops loops_;
  int64_t rest_run_ = 0;           // run of one more row, which JoinPixels leaves over
  int64_t vec_lanes_ = 0, group_bytes_ = 0, unit_bytes_ = 0;
  int64_t src_begin_ = 0, dst_begin_ = 0;  // elements from the tensor's first one
  std::vector<int64_t> operand_begin_;
  int64_t piece_floats_ = 0;       // of a piece of the tables
  std::shared_ptr<float[]> tables_;
  Args args_ = {};                 // what does not change between calls
  jit::KernelPtr kernel_, past_caches_kernel_;
};

}  // namespace rafter::eltwise

#endif  // RAFTER_KERNELS_ELTWISE_REGION_H_
