// cli/capped_process.cc: see capped_process.h.
#include "cli/capped_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

namespace rafter::cli {
namespace {

struct Limit {
  const char* variable;
  const char* value;
};

// True when the variable had another value.
bool Change(const Limit& limit) {
  const char* now = getenv(limit.variable);
  if (now != nullptr && std::string_view(now) == limit.value) return false;
  setenv(limit.variable, limit.value, 1);
  return true;
}

}  // namespace

void RestartCapped(Isa isa, char** arguments) {
  // Names that oneDNN gives to the sets; the second variable is what versions before 2.3 read.
  const char* onednn = isa >= Isa::kAvx512 ? "AVX512_CORE" : "AVX2";
  const Limit limits[] = {{"RAFTER_MAX_ISA", IsaName(isa)},
                          {"ONEDNN_MAX_CPU_ISA", onednn},
                          {"DNNL_MAX_CPU_ISA", onednn}};
  bool changed = false;
  for (const Limit& limit : limits) changed |= Change(limit);
  if (!changed) return;
  fflush(nullptr);
  execv("/proc/self/exe", arguments);
}

}  // namespace rafter::cli
