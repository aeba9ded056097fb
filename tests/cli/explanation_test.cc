// Tests of cli/explanation.h, under the roofs of a data sheet: nothing is measured.
#include "cli/explanation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace rafter::cli {
namespace {

Explanation Explain(const std::string& text, const ConvOptions& options = {.threads = 1}) {
  Result<bench::Descriptor> descriptor = bench::ParseDescriptor(text);
  EXPECT_TRUE(descriptor.ok()) << descriptor.status().message();
  descriptor->desc.bias = true;
  const auto machine = roofline::DataSheetMachine("i9-10980xe-16c");
  EXPECT_TRUE(machine.ok());
  Result<Explanation> explanation = ExplainConv({*descriptor, options}, *machine);
  EXPECT_TRUE(explanation.ok()) << explanation.status().message();
  return explanation.ok() ? *explanation : Explanation();
}

TEST(Explanation, NamesChoiceCostAndBound) {
  const Explanation e = Explain("mb1ic64ih56oc64oh56kh3ph1n\"layer\"");
  EXPECT_EQ(e.name, "layer");
  EXPECT_EQ(e.layout, "NHWC");
  int chosen = 0;
  for (const AlgorithmAnswer& answer : e.answers) {
    chosen += answer.chosen;
    if (answer.chosen) {
      EXPECT_EQ(answer.name, e.algorithm);
      EXPECT_GT(answer.predicted_us, 0);
    } else {
      EXPECT_TRUE(answer.predicted_us > 0 || !answer.refusal.empty()) << answer.name;
    }
  }
  EXPECT_EQ(chosen, 1);
  // 3x3 with padding 1 on 56x56: (3 * 56 - 2)^2 valid taps.
  EXPECT_DOUBLE_EQ(e.cost.flops_valid, 2.0 * 64 * 64 * 166 * 166);
  EXPECT_DOUBLE_EQ(e.cost.flops_nominal, 2.0 * 64 * 64 * 9 * 56 * 56);
  EXPECT_DOUBLE_EQ(e.bias_flops, 64.0 * 56 * 56);
  EXPECT_EQ(e.cost.parameters, 64 * 64 * 9 + 64);
  ASSERT_TRUE(e.bound) << e.bound_error;
  EXPECT_DOUBLE_EQ(e.bound->bound_us, std::max(e.bound->compute_us, e.bound->memory_us));
  EXPECT_DOUBLE_EQ(e.bound->ridge, e.bound->peak_gflops / e.bound->gb_per_s);
}

TEST(Explanation, TextHasEveryFact) {
  const std::string text = ToText(Explain("mb1ic64ih56oc64oh56kh3ph1"), true);
  for (const char* fact :
       {"plan\n", "chosen", "cost\n", "FLOPs, valid taps", "FLOPs, nominal", "parameters", "bytes",
        "footprint", "intensity", "roofline (", "ridge point", "time by arithmetic",
        "time by memory", "bound", "binds", "predicted"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact << " in\n" << text;
  }
}

TEST(Explanation, JsonHasTheSameFacts) {
  const nlohmann::ordered_json json = ToJson(Explain("mb1ic64ih56oc64oh56kh3ph1"));
  for (const char* key : {"schema", "descriptor", "name", "layout", "threads", "isa", "algorithm",
                          "kernel", "considered", "cost", "bound", "plan"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["schema"], 1);
  EXPECT_TRUE(json["bound"].contains("binding"));
  EXPECT_TRUE(json["cost"].contains("intensity"));
}

TEST(Explanation, DepthwiseStandsBesideTheDenseLayer) {
  const Explanation e = Explain("mb1g64ic64ih56oc64oh56kh3ph1");
  ASSERT_TRUE(e.dense);
  EXPECT_DOUBLE_EQ(e.dense->cost.flops_valid, 64 * e.cost.flops_valid);
  EXPECT_GT(e.dense->cost.intensity, e.cost.intensity);
  EXPECT_GT(e.dense->predicted_us, 0);
  const std::string text = ToText(e);
  EXPECT_NE(text.find("beside the dense layer"), std::string::npos);
  EXPECT_NE(text.find("64 times fewer FLOPs buy"), std::string::npos) << text;
  EXPECT_TRUE(ToJson(e).contains("dense"));
  EXPECT_FALSE(Explain("mb1ic64ih56oc64oh56kh3ph1").dense);
}

TEST(Explanation, SaysWhyThereIsNoBound) {
  const auto descriptor = bench::ParseDescriptor("mb1ic16ih8oc16oh8kh1");
  ASSERT_TRUE(descriptor.ok());
  const auto explanation = ExplainConv({*descriptor, {.threads = 1}}, roofline::Machine());
  ASSERT_TRUE(explanation.ok());
  EXPECT_FALSE(explanation->bound);
  EXPECT_NE(ToText(*explanation).find("unknown: "), std::string::npos);
  EXPECT_TRUE(ToJson(*explanation)["bound"].contains("error"));
}

TEST(Explanation, AForcedAlgorithmStandsAlone) {
  const Explanation e = Explain("mb1ic16ih8oc16oh8kh1", {.threads = 1, .algorithm = "reference"});
  ASSERT_EQ(e.answers.size(), 1u);
  EXPECT_EQ(e.algorithm, "reference");
  EXPECT_TRUE(e.bound) << "plain code is measured against the machine's best roof: "
                       << e.bound_error;
}

}  // namespace
}  // namespace rafter::cli
