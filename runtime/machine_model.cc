// runtime/machine_model.cc: defaults per CPU family, and the model in use.
//
// Sources of the rows: AMD's and Intel's optimisation manuals and uops.info for pipes and
// latencies; bytes per cycle of L2, L3 and memory are round figures for one core (sustained loads,
// not the width of the bus), which is what a choice between algorithms needs. A measured machine
// replaces all of it.
#include "runtime/machine_model.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "runtime/topology.h"

namespace rafter {
namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

enum class Vendor { kAmd, kIntel };

struct Family {
  const char* name;
  double clock_ghz;
  int fma_pipes, fma_latency, load_ports;
  int avx512_vec_bytes_per_fma;
  int64_t l1d_bytes, l2_bytes;
  int64_t max_l3_bytes;  // what one core can reach of one die or core complex
  double l2_bytes_per_cycle, l3_bytes_per_cycle, dram_bytes_per_cycle;
};

// Columns: name, GHz | FMA pipes, FMA latency, load ports, AVX-512 bytes per pipe |
//          L1d, L2, reach in L3 | bytes per cycle of L2, L3, DRAM.
// clang-format off
// Zen 1 splits 256-bit FMAs in two: one per cycle. The L3 is per core complex: 8 or 16 MiB (Zen 1,
// 2), 32 MiB from Zen 3 on, 96 MiB with stacked cache.
constexpr Family kZen1{"AMD Zen", 3.0, 1, 5, 2, 32, 32 * kKiB, 512 * kKiB, 8 * kMiB, 32, 12, 6};
constexpr Family kZen2{"AMD Zen 2", 3.2, 2, 5, 2, 32, 32 * kKiB, 512 * kKiB, 16 * kMiB, 32, 16, 6};
constexpr Family kZen3{"AMD Zen 3", 3.4, 2, 4, 2, 32, 32 * kKiB, 512 * kKiB, 96 * kMiB, 32, 16, 6};
// Zen 4 executes a 512-bit operation in two halves of 256 bits.
constexpr Family kZen4{"AMD Zen 4", 3.6, 2, 4, 2, 32, 32 * kKiB, 1 * kMiB, 96 * kMiB, 32, 18, 7};
constexpr Family kZen5{"AMD Zen 5", 4.0, 2, 4, 2, 64, 48 * kKiB, 1 * kMiB, 96 * kMiB, 60, 20, 8};
constexpr Family kZen5Mobile{
    "AMD Zen 5 mobile", 4.0, 2, 4, 2, 32, 48 * kKiB, 1 * kMiB, 24 * kMiB, 32, 16, 8};
constexpr Family kHaswell{
    "Intel Haswell", 3.2, 2, 5, 2, 32, 32 * kKiB, 256 * kKiB, 55 * kMiB, 28, 10, 5};
constexpr Family kSkylake{
    "Intel Skylake", 3.6, 2, 4, 2, 32, 32 * kKiB, 256 * kKiB, 24 * kMiB, 28, 12, 6};
// The mesh servers: two 512-bit pipes (the cheapest models have one, which CPUID does not tell).
constexpr Family kSkylakeServer{
    "Intel Skylake-SP", 2.8, 2, 4, 2, 64, 32 * kKiB, 1 * kMiB, 39 * kMiB, 48, 8, 5};
constexpr Family kIceLakeServer{
    "Intel Ice Lake-SP", 2.9, 2, 4, 2, 64, 48 * kKiB, 1280 * kKiB, 60 * kMiB, 48, 8, 5};
constexpr Family kSapphireRapids{
    "Intel Sapphire Rapids", 3.0, 2, 4, 2, 64, 48 * kKiB, 2 * kMiB, 320 * kMiB, 48, 8, 5};
// Client cores fuse two 256-bit pipes to one of 512 bits: the same work per cycle as AVX2.
constexpr Family kIceLake{
    "Intel Ice Lake", 3.5, 2, 4, 2, 32, 48 * kKiB, 512 * kKiB, 24 * kMiB, 48, 12, 6};
constexpr Family kTigerLake{
    "Intel Tiger Lake", 3.8, 2, 4, 2, 32, 48 * kKiB, 1280 * kKiB, 24 * kMiB, 48, 12, 6};
constexpr Family kGoldenCove{
    "Intel Golden Cove", 4.2, 2, 4, 3, 32, 48 * kKiB, 1280 * kKiB, 36 * kMiB, 48, 12, 7};
// clang-format on

struct ModelRange {
  Vendor vendor;
  int family, first_model, last_model;
  const Family* row;
};

constexpr ModelRange kModels[] = {
    {Vendor::kAmd, 0x17, 0x00, 0x2F, &kZen1},
    {Vendor::kAmd, 0x17, 0x30, 0xFF, &kZen2},
    {Vendor::kAmd, 0x18, 0x00, 0xFF, &kZen1},  // Hygon
    {Vendor::kAmd, 0x19, 0x00, 0x0F, &kZen3},
    {Vendor::kAmd, 0x19, 0x10, 0x1F, &kZen4},
    {Vendor::kAmd, 0x19, 0x20, 0x5F, &kZen3},
    {Vendor::kAmd, 0x19, 0x60, 0x7F, &kZen4},
    {Vendor::kAmd, 0x19, 0xA0, 0xAF, &kZen4},
    // Strix Point and Krackan have a data path of 256 bits, all other Zen 5 one of 512.
    {Vendor::kAmd, 0x1A, 0x00, 0x1F, &kZen5},
    {Vendor::kAmd, 0x1A, 0x20, 0x3F, &kZen5Mobile},
    {Vendor::kAmd, 0x1A, 0x40, 0x5F, &kZen5},
    {Vendor::kAmd, 0x1A, 0x60, 0x6F, &kZen5Mobile},
    {Vendor::kAmd, 0x1A, 0x70, 0xFF, &kZen5},
    {Vendor::kIntel, 6, 0x3C, 0x3D, &kHaswell},
    {Vendor::kIntel, 6, 0x3F, 0x3F, &kHaswell},
    {Vendor::kIntel, 6, 0x45, 0x47, &kHaswell},
    {Vendor::kIntel, 6, 0x4F, 0x4F, &kHaswell},
    {Vendor::kIntel, 6, 0x56, 0x56, &kHaswell},  // with Broadwell
    {Vendor::kIntel, 6, 0x4E, 0x4E, &kSkylake},
    {Vendor::kIntel, 6, 0x5E, 0x5E, &kSkylake},
    {Vendor::kIntel, 6, 0x8E, 0x8E, &kSkylake},
    {Vendor::kIntel, 6, 0x9E, 0x9E, &kSkylake},
    {Vendor::kIntel, 6, 0xA5, 0xA6, &kSkylake},
    {Vendor::kIntel, 6, 0x55, 0x55, &kSkylakeServer},
    {Vendor::kIntel, 6, 0x6A, 0x6A, &kIceLakeServer},
    {Vendor::kIntel, 6, 0x6C, 0x6C, &kIceLakeServer},
    {Vendor::kIntel, 6, 0x7D, 0x7E, &kIceLake},
    {Vendor::kIntel, 6, 0xA7, 0xA7, &kIceLake},
    {Vendor::kIntel, 6, 0x8C, 0x8D, &kTigerLake},
    {Vendor::kIntel, 6, 0x8F, 0x8F, &kSapphireRapids},
    {Vendor::kIntel, 6, 0xCF, 0xCF, &kSapphireRapids},
    {Vendor::kIntel, 6, 0xAD, 0xAE, &kSapphireRapids},
    {Vendor::kIntel, 6, 0x97, 0x97, &kGoldenCove},
    {Vendor::kIntel, 6, 0x9A, 0x9A, &kGoldenCove},
    {Vendor::kIntel, 6, 0xAA, 0xAA, &kGoldenCove},
    {Vendor::kIntel, 6, 0xAC, 0xAC, &kGoldenCove},
    {Vendor::kIntel, 6, 0xB5, 0xB5, &kGoldenCove},
    {Vendor::kIntel, 6, 0xB7, 0xB7, &kGoldenCove},
    {Vendor::kIntel, 6, 0xBA, 0xBA, &kGoldenCove},
    {Vendor::kIntel, 6, 0xBD, 0xBD, &kGoldenCove},
    {Vendor::kIntel, 6, 0xBF, 0xBF, &kGoldenCove},
    {Vendor::kIntel, 6, 0xC5, 0xC6, &kGoldenCove},
};

const Family* FindFamily(const Topology& topology) noexcept {
  const bool amd = topology.vendor == "AuthenticAMD" || topology.vendor == "HygonGenuine";
  if (!amd && topology.vendor != "GenuineIntel") return nullptr;
  for (const ModelRange& range : kModels) {
    if ((range.vendor == Vendor::kAmd) == amd && range.family == topology.family &&
        range.first_model <= topology.model && topology.model <= range.last_model) {
      return range.row;
    }
  }
  return nullptr;
}

// On virtual cores the threads wait for the host now and then: medians of 2 to 3 us (Zen 3 guest, 2 OpenMP threads).
constexpr double kGuestForkJoinUs = 2.5;

// Caches: sysfs, unless it is silent or a virtual machine contradicts what the family has.
void SetCaches(const CacheInfo& reported, const Family* family, bool hypervisor,
               MachineModel* model) {
  const auto choose = [](int64_t told, int64_t otherwise) { return told > 0 ? told : otherwise; };
  if (family == nullptr) {
    model->l1d_bytes = choose(reported.l1d_bytes, model->l1d_bytes);
    model->l2_bytes = choose(reported.l2_bytes, model->l2_bytes);
    model->l3_bytes = choose(std::min(reported.l3_bytes, 64 * kMiB), model->l3_bytes);
    return;
  }
  model->l1d_bytes = hypervisor ? family->l1d_bytes : choose(reported.l1d_bytes, family->l1d_bytes);
  model->l2_bytes = hypervisor ? family->l2_bytes : choose(reported.l2_bytes, family->l2_bytes);
  const int64_t plausible =
      hypervisor ? std::min(family->max_l3_bytes, 32 * kMiB) : family->max_l3_bytes;
  model->l3_bytes = std::min(choose(reported.l3_bytes, model->l3_bytes), plausible);
}

// Every model ever set stays in this list: references into it are in use for an unknown time.
// Models are set a few times in a process, not in a loop.
struct Entry {
  MachineModel model;
  const Entry* previous = nullptr;
};
std::atomic<const Entry*> newest{nullptr};

}  // namespace

