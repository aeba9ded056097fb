// Tests of bench/roofline_plot and bench/roofline_svg on made-up runs.
#include "bench/roofline_plot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/roofline_svg.h"
#include "tests/bench/sample_cases.h"
#include "tests/bench/sample_report.h"

namespace rafter::bench {
namespace {

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(MakeRooflinePlot, OneViewPerThreadCount) {
  Report report = SampleReport();
  report.cases[1].threads = 2;
  const RooflinePlot plot = MakeRooflinePlot(report);
  EXPECT_EQ(plot.machine, "Sample CPU");
  ASSERT_EQ(plot.views.size(), 2u);
  const RooflineView& one = plot.views[0];
  EXPECT_EQ(one.threads, 1);
  EXPECT_EQ(one.isa, "avx2");
  EXPECT_EQ(one.peak_gflops, 100);
  ASSERT_EQ(one.levels.size(), 4u);
  EXPECT_EQ(one.levels[0].name, "L1");
  EXPECT_EQ(one.levels[3].name, "DRAM");
  for (const RoofLevel& level : one.levels) EXPECT_DOUBLE_EQ(level.ridge, 100 / level.gb_per_s);
  // Six cases: one failed, one has two threads.
  EXPECT_EQ(one.dots.size(), 4u);
  EXPECT_EQ(plot.views[1].dots.size(), 1u);
  EXPECT_EQ(plot.views[1].peak_gflops, 0) << "no roofs for two threads";
  EXPECT_NEAR(one.dots[0].intensity, 2.25e8 / 1.7e6, 1e-9);
  ASSERT_EQ(plot.sheets.size(), 1u);
  EXPECT_NEAR(plot.sheets[0].gflops, 3.5 * 2 * 8 * 2, 1e-9) << "clock x pipes x lanes x 2";
}

TEST(MakeRooflinePlot, LivesWithoutRoofs) {
  Report report;
  report.cases = MakeCases();
  EXPECT_EQ(MakeRooflinePlot(report).views.size(), 1u);
  report.environment = {{"roofs", {{"peaks", "nonsense"}}}, {"cpu", 3}};
  const RooflinePlot plot = MakeRooflinePlot(report);
  EXPECT_TRUE(plot.views[0].levels.empty());
  EXPECT_FALSE(RooflineSvg(plot, plot.views[0]).empty());
}

TEST(SavesFlops, KnowsTheFamilies) {
  EXPECT_TRUE(SavesFlops("winograd"));
  EXPECT_TRUE(SavesFlops("winograd_f4+reorder"));
  EXPECT_FALSE(SavesFlops("direct"));
}

TEST(RooflineSvg, HasDotsRoofsAndTitles) {
  Report report = SampleReport();
  report.cases[0].name = "a<b&c";
  report.cases[1].algorithm = "winograd";
  const RooflinePlot plot = MakeRooflinePlot(report);
  const std::string svg = RooflineSvg(plot, plot.views[0]);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(CountOf(svg, "class=\"dot\""), 5u);
  EXPECT_EQ(CountOf(svg, "fill=\"none\""), 2u) << "the hollow dot and its legend";
  EXPECT_NE(svg.find("a&lt;b&amp;c"), std::string::npos);
  EXPECT_EQ(svg.find("a<b"), std::string::npos);
  for (const char* part : {"ridge DRAM", "measured peak 100.0", "stroke-dasharray", "FLOP/byte", "GFLOP/s"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(RooflineSvg, SurvivesNothing) {
  const std::string svg = RooflineSvg({}, {});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(FamilyColor, IsTheSameBehindCopies) {
  EXPECT_STREQ(FamilyColor("direct"), FamilyColor("direct+reorder"));
  EXPECT_STRNE(FamilyColor("direct"), FamilyColor("pointwise"));
  EXPECT_STREQ(FamilyColor("winograd_f2"), FamilyColor("winograd"));
}

}  // namespace
}  // namespace rafter::bench
