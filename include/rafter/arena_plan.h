// rafter/arena_plan.h: lays out the activations of a network in one arena by their lifetimes.
//
//   // conv1 writes a (step 0), conv2 reads a and writes b (step 1), conv3 reads b and writes c (step 2)
//   auto plan = rafter::PlanArena({{bytes_a, 0, 1}, {bytes_b, 1, 2}, {bytes_c, 2, 2}});
//   void* arena = pool.Allocate(plan->arena_bytes);      // c takes the place of a
//   float* b = reinterpret_cast<float*>(static_cast<char*>(arena) + plan->offsets[1]);
//
// arena_bytes is the peak footprint of the activations, the fourth figure about the size of a network beside
// parameters, FLOPs and compulsory bytes.
#ifndef RAFTER_ARENA_PLAN_H_
#define RAFTER_ARENA_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

// A tensor that must exist from the step that writes it to the last one that reads it, both included. Tensors that an
// operator works on in place are one activation.
struct Activation {
  size_t bytes = 0;
  int first_step = 0, last_step = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // of each activation, multiples of 64
  size_t arena_bytes = 0;       // what they need together
  size_t busiest_bytes = 0;     // most bytes that live at one step: no layout needs fewer
};

// Places the largest activations first, each into the smallest gap that is free during its life.
// kInvalidArgument: null with a size, a last step before the first, a negative step, more than 64 bits. kOutOfMemory.
RAFTER_EXPORT Result<ArenaPlan> PlanArena(std::span<const Activation> activations);

}  // namespace rafter

#endif  // RAFTER_ARENA_PLAN_H_
