// kernels/pooling/channel_plan.cc: pooling with channels in the lanes. An output row is cut into segments of outputs
// whose windows have the same taps inside the image: most of it is one segment, its ends are short ones. Channels are
// cut into parts of equal groups of vectors.
#include <algorithm>
#include <utility>
#include <vector>

#include "jit/isa.h"
#include "kernels/pooling/emitter.h"
#include "kernels/pooling/plan.h"
#include "runtime/machine_model.h"

namespace rafter::pooling {
namespace {

constexpr int64_t kFloat = sizeof(float);
// Windows up to this many taps are written out; larger ones are loops.
constexpr int64_t kMostRows = 4, kMostCols = 8, kMostTaps = 16;

// Displacements of a bundle's outputs are part of its kernel.
constexpr int64_t kMostBundleStride = 8;

// Lane masks: the window that starts at 32 - n has n used lanes, whole vectors of a group before them.
constexpr int32_t kMasks[64] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

struct Segment {
  int64_t begin = 0, count = 0;  // outputs
  TapRange taps;
  int64_t divisor = 0;  // taps along the row that an average divides by
};

struct Part {
  int64_t src = 0, dst = 0;   // elements from a pixel's first one
  int64_t groups = 1;
  int64_t channels = 0;       // lanes that hold data
  int64_t lanes = 0;          // that are written
  ChannelSpec spec;           // of its kernels, without taps
};

std::vector<Segment> Segments(const PoolingProblem& problem) {
  std::vector<Segment> segments;
  for (int64_t o = 0; o < problem.w.out; ++o) {
    const TapRange taps = problem.w.Taps(o);
    const int64_t divisor = DivisorTaps(problem.desc, problem.w, o);
    if (segments.empty() || segments.back().taps != taps || segments.back().divisor != divisor) {
      segments.push_back({o, 0, taps, divisor});
    }
    ++segments.back().count;
  }
  return segments;
}

class ChannelPlan final : public Plan {
 public:
  ChannelPlan(const PoolingProblem& problem, Isa isa) : problem_(problem), isa_(isa), segments_(Segments(problem)) {}

  Status Prepare(int threads) {
    if (ChannelBlock(problem_.layout()) > 1) {
      AddBlocks();
    } else {
      AddGroups(threads);
    }
    for (int64_t h = 0; h < problem_.h.out; ++h) {
      const TapRange taps = problem_.h.Taps(h);
      const int64_t count = taps.end - taps.begin;
      if (std::find(row_counts_.begin(), row_counts_.end(), count) == row_counts_.end()) row_counts_.push_back(count);
    }
    return GetKernels();
  }

  const std::string& kernel_name() const noexcept override { return name_; }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override {
    return problem_.desc.n * problem_.h.out * static_cast<int64_t>(parts_.size());
  }

  // Row by row within a part, so that the rows that windows share stay in the first-level cache.

  void Run(const float* src, float* dst, Range items) const noexcept override {
    const auto parts = static_cast<int64_t>(parts_.size());
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t h = item % problem_.h.out, plane = item / problem_.h.out;
      RunRow(src, dst, plane / parts, h, static_cast<size_t>(plane % parts));
    }
  }

