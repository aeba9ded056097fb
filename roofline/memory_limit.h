// roofline/memory_limit.h: how much memory the control groups grant, so that a measurement does not
// get the process killed. CPUs are in runtime/cgroup.h.
#ifndef RAFTER_ROOFLINE_MEMORY_LIMIT_H_
#define RAFTER_ROOFLINE_MEMORY_LIMIT_H_

#include <string>

namespace rafter::roofline {

// The smallest limit of the process's groups and all their visible ancestors, in bytes; 0 =
// unlimited or unknown. Reads version 2 (memory.max) and version 1 (memory.limit_in_bytes). `root`
// is put before every path: empty for the real system, a directory with a made-up tree in tests.
double MemoryLimit(const std::string& root);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_MEMORY_LIMIT_H_
