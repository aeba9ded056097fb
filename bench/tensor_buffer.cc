// bench/tensor_buffer.cc: aligned memory with huge pages advised, and its content.
#include "bench/tensor_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/sizes.h"

namespace rafter::bench {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

TensorBuffer::TensorBuffer(size_t elements) noexcept {
  if (elements > SIZE_MAX / sizeof(float) / 2) return;
  const size_t bytes = elements * sizeof(float);
  const size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kLineBytes;
  void* block = nullptr;
  // One line more than asked: a buffer of zero elements is valid, too.
  if (posix_memalign(&block, alignment, bytes + kLineBytes) != 0) return;
  if (bytes >= kHugePageBytes) madvise(block, bytes, MADV_HUGEPAGE);
  std::memset(block, 0, bytes + kLineBytes);
  data_ = static_cast<float*>(block);
  size_ = elements;
}

TensorBuffer::~TensorBuffer() { std::free(data_); }

TensorBuffer::TensorBuffer(TensorBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

TensorBuffer& TensorBuffer::operator=(TensorBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void FillRandom(std::span<float> values, uint64_t seed) noexcept {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& value : values) {
    // splitmix64; the upper 24 bits make a float in [-1, 1) exactly.
    state += 0x9e3779b97f4a7c15u;
    uint64_t bits = state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    value = static_cast<float>(bits >> 40) * (1.0f / (1 << 23)) - 1.0f;
  }
}

}  // namespace rafter::bench
