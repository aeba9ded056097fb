// kernels/inline_vector.h: a vector whose first elements need no allocation, for the short lists of a plan: making
// a plan takes about a microsecond, of which each allocation would be several percent.
//
// For trivially copyable elements only. Unlike std::vector's, pointers to elements do not survive a move.
#ifndef RAFTER_KERNELS_INLINE_VECTOR_H_
#define RAFTER_KERNELS_INLINE_VECTOR_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace rafter {

template <typename T, size_t kInline>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && kInline > 0);

 public:
  InlineVector() noexcept = default;
  InlineVector(const InlineVector& other) { Append(other); }
  InlineVector(InlineVector&& other) noexcept { Take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this == &other) return *this;
    clear();
    Append(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) Take(other);
    return *this;
  }

  // Throws bad_alloc beyond kInline elements.
  void push_back(const T& value) {
    if (size_ == capacity_) {
      const T copy = value;  // may be one of ours
      Grow();
      data()[size_++] = copy;
      return;
    }
    data()[size_++] = value;
  }
  void clear() noexcept { size_ = 0; }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return heap_ ? heap_.get() : reinterpret_cast<T*>(inline_); }
  const T* data() const noexcept {
    return heap_ ? heap_.get() : reinterpret_cast<const T*>(inline_);
  }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](size_t i) noexcept { return data()[i]; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }

  bool operator==(const InlineVector& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void Append(const InlineVector& other) {
    for (const T& value : other) push_back(value);
  }
  void Take(InlineVector& other) noexcept {
    heap_ = std::move(other.heap_);
    if (!heap_) std::memcpy(inline_, other.inline_, other.size_ * sizeof(T));
    size_ = other.size_, capacity_ = other.capacity_;
    other.size_ = 0, other.capacity_ = kInline;
  }
  void Grow() {
    std::unique_ptr<T[]> bigger(new T[capacity_ * 2]);
    std::copy_n(data(), size_, bigger.get());
    heap_ = std::move(bigger);
    capacity_ *= 2;
  }

  size_t size_ = 0, capacity_ = kInline;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[kInline * sizeof(T)];  // the first size_ elements are set
};

}  // namespace rafter

#endif  // RAFTER_KERNELS_INLINE_VECTOR_H_
