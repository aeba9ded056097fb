// Tests of bench/descriptor: the worked examples and every rejection of the notation, positions,
// round trips, and random text that must not crash.
#include "bench/descriptor.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

#include "bench/suite.h"
#include "kernels/conv/problem.h"

namespace rafter::bench {
namespace {

Problem Parsed(const std::string& text) {
  Result<Problem> problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text << ": " << problem.status().message();
  return problem.ok() ? *problem : Problem{};
}

std::string Canonical(const std::string& text) {
  Result<Descriptor> descriptor = ParseDescriptor(text);
  if (!descriptor.ok()) return std::string(descriptor.status().message());
  descriptor->name.clear();
  return PrintDescriptor(*descriptor, DescriptorForm::kCanonical);
}

struct Example {
  const char* text;
  const char* canonical;
  int64_t pad_end_h, pad_end_w;
};

class WorkedExample : public testing::TestWithParam<Example> {};

TEST_P(WorkedExample, IsParsedAndCompleted) {
  EXPECT_EQ(Canonical(GetParam().text), GetParam().canonical);
  const Problem problem = Parsed(GetParam().text);
  EXPECT_EQ(problem.h.pad_end, GetParam().pad_end_h);
  EXPECT_EQ(problem.w.pad_end, GetParam().pad_end_w);
}

INSTANTIATE_TEST_SUITE_P(
    Descriptors, WorkedExample,
    testing::Values(
        Example{"ic16oc32ih7kh3", "g1mb2_ic16ih7iw7oc32oh5ow5kh3kw3sh1sw1ph0pw0dh0dw0", 0, 0},
        Example{"mb1ic3ih224oc64oh112kh7sh2ph3n\"resnet_50:conv1\"",
                "g1mb1_ic3ih224iw224oc64oh112ow112kh7kw7sh2sw2ph3pw3dh0dw0", 2, 2},
        Example{"g32mb1_ic32oc32_ih7oh7kh3ph1_n\"dw\"",
                "g32mb1_ic32ih7iw7oc32oh7ow7kh3kw3sh1sw1ph1pw1dh0dw0", 1, 1},
        Example{"ic16iw100oc16kw3", "g1mb2_ic16iw100oc16ow98kw3sw1pw0dw0", 0, 0},
        Example{"ic16ih56oc16oh55kh4", "g1mb2_ic16ih56iw56oc16oh55ow55kh4kw4sh1sw1ph1pw1dh0dw0", 1,
                1},
        Example{"ic16ih8oc16oh4kh3sh2", "g1mb2_ic16ih8iw8oc16oh4ow4kh3kw3sh2sw2ph0pw0dh0dw0", 1, 1},
        Example{"ic8ih8iw9oc8kh3kw3ph1pw0", "g1mb2_ic8ih8iw9oc8oh8ow7kh3kw3sh1sw1ph1pw0dh0dw0", 1,
                0},
        Example{"ic16ih7oc16oh11kh3ph2", "g1mb2_ic16ih7iw7oc16oh11ow11kh3kw3sh1sw1ph2pw2dh0dw0", 4,
                4},
        Example{"ic8ih8oc8kh3ph1dh1", "g1mb2_ic8ih8iw8oc8oh6ow6kh3kw3sh1sw1ph1pw1dh1dw1", 1, 1},
        Example{"ic16ih2oc16kh3sh2", "g1mb2_ic16ih2iw2oc16oh1ow1kh3kw3sh2sw2ph0pw0dh0dw0", 1, 1},
        Example{"mb0ic8ih8oc8kh3", "g1mb0_ic8ih8iw8oc8oh6ow6kh3kw3sh1sw1ph0pw0dh0dw0", 0, 0},
        // Asymmetric padding through the output size (TensorFlow SAME).
        Example{"ic3ih224oc32oh112kh3sh2ph0",
                "g1mb2_ic3ih224iw224oc32oh112ow112kh3kw3sh2sw2ph0pw0dh0dw0", 1, 1},
        // A present w axis never takes h's padding.
        Example{"ic8ih8iw9oc8kh3kw3ph1", "g1mb2_ic8ih8iw9oc8oh8ow7kh3kw3sh1sw1ph1pw0dh0dw0", 1, 0},
        // Taps fully in padding and kernels beyond the image are valid.
        Example{"ic8ih1oc8oh1kh7ph3", "g1mb2_ic8ih1iw1oc8oh1ow1kh7kw7sh1sw1ph3pw3dh0dw0", 3, 3},
        Example{"ic8ih10oc8oh18kh3ph5", "g1mb2_ic8ih10iw10oc8oh18ow18kh3kw3sh1sw1ph5pw5dh0dw0", 5,
                5}));

TEST(Descriptor, LexicalOdditiesOfBenchdnnAreAccepted) {
  const std::string dense = Canonical("ic16ih7oc16kh3");
  EXPECT_EQ(Canonical("kh3_ic16_oc16_ih7"), dense);
  EXPECT_EQ(Canonical("ic16ih7oc16kh3_"), dense);             // trailing '_'
  EXPECT_EQ(Canonical("ic+16ih 7oc\t16kh3"), dense);          // what strtoll accepts
  EXPECT_EQ(Canonical("ic016ih7oc16kh3"), dense);             // base 10, not octal
  EXPECT_EQ(Canonical("ic16ih7oc16kh3iw0kw0pw0dw0"), dense);  // zeros leave an axis absent
  EXPECT_EQ(Canonical("g2mb1ic4ih5oc6kh3"), Canonical("kh3oc6_ih5ic4mb1g2"));
  const Problem named = Parsed("ic16ih7oc16kh3nn_ic8*3__x");
  EXPECT_EQ(named.name, "n_ic8*3__x");
  EXPECT_EQ(named.ic, 16);
}

TEST(Descriptor, NamesLoseTheirQuotes) {
  EXPECT_EQ(ParseDescriptor("ic16ih7oc16kh3n\"a:b*3\"")->name, "a:b*3");
  EXPECT_EQ(ParseDescriptor("ic16ih7oc16kh3_nplain")->name, "plain");
  EXPECT_EQ(ParseDescriptor("ic16ih7oc16kh3n")->name, "");
}

TEST(Descriptor, ConvertsConventions) {
  const Result<Descriptor> descriptor =
      ParseDescriptor("mb3g2ic8ih9iw11oc6kh3kw5sh2dw1ph1pw2n\"x\"");
  ASSERT_TRUE(descriptor.ok()) << descriptor.status().message();
  const ConvDesc& desc = descriptor->desc;
  EXPECT_EQ(desc.n, 3);
  EXPECT_EQ(desc.groups, 2);
  EXPECT_EQ(desc.in, (Size2{9, 11}));
  EXPECT_EQ(desc.kernel, (Size2{3, 5}));
  EXPECT_EQ(desc.stride, (Size2{2, 1}));
  EXPECT_EQ(desc.dilation, (Size2{1, 2}));  // 0-based in the text
  EXPECT_EQ(desc.pad, (Padding{1, 2, 1, 2}));
  EXPECT_FALSE(desc.bias);
}

TEST(Descriptor, HasGroupsOnlyWhenWritten) {
  EXPECT_TRUE(ParseDescriptor("g1ic8ih8oc8kh3")->has_groups);
  EXPECT_FALSE(ParseDescriptor("ic8ih8oc8kh3")->has_groups);
  EXPECT_EQ(PrintDescriptor(*ParseDescriptor("g1ic8ih8oc8kh3"), DescriptorForm::kShort),
            "g1ic8ih8oc8oh6kh3ph0");
}

TEST(Descriptor, NegativeRightPaddingBecomesZeroAndKeepsTheOutputSize) {
  // Strides that do not divide: the last row is never read.
  const Problem problem = Parsed("mb1ic8ih8oc8oh3kh3sh2ph0");
  EXPECT_EQ(problem.h.pad_end, -1);
  const Result<Descriptor> descriptor = ParseDescriptor("mb1ic8ih8oc8oh3kh3sh2ph0");
  ASSERT_TRUE(descriptor.ok());
  EXPECT_EQ(descriptor->desc.pad, (Padding{0, 0, 0, 0}));
  const Result<ConvProblem> validated = Validate(descriptor->desc);
  ASSERT_TRUE(validated.ok());
  EXPECT_EQ(validated->oh, 3);
  EXPECT_EQ(validated->ow, 3);
}

TEST(Descriptor, ThreeDimensionalParsesAndIsUnsupported) {
  const Problem cube = Parsed("ic16id8oc16od8kd3");
  EXPECT_EQ(cube.spatial_dims, 3);
  EXPECT_EQ(cube.d.pad, 1);
  EXPECT_EQ(cube.d.pad_end, 1);
  EXPECT_EQ(cube.h, cube.d);
  EXPECT_EQ(cube.w, cube.d);
  const Problem full = Parsed("ic8id4ih5iw6oc8kd1kh3kw3ph1pw1");
  EXPECT_EQ(full.spatial_dims, 3);
  EXPECT_EQ(full.h.out, 5);
  EXPECT_EQ(ParseDescriptor("ic16id8oc16od8kd3").status().code(), StatusCode::kUnsupported);
}

TEST(Descriptor, OneDimensionalIsHeightOne) {
  const Result<Descriptor> descriptor = ParseDescriptor("ic16iw100oc16kw3");
  ASSERT_TRUE(descriptor.ok());
  EXPECT_EQ(descriptor->spatial_dims, 1);
  EXPECT_EQ(descriptor->desc.in, (Size2{1, 100}));
  EXPECT_EQ(descriptor->desc.kernel, (Size2{1, 3}));
  EXPECT_EQ(PrintDescriptor(*descriptor, DescriptorForm::kShort), "ic16iw100oc16ow98kw3pw0");
}

struct Rejection {
  const char* text;
  size_t position;     // from 1
  const char* reason;  // part of the message
};

class Rejected : public testing::TestWithParam<Rejection> {};

TEST_P(Rejected, WithPositionAndReason) {
  size_t position = 0;
  const Result<Descriptor> descriptor = ParseDescriptor(GetParam().text, &position);
  ASSERT_FALSE(descriptor.ok());
  EXPECT_EQ(descriptor.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(position, GetParam().position);
  const std::string message(descriptor.status().message());
  EXPECT_NE(message.find(GetParam().reason), std::string::npos) << message;
  EXPECT_EQ(message.rfind("position " + std::to_string(position) + ": ", 0), 0u) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Parser, Rejected,
    testing::Values(Rejection{"_ic8ih8oc8kh3", 1, "unrecognized"},
                    Rejection{"ic8__ih8oc8kh3", 5, "unrecognized"},
                    Rejection{"ic8ih8oc8kh3sw2", 13, "'iw' was not specified"},
                    Rejection{"ic8ih8oc8kh3dw1", 13, "'iw' was not specified"},
                    Rejection{"ic8ih8oc8kh3pw1", 13, "'iw' was not specified"},
                    Rejection{"ic8oc8", 7, "spatial dimension"},
                    Rejection{"ic8ih8oc8", 4, "'kh' was not specified"},
                    Rejection{"ic8id8ih8oc8kd3kh3", 4, "without 'w'"},
                    Rejection{"ic8id8iw8oc8kd3kw3", 4, "without 'h'"},
                    Rejection{"ic8ih2oc8kh5", 4, "'oh' would be <= 0"},
                    Rejection{"ic3ic4oc8ih8kh3", 4, "'ic' is there twice"},
                    Rejection{"mb1_ic3ih8oc8kh3_ih8", 18, "'ih' is there twice"},
                    Rejection{"ic-3ih8oc8kh3", 3, "must not be negative"},
                    Rejection{"icih8oc8kh3", 3, "no value after 'ic'"},
                    Rejection{"g0ic8ih8oc8kh3", 2, "at least 1"},
                    Rejection{"ic8ih8oc8kh3sh0", 15, "at least 1"},
                    Rejection{"ic8ih8oc8kh3q1", 13, "unrecognized"},
                    Rejection{"ic8ih8oc8kh3*4", 13, "unrecognized"},
                    Rejection{"IC8ih8oc8kh3", 1, "unrecognized"}, Rejection{"", 1, "empty"},
                    Rejection{"ih8oc8kh3", 10, "'ic' was not specified"},
                    Rejection{"ic8ih8kh3", 10, "'oc' was not specified"},
                    Rejection{"ic0ih8oc8kh3", 13, "'ic' was not specified"},
                    Rejection{"mb1ic9223372036854775808ih8oc8kh3", 6, "'9223372036854775808' is beyond int64"},
                    Rejection{"ic-9223372036854775809ih8oc8kh3", 3, "beyond int64"},
                    Rejection{"ic8ih8oc8kh3dh99999999999999999999", 15, "beyond int64; allowed for 'dh'"},
                    Rejection{"ic8ih8oc8kh3n\"abc", 14, "'\"abc' has no closing"},
                    Rejection{"ic8ih8oc8kh3n\"", 14, "no closing"},
                    Rejection{"ic8ih8oc8kh3na\x1b[31m", 15, "control character"},
                    Rejection{"ic8ih8oc8kh3n\"a\nb\"", 16, "control character"},
                    Rejection{"ic8ih8oc8kh3na\tb", 15, "control character"},
                    Rejection{"ic8ih8oc8kh3na\xc2\x9b""31m", 15, "control character"},
                    Rejection{"ic8ih8oc8kh3\x1b[31m", 13, "field '\\x1b[31m'"},
                    Rejection{"nname", 6, "'ic' was not specified"},
                    Rejection{"ic8ih8oc8kh", 12, "no value after 'kh'"},
                    Rejection{"ic8ih8oc8kh3ph9223372036854775807", 4, "int64"}));

INSTANTIATE_TEST_SUITE_P(Library, Rejected,
                         testing::Values(Rejection{"g3ic8ih8oc8kh3", 1, "ic = 8 is not divisible"},
                                         Rejection{"g2ic8ih8oc7kh3", 1, "oc = 7 is not divisible"},
                                         Rejection{"ic8ih8oc8oh3kh3ph0", 1, "bottom padding"},
                                         // p is deduced as (1 - 10 + 3) / 2 = -3
                                         Rejection{"ic8ih10oc8oh2kh3", 1, "paddings must be >= 0"}));

TEST(Descriptor, LengthIsLimited) {
  const std::string start = "ic8ih8oc8kh3n";
  EXPECT_TRUE(ParseDescriptor(start + std::string(1000 - start.size(), 'a')).ok());
  size_t position = 0;
  EXPECT_FALSE(ParseDescriptor(start + std::string(100'000, 'a'), &position).ok());
  EXPECT_EQ(position, 1001u);
}

TEST(Descriptor, HugeNumbersDoNotOverflow) {
  const std::string huge = "9223372036854775807";
  EXPECT_EQ(Parsed("mb" + huge + "ic8ih8oc8kh3").mb, INT64_MAX);
  for (const char* key : {"g", "ic", "oc", "ih", "oh", "kh", "sh", "ph", "dh"}) {
    // Any answer is fine; the sanitizers watch.
    static_cast<void>(ParseDescriptor("ic8ih8oc8kh3" + (key + huge)).ok());
  }
  static_cast<void>(
      ParseDescriptor("ic8ih8oc8oh" + huge + "kh" + huge + "sh" + huge + "dh" + huge).ok());
}

bool SameGeometry(const ConvDesc& a, const ConvDesc& b) {
  const Result<ConvProblem> pa = Validate(a), pb = Validate(b);
  return pa.ok() && pb.ok() && a.n == b.n && a.groups == b.groups && a.ic == b.ic && a.oc == b.oc &&
         a.in == b.in && a.kernel == b.kernel && a.stride == b.stride && a.dilation == b.dilation &&
         a.pad.top == b.pad.top && a.pad.left == b.pad.left && pa->oh == pb->oh && pa->ow == pb->ow;
}

TEST(Descriptor, EverySuiteRoundTrips) {
  const Result<std::vector<SuiteCase>> cases = LoadSuite("all");
  ASSERT_TRUE(cases.ok());
  for (const SuiteCase& suite_case : *cases) {
    ASSERT_TRUE(suite_case.status.ok()) << suite_case.status.message();
    for (DescriptorForm form : {DescriptorForm::kShort, DescriptorForm::kCanonical}) {
      const std::string printed = PrintDescriptor(suite_case.descriptor, form);
      const Result<Descriptor> again = ParseDescriptor(printed);
      ASSERT_TRUE(again.ok()) << printed << ": " << again.status().message();
      EXPECT_TRUE(SameGeometry(suite_case.descriptor.desc, again->desc)) << printed;
      EXPECT_EQ(again->name, suite_case.descriptor.name);
      EXPECT_EQ(PrintDescriptor(*again, form), printed);
    }
  }
}

TEST(Descriptor, RandomProblemsRoundTrip) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  int valid = 0;
  for (int i = 0; i < 3000; ++i) {
    ConvDesc desc;
    desc.n = pick(0, 3);
    desc.groups = pick(1, 3);
    desc.ic = desc.groups * pick(1, 5);
    desc.oc = desc.groups * pick(1, 5);
    desc.in = {pick(1, 12), pick(1, 12)};
    desc.kernel = {pick(1, 5), pick(1, 5)};
    desc.stride = {pick(1, 4), pick(1, 4)};
    desc.dilation = {pick(1, 3), pick(1, 3)};
    desc.pad = {pick(0, 4), pick(0, 4), pick(0, 4), pick(0, 4)};
    if (!Validate(desc).ok()) continue;
    ++valid;
    for (DescriptorForm form : {DescriptorForm::kShort, DescriptorForm::kCanonical}) {
      const std::string printed = PrintDescriptor(desc, form, "r");
      const Result<Descriptor> again = ParseDescriptor(printed);
      ASSERT_TRUE(again.ok()) << printed << ": " << again.status().message();
      EXPECT_TRUE(SameGeometry(desc, again->desc)) << printed;
    }
  }
  EXPECT_GT(valid, 1000);
}

// Pieces of descriptors, and what does not belong into one.
const std::string kPieces[] = {
    // clang-format off
    "g", "mb", "ic", "oc", "ih", "iw", "oh", "ow", "kh", "kw", "sh", "sw", "ph", "pw", "dh", "dw",
    "id", "kd", "_", "n", "-", "+", " ", "0", "1", "7", "16", "9223372036854775807", "\"", "x",
    std::string(1, '\0'), "\xff",
    // clang-format on
};

TEST(Descriptor, RandomTextNeverCrashes) {
  std::mt19937 random(11);
  for (int i = 0; i < 50000; ++i) {
    std::string text = i % 2 == 0 ? "ic8ih8oc8kh3" : "";
    for (unsigned length = random() % 12; length > 0; --length) {
      text += kPieces[random() % std::size(kPieces)];
    }
    size_t position = 0;
    const Result<Descriptor> descriptor = ParseDescriptor(text, &position);
    if (!descriptor.ok()) {
      EXPECT_GE(position, 1u);
      EXPECT_LE(position, text.size() + 1);
      EXPECT_FALSE(descriptor.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace rafter::bench
