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
inline constexpr size_t kPostOpBytesV1 = sizeof(rafter_post_op);
inline constexpr size_t kOptionsBytesV1 = offsetof(rafter_conv_options, plan);
inline constexpr size_t kRunOptionsBytesV1 = sizeof(rafter_run_options);
inline constexpr size_t kCostBytesV1 = sizeof(rafter_conv_cost);

// A copy of `given` in which fields that an older header does not have are zero. `known` is the
// size that the first version of the struct had.
template <typename Struct>
Result<Struct> Sized(const Struct& given, size_t known, const char* name) {
  const size_t bytes = given.struct_bytes;
  if (bytes < known) {
    return Status::InvalidArgument(std::string(name) + ".struct_bytes: " + std::to_string(bytes) +
                                   " is too small, allowed: the size of the struct, " +
                                   std::to_string(sizeof(Struct)));
  }
  const auto* raw = reinterpret_cast<const unsigned char*>(&given);
  if (bytes > sizeof(Struct) && std::any_of(raw + sizeof(Struct), raw + bytes,
                                            [](unsigned char byte) { return byte != 0; })) {
    return Status(StatusCode::kUnsupported,
                  "struct_bytes: fields that this library does not know are set");
  }
  Struct copy{};
  std::memcpy(&copy, &given, std::min(bytes, sizeof(Struct)));
  return copy;
}

// All strides zero: dense.
TensorFormat ToFormat(const rafter_format& format);

// Null options are the defaults. May throw bad_alloc.
Result<ConvDesc> ToDesc(const rafter_conv_desc* given);
Result<ConvOptions> ToOptions(const rafter_conv_options* given);

}  // namespace rafter

#endif  // RAFTER_KERNELS_C_STRUCTS_H_
