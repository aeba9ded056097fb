// Three ways to run on threads: OpenMP (default), rafter's own pinned workers, and a pool of the
// caller. All three give the same bits.
#include <cstdio>
#include <thread>
#include <vector>

#include <rafter/rafter.h>

namespace {

// The smallest possible pool: starts threads for every call. A real engine would hand its own over.
class FreshThreads : public rafter::ParallelFor {
 public:
  int concurrency() const noexcept override { return 2; }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < num_tasks; ++i) threads.emplace_back(task, context, i);
    task(context, 0);
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace

int main() {
  const rafter::ConvDesc desc{
      .ic = 32, .oc = 64, .in = {28, 28}, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1, 1, 1}};
  auto conv = rafter::Conv::Create(desc, {.threads = 2});
  if (!conv.ok()) return std::puts(conv.status().message().data()), 1;

  std::vector<float> src(28 * 28 * 32), weights(64 * 32 * 3 * 3);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 17) / 17;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 23) / 23 - 0.5f;
  auto packed = conv->PackWeights(weights.data(), nullptr);
  if (!packed.ok()) return 1;

  auto workers = rafter::WorkerPool::Create({.threads = 2});
  if (!workers.ok()) return std::puts(workers.status().message().data()), 1;
  FreshThreads fresh;

  std::vector<std::vector<float>> results;
  rafter::ParallelFor* const pools[] = {rafter::OpenMpThreads(), workers->get(), &fresh};
  for (rafter::ParallelFor* pool : pools) {
    results.emplace_back(14 * 14 * 64);
    if (!conv->Run(src.data(), *packed, results.back().data(), {.threads = pool}).ok()) return 1;
  }
  // One thread for this call only.
  results.emplace_back(14 * 14 * 64);
  if (!conv->Run(src.data(), *packed, results.back().data(), {.max_threads = 1}).ok()) return 1;

  for (const std::vector<float>& result : results) {
    if (result != results[0]) return std::puts("the results differ"), 1;
  }
  std::printf("%zu ways, the same %zu outputs\n", results.size(), results[0].size());
  return 0;
}
