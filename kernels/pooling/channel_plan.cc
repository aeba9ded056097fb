// kernels/pooling/channel_plan.cc: pooling with channels in the lanes. An output row is cut into segments of outputs
// whose windows have the same taps inside the image: most of it is one segment, its ends are short ones. Channels are
// cut into parts of equal groups of vectors.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "jit/isa.h"
#include "kernels/pooling/emitter.h"
#include "kernels/pooling/plan.h"
#include "kernels/pooling/segments.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/machine_model.h"

namespace rafter::pooling {
namespace {

// Windows up to this many taps are written out; larger ones are loops.
constexpr int64_t kMostRows = 4, kMostCols = 8, kMostTaps = 16;

constexpr int64_t kMostBundleStride = 8;

// Lane masks: the window that starts at 32 - n has n used lanes, whole vectors of a group before them.
constexpr int32_t kMasks[64] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

struct Part {
  int64_t src = 0, dst = 0;   // elements from a pixel's first one
  int64_t groups = 1;
  int64_t channels = 0;       // lanes of a group that hold data
  int64_t lanes = 0;          // that are written
  int64_t src_step = 0, dst_step = 0;  // elements from group to group
  ChannelSpec spec;           // of its kernels, without taps
};

struct Kernel {
  jit::KernelPtr code;
  jit::KernelPtr past_caches;  // may be null
  int64_t bundle = 1;          // outputs of one turn
};

class ChannelPlan final : public Plan {
 public:
  ChannelPlan(const PoolingProblem& problem, Isa isa)
      : problem_(problem), isa_(isa), max_(problem.desc.kind == PoolingKind::kMax),
        streams_(StoresPastCaches(BytesOf(problem), CurrentMachineModel())) {}

  Status Prepare(int threads) {
    Result<std::vector<Segment>> columns = SegmentsOf(problem_.desc, problem_.w);
    if (!columns.ok()) return columns.status();
    Result<std::vector<RowSegment>> rows = RowSegmentsOf(problem_);
    if (!rows.ok()) return rows.status();
    segments_ = std::move(columns).value(), rows_ = std::move(rows).value();
    if (ChannelBlock(problem_.layout()) > 1) {
      AddBlocks(threads);
    } else {
      AddGroups(threads);
    }
    int64_t lanes = 0;  // of the widest part
    for (const Part& part : parts_) lanes = std::max(lanes, part.groups * part.lanes);
    const int64_t row_bytes = problem_.desc.in.w * std::max<int64_t>(lanes, 1) * problem_.h.stride * kFloat;
    rows_per_item_ = std::clamp<int64_t>(kItemBytes / std::max<int64_t>(row_bytes, 1), 1, problem_.h.out);
    items_per_plane_ = (problem_.h.out + rows_per_item_ - 1) / rows_per_item_;
    return GetKernels();
  }

  const std::string& kernel_name() const noexcept override { return name_; }
  Isa isa() const noexcept override { return isa_; }
  int64_t items() const noexcept override {
    return problem_.desc.n * items_per_plane_ * static_cast<int64_t>(parts_.size());
  }

  // Rows after rows within a part, so that those that windows share stay in the first-level cache.
  void Run(const float* src, float* dst, Range items) const noexcept override {
    const bool past_caches = reinterpret_cast<uintptr_t>(dst) % kLineBytes == 0;
    const auto parts = static_cast<int64_t>(parts_.size());
    for (int64_t item = items.begin; item < items.end; ++item) {
      const Range rows = SplitRange(problem_.h.out, items_per_plane_, item % items_per_plane_);
      const int64_t plane = item / items_per_plane_, n = plane / parts;
      const auto part = static_cast<size_t>(plane % parts);
      for (const RowSegment& segment : rows_) {
        const Range common{std::max(rows.begin, segment.begin), std::min(rows.end, segment.begin + segment.count)};
        if (common.begin >= common.end) continue;
        RunRows(src + n * problem_.src.n, dst + n * problem_.dst.n, segment, common, part, past_caches);
      }
    }
    if (streams_) FinishStores();
  }

