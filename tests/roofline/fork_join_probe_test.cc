// Tests of roofline/fork_join_probe.h.
#include "roofline/fork_join_probe.h"

#include <gtest/gtest.h>

namespace rafter::roofline {
namespace {

// Counts what it is asked for, on the calling thread.
class CountingThreads : public ParallelFor {
 public:
  int concurrency() const noexcept override { return 4; }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    ++runs;
    tasks += num_tasks;
    for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
  }
  int64_t runs = 0, tasks = 0;
};

TEST(MeasureForkJoin, RunsEmptyTasksOfTheGivenNumber) {
  CountingThreads threads;
  const ForkJoinCost cost = MeasureForkJoin(threads, "counting", 3, 1'000);
  EXPECT_EQ(cost.backend, "counting");
  EXPECT_EQ(cost.threads, 3);
  EXPECT_GT(threads.runs, 0);
  EXPECT_EQ(threads.tasks, 3 * threads.runs);
  EXPECT_GE(cost.min_us, 0);
  EXPECT_GE(cost.median_us, cost.min_us);
}

TEST(MeasureForkJoin, KeepsItsBudget) {
  CountingThreads threads;
  MeasureForkJoin(threads, "counting", 2, 0);
  EXPECT_LE(threads.runs, 10);
}

}  // namespace
}  // namespace rafter::roofline
