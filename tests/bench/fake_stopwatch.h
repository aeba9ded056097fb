// tests/bench/fake_stopwatch.h: a clock that only the timed work moves.
#ifndef RAFTER_TESTS_BENCH_FAKE_STOPWATCH_H_
#define RAFTER_TESTS_BENCH_FAKE_STOPWATCH_H_

#include "bench/sampler.h"

namespace rafter::bench {

struct FakeStopwatch : Stopwatch {
  double now_us = 0;
  Evidence evidence{0, 0, 0, 0};
  double NowUs() override { return now_us; }
  Evidence ReadEvidence() override { return evidence; }
};

}  // namespace rafter::bench

#endif  // RAFTER_TESTS_BENCH_FAKE_STOPWATCH_H_