 private:
  void AddGroups(int threads) {
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes(), channels = problem_.desc.c;
    // Exact kernels of maxima do half of a wide group at a time; what is no wide group has as many as they can do.
    const int64_t most = MostVecs(isa_, max_ ? Reduction::kExactMax : Reduction::kSum);
    const int64_t wide = MostVecs(isa_, max_ ? Reduction::kFastMax : Reduction::kSum);
    const int64_t end = AddGroupsOf(0, wide, threads);
    const int64_t vecs = std::min(most, (channels - end + lanes - 1) / lanes);
    const int64_t at = vecs > 0 && vecs < wide ? AddGroupsOf(end, vecs, threads) : end;
    const int64_t rest = channels - at;
    if (rest == 0) return;
    Add({at, at, 1, rest, rest, rest, rest, {}}, (rest + lanes - 1) / lanes,
        rest % lanes == 0 ? Tail::kNone : Tail::kLanes);
  }

  // As many groups of `vecs` vectors as there are from channel `begin` on. The channel behind them.
  int64_t AddGroupsOf(int64_t begin, int64_t vecs, int threads) {
    const int64_t group = vecs * jit::GetIsaInfo(isa_).vec_lanes(), groups = (problem_.desc.c - begin) / group;
    // Few rows, as in global pooling, are shared by their channels. Else all groups of a pixel follow each other, even
    // where rows that windows share leave the first-level cache: 20 to 30 % faster than group after group (Zen 3).
    const int64_t rows = problem_.desc.n * problem_.h.out;
    const int64_t cuts = rows >= 4 * threads ? 1 : std::clamp<int64_t>(4 * threads, 1, std::max<int64_t>(groups, 1));
    for (int64_t cut = 0; cut < cuts && groups > 0; ++cut) {
      const Range range = SplitRange(groups, cuts, cut);
      if (range.begin == range.end) continue;
      const int64_t at = begin + range.begin * group;
      Add({at, at, range.end - range.begin, group, group, group, group, {}}, vecs, Tail::kNone);
    }
    return begin + groups * group;
  }

  void AddBlocks(int threads) {
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes(), block = ChannelBlock(problem_.layout());
    const int64_t blocks = BlocksOf(problem_.layout(), problem_.desc.c), full = problem_.desc.c / block;
    // Of one output, as in global pooling, a call computes many blocks; else a block's rows stay in the cache.
    const bool one = problem_.h.out == 1 && problem_.w.out == 1;
    const int64_t cuts = one ? std::min<int64_t>(full, threads == 1 ? 1 : 4 * threads) : full;
    const auto add = [&](Range range, int64_t channels, Tail tail) {
      Add({range.begin * problem_.src.c, range.begin * problem_.dst.c, range.end - range.begin, channels, block,
           problem_.src.c, problem_.dst.c, {}},
          block / lanes, tail);
    };
    for (int64_t cut = 0; cut < cuts; ++cut) add(SplitRange(full, cuts, cut), block, Tail::kNone);
    if (full < blocks) add({full, blocks}, problem_.desc.c - full * block, Tail::kZero);
  }

  void Add(Part part, int64_t vecs, Tail tail) {
    part.spec.isa = isa_;
    part.spec.reduction = max_ ? Reduction::kFastMax : Reduction::kSum;
    part.spec.vecs = static_cast<uint8_t>(vecs);
    part.spec.tail = tail;
    parts_.push_back(part);
  }

  // Groups that an exact kernel makes of one.
  int64_t ExactParts(const Part& part) const noexcept {
    return part.spec.vecs > MostVecs(isa_, Reduction::kExactMax) ? 2 : 1;
  }

  // Numbers of rows of taps that kernels tell apart: those that may be written out, and all others.
  static constexpr size_t kRowKinds = kMostRows + 2;
  static size_t KindOf(int64_t row_taps) noexcept {
    return static_cast<size_t>(std::min<int64_t>(row_taps, kRowKinds - 1));
  }

  // Columns from tap to tap of windows with `cols` columns of taps inside the image. A single one has no dilation: in a
  // bundle it is the step from window to window that counts.
  int64_t TapStep(int64_t cols) const noexcept { return cols == 1 ? 1 : problem_.w.dilation; }

