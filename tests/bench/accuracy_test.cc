// The bounds that docs/accuracy.md promises, for data of several scales.
#include "bench/accuracy.h"

#include <gtest/gtest.h>

#include <string>

namespace rafter::bench {
namespace {

// Of the rms error of direct summation.
double Promised(const AccuracyRow& row) {
  if (row.algorithm == "winograd_f2") return 1.0;
  if (row.algorithm != "winograd_f4") return 1.35;
  return 2.0;
}

TEST(Accuracy, StaysWithinWhatIsPublished) {
  for (const float scale : {1.0f, 1000.0f, 1e-3f}) {
    AccuracyOptions options;
    options.channels = {16, 32, 64, 96, 128};
    options.image = {28, 28};
    options.scale = scale;
    const Result<std::vector<AccuracyRow>> rows = MeasureAccuracy(options);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    for (const AccuracyRow& row : *rows) {
      EXPECT_GT(row.rms_error, 0);
      EXPECT_LT(row.max_error, 12 * row.rms_error) << row.algorithm << " " << row.channels;
      if (row.algorithm == "direct") {
        EXPECT_EQ(row.rms_ratio, 1);
      }
      if (row.algorithm.starts_with("winograd")) {
        EXPECT_LE(row.rms_ratio, Promised(row)) << row.algorithm << " " << row.channels << " scale " << scale;
      }
    }
  }
}

TEST(Accuracy, OneDimensionalKernels) {
  for (const Size2 kernel : {Size2{1, 3}, Size2{3, 1}}) {
    AccuracyOptions options;
    options.channels = {16, 64};
    options.kernel = kernel;
    const Result<std::vector<AccuracyRow>> rows = MeasureAccuracy(options);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    for (const AccuracyRow& row : *rows) {
      if (row.algorithm.starts_with("winograd")) {
        EXPECT_LE(row.rms_ratio, 2.0) << row.algorithm << row.channels;
      }
    }
  }
}

}  // namespace
}  // namespace rafter::bench
