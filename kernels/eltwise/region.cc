// kernels/eltwise/region.cc: see region.h.
#include "kernels/eltwise/region.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "jit/isa.h"
#include "kernels/eltwise/emitter.h"
#include "kernels/lane_masks.h"
#include "kernels/sizes.h"

namespace rafter::eltwise {
namespace {

// Items begin on multiples of this many floats of a run: whole vectors, blocks, groups and lines.
constexpr int64_t kRunStep = 512;
// Tables of joined pixels stay within a quarter of the first-level cache. (Rows of 256 floats instead of 1,024 are not
// faster: scale and shift of 64 channels 0.95 to 1.0 times the speed.)
constexpr int64_t kMostJoinedFloats = 2048;

bool HasTables(const EltwiseProblem& problem) {
  return std::any_of(problem.desc.ops.begin(), problem.desc.ops.end(),
                     [](const EltwiseOp& op) { return !op.scale.empty(); });
}

Spec MakeSpec(const EltwiseProblem& problem, Isa isa, const Loops& loops, bool masked) {
  Spec spec;
  spec.isa = isa;
  spec.masked = masked;
  spec.tables_mode = loops.tables.mode;
  size_t operand = 0;
  bool block = loops.tables.mode == Mode::kBlock;
  for (const EltwiseOp& op : problem.desc.ops) {
    spec.kinds[spec.ops++] = op.kind;
    spec.tables = static_cast<uint8_t>(spec.tables + (op.scale.empty() ? 0 : 1) + (op.shift.empty() ? 0 : 1));
    if (!IsBinary(op.kind)) continue;
    const Mode mode = loops.operands[operand].mode;
    spec.operand_modes[operand++] = mode;
    block |= mode == Mode::kBlock;
  }
  spec.operands = static_cast<uint8_t>(operand);
  if (masked) ++spec.tables;
  if (spec.tables == 0) spec.tables_mode = Mode::kFull;
  if (block) spec.block = static_cast<uint8_t>(ChannelBlock(problem.layout()));
  return spec;
}

// Where an element of a stream lies.
int64_t Along(const Stream& stream, const int64_t* index, size_t dims) noexcept {
  int64_t offset = 0;
  for (size_t d = 0; d < dims; ++d) offset += index[d] * stream.steps[d];
  return offset;
}

}  // namespace

Result<Region> Region::Make(const EltwiseProblem& problem, Isa isa, int64_t first, int64_t blocks, bool masked,
                            bool past_caches) {
  Region region;
  const bool tables = HasTables(problem) || masked;
  region.loops_ = MakeLoops(problem, blocks, tables);
  region.vec_lanes_ = jit::GetIsaInfo(isa).vec_lanes();
  region.spec_ = MakeSpec(problem, isa, region.loops_, masked);
  if (tables && problem.layout() == Layout::kNhwc) region.JoinPixels(problem.desc.c);
  region.src_begin_ = first * problem.src.c;
  region.dst_begin_ = first * problem.dst.c;
  for (const EltwiseProblem::Operand& operand : problem.operands) {
    region.operand_begin_.push_back(operand.shape.c == problem.desc.c ? first * operand.strides.c : 0);
  }
  if (tables) {
    if (Status status = region.PackTables(problem, first, blocks, masked); !status.ok()) return status;
  }
  region.FillArgs(problem);
  Result<jit::KernelPtr> kernel = GetKernel(region.spec_);
  if (!kernel.ok()) return kernel.status();
  region.kernel_ = std::move(kernel).value();
  if (!past_caches) return region;
  Spec spec = region.spec_;
  spec.non_temporal = true;
  kernel = GetKernel(spec);
  if (!kernel.ok()) return kernel.status();
  region.past_caches_kernel_ = std::move(kernel).value();
  return region;
}

void Region::JoinPixels(int64_t channels) {
  if (loops_.tables.mode != Mode::kFull || loops_.run != channels || !loops_.outer.empty()) return;
  const auto joins = [&](const Stream& stream) {
    return stream.mode == Mode::kScalar ? stream.steps[0] == 0 : stream.steps[0] == loops_.run;
  };
  if (!joins(loops_.src) || !joins(loops_.dst) || !std::all_of(loops_.operands.begin(), loops_.operands.end(), joins)) {
    return;
  }
  // The fewest pixels whose channels are whole lines, then as many of those as make long rows.
  int64_t pixels = std::lcm(channels, kLineBytes / kFloat) / channels;
  if (pixels * channels > kMostJoinedFloats) return;
  pixels *= std::max<int64_t>(1, kMostJoinedFloats / 2 / (pixels * channels));
  if (pixels <= 1 || pixels > loops_.rows) return;
  rest_run_ = loops_.rows % pixels * channels;
  loops_.rows /= pixels;
  loops_.run *= pixels;
  for (Stream* stream : {&loops_.src, &loops_.dst}) stream->steps[0] *= pixels;
  for (Stream& stream : loops_.operands) stream.steps[0] *= pixels;
}

Status Region::PackTables(const EltwiseProblem& problem, int64_t first, int64_t blocks, bool masked) {
  const int64_t channels = problem.desc.c, tables = spec_.tables;
  const int64_t block = ChannelBlock(problem.layout());
  const Mode mode = spec_.tables_mode;
  // A piece has so many entries per table, stored in chunks of `chunk` with the tables by turns.
  const int64_t chunk = mode == Mode::kScalar ? 1
                        : mode == Mode::kFull ? vec_lanes_
                                              : TableLanes(spec_.block, static_cast<int>(vec_lanes_));
  const int64_t entries = mode == Mode::kFull ? (loops_.run + chunk - 1) / chunk * chunk : chunk;
  const bool whole = mode == Mode::kFull && block == 1;  // one piece has all channels, perhaps of several pixels
  const int64_t pieces = whole ? 1 : blocks;
  piece_floats_ = entries * tables;
  if (!ProductFits({pieces, piece_floats_})) return Status::OutOfMemory();
  auto* data = static_cast<float*>(::operator new(static_cast<size_t>(pieces * piece_floats_) * sizeof(float),
                                                  std::align_val_t{64}));
  tables_ = std::shared_ptr<float[]>(data, Delete());
  const auto channel_of = [&](int64_t piece, int64_t entry) {
    if (whole) return entry % channels;
    return (first + piece) * block + (block == 1 ? 0 : entry % block);
  };
  int64_t table = 0;
  const auto fill = [&](const auto& value_of) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (int64_t entry = 0; entry < entries; ++entry) {
        const int64_t at = (entry / chunk * tables + table) * chunk + entry % chunk;
        data[piece * piece_floats_ + at] = value_of(channel_of(piece, entry));
      }
    }
    ++table;
  };
  for (const EltwiseOp& op : problem.desc.ops) {
    for (const std::vector<float>* values : {&op.scale, &op.shift}) {
      if (values->empty()) continue;
      fill([&](int64_t c) { return c < channels ? (*values)[static_cast<size_t>(c)] : 0.0f; });
    }
  }
  if (masked) fill([&](int64_t c) { return std::bit_cast<float>(c < channels ? ~uint32_t{0} : 0); });
  return {};
}

