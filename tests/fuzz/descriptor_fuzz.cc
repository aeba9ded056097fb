// tests/fuzz/descriptor_fuzz.cc: any text is a problem or is refused with a position inside it;
// what was understood prints as a text that means the same, in both forms.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/descriptor.h"

namespace {

using rafter::StatusCode;
using rafter::bench::Descriptor;
using rafter::bench::DescriptorForm;
using rafter::bench::ParseDescriptor;
using rafter::bench::PrintDescriptor;

[[noreturn]] void Fail(std::string_view text, const std::string& what) {
  std::fprintf(stderr, "\"%.*s\": %s\n", static_cast<int>(text.size()), text.data(), what.c_str());
  std::abort();
}

void CheckError(std::string_view text, const rafter::Status& status, size_t position) {
  if (status.code() != StatusCode::kInvalidArgument && status.code() != StatusCode::kUnsupported) {
    Fail(text, std::string("refused with ") + StatusCodeName(status.code()));
  }
  if (status.message().empty()) Fail(text, "refused without a message");
  if (position > text.size() + 1)
    Fail(text, "the error lies behind the text: " + std::to_string(position));
}

// Printing is stable: print(parse(print(x))) == print(x).
void CheckRoundTrip(std::string_view text, const Descriptor& descriptor, DescriptorForm form) {
  const std::string printed = PrintDescriptor(descriptor, form);
  const auto again = ParseDescriptor(printed);
  if (!again.ok()) {
    Fail(text, "printed as \"" + printed + "\", refused: " + std::string(again.status().message()));
  }
  const std::string reprinted = PrintDescriptor(*again, form);
  if (reprinted != printed)
    Fail(text, "printed as \"" + printed + "\", then as \"" + reprinted + "\"");
  const rafter::ConvDesc &a = descriptor.desc, &b = again->desc;
  if (a.n != b.n || a.groups != b.groups || a.ic != b.ic || a.oc != b.oc || a.in != b.in ||
      a.kernel != b.kernel || a.stride != b.stride || a.dilation != b.dilation) {
    Fail(text, "printed as \"" + printed + "\", which is another problem");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t position = 0;
  const auto descriptor = ParseDescriptor(text, &position);
  if (!descriptor.ok()) {
    CheckError(text, descriptor.status(), position);
    return 0;
  }
  for (const DescriptorForm form : {DescriptorForm::kShort, DescriptorForm::kCanonical}) {
    CheckRoundTrip(text, *descriptor, form);
  }
  return 0;
}
