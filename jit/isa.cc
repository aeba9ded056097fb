// jit/isa.cc: which instruction sets exist, which this machine and its operating system allow, and
// which new plans use. The table is the only description of a set; what a set cannot do in one
// instruction is hidden by jit/assembler.h.
#include "jit/isa.h"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace rafter {
namespace jit {
namespace {

constexpr std::array<IsaInfo, 3> kIsaTable = {{
    {.isa = Isa::kNone, .name = "none", .vec_bytes = 0, .num_vecs = 0, .has_opmask = false},
    {.isa = Isa::kAvx2, .name = "avx2", .vec_bytes = 32, .num_vecs = 16, .has_opmask = false},
    {.isa = Isa::kAvx512, .name = "avx512", .vec_bytes = 64, .num_vecs = 32, .has_opmask = true},
}};

// CPUID leaf 1, ECX.
constexpr uint32_t kFma = 1u << 12;
constexpr uint32_t kOsxsave = 1u << 27;
constexpr uint32_t kAvx = 1u << 28;
// CPUID leaf 7, EBX.
constexpr uint32_t kAvx2 = 1u << 5;
constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
// XCR0: register state that the operating system saves at a context switch.
constexpr uint64_t kYmmState = 1u << 1 | 1u << 2;  // XMM, upper halves of YMM
constexpr uint64_t kZmmState =
    kYmmState | 1u << 5 | 1u << 6 | 1u << 7;  // opmask, ZMM0-15, ZMM16-31

template <typename Word>
bool HasAll(Word word, Word bits) {
  return (word & bits) == bits;
}

// The cap that the environment asks for.
struct MaxIsaSetting {
  Isa cap = Isa::kAvx512;
  char unknown_text[64] = "";
};

MaxIsaSetting ReadMaxIsaSetting() noexcept {
  MaxIsaSetting setting;
  const char* text = std::getenv("RAFTER_MAX_ISA");
  if (text == nullptr || *text == '\0') return setting;
  for (const IsaInfo& row : kIsaTable) {
    if (std::strcmp(text, row.name) == 0) {
      setting.cap = row.isa;
      return setting;
    }
  }
  std::strncpy(setting.unknown_text, text, sizeof setting.unknown_text - 1);
  return setting;
}

const MaxIsaSetting& GetMaxIsaSetting() noexcept {
  static const MaxIsaSetting setting = ReadMaxIsaSetting();
  return setting;
}

std::atomic<Isa> api_cap{Isa::kAvx512};

}  // namespace

const IsaInfo& GetIsaInfo(Isa isa) noexcept {
  const size_t row = static_cast<size_t>(isa);
  return kIsaTable[row < kIsaTable.size() ? row : 0];
}

std::string_view UnknownMaxIsaText() noexcept { return GetMaxIsaSetting().unknown_text; }

CpuidWords ReadCpuidWords() noexcept {
  CpuidWords words;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return words;
  words.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) words.leaf7_ebx = ebx;
  if (HasAll(words.leaf1_ecx, kOsxsave)) {
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // _xgetbv would need -mxsave
    words.xcr0 = static_cast<uint64_t>(high) << 32 | low;
  }
  return words;
}

Isa IsaFromCpuid(const CpuidWords& words) noexcept {
  const bool avx2 = HasAll(words.leaf1_ecx, kOsxsave | kAvx | kFma) &&
                    HasAll(words.leaf7_ebx, kAvx2) && HasAll(words.xcr0, kYmmState);
  if (!avx2) return Isa::kNone;
  const bool avx512 = HasAll(words.leaf7_ebx, kAvx512) && HasAll(words.xcr0, kZmmState);
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}

}  // namespace jit

Isa DetectedIsa() noexcept {
  static const Isa isa = jit::IsaFromCpuid(jit::ReadCpuidWords());
  return isa;
}

Isa EffectiveIsa() noexcept {
  const Isa cap =
      std::min(jit::GetMaxIsaSetting().cap, jit::api_cap.load(std::memory_order_relaxed));
  return std::min(DetectedIsa(), cap);
}

void SetMaxIsa(Isa isa) noexcept { jit::api_cap.store(isa, std::memory_order_relaxed); }

const char* IsaName(Isa isa) noexcept { return jit::GetIsaInfo(isa).name; }

Result<Isa> ParseIsa(std::string_view name) {
  for (const jit::IsaInfo& row : jit::kIsaTable) {
    if (name == row.name) return row.isa;
  }
  std::string allowed;
  for (const jit::IsaInfo& row : jit::kIsaTable) {
    allowed += allowed.empty() ? "" : ", ";
    allowed += row.name;
  }
  return Status::InvalidArgument("isa: \"" + std::string(name) + "\"; allowed: " + allowed);
}

}  // namespace rafter
