// bench/gbench_cases.cc: see gbench_cases.h.
#include "bench/gbench_cases.h"

#include <string_view>
#include <utility>

#include "bench/descriptor.h"
#include "kernels/conv/dispatch.h"

namespace rafter::bench {
namespace {

// One layer per kind that some algorithm may specialise in, the common ones first.
constexpr const char* kLayers[] = {
    "mb1ic64ih56oc64oh56kh3ph1",   // 3x3
    "mb1ic256ih56oc64oh56kh1ph0",  // 1x1
    "mb1ic128ih28oc128oh28kh3ph1",    "mb1ic512ih7oc2048oh7kh1ph0",
    "mb1ic3ih224oc64oh112kh7sh2ph3",   // first layer
    "mb1g32ic32ih112oc32oh112kh3ph1",  // depthwise
    "mb1g32ic128ih56oc128oh56kh3ph1",  // grouped
    "mb1ic16ih14oc32oh14kh3ph1",       // small
    "mb1ic64ih112oc1oh112kh3ph1",      // one output channel
    "mb1ic48ih56oc12oh56kh3ph1",       // lanes that output channels do not fill
    "mb1ic64ih56oc21oh56kh1ph0",       // … of a matrix product
    "mb1g32ic256ih28oc256oh28kh3ph1",  // 8 channels per group
    "mb1g32ic64ih56oc64oh56kh3ph1",    // 2 channels per group
};
constexpr size_t kLayersPerFamily = 3;
// Plain loops need seconds for a full-sized layer.
constexpr const char* kReferenceLayer = "mb1ic16ih14oc32oh14kh3ph1";

// Whether exactly this algorithm takes the layer with kernels of exactly this set.
bool Takes(const GbenchCase& candidate) {
  const Result<Conv> conv = candidate.Create();
  return conv.ok() && conv->isa() == candidate.isa && conv->algorithm() == candidate.algorithm;
}

struct Formats {
  Layout src, dst;
};
// The mixed pair for those that only change layouts.
constexpr Formats kFormats[] = {{Layout::kNhwc, Layout::kNhwc},
                                {Layout::kNchw, Layout::kNchw},
                                {Layout::kNchw16c, Layout::kNchw16c},
                                {Layout::kNchw8c, Layout::kNchw8c},
                                {Layout::kNhwc, Layout::kNchw}};

// The first layers that the family takes in the first layouts in which it takes any.
void AddFamily(const char* algorithm, Isa isa, std::vector<GbenchCase>& cases) {
  size_t taken = 0;
  for (const Formats& formats : kFormats) {
    for (const char* layer : kLayers) {
      if (isa == Isa::kNone && std::string_view(layer) != kReferenceLayer) continue;
      const Result<Descriptor> descriptor = ParseDescriptor(layer);
      if (!descriptor.ok()) continue;
      GbenchCase candidate{algorithm, isa, layer, descriptor->desc};
      candidate.desc.src.layout = formats.src, candidate.desc.dst.layout = formats.dst;
      if (!Takes(candidate)) continue;
      cases.push_back(std::move(candidate));
      if (++taken == kLayersPerFamily) return;
    }
    if (taken > 0) return;
  }
}

}  // namespace

std::string GbenchCase::name() const { return algorithm + "/" + IsaName(isa) + "/" + descriptor; }

Result<Conv> GbenchCase::Create() const {
  SetMaxIsa(isa);
  ConvOptions options;
  options.threads = 1;
  options.algorithm = algorithm;
  Result<Conv> conv = Conv::Create(desc, options);
  SetMaxIsa(Isa::kAvx512);
  return conv;
}

std::vector<GbenchCase> EnumerateGbenchCases() {
  std::vector<GbenchCase> cases;
  const Isa most = EffectiveIsa();
  for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
    for (Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
      if (isa <= most) AddFamily(algorithm.name, isa, cases);
    }
  }
  return cases;
}

}  // namespace rafter::bench
