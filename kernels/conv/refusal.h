// kernels/conv/refusal.h: why an algorithm does not take a problem. Plans are made often and their refusals
// read rarely, so the sentence is put together only when somebody asks for it.
#ifndef RAFTER_KERNELS_CONV_REFUSAL_H_
#define RAFTER_KERNELS_CONV_REFUSAL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rafter {

class Refusal {
 public:
  static constexpr size_t kMaxValues = 4;

  Refusal() noexcept = default;  // empty: not refused
  // A sentence as it is. `literal` must outlive the refusal.
  Refusal(const char* literal) noexcept : format_(literal) {}  // NOLINT: implicit on purpose
  // A sentence in which each '#' stands for the next of `values`:
  // {"the kernel is #x#, not 1x1", {3, 3}}. Costs nothing until text().
  Refusal(const char* format, std::array<int64_t, kMaxValues> values) noexcept
      : format_(format), values_(values), has_values_(true) {}
  // Any other text; allocates, so only for what is rare.
  Refusal(std::string text)  // NOLINT: implicit on purpose
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}

  bool empty() const noexcept { return *format_ == '\0' && !text_; }
  // The sentence. May throw bad_alloc.
  std::string text() const;

 private:
  const char* format_ = "";
  std::array<int64_t, kMaxValues> values_{};
  bool has_values_ = false;
  std::unique_ptr<const std::string> text_;
};

inline bool operator==(const Refusal& refusal, std::string_view text) {
  return std::string_view(refusal.text()) == text;
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_REFUSAL_H_
