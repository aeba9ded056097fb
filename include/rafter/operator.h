// rafter/operator.h: what the memory-bound operators (eltwise.h, pool.h, softmax.h, concat.h, pad.h, reorder.h) have in
// common: how many threads they are planned for, and on which threads a call works.
//
// Every operator has the same form as Conv: a description, Create (validates, chooses, compiles; may fail), Run (checks
// its pointers and executes; allocates nothing, is noexcept and may be called from several threads at the same time).
#ifndef RAFTER_OPERATOR_H_
#define RAFTER_OPERATOR_H_

#include "rafter/threads.h"

namespace rafter {

struct OperatorOptions {
  int threads = 0;  // threads the plan is laid out for, 0 … 1,024; 0 = those of OpenMpThreads()
};

// What may differ between two calls of the same plan.
struct OperatorRunOptions {
  ParallelFor* threads = nullptr;  // null: OpenMpThreads()
  int max_threads = 0;             // upper limit for this call; 0 = the plan's own count
};

}  // namespace rafter

#endif  // RAFTER_OPERATOR_H_
