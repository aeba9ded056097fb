// kernels/eltwise/loops.cc: see loops.h.
#include "kernels/eltwise/loops.h"

#include <cstddef>
#include <utility>

namespace rafter::eltwise {
namespace {

// One dimension with the distance of its neighbours in every stream: src, dst, tables, operands.
struct Dim {
  int64_t size = 1;
  std::vector<int64_t> steps;
};

// Steps of n, c, h, w and lane, 0 along broadcast dimensions.
struct TensorSteps {
  int64_t n = 0, c = 0, h = 0, w = 0, lane = 0;
};

TensorSteps StepsOf(const Strides& s, bool blocked) { return {s.n, s.c, s.h, s.w, blocked ? 1 : 0}; }

TensorSteps StepsOf(const EltwiseProblem::Operand& operand, const TensorShape& whole, bool blocked) {
  TensorSteps steps = StepsOf(operand.strides, blocked);
  const TensorShape& own = operand.shape;
  if (own.n != whole.n) steps.n = 0;
  if (own.h != whole.h) steps.h = 0;
  if (own.w != whole.w) steps.w = 0;
  if (own.c != whole.c) steps.c = steps.lane = 0;
  return steps;
}

// The dimensions of a layout, outermost first.
std::vector<Dim> DimsOf(const EltwiseProblem& problem, int64_t blocks, const std::vector<TensorSteps>& streams) {
  const TensorShape s = problem.shape();
  const auto dim = [&](int64_t size, int64_t TensorSteps::*which) {
    Dim made{size, {}};
    for (const TensorSteps& steps : streams) made.steps.push_back(steps.*which);
    return made;
  };
  const Dim n = dim(s.n, &TensorSteps::n), c = dim(blocks, &TensorSteps::c), h = dim(s.h, &TensorSteps::h),
            w = dim(s.w, &TensorSteps::w);
  switch (problem.layout()) {
    case Layout::kNhwc: return {n, h, w, c};
    case Layout::kNchw: return {n, c, h, w};
    default: return {n, c, h, w, dim(ChannelBlock(problem.layout()), &TensorSteps::lane)};
  }
}

bool Follows(const Dim& outer, const Dim& inner) {
  for (size_t i = 0; i < inner.steps.size(); ++i) {
    if (outer.steps[i] != inner.size * inner.steps[i]) return false;
  }
  return true;
}

// The innermost dimension as a run, which takes in the dimensions around it as far as they go.
class RunBuilder {
 public:
  RunBuilder(std::vector<Dim>& dims, int64_t block) : dims_(dims), block_(block), run_(dims.back()) {
    dims_.pop_back();
    modes_.assign(run_.steps.size(), Mode::kFull);
  }

  void Build() {
    while (!dims_.empty() && Join(dims_.back())) dims_.pop_back();
    for (size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] == Mode::kFull && run_.steps[i] == 0) modes_[i] = Mode::kScalar;
    }
  }
  int64_t size() const { return run_.size; }
  Mode mode(size_t stream) const { return modes_[stream]; }

 private:
  bool Join(const Dim& outer) {
    if (outer.size == 1) return true;
    std::vector<Mode> modes = modes_;
    std::vector<int64_t> steps = run_.steps;
    for (size_t i = 0; i < modes.size(); ++i) {
      const int64_t step = outer.steps[i];
      if (modes[i] == Mode::kBlock) {
        if (step != 0) return false;
      } else if (run_.size == 1 && (step == 0 || step == 1)) {
        steps[i] = step;
      } else if (step != run_.size * run_.steps[i]) {
        // A block of channels may repeat, as long as a run is only that.
        if (block_ == 1 || run_.size != block_ || run_.steps[i] != 1 || step != 0) return false;
        modes[i] = Mode::kBlock;
      }
    }
    run_.size *= outer.size;
    run_.steps = std::move(steps);
    modes_ = std::move(modes);
    return true;
  }

  std::vector<Dim>& dims_;
  const int64_t block_;
  Dim run_;
  std::vector<Mode> modes_;
};

void JoinNeighbours(std::vector<Dim>& dims) {
  std::erase_if(dims, [](const Dim& dim) { return dim.size == 1; });
  for (size_t i = dims.size(); i-- > 1;) {
    if (!Follows(dims[i - 1], dims[i])) continue;
    dims[i].size *= dims[i - 1].size;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
}

}  // namespace

Loops MakeLoops(const EltwiseProblem& problem, int64_t blocks, bool tables) {
  const bool blocked = ChannelBlock(problem.layout()) > 1;
  std::vector<TensorSteps> streams = {StepsOf(problem.src, blocked), StepsOf(problem.dst, blocked)};
  streams.push_back({0, 1, 0, 0, blocked ? 1 : 0});  // tables
  for (const EltwiseProblem::Operand& operand : problem.operands) {
    streams.push_back(StepsOf(operand, problem.shape(), blocked));
  }
  if (!tables) streams[2] = streams[0];

  std::vector<Dim> dims = DimsOf(problem, blocks, streams);
  RunBuilder run(dims, ChannelBlock(problem.layout()));
  run.Build();
  JoinNeighbours(dims);

  Loops loops;
  loops.run = run.size();
  const auto stream = [&](size_t i) {
    Stream made{run.mode(i), {}};
    for (size_t d = 0; d < dims.size(); ++d) made.steps[d] = dims[d].steps[i];
    return made;
  };
  loops.src = stream(0), loops.dst = stream(1), loops.tables = stream(2);
  for (size_t i = 3; i < streams.size(); ++i) loops.operands.push_back(stream(i));
  for (const Dim& dim : dims) loops.outer.push_back(dim.size);
  if (!loops.outer.empty()) {
    loops.rows = loops.outer.back();
    loops.outer.pop_back();
  }
  return loops;
}

}  // namespace rafter::eltwise
