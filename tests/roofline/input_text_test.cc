// Tests of roofline/input_text.h: endless and deeply nested input is refused.
#include "roofline/input_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace rafter::roofline {
namespace {

std::string Repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(ReadText, ReadsAllUpToTheLimit) {
  std::istringstream stream(Repeated("0123456789", 20'000));
  const Result<std::string> text = ReadText(stream, 200'000);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), 200'000u);
  std::istringstream again(*text);
  EXPECT_EQ(ReadText(again, 199'999).status().code(), StatusCode::kInvalidArgument);
  std::istringstream empty;
  EXPECT_EQ(*ReadText(empty), "");
}

TEST(ReadTextFile, RefusesDevicesAndDirectories) {
  EXPECT_EQ(ReadTextFile("/dev/zero").status().message(), "is no text: it has a NUL byte");
  EXPECT_EQ(ReadTextFile("/tmp").status().message(), "cannot be read");
  EXPECT_EQ(ReadTextFile("/nowhere").status().message(), "cannot be read");
  EXPECT_EQ(*ReadTextFile("/dev/null"), "");
}

TEST(ReadTextFile, AnswersOnPipes) {
  const std::string path = ::testing::TempDir() + "rafter_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadTextFile(path, kMostInputBytes, 20).status().message(), "is a pipe that nobody writes to");
  std::thread writer([&] {
    std::ofstream file(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // connected, but silent for longer than is waited
    file << "text" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    file << " in two pieces";
  });
  Result<std::string> text = Status::InvalidArgument("");
  for (int i = 0; i < 1000 && !text.ok(); ++i) text = ReadTextFile(path, kMostInputBytes, 5);
  writer.join();
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "text in two pieces");
  std::remove(path.c_str());
}

TEST(ParseJson, SaysWhereWithoutNamesOfLibraries) {
  const std::string what(ParseJson("{\"a\":\n").status().message());
  EXPECT_TRUE(what.starts_with("line 2, column 1: ")) << what;
  EXPECT_EQ(what.find("json.exception"), std::string::npos) << what;
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(ParseJson(Repeated("[", 64) + Repeated("]", 64)).ok());
  EXPECT_FALSE(ParseJson(Repeated("[", 65) + Repeated("]", 65)).ok());
  const Result<nlohmann::ordered_json> deep = ParseJson(Repeated("{\"a\":", 50'000) + "1" + Repeated("}", 50'000));
  EXPECT_EQ(deep.status().message(), "nested too deeply; allowed: 64 levels");
  EXPECT_TRUE(ParseJson("{\"a\": \"" + Repeated("[\\\"", 100) + "\"}").ok());  // brackets of a string
  EXPECT_FALSE(ParseJson("{").ok());
}

}  // namespace
}  // namespace rafter::roofline
