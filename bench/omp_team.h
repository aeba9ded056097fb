// bench/omp_team.h: the size of the OpenMP teams that the calling thread starts: ours and the
// baseline's.
#ifndef RAFTER_BENCH_OMP_TEAM_H_
#define RAFTER_BENCH_OMP_TEAM_H_

namespace rafter::bench {

// Sets the size, restores the former one at the end of the scope.
class ScopedTeamSize {
 public:
  explicit ScopedTeamSize(int threads) noexcept;
  ~ScopedTeamSize();
  ScopedTeamSize(const ScopedTeamSize&) = delete;
  ScopedTeamSize& operator=(const ScopedTeamSize&) = delete;

 private:
  int former_;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_OMP_TEAM_H_
