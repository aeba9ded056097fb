// bench/omp_team.cc: the size of OpenMP teams.
#include "bench/omp_team.h"

#include <omp.h>

namespace rafter::bench {

ScopedTeamSize::ScopedTeamSize(int threads) noexcept : former_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ScopedTeamSize::~ScopedTeamSize() { omp_set_num_threads(former_); }

}  // namespace rafter::bench