 private:
  void AddGroups(int threads) {
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes(), channels = problem_.desc.c;
    const bool max = problem_.desc.kind == PoolingKind::kMax;
    const int64_t vecs = std::min<int64_t>(MostVecs(isa_, max), (channels + lanes - 1) / lanes);
    const int64_t group = vecs * lanes, groups = channels / group, rest = channels % group;
    // Few rows, as in global pooling, are shared by their channels.
    const int64_t rows = problem_.desc.n * problem_.h.out;
    int64_t cuts = rows >= 4 * threads ? 1 : std::clamp<int64_t>(4 * threads, 1, std::max<int64_t>(groups, 1));
    // Windows that share rows: as many groups as keep those rows in three quarters of a first-level cache.
    const int64_t shared = std::min(problem_.desc.kernel.h, problem_.desc.in.h) * problem_.desc.in.w * group * kFloat;
    const int64_t fitting = CurrentMachineModel().l1d_bytes * 3 / 4 / shared;
    if (problem_.desc.kernel.h > problem_.desc.stride.h && problem_.h.out > 1 && fitting >= 1) {
      cuts = std::max(cuts, (groups + fitting - 1) / fitting);
    }
    for (int64_t cut = 0; cut < cuts && groups > 0; ++cut) {
      const Range range = SplitRange(groups, cuts, cut);
      if (range.begin == range.end) continue;
      Add({range.begin * group, range.begin * group, range.end - range.begin, group, group, {}}, vecs, Tail::kNone);
    }
    if (rest == 0) return;
    const int64_t at = groups * group;
    Add({at, at, 1, rest, rest, {}}, (rest + lanes - 1) / lanes, rest % lanes == 0 ? Tail::kNone : Tail::kLanes);
  }

  void AddBlocks() {
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes(), block = ChannelBlock(problem_.layout());
    const int64_t blocks = BlocksOf(problem_.layout(), problem_.desc.c);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t channels = std::min(block, problem_.desc.c - b * block);
      Add({b * problem_.src.c, b * problem_.dst.c, 1, channels, block, {}}, block / lanes,
          channels < block ? Tail::kZero : Tail::kNone);
    }
  }

  void Add(Part part, int64_t vecs, Tail tail) {
    part.spec.isa = isa_;
    part.spec.max = problem_.desc.kind == PoolingKind::kMax;
    part.spec.vecs = static_cast<uint8_t>(vecs);
    part.spec.tail = tail;
    parts_.push_back(part);
  }

  // Outputs of a blocked layout that one turn of a kernel computes together.
  int64_t BundleOf(const Part& part) const noexcept {
    const int64_t block = ChannelBlock(problem_.layout());
    const bool dense = problem_.src.w == block && problem_.dst.w == block;
    if (block == 1 || !dense || problem_.w.stride > kMostBundleStride) return 1;
    return MostVecs(isa_, part.spec.max) / part.spec.vecs;
  }

  size_t KernelIndex(size_t part, size_t rows, size_t segment) const noexcept {
    return (part * row_counts_.size() + rows) * segments_.size() + segment;
  }

