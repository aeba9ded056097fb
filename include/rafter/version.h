// rafter/version.h: the version of the headers (macros) and of the loaded library (functions).
#ifndef RAFTER_VERSION_H_
#define RAFTER_VERSION_H_

#include "rafter/export.h"

#define RAFTER_VERSION_MAJOR 0
#define RAFTER_VERSION_MINOR 1
#define RAFTER_VERSION_PATCH 0
#define RAFTER_VERSION_STRING "0.1.0"

namespace rafter {

// Version of the loaded library, "0.1.0".
RAFTER_EXPORT const char* Version() noexcept;

}  // namespace rafter

#endif  // RAFTER_VERSION_H_
