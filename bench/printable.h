// bench/printable.h: texts that users hand over and see: of unknown origin (a file that is no list, an argument) as a
// message may show it, in pieces, counted.
#ifndef RAFTER_BENCH_PRINTABLE_H_
#define RAFTER_BENCH_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rafter::bench {

// Bytes that are no printable text (control characters, what is no UTF-8) become \x1b and the like, so that nothing
// reaches a terminal as a command. At most `most_bytes` bytes, then "...".
std::string Printable(std::string_view text, size_t most_bytes = 80);

// The offset of the first control character, line ends and tabulators included, in names on one line. npos: none.
size_t FindUnprintable(std::string_view text) noexcept;

// The offset of the first control character, in texts that are for people; blanks of all kinds are none. npos: none.
size_t FindControl(std::string_view text) noexcept;

// "1 case", "3 cases".
std::string Counted(size_t count, std::string_view noun);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_PRINTABLE_H_
