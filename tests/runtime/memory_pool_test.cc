// tests/runtime/memory_pool_test.cc
#include "rafter/memory_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/runtime/child_process.h"

namespace rafter {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;

bool AlignedTo(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

TEST(MemoryPool, BlocksAreAlignedAndWritable) {
  MemoryPool pool;
  std::vector<void*> blocks;
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}, 64 * kKiB - 1,
        64 * kKiB, 64 * kKiB + 1, kMiB, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    void* block = pool.Allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(AlignedTo(block, bytes >= 64 * kKiB ? 4096 : 64)) << bytes;
    std::memset(block, 1, bytes);
    blocks.push_back(block);
  }
  const MemoryPoolStats stats = pool.stats();
  EXPECT_GE(stats.mapped_bytes, stats.in_use_bytes);
  EXPECT_GE(stats.in_use_bytes, 10 * kMiB);
  EXPECT_EQ(stats.peak_in_use_bytes, stats.in_use_bytes);
  for (void* block : blocks) pool.Free(block);
  pool.Free(nullptr);
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
  EXPECT_EQ(pool.stats().peak_in_use_bytes, stats.peak_in_use_bytes);
}

TEST(MemoryPool, WarmPoolGivesTheSameBlockWithoutSystemCallsOrFaults) {
  MemoryPool pool;
  void* first[3];
  const size_t sizes[3] = {1000, 100 * kKiB, 3 * kMiB};
  const auto take_and_return = [&](bool check) {
    for (int i = 0; i < 3; ++i) {
      void* block = pool.Allocate(sizes[i]);
      ASSERT_NE(block, nullptr);
      if (check) {
        EXPECT_EQ(block, first[i]);
      }
      first[i] = block;
      std::memset(block, i, sizes[i]);
    }
    for (void* block : first) pool.Free(block);
  };
  take_and_return(false);
  take_and_return(true);
  const size_t system_calls = pool.stats().system_calls;
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 20; ++i) take_and_return(true);
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_EQ(pool.stats().system_calls, system_calls);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(after.ru_minflt - before.ru_minflt, 4);  // gtest's own
#endif
}

TEST(MemoryPool, ABigArenaServesSmallerRequests) {
  MemoryPool pool;
  pool.Free(pool.Allocate(20 * kMiB));
  const size_t system_calls = pool.stats().system_calls;
  std::vector<void*> blocks;
  for (int i = 0; i < 18; ++i) blocks.push_back(pool.Allocate(kMiB));
  EXPECT_EQ(pool.stats().system_calls, system_calls);
  for (void* block : blocks) pool.Free(block);
}

TEST(MemoryPool, GrowingRequestsDoNotPileUp) {
  MemoryPool pool;
  for (size_t mib = 1; mib <= 16; ++mib) pool.Free(pool.Allocate(mib * kMiB));
  EXPECT_LE(pool.stats().mapped_bytes, 18 * kMiB);
}

TEST(MemoryPool, LimitGivesNull) {
  MemoryPool pool({.limit_bytes = kMiB});
  EXPECT_EQ(pool.Allocate(kMiB + 1), nullptr);
  void* block = pool.Allocate(kMiB);  // fits exactly, although arenas usually are larger
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(pool.stats().mapped_bytes, kMiB);
  EXPECT_EQ(pool.Allocate(1), nullptr);
  pool.Free(block);
  block = pool.Allocate(1);  // what is free makes room
  EXPECT_NE(block, nullptr);
  EXPECT_LE(pool.stats().mapped_bytes, kMiB);
  pool.Free(block);
  MemoryPool nothing({.limit_bytes = 0});
  EXPECT_EQ(nothing.Allocate(0), nullptr);
}