void Region::FillArgs(const EltwiseProblem& problem) {
  const size_t rows = loops_.outer.size();  // the index of their steps
  args_.src_step = loops_.src.steps[rows] * kFloat;
  args_.dst_step = loops_.dst.steps[rows] * kFloat;
  args_.tables_step = loops_.tables.steps[rows] * piece_floats_ * kFloat;
  for (size_t i = 0; i < loops_.operands.size(); ++i) {
    args_.operand_steps[i] = loops_.operands[i].steps[rows] * kFloat;
  }
  for (size_t i = 0; i < problem.desc.ops.size(); ++i) {
    args_.constants[i][0] = problem.desc.ops[i].alpha;
    args_.constants[i][1] = problem.desc.ops[i].beta;
  }
  group_bytes_ = GroupVecs(spec_) * vec_lanes_ * kFloat;
  unit_bytes_ = UnitVecs(spec_) * vec_lanes_ * kFloat;
}

Region::Cut Region::CutFor(int64_t floats) const noexcept {
  Cut cut{loops_.rows, loops_.run, 1, 1};
  if (loops_.rows * loops_.run <= floats) return cut;  // spares small calls the divisions
  cut.rows = 1;
  if (loops_.run > floats) {
    cut.run = (floats + kRunStep - 1) / kRunStep * kRunStep;
  } else {
    cut.rows = std::clamp<int64_t>(floats / loops_.run, 1, loops_.rows);
  }
  cut.row_items = (loops_.rows + cut.rows - 1) / cut.rows;
  cut.run_items = (loops_.run + cut.run - 1) / cut.run;
  return cut;
}

