// runtime/version.cc: the version that the loaded library was built as (rafter/version.h).
#include "rafter/version.h"

namespace rafter {

const char* Version() noexcept { return RAFTER_VERSION_STRING; }

}  // namespace rafter
