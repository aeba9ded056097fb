// tests/support/scoped_machine.h: the machine model of a test's choice, until the end of a scope. What was planned
// before keeps the blocking of its machine.
#ifndef RAFTER_TESTS_SUPPORT_SCOPED_MACHINE_H_
#define RAFTER_TESTS_SUPPORT_SCOPED_MACHINE_H_

#include <cstdint>
#include <optional>

#include "runtime/machine_model.h"

namespace rafter::testing {

// This machine with caches of other sizes, in bytes, and perhaps another cost of sharing work.
class ScopedCaches {
 public:
  struct Sizes {
    int64_t l1d = 32 << 10, l2 = 512 << 10, l3 = 16 << 20;
    std::optional<double> fork_join_us{};
  };
  explicit ScopedCaches(const Sizes& sizes) : original_(CurrentMachineModel()) {
    MachineModel model = original_;
    model.l1d_bytes = sizes.l1d, model.l2_bytes = sizes.l2, model.l3_bytes = sizes.l3;
    model.fork_join_us = sizes.fork_join_us.value_or(model.fork_join_us);
    SetMachineModel(model);
  }
  ~ScopedCaches() { SetMachineModel(original_); }
  ScopedCaches(const ScopedCaches&) = delete;
  ScopedCaches& operator=(const ScopedCaches&) = delete;

 private:
  const MachineModel original_;
};

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_SCOPED_MACHINE_H_
