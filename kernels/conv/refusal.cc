// kernels/conv/refusal.cc: see refusal.h.
#include "kernels/conv/refusal.h"

namespace rafter {

std::string Refusal::text() const {
  if (text_) return *text_;
  if (!has_values_) return format_;
  std::string text;
  size_t next = 0;
  for (const char* at = format_; *at != '\0'; ++at) {
    if (*at == '#' && next < kMaxValues) {
      text += std::to_string(values_[next++]);
    } else {
      text += *at;
    }
  }
  return text;
}

}  // namespace rafter
