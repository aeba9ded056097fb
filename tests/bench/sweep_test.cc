// Tests of bench/sweep: what axes mean, what they make of a base, and what is refused.
#include "bench/sweep.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rafter::bench {
namespace {

Sweep Parse(const std::string& text, bool zip = false) {
  Result<Sweep> sweep = ParseSweep(text, zip);
  EXPECT_TRUE(sweep.ok()) << sweep.status().message();
  return sweep.ok() ? *sweep : Sweep();
}

std::vector<SuiteCase> Expand(const std::string& text, const std::string& base, bool zip = false) {
  Result<SweepCases> cases = ExpandSweep(Parse(text, zip), ParseDescriptor(base).value());
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? cases->cases : std::vector<SuiteCase>();
}

using Values = std::vector<int64_t>;

TEST(ParseSweep, ListsRangesAndFactors) {
  const Sweep sweep = Parse("oc=16:64:16,kh=1,3,5,c=2:40:*3,stride=2");
  ASSERT_EQ(sweep.axes.size(), 4u);
  EXPECT_EQ(sweep.axes[0].name, "oc");
  EXPECT_EQ(sweep.axes[0].values, (Values{16, 32, 48, 64}));
  EXPECT_EQ(sweep.axes[1].values, (Values{1, 3, 5}));
  EXPECT_EQ(sweep.axes[2].values, (Values{2, 6, 18}));
  EXPECT_EQ(sweep.axes[3].values, (Values{2}));
  EXPECT_EQ(Parse("oc=8,16:32:8").axes[0].values, (Values{8, 16, 24, 32}));
  EXPECT_EQ(Parse("oc=16:30:8").axes[0].values, (Values{16, 24}));
}

TEST(ParseSweep, SaysWhatIsWrong) {
  for (const auto& [text, part] : {std::pair{"", "axes such as"},
                                   {"16,32", "axes such as"},
                                   {"xc=1", "allowed"},
                                   {"oc=", "whole numbers"},
                                   {"oc=4:2:1", "whole numbers"},
                                   {"oc=4:9:0", "whole numbers"},
                                   {"oc=4:9:*1", "whole numbers"},
                                   {"oc=4:9", "whole numbers"},
                                   {"oc=-1", "whole numbers"},
                                   {"oc=1,1", "once"},
                                   {"oc=1,oc=2", "once"},
                                   {"oc=1:4096:1,ic=1:4096:1", "at most"},
                                   {"oc=1:9999999:1", "at most"},
                                   {"oc=1:10:*x", "whole numbers"}}) {
    const Result<Sweep> sweep = ParseSweep(text, false);
    ASSERT_FALSE(sweep.ok()) << text;
    EXPECT_EQ(sweep.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(sweep.status().message().find(part), std::string::npos) << text << ": " << sweep.status().message();
  }
  EXPECT_FALSE(ParseSweep("oc=1,2,ic=1,2,3", true).ok()) << "side by side needs equal numbers";
  EXPECT_FALSE(ParseSweep("oc=1,1,ic=1,2", true).ok()) << "the first axis tells the cases apart";
  EXPECT_TRUE(ParseSweep("oc=1,2,ic=3,3", true).ok());
}

TEST(ExpandSweep, ProductRunsTheLastAxisFastest) {
  const auto cases = Expand("oc=16,32,kh=1,3", "mb1ic8ih10oc8oh10kh3ph1");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].descriptor.name, "oc=16 kh=1");
  EXPECT_EQ(cases[1].descriptor.name, "oc=16 kh=3");
  EXPECT_EQ(cases[3].descriptor.name, "oc=32 kh=3");
  EXPECT_EQ(cases[3].sweep, (std::vector<std::pair<std::string, int64_t>>{{"oc", 32}, {"kh", 3}}));
  EXPECT_EQ(cases[3].descriptor.desc.oc, 32);
  // The text gives the same problem again.
  for (const SuiteCase& one : cases) {
    const Result<Descriptor> again = ParseDescriptor(one.descriptor.text);
    ASSERT_TRUE(again.ok()) << one.descriptor.text;
    EXPECT_EQ(PrintDescriptor(again->desc, DescriptorForm::kCanonical),
              PrintDescriptor(one.descriptor.desc, DescriptorForm::kCanonical));
  }
}