TEST(MemoryPool, ImpossibleSizesGiveNull) {
  MemoryPool pool;
  for (size_t bytes :
       {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 2, size_t{1} << 60}) {
    EXPECT_EQ(pool.Allocate(bytes), nullptr);
  }
  EXPECT_EQ(pool.stats().mapped_bytes, 0u);
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(MemoryPool, TrimReturnsWhatIsFree) {
  MemoryPool pool;
  void* kept = pool.Allocate(100 * kKiB);
  std::memset(kept, 7, 100 * kKiB);
  void* also_kept = pool.Allocate(100);
  void* big = pool.Allocate(10 * kMiB);
  const size_t mapped = pool.stats().mapped_bytes;
  pool.Free(big);
  EXPECT_EQ(pool.stats().mapped_bytes, mapped);
  pool.Trim();
  EXPECT_LE(pool.stats().mapped_bytes, mapped - 10 * kMiB);
  EXPECT_EQ(static_cast<unsigned char*>(kept)[100 * kKiB - 1],
            7);                            // blocks in use stay as they are
  void* more = pool.Allocate(200 * kKiB);  // emptied pages are usable
  ASSERT_NE(more, nullptr);
  std::memset(more, 1, 200 * kKiB);
  pool.Free(more);
  pool.Free(kept);
  pool.Free(also_kept);
  pool.Trim();
  EXPECT_EQ(pool.stats().mapped_bytes, 0u);
}

TEST(MemoryPool, RejectsWhatIsNoBlockInUse) {
  MemoryPool pool;
  for (const size_t bytes : {size_t{100}, 100 * kKiB}) {
    auto* block = static_cast<unsigned char*>(pool.Allocate(bytes));
    auto* other = static_cast<unsigned char*>(pool.Allocate(bytes));
    const size_t before = pool.stats().rejected_frees;
    pool.Free(block);
    pool.Free(block);  // twice, while the pool keeps it at hand
    pool.Free(other);
    pool.Free(other);
    pool.Free(block);      // twice, after another one came back
    pool.Free(other + 1);  // inside of a block
    unsigned char foreign[64];
    pool.Free(foreign);
    EXPECT_EQ(pool.stats().rejected_frees - before, 5u);
    EXPECT_EQ(pool.stats().in_use_bytes, 0u);
    void* first = pool.Allocate(bytes);
    void* second = pool.Allocate(bytes);
    EXPECT_NE(first, second);
    pool.Free(first);
    pool.Free(second);
  }
}

TEST(MemoryPool, PoisonsInDebugBuilds) {
#ifdef NDEBUG
  GTEST_SKIP() << "a release build";
#else
  MemoryPool pool;
  auto* block = static_cast<float*>(pool.Allocate(400));
  for (int i = 0; i < 100; ++i) EXPECT_NE(block[i], block[i]);  // NaN
  pool.Free(block);
#endif
}

TEST(MemoryPool, ManyThreads) {
  MemoryPool pool;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &wrong, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<unsigned char*, size_t>> own;
      for (int step = 0; step < 2000; ++step) {
        if (own.size() < 20 && random() % 2 == 0) {
          const size_t bytes = 1 + random() % (step % 10 == 0 ? 300'000 : 3'000);
          auto* block = static_cast<unsigned char*>(pool.Allocate(bytes));
          if (block == nullptr)
            ++wrong;
          else {
            block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
            own.emplace_back(block, bytes);
          }
        } else if (!own.empty()) {
          const auto [block, bytes] = own.back();
          wrong += block[0] != t || block[bytes - 1] != t;
          pool.Free(block);
          own.pop_back();
        }
      }
      for (const auto& [block, bytes] : own) pool.Free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(MemoryPool, ForkWhileOtherThreadsAllocate) {
  MemoryPool pool;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) pool.Free(pool.Allocate(5000));
  });
  int right = 0;
  for (int i = 0; i < 50; ++i) {
    right += HoldsInChild([&] {
      void* block = pool.Allocate(100);
      pool.Free(block);
      return block != nullptr && MemoryPool::Default().Allocate(100) != nullptr;
    });
  }
  stop = true;
  busy.join();
  EXPECT_EQ(right, 50);
}

TEST(MemoryPool, DefaultPoolIsOneAndStays) {
  MemoryPool& pool = MemoryPool::Default();
  EXPECT_EQ(&pool, &MemoryPool::Default());
  // Used by an object that is destroyed after everything else.
  static struct Late {
    void* block = MemoryPool::Default().Allocate(100);
    ~Late() { MemoryPool::Default().Free(block); }
  } late;
  EXPECT_NE(late.block, nullptr);
}

}  // namespace
}  // namespace rafter
