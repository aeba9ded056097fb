// rafter/rafter.h: everything.
#ifndef RAFTER_RAFTER_H_
#define RAFTER_RAFTER_H_

#include "rafter/arena_plan.h"   // IWYU pragma: export
#include "rafter/concat.h"       // IWYU pragma: export
#include "rafter/conv.h"         // IWYU pragma: export
#include "rafter/cost.h"         // IWYU pragma: export
#include "rafter/cpu.h"          // IWYU pragma: export
#include "rafter/eltwise.h"      // IWYU pragma: export
#include "rafter/memory_pool.h"  // IWYU pragma: export
#include "rafter/operator.h"     // IWYU pragma: export
#include "rafter/pad.h"          // IWYU pragma: export
#include "rafter/pool.h"         // IWYU pragma: export
#include "rafter/post_ops.h"     // IWYU pragma: export
#include "rafter/reorder.h"      // IWYU pragma: export
#include "rafter/softmax.h"      // IWYU pragma: export
#include "rafter/status.h"       // IWYU pragma: export
#include "rafter/tensor.h"       // IWYU pragma: export
#include "rafter/threads.h"      // IWYU pragma: export
#include "rafter/version.h"      // IWYU pragma: export
#include "rafter/wisdom.h"       // IWYU pragma: export

#endif  // RAFTER_RAFTER_H_
