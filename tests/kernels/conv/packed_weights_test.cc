// tests/kernels/conv/packed_weights_test.cc: storing packed weights, refusing damaged ones,
// denormals.
#include "kernels/conv/packed_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "rafter/conv.h"

namespace rafter {
namespace {

using Bytes = std::vector<std::byte>;

Conv MakeConv() {
  auto conv = Conv::Create({.ic = 3, .oc = 5, .in = {4, 4}, .kernel = {3, 3}, .bias = true},
                           {.threads = 1, .algorithm = "reference"});
  EXPECT_TRUE(conv.ok());
  return *conv;
}

std::vector<float> SomeWeights() {
  std::vector<float> weights(5 * 27);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) - 60;
  return weights;
}

Bytes Stored(const PackedWeights& weights) {
  return {weights.bytes().begin(), weights.bytes().end()};
}

TEST(PackedWeights, EmptyHasNoBytes) { EXPECT_TRUE(PackedWeights().bytes().empty()); }

TEST(PackedWeights, SurviveStoring) {
  const Conv conv = MakeConv();
  const auto weights = SomeWeights();
  const float bias[] = {1, 2, 3, 4, 5};
  const auto packed = conv.PackWeights(weights.data(), bias);
  ASSERT_TRUE(packed.ok());
  Bytes stored = Stored(*packed);
  EXPECT_EQ(stored.size() % 4, 0u);
  // Bytes of a file need not be aligned.
  Bytes shifted(stored.size() + 1);
  std::memcpy(shifted.data() + 1, stored.data(), stored.size());
  const auto loaded = PackedWeights::FromBytes({shifted.data() + 1, stored.size()});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(Stored(*loaded), stored);

  const std::vector<float> src(3 * 16, 1.0f);
  std::vector<float> direct(5 * 4), through_bytes(5 * 4);
  EXPECT_TRUE(conv.Run(src.data(), *packed, direct.data()).ok());
  EXPECT_TRUE(conv.Run(src.data(), *loaded, through_bytes.data()).ok());
  EXPECT_EQ(direct, through_bytes);
}

TEST(PackedWeights, CopiesShareTheBlock) {
  const auto packed = MakeConv().PackWeights(SomeWeights().data(), nullptr);
  ASSERT_TRUE(packed.ok());
  const PackedWeights copy = *packed;
  EXPECT_EQ(copy.bytes().data(), packed->bytes().data());
}

TEST(PackedWeights, MemoryGoesBackToThePool) {
  MemoryPool pool;
  {
    const auto packed = MakeConv().PackWeights(SomeWeights().data(), nullptr, {.pool = &pool});
    ASSERT_TRUE(packed.ok());
    EXPECT_GT(pool.stats().in_use_bytes, 0u);
    const auto loaded = PackedWeights::FromBytes(packed->bytes(), &pool);
    ASSERT_TRUE(loaded.ok());
  }
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(PackedWeights, ExhaustedPoolIsAStatus) {
  MemoryPool pool({.limit_bytes = 0});
  const auto packed = MakeConv().PackWeights(SomeWeights().data(), nullptr, {.pool = &pool});
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.status().code(), StatusCode::kOutOfMemory);
}

TEST(PackedWeights, AbsurdSizesAreOutOfMemory) {
  // 2^52 weights: a valid description that no machine can hold.
  const int64_t big = int64_t{1} << 26;
  const auto conv = Conv::Create({.ic = big, .oc = big, .in = {1, 1}}, {.algorithm = "reference"});
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  const float weight = 1;  // not reached: the block is allocated first
  for (const bool flush : {false, true}) {
    const auto packed = conv->PackWeights(&weight, nullptr, {.flush_denormals = flush});
    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.status().code(), StatusCode::kOutOfMemory);
  }
}

// What FromBytes says about stored weights after `damage`.
std::string Refusal(const std::function<void(Bytes&, PackedHeader&)>& damage) {
  const auto packed = MakeConv().PackWeights(SomeWeights().data(), nullptr);
  Bytes bytes = Stored(*packed);
  PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  damage(bytes, header);
  if (bytes.size() >= sizeof header) std::memcpy(bytes.data(), &header, sizeof header);
  const auto loaded = PackedWeights::FromBytes(bytes);
  if (loaded.ok()) return {};
  EXPECT_EQ(loaded.status().code(), StatusCode::kInvalidArgument);
  return std::string(loaded.status().message());
}