  // Outputs that one turn of a kernel computes together, 1: none. Those that read the fewest columns for the segment,
  // whose last bundle may repeat some.
  int64_t BundleOf(const Part& part, int64_t rows, const Segment& segment) const noexcept {
    const int64_t cols = segment.tap_count(), stride = problem_.w.stride;
    const bool windows = stride <= kMostBundleStride && cols <= kMostCols && rows <= kMostBakedRows &&
                         cols <= stride * kMostLive;
    if (TapStep(cols) != 1 || !windows || part.spec.tail == Tail::kLanes) return 1;
    // Several vectors of a pixel make one window work enough. From memory pixel after pixel is 10 to 20 % faster.
    if (problem_.layout() == Layout::kNhwc && (cols <= stride || streams_)) {
      return 1;
    }
    int64_t best = 1, least = segment.count * cols;
    for (int64_t bundle = 2; bundle <= std::min<int64_t>(kMostBundle, segment.count); ++bundle) {
      const int64_t columns = (segment.count + bundle - 1) / bundle * ((bundle - 1) * std::min(stride, cols) + cols);
      if (columns <= least) best = bundle, least = columns;
    }
    return best;
  }

  size_t KernelIndex(size_t part, size_t rows, size_t segment) const noexcept {
    return (part * kRowKinds + rows) * segments_.size() + segment;
  }

  Status GetKernels() {
    kernels_.resize(parts_.size() * kRowKinds * segments_.size());
    exact_.resize(max_ ? parts_.size() : 0);
    std::array<int64_t, kRowKinds> rows = {};  // of taps; 0: no such kind
    for (const RowSegment& row : rows_) rows[KindOf(row.taps)] = row.taps;
    int64_t most = 0;
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (size_t r = 0; r < kRowKinds; ++r) {
        for (size_t s = 0; s < segments_.size(); ++s) {
          if (rows[r] * segments_[s].tap_count() == 0) continue;
          Kernel& kernel = kernels_[KernelIndex(p, r, s)];
          if (Status status = GetKernel(parts_[p], rows[r], segments_[s], kernel); !status.ok()) return status;
          const int64_t outputs = rows[r] * segments_[s].count;
          if (outputs > most) most = outputs, name_ = kernel.code->name();
        }
      }
      if (!max_) continue;
      ChannelSpec spec = parts_[p].spec;
      spec.reduction = Reduction::kExactMax;
      spec.vecs = static_cast<uint8_t>(spec.vecs / ExactParts(parts_[p]));
      if (Status status = Get(spec, exact_[p]); !status.ok()) return status;
    }
    if (name_.empty()) name_ = "pool_f32_no_taps";
    return {};
  }

  Status GetKernel(const Part& part, int64_t rows, const Segment& segment, Kernel& kernel) const {
    const int64_t cols = segment.tap_count();
    ChannelSpec spec = part.spec;
    spec.bundle = static_cast<uint8_t>(BundleOf(part, rows, segment));
    if (spec.bundle > 1 || (rows <= kMostRows && cols <= kMostCols && rows * cols <= kMostTaps)) {
      spec.rows = static_cast<uint8_t>(rows), spec.cols = static_cast<uint8_t>(cols);
    }
    if (spec.bundle > 1) spec.stride = static_cast<uint8_t>(problem_.w.stride);
    if (Status status = Get(spec, kernel.code); !status.ok()) return status;
    kernel.bundle = spec.bundle;
    if ((spec.bundle > 1 && ChannelBlock(problem_.layout()) == 1) || !PastCaches(part)) return {};
    spec.non_temporal = true;
    return Get(spec, kernel.past_caches);
  }

  // Pixels whose lines belong to no other one (channels are multiples of 16 floats in NHWC) or to the next of a row.
  bool PastCaches(const Part& part) const noexcept {
    const auto lines = [](int64_t floats) { return floats % 16 == 0; };
    const Strides& d = problem_.dst;
    const bool pairs = ChannelBlock(problem_.layout()) == 8 && d.w == 8;
    return streams_ && part.spec.tail == Tail::kNone && lines(part.dst) &&
           (pairs || (lines(part.lanes) && lines(d.w))) && lines(d.h) && lines(d.n);
  }

  static Status Get(const ChannelSpec& spec, jit::KernelPtr& kernel) {
    Result<jit::KernelPtr> made = GetChannelKernel(spec);
    if (made.ok()) kernel = std::move(made).value();
    return made.status();
  }