TEST(ExpandSweep, ZipWalksSideBySide) {
  const auto cases = Expand("oc=16,32,ic=8,4", "mb1ic8ih10oc8oh10kh3ph1", true);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].descriptor.desc.oc, 32);
  EXPECT_EQ(cases[1].descriptor.desc.ic, 4);
}

TEST(ExpandSweep, SquaresStaySquareAndSamePaddingStaysSame) {
  const auto kernels = Expand("kh=1,5", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(kernels[0].descriptor.desc.kernel, (Size2{1, 1}));
  EXPECT_EQ(kernels[0].descriptor.desc.pad, (Padding{0, 0, 0, 0}));
  EXPECT_EQ(kernels[1].descriptor.desc.kernel, (Size2{5, 5}));
  EXPECT_EQ(kernels[1].descriptor.desc.pad, (Padding{2, 2, 2, 2}));
  const auto dilated = Expand("dilation=2", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(dilated[0].descriptor.desc.pad, (Padding{2, 2, 2, 2}));
  const auto valid = Expand("kernel=5", "mb1ic8ih10oc8oh8kh3ph0");
  EXPECT_EQ(valid[0].descriptor.desc.pad, (Padding{0, 0, 0, 0}));
  const auto own = Expand("kh=5,pad=1", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(own[0].descriptor.desc.pad, (Padding{1, 1, 1, 1}));
  const auto wide = Expand("kh=5,kw=3", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(wide[0].descriptor.desc.kernel, (Size2{5, 3}));
  const auto zero_based = Expand("dh=1", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(zero_based[0].descriptor.desc.dilation, (Size2{2, 2}));
  const auto strided = Expand("stride=2,size=12", "mb1ic8ih10oc8oh10kh3ph1");
  EXPECT_EQ(strided[0].descriptor.desc.stride, (Size2{2, 2}));
  EXPECT_EQ(strided[0].descriptor.desc.in, (Size2{12, 12}));
}

TEST(ExpandSweep, ChannelsOfDepthwiseAreItsGroups) {
  const auto cases = Expand("c=16,48", "mb1g32ic32ih10oc32oh10kh3ph1");
  EXPECT_EQ(cases[1].descriptor.desc.groups, 48);
  EXPECT_EQ(cases[1].descriptor.desc.ic, 48);
  EXPECT_EQ(cases[1].descriptor.desc.oc, 48);
}

TEST(ExpandSweep, LeavesOutWhatIsNoProblem) {
  const Result<SweepCases> cases = ExpandSweep(Parse("g=1,2,3"), ParseDescriptor("mb1ic8ih10oc8oh10kh3ph1").value());
  ASSERT_TRUE(cases.ok());
  EXPECT_EQ(cases->cases.size(), 2u);
  ASSERT_EQ(cases->left_out.size(), 1u);
  EXPECT_NE(cases->left_out[0].find("g=3"), std::string::npos);
  EXPECT_FALSE(ExpandSweep(Parse("g=3,5"), ParseDescriptor("mb1ic8ih10oc8oh10kh3ph1").value()).ok());
}

TEST(SweepToJson, SaysBaseKindAndAxes) {
  const auto json = SweepToJson(Parse("oc=16,32,ic=4,8", true), ParseDescriptor("mb1ic8ih10oc8kh1").value());
  EXPECT_EQ(json["kind"], "zip");
  EXPECT_EQ(json["axes"][1]["name"], "ic");
  EXPECT_EQ(json["axes"][1]["values"], (std::vector<int>{4, 8}));
}

}  // namespace
}  // namespace rafter::bench
