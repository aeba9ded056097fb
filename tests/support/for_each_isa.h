// tests/support/for_each_isa.h: running a test on every instruction set that this machine has.
#ifndef RAFTER_TESTS_SUPPORT_FOR_EACH_ISA_H_
#define RAFTER_TESTS_SUPPORT_FOR_EACH_ISA_H_

#include <gtest/gtest.h>

#include <vector>

#include "rafter/cpu.h"

namespace rafter::testing {

// Caps what new plans may use while it lives; the cap is lifted afterwards. Not for nesting.
class ScopedMaxIsa {
 public:
  explicit ScopedMaxIsa(Isa isa) { SetMaxIsa(isa); }
  ~ScopedMaxIsa() { SetMaxIsa(Isa::kAvx512); }
  ScopedMaxIsa(const ScopedMaxIsa&) = delete;
  ScopedMaxIsa& operator=(const ScopedMaxIsa&) = delete;
};

// From the best down to AVX2; empty on a machine without AVX2.
inline std::vector<Isa> TestedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (isa <= DetectedIsa()) isas.push_back(isa);
  }
  return isas;
}

// Calls body(isa) with the cap set.
template <typename Body>
void ForEachIsa(const Body& body) {
  for (const Isa isa : TestedIsas()) {
    SCOPED_TRACE(IsaName(isa));
    const ScopedMaxIsa cap(isa);
    body(isa);
  }
}

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_FOR_EACH_ISA_H_
