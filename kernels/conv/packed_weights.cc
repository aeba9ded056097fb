// kernels/conv/packed_weights.cc: the life of a block of packed weights: from a plan or from stored
// bytes, checked by a checksum. What lies inside the payload is the business of each algorithm's
// pack.cc.
#include "kernels/conv/packed_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace rafter {
namespace {

Status Damaged(const std::string& what) {
  return Status::InvalidArgument("packed weights: " + what);
}

bool IsKnown(uint32_t format) {
  constexpr PackedFormat kKnown[] = {PackedFormat::kPlain,        PackedFormat::kPanels,
                                     PackedFormat::kWidthwise,    PackedFormat::kDepthwise,
                                     PackedFormat::kSplitK,       PackedFormat::kGrouped,
                                     PackedFormat::kGemm,         PackedFormat::kPanelsPerGroup,
                                     PackedFormat::kWinogradTwo,
                                     PackedFormat::kWinogradFour, PackedFormat::kWinogradFourTwo,
                                     PackedFormat::kWinogradTwoFour};
  return std::find(std::begin(kKnown), std::end(kKnown), static_cast<PackedFormat>(format)) != std::end(kKnown);
}

// Everything that can be said without knowing the plan; Run compares the rest with its own header.
Status CheckHeader(const PackedHeader& header, size_t total_bytes) {
  if (header.magic != PackedHeader::kMagic) return Damaged("bytes of something else (wrong magic)");
  if (header.version != PackedHeader{}.version) {
    return Damaged("version " + std::to_string(header.version) +
                   ", allowed: " + std::to_string(PackedHeader{}.version));
  }
  if (!IsKnown(header.format)) {
    return Damaged("format " + std::to_string(header.format) + " is unknown, allowed: 1 to 4, 6, 7, 9, 10, 16 to 19");
  }
  if (header.groups < 1 || header.ic_g < 1 || header.oc_g < 1 || header.kh < 1 || header.kw < 1) {
    return Damaged("a size in the header is not positive");
  }
  if (header.payload_bytes != total_bytes - kPackedPayloadOffset) {
    return Damaged(std::to_string(total_bytes) + " bytes, the header promises " +
                   std::to_string(header.payload_bytes) + " after the first " +
                   std::to_string(kPackedPayloadOffset));
  }
  return {};
}

// A copy in which denormals are zero of the same sign.
std::vector<float> WithoutDenormals(const float* values, size_t count) {
  std::vector<float> copy(values, values + count);
  for (float& value : copy) {
    if (std::fpclassify(value) == FP_SUBNORMAL) value = std::copysign(0.0f, value);
  }
  return copy;
}

Result<std::shared_ptr<PackedWeights::Rep>> AllocatePacked(MemoryPool& pool, size_t payload_bytes) {
  size_t bytes = 0;
  if (__builtin_add_overflow(payload_bytes, kPackedPayloadOffset, &bytes)) {
    return Status::OutOfMemory();
  }
  auto rep = std::make_shared<PackedWeights::Rep>();
  rep->block = static_cast<std::byte*>(pool.Allocate(bytes));
  if (rep->block == nullptr) return Status::OutOfMemory();
  rep->pool = &pool;
  rep->block_bytes = bytes;
  return rep;
}

}  // namespace

uint64_t PackedChecksum(const std::byte* data, size_t bytes, uint64_t hash) noexcept {
  const auto add = [&hash](uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  const std::byte* const last = data + bytes / sizeof(uint64_t) * sizeof(uint64_t);
  uint64_t word = 0;
  for (; data != last; data += sizeof word) {
    std::memcpy(&word, data, sizeof word);  // of a constant size: one load
    add(word);
  }
  if (bytes % sizeof word == 0) return hash;
  word = 0;  // a partly filled last word is extended by zeros
  std::memcpy(&word, last, bytes % sizeof word);
  add(word);
  return hash;
}

namespace {

// Of header, padding and payload, as if the checksum in the header were 0.
uint64_t BlockChecksum(std::span<const std::byte> block) {
  std::byte head[kPackedPayloadOffset];
  std::memcpy(head, block.data(), sizeof head);
  std::memset(head + offsetof(PackedHeader, checksum), 0, sizeof PackedHeader::checksum);
  return PackedChecksum(block.data() + sizeof head, block.size() - sizeof head, PackedChecksum(head, sizeof head));
}

}  // namespace

PackedWeights::Rep::~Rep() {
  if (pool != nullptr) pool->Free(block);
}

PackedWeights::PackedWeights() noexcept = default;
PackedWeights::PackedWeights(std::shared_ptr<const Rep> rep) noexcept : rep_(std::move(rep)) {}

std::span<const std::byte> PackedWeights::bytes() const noexcept {
  if (rep_ == nullptr) return {};
  return {rep_->block, rep_->block_bytes};
}

Result<PackedWeights> PackedWeights::FromBytes(std::span<const std::byte> bytes,
                                               MemoryPool* pool) try {
  if (bytes.size() < kPackedPayloadOffset) {
    return Damaged(std::to_string(bytes.size()) +
                   " bytes, allowed: " + std::to_string(kPackedPayloadOffset) + " and above");
  }
  if (bytes.data() == nullptr) return Damaged("a null address, allowed: the bytes of PackedWeights");
  PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (Status status = CheckHeader(header, bytes.size()); !status.ok()) return status;
  if (header.checksum != BlockChecksum(bytes)) return Damaged("the checksum does not match the bytes");
  auto rep = AllocatePacked(pool != nullptr ? *pool : MemoryPool::Default(),
                            static_cast<size_t>(header.payload_bytes));
  if (!rep.ok()) return rep.status();
  std::memcpy((*rep)->block, bytes.data(), bytes.size());
  return PackedWeights(std::move(rep).value());
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Result<PackedWeights> Pack(const ConvPlan& plan, const float* oihw, const float* bias,
                           const PackOptions& options) {
  PackedHeader header = plan.packed_header();
  const auto payload_bytes = static_cast<size_t>(header.payload_bytes);
  auto allocated = AllocatePacked(options.pool != nullptr ? *options.pool : MemoryPool::Default(),
                                  payload_bytes);
  if (!allocated.ok()) return allocated.status();
  const std::shared_ptr<PackedWeights::Rep> rep = std::move(allocated).value();
  std::memset(rep->block, 0, rep->block_bytes);
  auto* payload = reinterpret_cast<float*>(rep->block + kPackedPayloadOffset);
  if (options.flush_denormals) {
    const auto oc = static_cast<size_t>(header.groups * header.oc_g);
    const auto count = oc * static_cast<size_t>(header.ic_g * header.kh * header.kw);
    const std::vector<float> weights = WithoutDenormals(oihw, count);
    const std::vector<float> biases = WithoutDenormals(bias, bias != nullptr ? oc : 0);
    plan.Pack(weights.data(), bias != nullptr ? biases.data() : nullptr, payload);
  } else {
    plan.Pack(oihw, bias, payload);
  }
  std::memcpy(rep->block, &header, sizeof header);
  header.checksum = BlockChecksum({rep->block, rep->block_bytes});
  std::memcpy(rep->block, &header, sizeof header);
  return PackedWeights(rep);
}

}  // namespace rafter
