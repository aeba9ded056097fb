// tests/support/guarded_buffer.h: memory between two pages that must not be touched. Generated code
// is invisible to sanitizers; a read or write one byte outside dies here with SIGSEGV instead.
//
// The data either end exactly at the upper guard page or start exactly behind the lower one.
// Everything is filled with a quiet NaN of a known pattern, so that whatever is read by mistake
// shows in the results and whatever is written by mistake can be found.
#ifndef RAFTER_TESTS_SUPPORT_GUARDED_BUFFER_H_
#define RAFTER_TESTS_SUPPORT_GUARDED_BUFFER_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace rafter::testing {

enum class Guard { kAtEnd, kAtStart };

inline constexpr uint32_t kPoisonBits = 0x7fc0dead;
inline float Poison() { return std::bit_cast<float>(kPoisonBits); }
inline bool IsPoison(float value) { return std::bit_cast<uint32_t>(value) == kPoisonBits; }

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // `floats` elements. With kAtEnd the start is rounded down to `alignment` bytes, which leaves a
  // few poisoned bytes before the guard page when the size is no multiple of it.
  explicit GuardedBuffer(size_t floats, Guard guard = Guard::kAtEnd, size_t alignment = 4)
      : floats_(floats) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = floats * sizeof(float);
    inner_bytes_ = std::max(page, (bytes + page - 1) / page * page);
    mapping_bytes_ = inner_bytes_ + 2 * page;
    void* mapping = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<std::byte*>(mapping);
    inner_ = mapping_ + page;
    if (mprotect(inner_, inner_bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    const size_t offset =
        guard == Guard::kAtStart ? 0 : (inner_bytes_ - bytes) / alignment * alignment;
    data_ = reinterpret_cast<float*>(inner_ + offset);
    std::fill_n(reinterpret_cast<uint32_t*>(inner_), inner_bytes_ / sizeof(float), kPoisonBits);
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept { swap(other); }
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedBuffer() {
    if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
  }

  float* data() { return data_; }
  const float* data() const { return data_; }
  size_t size() const { return floats_; }
  float& operator[](int64_t index) { return data_[index]; }
  const float& operator[](int64_t index) const { return data_[index]; }

  // From now on a write dies as well.
  void MakeReadOnly() { (void)mprotect(inner_, inner_bytes_, PROT_READ); }

  // Whether the bytes between the data and the ends of the inner pages still hold the poison.
  bool SlackIntact() const {
    const float* begin = reinterpret_cast<const float*>(inner_);
    const float* end = begin + inner_bytes_ / sizeof(float);
    return std::all_of(begin, static_cast<const float*>(data_), IsPoison) &&
           std::all_of(static_cast<const float*>(data_) + floats_, end, IsPoison);
  }

 private:
  void swap(GuardedBuffer& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(inner_, other.inner_);
    std::swap(data_, other.data_);
    std::swap(mapping_bytes_, other.mapping_bytes_);
    std::swap(inner_bytes_, other.inner_bytes_);
    std::swap(floats_, other.floats_);
  }

  std::byte* mapping_ = nullptr;
  std::byte* inner_ = nullptr;  // between the guard pages
  float* data_ = nullptr;
  size_t mapping_bytes_ = 0, inner_bytes_ = 0, floats_ = 0;
};

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_GUARDED_BUFFER_H_
