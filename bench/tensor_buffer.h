// bench/tensor_buffer.h: memory of a benchmarked tensor: same alignment, page kind and content for
// every library, touched before use.
#ifndef RAFTER_BENCH_TENSOR_BUFFER_H_
#define RAFTER_BENCH_TENSOR_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace rafter::bench {

// Zeroed floats, aligned to 64 bytes; from 2 MiB on to 2 MiB, with huge pages advised.
// Empty (data() == nullptr) when the memory is exhausted.
class TensorBuffer {
 public:
  TensorBuffer() = default;
  explicit TensorBuffer(size_t elements) noexcept;
  ~TensorBuffer();
  TensorBuffer(TensorBuffer&& other) noexcept;
  TensorBuffer& operator=(TensorBuffer&& other) noexcept;
  TensorBuffer(const TensorBuffer&) = delete;
  TensorBuffer& operator=(const TensorBuffer&) = delete;

  float* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  std::span<float> span() const noexcept { return {data_, size_}; }

 private:
  float* data_ = nullptr;
  size_t size_ = 0;
};

// Uniform values in [-1, 1) with random mantissas; deterministic for a seed.
void FillRandom(std::span<float> values, uint64_t seed) noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_TENSOR_BUFFER_H_
