// kernels/c_structs.h: the structs of rafter_c.h, whatever version of the header the caller has, as
// those of the C++ interface.
#ifndef RAFTER_KERNELS_C_STRUCTS_H_
#define RAFTER_KERNELS_C_STRUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "rafter/conv.h"
#include "rafter/rafter_c.h"
#include "rafter/status.h"

namespace rafter {

// Sizes in the first version of the header. They never change; structs only grow behind them.
inline constexpr size_t kDescBytesV1 = sizeof(rafter_conv_desc);
inline constexpr size_t kOptionsBytesV1 = offsetof(rafter_conv_options, plan);
inline constexpr size_t kRunOptionsBytesV1 = offsetof(rafter_run_options, pool);
inline constexpr size_t kCostBytesV1 = sizeof(rafter_conv_cost);

// No header of ours will ever have a larger struct: a size beyond is an uninitialised field, not a newer header.
inline constexpr size_t kMostStructBytes = 4096;

// A copy of the struct at `given`, whose size the caller states as `bytes` in the field `field`. Fields that an older
// header does not have are zero, those of a newer one must be. `known` is the size that the first version had.
template <typename Struct>
Result<Struct> CopySized(const void* given, size_t bytes, size_t known, const std::string& field) {
  if (bytes < known || bytes > kMostStructBytes) {
    return Status::InvalidArgument(field + ": " + std::to_string(bytes) + " is too " +
                                   (bytes < known ? "small" : "large") + ", allowed: the size of the struct, " +
                                   std::to_string(sizeof(Struct)));
  }
  const auto* raw = static_cast<const unsigned char*>(given);
  if (bytes > sizeof(Struct) && std::any_of(raw + sizeof(Struct), raw + bytes,
                                            [](unsigned char byte) { return byte != 0; })) {
    return Status::Unsupported(field + ": fields that this library does not know are set");
  }
  Struct copy{};
  std::memcpy(&copy, given, std::min(bytes, sizeof(Struct)));
  return copy;
}

// The same for a struct that says its own size.
template <typename Struct>
Result<Struct> Sized(const Struct& given, size_t known, const char* name) {
  return CopySized<Struct>(&given, given.struct_bytes, known, std::string(name) + ".struct_bytes");
}

// Element `index` of an array whose elements have `bytes` bytes, as the field `field` says.
template <typename Struct>
Result<Struct> ElementOf(const Struct* array, size_t index, size_t bytes, const char* field) {
  const bool fits = bytes >= sizeof(Struct) && bytes <= kMostStructBytes;  // if not, there is no element to point at
  const auto* element = reinterpret_cast<const unsigned char*>(array) + (fits ? index * bytes : 0);
  return CopySized<Struct>(element, bytes, sizeof(Struct), field);
}

// A field that is 0 or 1: anything else is most likely not initialised.
Status CheckFlag(const std::string& field, int32_t value);

// All strides zero: dense. A layout that does not exist stays one, which no description passes with.
TensorFormat ToFormat(const rafter_format& format);

// Null options are the defaults. May throw bad_alloc.
Result<ConvDesc> ToDesc(const rafter_conv_desc* given);
Result<ConvOptions> ToOptions(const rafter_conv_options* given);

}  // namespace rafter

#endif  // RAFTER_KERNELS_C_STRUCTS_H_
