// tests/fuzz/replay_main.cc: runs a fuzz target without libFuzzer: every file of the given
// directories (or the given files), then seeded random inputs and mutations of those files. The
// same inputs at each run.
//
//   rafter_fuzz_conv_desc CORPUS… [--random=N] [--seed=S]     RAFTER_TEST_REDUCED=1: a quarter of N
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/random_tensor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMaxInputBytes = 96;

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<Bytes> ReadCorpus(const std::string& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path))
      files.push_back(entry.path());
  } else {
    files.emplace_back(path);
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) corpus.push_back(ReadFile(file));
  return corpus;
}

Bytes RandomInput(rafter::testing::Random& random) {
  Bytes input(static_cast<size_t>(random.Between(0, kMaxInputBytes)));
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(random.Next() >> 32);
  return input;
}

Bytes Mutate(Bytes input, rafter::testing::Random& random) {
  const int64_t changes = random.Between(1, 4);
  for (int64_t i = 0; i < changes && !input.empty(); ++i) {
    const auto at = input.begin() + random.Between(0, static_cast<int64_t>(input.size()) - 1);
    switch (random.Between(0, 2)) {
      case 0:
        *at = static_cast<uint8_t>(random.Next() >> 32);
        break;
      case 1:
        input.insert(at, *at);
        break;
      default:
        input.erase(at);
        break;
    }
  }
  return input;
}

void RunInput(const Bytes& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

bool ReadOption(std::string_view argument, std::string_view name, uint64_t& value) {
  if (!argument.starts_with(name)) return false;
  const char* end = argument.data() + argument.size();
  const auto [rest, error] = std::from_chars(argument.data() + name.size(), end, value);
  if (error == std::errc() && rest == end) return true;
  std::fprintf(stderr, "not a number: %s\n", argument.data());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t count = 1500, seed = 1;
  std::vector<Bytes> corpus;
  if (std::getenv("RAFTER_TEST_REDUCED") != nullptr) count /= 4;
  for (int i = 1; i < argc; ++i) {
    if (ReadOption(argv[i], "--random=", count) || ReadOption(argv[i], "--seed=", seed)) continue;
    for (Bytes& input : ReadCorpus(argv[i])) corpus.push_back(std::move(input));
  }
  for (const Bytes& input : corpus) RunInput(input);
  rafter::testing::Random random(seed);
  for (uint64_t i = 0; i < count; ++i) {
    const bool mutate = !corpus.empty() && i % 2 == 0;
    RunInput(mutate ? Mutate(corpus[random.Next() % corpus.size()], random) : RandomInput(random));
  }
  std::printf("%zu inputs of the corpus and %llu others, all fine\n", corpus.size(),
              static_cast<unsigned long long>(count));
  return 0;
}
