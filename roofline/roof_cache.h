// roofline/roof_cache.h: the file that keeps a machine's roofs for a day. A new day, another
// processor, container limit or version of the probes gets another file name.
#ifndef RAFTER_ROOFLINE_ROOF_CACHE_H_
#define RAFTER_ROOFLINE_ROOF_CACHE_H_

#include <string>

#include "rafter/status.h"
#include "roofline/machine.h"

namespace rafter::roofline {

// ${XDG_CACHE_HOME:-$HOME/.cache}/rafter; as the XDG specification says, a relative XDG_CACHE_HOME
// is ignored. Empty when neither variable helps.
std::string CacheDirectory();

// "roofs-<fingerprint>-<YYYY-MM-DD>.json"
std::string RoofCacheFileName(const std::string& fingerprint, const std::string& date);

// Today in local time, "2025-03-01".
std::string Today();

// kInvalidArgument with a reason when the file exists but cannot be used; kUnsupported when there
// is none.
Result<Machine> ReadRoofCache(const std::string& path);

// Writes a temporary file beside `path` and renames it, so a reader never sees half a file; creates
// the directory. kInternal with the system's reason.
Status WriteRoofCache(const std::string& path, const Machine& machine);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_ROOF_CACHE_H_
