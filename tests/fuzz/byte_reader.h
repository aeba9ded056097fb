// tests/fuzz/byte_reader.h: turns a fuzzer's bytes into choices. Past the end everything is zero,
// so every input means something and short inputs mean simple things.
#ifndef RAFTER_TESTS_FUZZ_BYTE_READER_H_
#define RAFTER_TESTS_FUZZ_BYTE_READER_H_

#include <cstddef>
#include <cstdint>

namespace rafter::fuzz {

class ByteReader {
 public:
  ByteReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t Byte() { return position_ < size_ ? data_[position_++] : uint8_t{0}; }
  bool Flag() { return (Byte() & 1) != 0; }
  // A number in [low, high], from one byte.
  int64_t Between(int64_t low, int64_t high) { return low + Byte() % (high - low + 1); }
  int64_t Int64() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Byte();
    return static_cast<int64_t>(value);
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t position_ = 0;
};

}  // namespace rafter::fuzz

#endif  // RAFTER_TESTS_FUZZ_BYTE_READER_H_
