// tests/support/from_environment.h: how many cases a sweep runs, and which, may be set from outside.
#ifndef RAFTER_TESTS_SUPPORT_FROM_ENVIRONMENT_H_
#define RAFTER_TESTS_SUPPORT_FROM_ENVIRONMENT_H_

#include <cstdint>
#include <cstdlib>

namespace rafter::testing {

// The number in the environment variable `name`, or `otherwise` where it is not set.
inline int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_FROM_ENVIRONMENT_H_