int64_t Region::Items(int64_t floats) const noexcept {
  const Cut cut = CutFor(floats);
  return loops_.outer_count() * cut.row_items * cut.run_items + (rest_run_ > 0 ? 1 : 0);
}

bool Region::Aligned(const Call& call) const noexcept {
  if (past_caches_kernel_ == nullptr || reinterpret_cast<uintptr_t>(call.dst + dst_begin_) % kLineBytes != 0) {
    return false;
  }
  for (size_t d = 0; d <= loops_.outer.size(); ++d) {
    if (loops_.dst.steps[d] * kFloat % kLineBytes != 0) return false;
  }
  return true;
}

void Region::Run(const Call& call, int64_t floats, Range items) const noexcept {
  const Cut cut = CutFor(floats);
  const bool past_caches = call.past_caches && Aligned(call);
  for (int64_t item = items.begin; item < items.end; ++item) RunItem(call, cut, past_caches, item);
}

int64_t Region::TablesOffset(int64_t pieces, int64_t run_begin) const noexcept {
  const int64_t within = spec_.tables_mode == Mode::kFull ? run_begin * spec_.tables : 0;
  return pieces * piece_floats_ + within;
}

void Region::RunItem(const Call& call, const Cut& cut, bool past_caches, int64_t item) const noexcept {
  const size_t dims = loops_.outer.size() + 1;
  const int64_t all = loops_.outer_count() * cut.row_items * cut.run_items;
  int64_t index[kMostDims] = {};
  int64_t rows = 1, run = rest_run_, run_begin = 0;
  if (item == all) {
    index[dims - 1] = loops_.rows;  // the row that JoinPixels left over; there are no outer loops then
  } else {
    run_begin = item % cut.run_items * cut.run;
    run = std::min(cut.run, loops_.run - run_begin);
    item /= cut.run_items;
    index[dims - 1] = item % cut.row_items * cut.rows;
    rows = std::min(cut.rows, loops_.rows - index[dims - 1]);
    item /= cut.row_items;
    for (size_t d = dims - 1; d-- > 0;) {
      index[d] = item % loops_.outer[d];
      item /= loops_.outer[d];
    }
  }
  Args args = args_;
  const auto begin = [&](const Stream& stream) {
    return Along(stream, index, dims) + (stream.mode == Mode::kFull ? run_begin : 0);
  };
  args.src = call.src + src_begin_ + begin(loops_.src);
  args.dst = call.dst + dst_begin_ + begin(loops_.dst);
  args.tables = tables_ == nullptr ? nullptr
                                   : tables_.get() + TablesOffset(Along(loops_.tables, index, dims), run_begin);
  for (size_t i = 0; i < loops_.operands.size(); ++i) {
    args.operands[i] = call.operands[i] + operand_begin_[i] + begin(loops_.operands[i]);
  }
  CallKernel(past_caches, args, rows, run);
}

void Region::CallKernel(bool past_caches, Args& args, int64_t rows, int64_t run) const noexcept {
  const int64_t bytes = run * kFloat;
  args.rows = rows;
  args.group_bytes = bytes / group_bytes_ * group_bytes_;
  args.unit_bytes = bytes / unit_bytes_ * unit_bytes_;
  args.tail_lanes = run % vec_lanes_;
  args.tail_mask = FirstLanes(args.tail_lanes);
  const jit::KernelPtr& kernel = past_caches ? past_caches_kernel_ : kernel_;
  kernel->entry<Function>()(&args);
}

}  // namespace rafter::eltwise