TEST(PackedWeights, RefusesDamage) {
  const auto expect = [](const char* words,
                         const std::function<void(Bytes&, PackedHeader&)>& damage) {
    const std::string message = Refusal(damage);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  EXPECT_EQ(Refusal([](Bytes&, PackedHeader&) {}), "");
  expect("0 bytes, allowed: 128", [](Bytes& b, PackedHeader&) { b.clear(); });
  expect("127 bytes", [](Bytes& b, PackedHeader&) { b.resize(127); });
  expect("magic", [](Bytes&, PackedHeader& h) { h.magic ^= 1; });
  expect("version 2, allowed: 3", [](Bytes&, PackedHeader& h) { h.version = 2; });
  expect("format 77", [](Bytes&, PackedHeader& h) { h.format = 77; });
  expect("not positive", [](Bytes&, PackedHeader& h) { h.ic_g = 0; });
  expect("not positive", [](Bytes&, PackedHeader& h) { h.kw = -1; });
  expect("the header promises", [](Bytes& b, PackedHeader&) { b.pop_back(); });
  expect("the header promises", [](Bytes& b, PackedHeader&) { b.push_back({}); });
  expect("the header promises", [](Bytes&, PackedHeader& h) { h.payload_bytes = SIZE_MAX; });
  expect("checksum", [](Bytes&, PackedHeader& h) { h.checksum ^= 1; });
  expect("checksum", [](Bytes& b, PackedHeader&) { b.back() ^= std::byte{1}; });
  expect("checksum", [](Bytes& b, PackedHeader&) { b[kPackedPayloadOffset] ^= std::byte{128}; });
}

TEST(PackedWeights, RefuseANullAddress) {
  const std::byte* none = nullptr;
  const auto weights = PackedWeights::FromBytes({none, 4096});
  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.status().code(), StatusCode::kInvalidArgument);
}

TEST(PackedWeights, RefuseEveryFlippedBitOfTheHeader) {
  const auto packed = MakeConv().PackWeights(SomeWeights().data(), nullptr);
  Bytes bytes = Stored(*packed);
  for (size_t bit = 0; bit < 8 * kPackedPayloadOffset; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(PackedWeights::FromBytes(bytes).ok()) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  EXPECT_TRUE(PackedWeights::FromBytes(bytes).ok());
}

TEST(PackedWeights, FlushesDenormalsOnlyWhenAsked) {
  const auto conv = Conv::Create({.ic = 4, .oc = 1, .in = {1, 1}}, {.algorithm = "reference"});
  ASSERT_TRUE(conv.ok());
  const float tiny = std::numeric_limits<float>::denorm_min() * 1000;
  const float weights[] = {tiny, -tiny, std::numeric_limits<float>::min(), 1};
  const float bias = -tiny;
  const auto kept = conv->PackWeights(weights, &bias);
  const auto flushed = conv->PackWeights(weights, &bias, {.flush_denormals = true});
  ASSERT_TRUE(kept.ok() && flushed.ok());
  const float* payload = kept->rep()->payload();
  EXPECT_EQ(payload[0], tiny);
  EXPECT_EQ(payload[4], -tiny);
  payload = flushed->rep()->payload();
  EXPECT_EQ(payload[0], 0);
  EXPECT_FALSE(std::signbit(payload[0]));
  EXPECT_EQ(payload[1], 0);
  EXPECT_TRUE(std::signbit(payload[1]));
  EXPECT_EQ(payload[2], std::numeric_limits<float>::min());
  EXPECT_EQ(payload[3], 1);
  EXPECT_TRUE(payload[4] == 0 && std::signbit(payload[4]));
  // The caller's weights stay as they are.
  EXPECT_EQ(weights[0], tiny);
}

TEST(PackedChecksum, CoversThePartlyFilledLastWord) {
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5},
                             std::byte{6}, std::byte{7}, std::byte{8}, std::byte{9}};
  EXPECT_NE(PackedChecksum(bytes, 8), PackedChecksum(bytes, 9));
  EXPECT_EQ(PackedChecksum(bytes, 0), 0xcbf29ce484222325u);
  // One word: (basis ^ word) * prime.
  EXPECT_EQ(PackedChecksum(bytes, 8), (0xcbf29ce484222325u ^ 0x0807060504030201u) * 0x100000001b3u);
}

}  // namespace
}  // namespace rafter