  Status GetKernels() {
    kernels_.resize(parts_.size() * row_counts_.size() * segments_.size());
    bundle_kernels_.resize(kernels_.size());
    int64_t most = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (size_t r = 0; r < row_counts_.size(); ++r) {
        for (size_t s = 0; s < segments_.size(); ++s) {
          const int64_t rows = row_counts_[r], cols = segments_[s].taps.end - segments_[s].taps.begin;
          if (rows * cols == 0) continue;
          ChannelSpec spec = parts_[p].spec;
          if (rows <= kMostRows && cols <= kMostCols && rows * cols <= kMostTaps) {
            spec.rows = static_cast<uint8_t>(rows), spec.cols = static_cast<uint8_t>(cols);
          }
          Result<jit::KernelPtr> kernel = GetChannelKernel(spec);
          if (!kernel.ok()) return kernel.status();
          if (segments_[s].count >= BundleOf(parts_[p]) && BundleOf(parts_[p]) > 1) {
            spec.bundle = static_cast<uint8_t>(BundleOf(parts_[p]));
            spec.stride = static_cast<uint8_t>(problem_.w.stride);
            Result<jit::KernelPtr> bundles = GetChannelKernel(spec);
            if (!bundles.ok()) return bundles.status();
            bundle_kernels_[KernelIndex(p, r, s)] = std::move(bundles).value();
          }
          if (rows * segments_[s].count > most) most = rows * segments_[s].count, name_ = (*kernel)->name();
          kernels_[KernelIndex(p, r, s)] = std::move(kernel).value();
        }
      }
    }
    if (name_.empty()) name_ = "pool_f32_no_taps";
    return {};
  }

  void RunRow(const float* src, float* dst, int64_t n, int64_t h, size_t part) const noexcept {
    const PoolAxis &high = problem_.h, &wide = problem_.w;
    const TapRange taps = high.Taps(h);
    const int64_t rows = taps.end - taps.begin;
    const auto kind =
        static_cast<size_t>(std::find(row_counts_.begin(), row_counts_.end(), rows) - row_counts_.begin());
    const Part& p = parts_[part];
    const float* image = src + n * problem_.src.n + p.src +
                         (h * high.stride - high.pad_begin + taps.begin * high.dilation) * problem_.src.h;
    float* out = dst + n * problem_.dst.n + p.dst + h * problem_.dst.h;
    const auto row_divisor = static_cast<float>(DivisorTaps(problem_.desc, high, h));
    ChannelArgs args = {};
    args.src_step = wide.stride * problem_.src.w * kFloat;
    args.dst_step = problem_.dst.w * kFloat;
    args.row_step = high.dilation * problem_.src.h * kFloat;
    args.col_step = wide.dilation * problem_.src.w * kFloat;
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes();
    args.tail_lanes = p.channels % lanes;
    args.mask = kMasks + 32 - (p.spec.tail == Tail::kLanes ? args.tail_lanes : p.channels % 32);
    for (size_t s = 0; s < segments_.size(); ++s) {
      const Segment& segment = segments_[s];
      args.dst = out + segment.begin * problem_.dst.w;
      const jit::KernelPtr& kernel = kernels_[KernelIndex(part, kind, s)];
      if (kernel == nullptr) {
        Fill(args.dst, segment.count, p);
        continue;
      }
      args.src = image + (segment.begin * wide.stride - wide.pad_begin + segment.taps.begin * wide.dilation) *
                             problem_.src.w;
      args.groups = p.groups;
      args.rows = rows, args.cols = segment.taps.end - segment.taps.begin;
      args.divisor = row_divisor * static_cast<float>(segment.divisor);
      int64_t outputs = segment.count;
      if (const jit::KernelPtr& bundles = bundle_kernels_[KernelIndex(part, kind, s)]; bundles != nullptr) {
        const int64_t bundle = BundleOf(p);
        ChannelArgs all = args;
        all.src_step *= bundle, all.dst_step *= bundle;
        all.outputs = outputs / bundle;
        bundles->entry<ChannelFunction>()(&all);
        const int64_t done = outputs / bundle * bundle;
        args.src += done * args.src_step / kFloat;
        args.dst += done * args.dst_step / kFloat;
        outputs -= done;
      }
      args.outputs = outputs;
      if (outputs > 0) kernel->entry<ChannelFunction>()(&args);
    }
  }

  // Outputs whose windows lie in the padding.
  void Fill(float* dst, int64_t outputs, const Part& part) const noexcept {
    for (int64_t o = 0; o < outputs; ++o, dst += problem_.dst.w) {
      std::fill_n(dst, part.groups * part.lanes, 0.0f);
      std::fill_n(dst, part.groups * part.channels, EmptyWindow(problem_.desc));
    }
  }

  const PoolingProblem problem_;
  const Isa isa_;
  const std::vector<Segment> segments_;
  std::vector<Part> parts_;
  std::vector<int64_t> row_counts_;        // distinct numbers of rows of taps
  std::vector<jit::KernelPtr> kernels_;    // null: no taps
  std::vector<jit::KernelPtr> bundle_kernels_;  // several outputs at a time; null: none
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Plan>> MakeChannelPlan(const PoolingProblem& problem, Isa isa, int threads) {
  const int64_t block = ChannelBlock(problem.layout());
  // A block must be whole vectors: 8 channels are one of AVX2.
  if (block > 1 && block < jit::GetIsaInfo(isa).vec_lanes()) isa = Isa::kAvx2;
  auto plan = std::make_unique<ChannelPlan>(problem, isa);
  if (Status status = plan->Prepare(threads); !status.ok()) return status;
  return std::unique_ptr<Plan>(std::move(plan));
}

}  // namespace rafter::pooling
