// kernels/conv/plan.h: the interface that every convolution algorithm implements, and the packed weights
// that plans of one layer share.
#ifndef RAFTER_KERNELS_CONV_PLAN_H_
#define RAFTER_KERNELS_CONV_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/conv/problem.h"
#include "kernels/conv/refusal.h"
#include "kernels/conv/tile_choice.h"
#include "rafter/conv.h"
#include "rafter/cost.h"
#include "runtime/machine_model.h"

namespace rafter {

// What determines the bytes of packed weights. Written as the header of the packed block.
struct PackedHeader {
  static constexpr uint32_t kMagic = 0x52465457;  // "WTFR" in memory
  uint32_t magic = kMagic;
  uint32_t version = 3;       // 3: the checksum covers the header
  uint32_t format = 0;        // a PackedFormat
  uint32_t vec_lanes = 0;     // lanes per vector, 0 where it does not matter
  int64_t groups = 0, ic_g = 0, oc_g = 0, kh = 0, kw = 0;
  uint64_t payload_bytes = 0; // after the header, starts at kPackedPayloadOffset
  uint64_t checksum = 0;      // FNV-1a of the whole block with 0 here, in 8-byte words
};
enum class PackedFormat : uint32_t {
  kPlain = 1, kPanels = 2, kWidthwise = 3, kDepthwise = 4, kSplitK = 6, kGrouped = 7, kGemm = 9,
  kPanelsPerGroup = 10,
  kWinogradTwo = 16, kWinogradFour = 17, kWinogradFourTwo = 18, kWinogradTwoFour = 19
};
inline constexpr size_t kPackedPayloadOffset = 128;  // a multiple of the cache line
static_assert(sizeof(PackedHeader) <= kPackedPayloadOffset);

// The block itself: header, padding, payload; aligned to 64 bytes.
struct PackedWeights::Rep {
  MemoryPool* pool = nullptr;
  std::byte* block = nullptr;
  size_t block_bytes = 0;
  Rep() = default;
  Rep(const Rep&) = delete;
  Rep& operator=(const Rep&) = delete;
  ~Rep();
  const PackedHeader& header() const { return *reinterpret_cast<const PackedHeader*>(block); }
  const float* payload() const {
    return reinterpret_cast<const float*>(block + kPackedPayloadOffset);
  }
};

// Everything that a plan was asked for, beyond the problem itself.
struct PlanContext {
  Isa isa = Isa::kNone;
  int threads = 1;                       // at least 1
  Accuracy accuracy = Accuracy::kDefault;
  const MachineModel* machine = nullptr; // never null
  TileChoice tile{};                     // zeros: chosen by the cost model
  // An algorithm that never beats another one may refuse without a look at the problem, unless it was asked for
  // by name, by wisdom, or to be measured.
  bool steps_aside = false;
};

// Pointers of one call, checked.
struct ConvCall {
  const float* src = nullptr;
  const float* weights = nullptr;        // payload of the packed weights
  float* dst = nullptr;
  const float* const* residuals = nullptr;
  std::byte* scratch = nullptr;          // scratch_bytes(), aligned to 64 bytes
  ParallelFor* pool = nullptr;           // never null
  int threads = 1;                       // limit for this call, at least 1
};

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual const char* algorithm() const noexcept = 0;
  virtual const std::string& kernel_name() const noexcept = 0;
  virtual Isa isa() const noexcept = 0;
  virtual size_t scratch_bytes() const noexcept { return 0; }
  virtual int threads() const noexcept = 0;
  // Layout of the packed weights: everything but payload and checksum.
  virtual PackedHeader packed_header() const noexcept = 0;
  // Fills the payload (zeroed before). `oihw` dense, `bias` of oc values or null.
  virtual void Pack(const float* oihw, const float* bias, float* payload) const noexcept = 0;
  virtual void Run(const ConvCall& call) const noexcept = 0;
  // What the algorithm itself computes and moves, where that differs from the problem's own cost.
  virtual AlgorithmWork work() const noexcept { return {}; }
  // Facts for Explain: tile, order, blocking; one per line, "name: value".
  virtual std::string Describe() const = 0;
};

// What Consider worked out and the plan needs as well (tile sizes, say), so that it is not worked out twice.
class PlanDraft {
 public:
  virtual ~PlanDraft() = default;
  // Makes the plan; called at most once, with the problem and context of Consider.
  virtual Result<std::unique_ptr<ConvPlan>> Finish(const ConvProblem& problem,
                                                   const PlanContext& context) = 0;
};

// What an algorithm answers when asked about a problem. Every row of the table is asked whenever a plan is
// made: refuse by the cheapest test first, and leave the wording to Refusal.
struct Offer {
  Refusal refusal{};            // empty: it can; otherwise the reason, for people
  double predicted_us = 0;      // by the model; valid when not refused
  std::unique_ptr<PlanDraft> draft{};  // null: make_plan starts from nothing
};

// In which order an algorithm adds (ADR 3): results of one order have the same bits, whatever the algorithm.
enum class SumOrder : uint8_t {
  kLayer,  // a chain per output
  kLanes,  // several chains per output, in lanes
  kTiles,  // sums of transformed tiles: an order of its own for every algorithm
};

// One row of the dispatch table.
struct ConvAlgorithm {
  const char* name;
  Offer (*consider)(const ConvProblem&, const PlanContext&);
  Result<std::unique_ptr<ConvPlan>> (*make_plan)(const ConvProblem&, const PlanContext&);
  SumOrder order = SumOrder::kLayer;  // batch and threads must not decide about it
};

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_PLAN_H_
