// bench/printable.cc: see printable.h.
#include "bench/printable.h"

namespace rafter::bench {
namespace {

unsigned char ByteAt(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// U+0080 to U+009F, which terminals take as commands, too.
bool IsLateControl(std::string_view text, size_t at) {
  if (ByteAt(text, at) != 0xc2 || at + 1 >= text.size()) return false;
  const unsigned char next = ByteAt(text, at + 1);
  return next >= 0x80 && next < 0xa0;  // others do not belong to it
}

// Bytes of the printable character that begins at `at`; 0: there is none. Of UTF-8 the forms suffice: a terminal
// decides what it shows for a code point, but takes no command from one beyond U+009F.
size_t PrintableLength(std::string_view text, size_t at) {
  const unsigned char first = ByteAt(text, at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || length > text.size() - at) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((ByteAt(text, at + i) & 0xc0) != 0x80) return 0;
  }
  return IsLateControl(text, at) ? 0 : length;
}

// As "\x1b".
std::string Escaped(unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

std::string Printable(std::string_view text, size_t most_bytes) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = PrintableLength(text, at);
    const std::string piece = length > 0 ? std::string(text.substr(at, length)) : Escaped(ByteAt(text, at));
    if (shown.size() + piece.size() > most_bytes) return shown + "...";
    shown += piece;
    at += length > 0 ? length : 1;
  }
  return shown;
}

size_t FindUnprintable(std::string_view text) noexcept {
  for (size_t at = 0; at < text.size(); ++at) {
    const unsigned char c = ByteAt(text, at);
    if (c < 0x20 || c == 0x7f || IsLateControl(text, at)) return at;
  }
  return std::string_view::npos;
}

size_t FindControl(std::string_view text) noexcept {
  for (size_t at = 0; at < text.size(); ++at) {
    const unsigned char c = ByteAt(text, at);
    const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    if ((c < 0x20 && !blank) || c == 0x7f) return at;
  }
  return std::string_view::npos;
}

std::string Counted(size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace rafter::bench
