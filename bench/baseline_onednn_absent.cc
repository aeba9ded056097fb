// bench/baseline_onednn_absent.cc: stands in for baseline_onednn.cc where oneDNN was not found at
// build time.
#include "bench/baseline_onednn.h"

namespace rafter::bench {

bool OneDnnBuiltIn() noexcept { return false; }

Result<std::unique_ptr<Baseline>> MakeOneDnnBaseline(Isa) {
  return Status::Unsupported("baseline: oneDNN is not built in; install it and configure again");
}

}  // namespace rafter::bench
