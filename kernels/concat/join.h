// kernels/concat/join.h: concatenations whose inputs meet within short rows, row by row of the result: channels of a
// pixel in NHWC, columns in NCHW. Everything else is copied input by input (kernels/reorder/copier.h).
#ifndef RAFTER_KERNELS_CONCAT_JOIN_H_
#define RAFTER_KERNELS_CONCAT_JOIN_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/concat/join_kernel.h"
#include "kernels/concat/problem.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter::concat {

class Join {
 public:
  // Whether rows of all inputs and of the result are short and have one layout.
  static bool Takes(const ConcatProblem& problem) noexcept;

  // `problem`: one that it takes. `past_caches`: stores go past the caches where lines can be stored whole.
  // kUnsupported where executable memory is refused.
  static Result<Join> Make(const ConcatProblem& problem, Isa isa, bool past_caches);

  // Units of work: some rows each. Ranges of them may run on different threads.
  int64_t units() const noexcept { return outer_[0] * outer_[1] * pieces_; }
  // One pointer per input. The caller orders the stores (FinishStores in kernels/store_choice.h).
  void Run(std::span<const float* const> inputs, float* dst, Range units) const noexcept;
  const std::string& kernel_name() const noexcept { return kernel_->name(); }

 private:
  // Floats from one index of the outer loops to the next, then from row to row.
  using Steps = std::array<int64_t, 3>;

  void JoinLoops() noexcept;
  void CutRows() noexcept;
  void RunStaged(JoinArgs& args) const noexcept;
  void PrefetchRows(const JoinArgs& args, int64_t first, int64_t rows) const noexcept;

  JoinSpec spec_;
  std::array<int64_t, 2> outer_{1, 1};
  int64_t rows_ = 1, row_floats_ = 0;
  std::vector<Steps> src_;
  Steps dst_{};
  int64_t pieces_ = 1, rows_per_piece_ = 1;
  jit::KernelPtr kernel_;
  jit::KernelPtr past_caches_;  // whole lines; may be null
  jit::KernelPtr stage_;        // a buffer's rows to their places past the caches; may be null
};

}  // namespace rafter::concat

#endif  // RAFTER_KERNELS_CONCAT_JOIN_H_