  // src and dst point to an image.
  void RunRows(const float* src, float* dst, const RowSegment& segment, Range rows, size_t part,
               bool past_caches) const noexcept {
    const PoolAxis &high = problem_.h, &wide = problem_.w;
    const Part& p = parts_[part];
    const int64_t lanes = jit::GetIsaInfo(isa_).vec_lanes();
    const float* image =
        src + p.src + (segment.y + (rows.begin - segment.begin) * high.stride) * problem_.src.h;
    ChannelArgs args = {};
    args.output_rows = rows.end - rows.begin;
    args.src_row_step = high.stride * problem_.src.h * kFloat, args.dst_row_step = problem_.dst.h * kFloat;
    args.dst_output_step = problem_.dst.w * kFloat;
    args.row_step = high.dilation * problem_.src.h * kFloat;
    args.tail_lanes = p.channels % lanes;
    args.mask = kMasks + 32 - (p.spec.tail == Tail::kLanes ? args.tail_lanes : p.channels % 32);
    args.groups = p.groups, args.src_group_step = p.src_step * kFloat, args.dst_group_step = p.dst_step * kFloat;
    for (size_t s = 0; s < segments_.size(); ++s) {
      const Segment& columns = segments_[s];
      args.dst = dst + p.dst + rows.begin * problem_.dst.h + columns.begin * problem_.dst.w;
      const Kernel& kernel = kernels_[KernelIndex(part, KindOf(segment.taps), s)];
      if (kernel.code == nullptr) {
        for (int64_t y = 0; y < args.output_rows; ++y) Fill(args.dst + y * problem_.dst.h, columns.count, p);
        continue;
      }
      args.src = image + (columns.begin * wide.stride - wide.pad_begin + columns.taps.begin * wide.dilation) *
                             problem_.src.w;
      args.rows = segment.taps, args.cols = columns.tap_count();
      args.col_step = TapStep(args.cols) * problem_.src.w * kFloat;
      if (args.row_step == args.cols * args.col_step) {  // to loops, rows that follow each other are one
        args.cols *= args.rows;
        args.rows = 1;
      }
      args.divisor = static_cast<float>(segment.divisor) * static_cast<float>(columns.divisor);
      const jit::KernelPtr& code = past_caches && kernel.past_caches ? kernel.past_caches : kernel.code;
      RunSegment(*code, kernel.bundle, max_ ? exact_[part].get() : nullptr, args, columns.count, ExactParts(p));
    }
  }

  // `args` are complete but for what depends on the kernel.
  void RunSegment(const jit::CompiledKernel& kernel, int64_t bundle, const jit::CompiledKernel* exact,
                  const ChannelArgs& args, int64_t outputs, int64_t exact_parts) const noexcept {
    const int64_t src_output = problem_.w.stride * problem_.src.w * kFloat, dst_output = args.dst_output_step;
    ChannelArgs call = args;
    call.src_step = bundle * src_output, call.dst_step = bundle * dst_output;
    call.outputs = outputs / bundle;
    kernel.entry<ChannelFunction>()(&call);
    bool unsure = max_ && std::isnan(call.sum);
    if (outputs % bundle != 0) {  // a last bundle that ends at the end
      const int64_t first = outputs - bundle;
      call = args;
      call.src += first * src_output / kFloat, call.dst += first * dst_output / kFloat;
      call.outputs = 1;
      kernel.entry<ChannelFunction>()(&call);
      unsure |= max_ && std::isnan(call.sum);
    }
    if (!unsure) return;
    call = args;
    call.src_step = src_output, call.dst_step = dst_output, call.outputs = outputs;
    if (exact_parts > 1) {  // wide groups follow each other
      call.groups *= exact_parts;
      call.src_group_step /= exact_parts, call.dst_group_step /= exact_parts;
    }
    exact->entry<ChannelFunction>()(&call);
  }

  // Outputs whose windows lie in the padding.
  void Fill(float* dst, int64_t outputs, const Part& part) const noexcept {
    for (int64_t o = 0; o < outputs; ++o, dst += problem_.dst.w) {
      for (int64_t g = 0; g < part.groups; ++g) {
        std::fill_n(dst + g * part.dst_step, part.lanes, 0.0f);
        std::fill_n(dst + g * part.dst_step, part.channels, EmptyWindow(problem_.desc));
      }
    }
  }

  const PoolingProblem problem_;
  const Isa isa_;
  const bool max_;
  std::vector<Segment> segments_;  // of columns
  std::vector<RowSegment> rows_;
  const bool streams_;  // results go past the caches where their lines allow it
  std::vector<Part> parts_;
  std::vector<Kernel> kernels_;        // null: no taps
  std::vector<jit::KernelPtr> exact_;  // of each part, for maxima
  int64_t rows_per_item_ = 1, items_per_plane_ = 1;
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