double MachineModel::PeakFlopsPerUs(Isa isa) const noexcept {
  double lanes = 1;
  if (isa == Isa::kAvx2) lanes = 8;
  if (isa == Isa::kAvx512) lanes = avx512_vec_bytes_per_fma / 4.0;
  return clock_ghz * 1000 * fma_pipes * lanes * 2;
}

MachineModel DefaultMachineModel(const Topology& topology) {
  MachineModel model;
  model.name = "generic AVX2";
  const Family* family = FindFamily(topology);
  if (family != nullptr) {
    model.name = family->name;
    model.clock_ghz = family->clock_ghz;
    model.fma_pipes = family->fma_pipes;
    model.fma_latency = family->fma_latency;
    model.load_ports = family->load_ports;
    model.avx512_vec_bytes_per_fma = family->avx512_vec_bytes_per_fma;
    model.l2_bytes_per_cycle = family->l2_bytes_per_cycle;
    model.l3_bytes_per_cycle = family->l3_bytes_per_cycle;
    model.dram_bytes_per_cycle = family->dram_bytes_per_cycle;
  }
  SetCaches(topology.caches, family, topology.hypervisor, &model);
  model.l3_shared = topology.hypervisor;
  if (topology.hypervisor) model.fork_join_us = kGuestForkJoinUs;
  return model;
}

const MachineModel& CurrentMachineModel() noexcept {
  if (const Entry* entry = newest.load(std::memory_order_acquire)) return entry->model;
  try {
    auto* first = new Entry{DefaultMachineModel(ReadTopology())};
    const Entry* present = nullptr;
    if (newest.compare_exchange_strong(present, first, std::memory_order_acq_rel))
      return first->model;
    delete first;  // another thread was faster
    return present->model;
  } catch (const std::bad_alloc&) {
    static const MachineModel last_resort;
    return last_resort;
  }
}

void SetMachineModel(const MachineModel& model) {
  auto* entry = new Entry{model, newest.load(std::memory_order_relaxed)};
  while (!newest.compare_exchange_weak(entry->previous, entry, std::memory_order_acq_rel)) {
  }
}

}  // namespace rafter
