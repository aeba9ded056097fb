// tests/roofline/made_up_machine.h: roofs with round numbers, for tests that need no measurement.
#ifndef RAFTER_TESTS_ROOFLINE_MADE_UP_MACHINE_H_
#define RAFTER_TESTS_ROOFLINE_MADE_UP_MACHINE_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "roofline/machine.h"

namespace rafter::roofline {

inline constexpr double kKiB = 1024, kMiB = 1024 * 1024;

// Flat levels: L1 to 32 KiB, L2 to 512 KiB, L3 to 32 MiB, then DRAM.
inline BandwidthCurve LeveledCurve(Isa isa, int threads, Mix mix, double l1, double l2, double l3,
                                   double dram) {
  BandwidthCurve curve{isa, threads, mix, false, {}};
  for (double bytes = 8 * kKiB; bytes < 300 * kMiB; bytes *= 1.4) {
    const double value = bytes <= 32 * kKiB    ? l1
                         : bytes <= 512 * kKiB ? l2
                         : bytes <= 32 * kMiB  ? l3
                                               : dram;
    curve.points.push_back({bytes, value, 0.98 * value});
  }
  return curve;
}

// AVX2 on one thread: 100 GFLOP/s; 4 GHz.
inline Machine MadeUpMachine() {
  Machine machine;
  machine.name = "made up";
  machine.source = "measured";
  machine.measured_on = "2025-03-01";
  Roofs& roofs = machine.roofs;
  roofs.peaks = {{Isa::kAvx2, 1, 100, 99, 140}};
  roofs.chains = {{Isa::kAvx2, 1, 16}, {Isa::kAvx2, 12, 100}};
  roofs.clock = {4, 4.01, 3.99};
  roofs.fork_joins = {{"openmp", 2, 0.5, 0.75}, {"workers", 2, 0.4, 0.6}};
  roofs.curves = {LeveledCurve(Isa::kAvx2, 1, Mix::kLoad, 240, 120, 60, 20),
                  LeveledCurve(Isa::kAvx2, 1, Mix::kTwoToOne, 180, 90, 45, 18),
                  LeveledCurve(Isa::kAvx2, 1, Mix::kCopy, 160, 80, 40, 16),
                  LeveledCurve(Isa::kAvx2, 1, Mix::kInPlace, 200, 100, 50, 17),
                  LeveledCurve(Isa::kAvx2, 1, Mix::kStore, 120, 60, 30, 10)};
  const LevelCapacities sizes{32 * kKiB, 512 * kKiB, 32 * kMiB};
  roofs.levels = {{Isa::kAvx2, 1, sizes, sizes}};
  return machine;
}

// A fresh directory, removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rafter-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace rafter::roofline

#endif  // RAFTER_TESTS_ROOFLINE_MADE_UP_MACHINE_H_
