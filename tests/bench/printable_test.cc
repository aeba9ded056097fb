// Tests of bench/printable.
#include "bench/printable.h"

#include <gtest/gtest.h>

namespace rafter::bench {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("ic8ih8oc8kh3 \"name\""), "ic8ih8oc8kh3 \"name\"");
  EXPECT_EQ(Printable("é…\xf0\x9f\x98\x80"), "é…\xf0\x9f\x98\x80");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(Printable(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(Printable("\xff\xc3("), "\\xff\\xc3(");  // no UTF-8
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");    // cut off
  EXPECT_EQ(Printable("\xc2\x9b" "31m"), "\\xc2\\x9b" "31m");  // a control sequence of one character
}

TEST(Printable, ShortensBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(Printable("abcd\x01", 6), "abcd...");
  EXPECT_EQ(Printable("abcdeé", 6), "abcde...");
}

TEST(Printable, FindsControlCharacters) {
  EXPECT_EQ(FindControl("a b\t\r\n\v\fé"), std::string_view::npos);
  EXPECT_EQ(FindControl("ab\x1b"), 2u);
  EXPECT_EQ(FindControl("\x7f"), 0u);
  EXPECT_EQ(FindUnprintable("a\xc2\x9b" "31m"), 1u);
  EXPECT_EQ(FindUnprintable("a\xc2\"\xc2"), std::string_view::npos);  // halves of characters
}

}  // namespace
}  // namespace rafter::bench
