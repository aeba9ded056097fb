// Tests of cli/explanation.h, under the roofs of a data sheet: nothing is measured.
#include "cli/explanation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

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
        "time by memory", "bound", "binds", "predicted", "candidates"}) {
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

TEST(Explanation, FitsOneScreen) {
  const std::string text = ToText(Explain("mb1ic64ih56oc60oh56kh3ph1"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50) << text;
  EXPECT_EQ(text.find("\nplan\n"), std::string::npos);
}

// The roofs of the command's own machine, made up: 100 GFLOP/s, 50 GB/s.
roofline::Machine FlatMachine() {
  roofline::Machine machine;
  machine.name = "flat";
  machine.roofs.peaks = {{EffectiveIsa(), 1, 100, 0, 0}};
  machine.roofs.curves = {{EffectiveIsa(), 1, roofline::Mix::kLoad, false, {{1e6, 50, 50}}}};
  return machine;
}

TEST(Explanation, LossesAndNeighboursAreMeasured) {
  if (EffectiveIsa() == Isa::kNone) GTEST_SKIP() << "no vector instructions";
  Result<bench::Descriptor> descriptor = bench::ParseDescriptor("mb1ic16ih9oc20oh9kh3ph1");
  ASSERT_TRUE(descriptor.ok());
  const ExplainRequest request{*descriptor, {.threads = 1}};
  Result<Explanation> e = ExplainConv(request, FlatMachine());
  ASSERT_TRUE(e.ok());
  EXPECT_GT(e->model.model_us, 0);
  MeasureExplanation(request, FlatMachine(), 5e4, *e);
  ASSERT_TRUE(e->measured);
  EXPECT_GT(e->measured->time.median, 0);
  ASSERT_GE(e->measured->neighbours.size(), 2u);
  for (const MeasuredNeighbour& one : e->measured->neighbours) {
    EXPECT_GT(one.time_us, 0) << one.change;
    EXPECT_LE(one.ci_low, one.time_ratio);
    EXPECT_GE(one.ci_high, one.time_ratio);
  }
  const std::string text = ToText(*e);
  for (const char* part : {"measured", "model", "losses, in order of time", "neighbours, measured now"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_TRUE(ToJson(*e)["measured"].contains("neighbours"));
  EXPECT_TRUE(ToJson(*e).contains("model"));
}

std::vector<std::string> ChangesOf(const std::string& text, Layout layout = Layout::kNhwc) {
  ConvDesc desc = bench::ParseDescriptor(text).value().desc;
  desc.src.layout = desc.dst.layout = layout;
  std::vector<std::string> changes;
  for (const NeighbourLayer& one : NeighboursOf(desc)) {
    changes.push_back(one.change);
    for (const ConvDesc& layer : one.layers) EXPECT_TRUE(CostOf(layer).ok()) << one.change;
  }
  return changes;
}

using Changes = std::vector<std::string>;

TEST(NeighboursOf, ChangeOneThingEach) {
  EXPECT_EQ(ChangesOf("mb1ic64ih9oc60oh9kh3ph1"),
            (Changes{"oc 60 -> 64", "depthwise 3x3 + 1x1 instead of dense 3x3", "layout NHWC -> NCHW"}));
  EXPECT_EQ(ChangesOf("mb1ic3ih9oc64oh9kh1", Layout::kNchw), (Changes{"ic 3 -> 16", "layout NCHW -> NHWC"}));
  EXPECT_EQ(ChangesOf("mb1g20ic20ih9oc20oh9kh3ph1"),
            (Changes{"channels 20 -> 32", "dense 3x3 instead of depthwise", "layout NHWC -> NCHW"}));
  EXPECT_EQ(ChangesOf("mb1g512ic512ih9oc512oh9kh3ph1", Layout::kNchw16c),
            (Changes{"channels 512 -> 528", "dense 3x3 instead of depthwise"}));
  EXPECT_EQ(ChangesOf("mb1g2ic32ih9oc32oh9kh3ph2dh1", Layout::kNchw16c), (Changes{"groups 2 -> 1", "dilation 2 -> 1"}));
}

TEST(NeighboursOf, DenseWindowsHaveTheSameOutputs) {
  const ConvDesc desc = bench::ParseDescriptor("mb1ic16ih12oc16oh12kh3ph4dh3").value().desc;
  for (const NeighbourLayer& one : NeighboursOf(desc)) {
    if (one.change != "dilation 4 -> 1") continue;
    EXPECT_EQ(one.layers[0].pad, (Padding{1, 1, 1, 1}));
    return;
  }
  FAIL() << "no neighbour without dilation";
}

TEST(DrawTile, ReadsTheNamesOfKernels) {
  ConvDesc desc;
  desc.ic = 64;
  desc.oc = 60;
  const std::string tile = DrawTile("tile_f32_avx2_px6_oc2v_relu", desc, 8);
  EXPECT_NE(tile.find("6 pixels x 2 vectors of channels of 8 lanes = 12 sums"), std::string::npos) << tile;
  EXPECT_NE(tile.find("[####....]"), std::string::npos);
  EXPECT_NE(tile.find("4 of 8 lanes idle"), std::string::npos);
  EXPECT_NE(DrawTile("strip_f32_avx2_px6_broadcast12_oc16_k3", desc, 8).find("6 pixels x 2 vectors"),
            std::string::npos);
  EXPECT_NE(DrawTile("width_f32_avx2_3v_oc4_rows1_line3", desc, 8).find("3 vectors of pixels x 4 output channels"),
            std::string::npos);
  EXPECT_NE(DrawTile("dw_w_f32_avx2_k3x3s1x1_3v", desc, 8).find("3 vectors of pixels x 1 output channel"),
            std::string::npos);
  EXPECT_NE(DrawTile("dw_f32_avx2_k3s1_3x4", desc, 8).find("4 pixels x 3 output rows"), std::string::npos);
  EXPECT_EQ(DrawTile("reference", desc, 8), "");
  EXPECT_EQ(DrawTile("tile_f32_avx2_px6_oc2v", desc, 0), "");
  desc.oc = 64;
  EXPECT_EQ(DrawTile("tile_f32_avx2_px6_oc2v", desc, 8).find("idle"), std::string::npos);
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
