// kernels/conv/winograd/driver.cc: executes a WinogradPlan.
//
//   for each group, or bundle of groups of few channels
//     for each block of tiles               V and M of a block stay in L2, as a rule
//       input transform                     src -> V[position][tile][input channel]
//       product, position by position       V -> M[position][tile][output channel]; weights are read front to back;
//                                           meanwhile the next inputs and the block's outputs are prefetched
//       output transform                    M -> dst
//
// Threads take whole blocks, or, where there are few tiles, share a block: its panels of output channels, and, where
// there is much of V, its tiles before (Split).
#include <algorithm>

#include "kernels/conv/winograd/worker.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"
#include "runtime/work_shares.h"

namespace rafter::winograd {

Worker::Worker(const WinogradPlan& plan, const ConvCall& call, const Buffers& buffers)
    : plan_(plan), problem_(plan.problem_), geometry_(plan.geometry_), shape_(plan.geometry_.shape), call_(call),
      buffers_(buffers), lanes_(plan.layout_.lanes) {}

void Worker::TransformInputs(Range block, Range mine, Range channels) {
  const Layout layout = problem_.desc.src.layout;
  if (CutsInputChannels()) return TransformStrips(block, mine, channels);
  ForEachRun(block, mine, kStripTiles, [&](const TileRun& run) {
    if (layout == Layout::kNhwc) {
      TransformPixels(run);
    } else {
      TransformBlocks(run);
    }
  });
}

void Worker::Multiply(int64_t tiles, Range vecs) {
  for (int64_t i = 0; i < plan_.blocking_.groups; ++i) MultiplyGroup(i, tiles, vecs);
}

void Worker::MultiplyPositions(int64_t tiles, Range positions) {
  if (positions.begin >= positions.end) return;
  for (size_t r = 0; r < plan_.layout_.runs.size(); ++r) {
    const PanelRun& run = plan_.layout_.runs[r];
    ProductArgs args = ArgsOf(r, 0, tiles, {0, run.panels});
    args.positions = positions.end - positions.begin;
    args.v += positions.begin * plan_.v_rows_.position;
    args.m += positions.begin * plan_.m_rows_.position;
    args.u += positions.begin * run.panels * args.u_panel / kFloat;
    plan_.Cut(r, tiles).kernel(&args);
  }
}

// Group `index` of those that lie side by side in V and M.
void Worker::MultiplyGroup(int64_t index, int64_t tiles, Range vecs) {
  const PackLayout& layout = plan_.layout_;
  for (size_t r = 0; r < layout.runs.size(); ++r) {
    const PanelRun& run = layout.runs[r];
    const int64_t begin = std::max<int64_t>(vecs.begin - run.first_vec, 0) / run.vecs;
    const int64_t end = std::min(vecs.end - run.first_vec, run.panels * run.vecs) / run.vecs;
    if (begin >= end) continue;
    ProductArgs args = ArgsOf(r, index, tiles, {begin, end});
    plan_.Cut(r, tiles).kernel(&args);
  }
}

// For all positions of some panels of a run.
ProductArgs Worker::ArgsOf(size_t r, int64_t index, int64_t tiles, Range panels) const {
  const PackLayout& layout = plan_.layout_;
  const PanelRun& run = layout.runs[r];
  const ProductCut& cut = plan_.Cut(r, tiles);
  const int64_t panel = layout.ic_g * run.vecs * lanes_, count = panels.end - panels.begin;
  ProductArgs args;
  args.v = buffers_.v + index * layout.ic_g;
  args.u = call_.weights + layout.weights(group_ + index, run.first_vec) + panels.begin * panel;
  args.m = buffers_.m + (index * layout.vecs + run.first_vec + panels.begin * run.vecs) * lanes_;
  args.positions = shape_.positions();
  args.panels = count;
  args.wide = cut.wide, args.narrow = cut.narrow;
  args.k_by_4 = layout.ic_g / 4, args.k_rest = layout.ic_g % 4;
  args.v_row = plan_.v_rows_.tile * kFloat, args.v_plane = plan_.v_rows_.position * kFloat;
  args.m_row = plan_.m_rows_.tile * kFloat, args.m_plane = plan_.m_rows_.position * kFloat;
  args.u_panel = panel * kFloat;
  args.u_skip = (run.panels - count) * panel * kFloat;
  return args;
}

TileRun Worker::OneTile(int64_t tile) const {
  const int64_t per_row = geometry_.tiles_w, per_image = geometry_.tiles_h * per_row;
  return {tile / per_image, tile % per_image / per_row, tile % per_row, 1, 0};
}

// The products compute and the transforms wait for memory: position by position a share of what they will touch is
// prefetched into L2.
void Worker::MultiplyAhead(Range block, Range next, int64_t next_group) {
  const PackLayout& layout = plan_.layout_;
  const int64_t tiles = block.end - block.begin;
  const int runs = static_cast<int>(layout.runs.size()), positions = static_cast<int>(shape_.positions());
  const int steps = static_cast<int>(plan_.blocking_.groups) * runs;
  for (int step = 0; step < steps; ++step) {
    const auto r = static_cast<size_t>(step % runs);
    const PanelRun& run = layout.runs[r];
    ProductArgs args = ArgsOf(r, step / runs, tiles, {0, run.panels});
    for (int position = 0; position < positions; ++position) {
      args.positions = 1;
      plan_.Cut(r, tiles).kernel(&args);  // leaves v and m at the next position
      args.u += run.panels * args.u_panel / kFloat;
      PrefetchShare(block, next, next_group, steps * positions, step * positions + position);
    }
  }
}

void Worker::PrefetchShare(Range block, Range next, int64_t next_group, int shares, int share) const {
  const auto spread = [&](Range tiles) {  // also where there are fewer tiles than shares
    const int64_t count = tiles.end - tiles.begin;
    return Range{count * share / shares, count * (share + 1) / shares};
  };
  const Range outputs = spread(block), inputs = spread(next);
  const Range vecs{0, plan_.blocking_.groups * plan_.layout_.oc_g / lanes_};
  if (plan_.staged_tiles_ == 0) {
    for (int64_t i = outputs.begin; i < outputs.end; ++i) PrefetchOutputs(OneTile(block.begin + i), 0, vecs);
  }
  for (int64_t i = inputs.begin; i < inputs.end; ++i) {
    const TileRun run = OneTile(next.begin + i);
    PrefetchInputs(next_group, run, i == 0 || run.x == 0);
  }
}

void Worker::TransformOutputs(Range block, Range mine, Range vecs) {
  const Layout layout = problem_.desc.dst.layout;
  ForEachRun(block, mine, kStripTiles, [&](const TileRun& run) {
    if (!plan_.by_vectors(layout)) {
      StorePixels(run, vecs);
      return;
    }
    for (int64_t vec = vecs.begin; vec < vecs.end; ++vec) {
      if (plan_.vectors_lie_together(layout)) {
        StoreVector(run, vec);
      } else {
        StoreThroughStrip(run, vec);
      }
    }
  });
}

Buffers WinogradPlan::BuffersOf(const ConvCall& call, int thread) const {
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  const bool together = shares_intermediates();
  const int64_t intermediates = v_floats_ + m_floats_, copies = together ? 1 : blocking_.threads;
  float* v = scratch + (together ? 0 : thread) * intermediates;
  return {v, v + v_floats_, scratch + copies * intermediates + thread * stage_floats_};
}

void WinogradPlan::Run(const ConvCall& call) const noexcept {
  if (geometry_.tiles == 0) return;
  const int threads = std::max(1, std::min(call.threads, blocking_.threads));
  if (blocking_.split == Split::kBlocks || threads == 1) return RunBlocks(call, threads);
  if (blocking_.split == Split::kPositions) return RunPositions(call, threads);
  RunShared(call, threads);
}

void WinogradPlan::RunBlocks(const ConvCall& call, int threads) const {
  const int64_t groups = blocking_.groups;
  WorkShares shares(layout_.groups / groups * blocking_.blocks, threads);
  RunOnThreads(*call.pool, threads, [&](int thread, int) {
    Worker worker(*this, call, BuffersOf(call, thread));
    for (Range items = shares.Take(thread); items.begin < items.end; items = shares.Take(thread)) {
      for (int64_t item = items.begin; item < items.end; ++item) {
        const Range block = blocking_.Tiles(item % blocking_.blocks);
        worker.SetGroup(item / blocking_.blocks * groups);
        worker.TransformInputs(block, block);
        if (prefetches_) {
          const bool last = item + 1 == items.end;
          const int64_t next = last ? item : item + 1;
          worker.MultiplyAhead(block, last ? Range{} : blocking_.Tiles(next % blocking_.blocks),
                               next / blocking_.blocks * groups);
        } else {
          worker.Multiply(block.end - block.begin, {0, layout_.vecs});
        }
        worker.TransformOutputs(block, block, {0, groups * layout_.vecs});
      }
    }
    if (staged_tiles_ > 0) FinishStores();
  });
}

void WinogradPlan::RunShared(const ConvCall& call, int threads) const {
  const bool stages = blocking_.split == Split::kStages;
  for (int64_t item = 0; item < layout_.groups * blocking_.blocks; ++item) {
    const Range block = blocking_.Tiles(item % blocking_.blocks);
    const int64_t tiles = block.end - block.begin;
    const auto transform = [&](int thread, int team) {
      Worker worker(*this, call, BuffersOf(call, thread));
      worker.SetGroup(item / blocking_.blocks);
      const Range part = SplitRange(tiles, team, thread);
      worker.TransformInputs(block, {block.begin + part.begin, block.begin + part.end});
    };
    if (stages) RunOnThreads(*call.pool, threads, transform);
    RunOnThreads(*call.pool, threads, [&](int thread, int team) {
      Worker worker(*this, call, BuffersOf(call, thread));
      worker.SetGroup(item / blocking_.blocks);
      const Range vecs{FirstVector(team, thread), FirstVector(team, thread + 1)};
      if (vecs.begin >= vecs.end) return;
      if (!stages) worker.TransformInputs(block, block);
      worker.Multiply(tiles, vecs);
      worker.TransformOutputs(block, block, vecs);
    });
  }
}

// Few tiles and few output channels: the weights, of which each thread reads its part, are most of the work.
void WinogradPlan::RunPositions(const ConvCall& call, int threads) const {
  const int64_t grain = blocking_.grain;
  for (int64_t item = 0; item < layout_.groups * blocking_.blocks; ++item) {
    const Range block = blocking_.Tiles(item % blocking_.blocks);
    const int64_t tiles = block.end - block.begin;
    const auto share = [&](int64_t units, int64_t unit, int thread, int team) {
      const Range part = SplitRange(units, team, thread);
      return Range{part.begin * unit, part.end * unit};
    };
    const auto run = [&](const auto& stage) {
      RunOnThreads(*call.pool, threads, [&](int thread, int team) {
        Worker worker(*this, call, BuffersOf(call, thread));
        worker.SetGroup(item / blocking_.blocks);
        stage(worker, thread, team);
      });
    };
    const auto tiles_of = [&](int thread, int team) {
      const Range part = share(tiles / grain, grain, thread, team);
      return Range{block.begin + part.begin, block.begin + part.end};
    };
    run([&](Worker& worker, int thread, int team) {
      if (!worker.CutsInputChannels()) return worker.TransformInputs(block, tiles_of(thread, team));
      const int64_t lanes = layout_.lanes;
      const Range channels = share(CeilDiv(problem_.ic_g, lanes), lanes, thread, team);
      worker.TransformInputs(block, block, {channels.begin, std::min(channels.end, problem_.ic_g)});
    });
    run([&](Worker& worker, int thread, int team) {
      worker.MultiplyPositions(tiles, SplitRange(geometry_.shape.positions(), team, thread));
    });
    run([&](Worker& worker, int thread, int team) {
      worker.TransformOutputs(block, tiles_of(thread, team), {0, layout_.vecs});
      if (staged_tiles_ > 0) FinishStores();
    });
  }
}

// Where a thread's share of the output channels begins: at a panel.
int64_t WinogradPlan::FirstVector(int team, int thread) const {
  const int64_t wanted = thread >= team ? layout_.vecs : layout_.vecs * thread / team;
  for (const PanelRun& run : layout_.runs) {
    if (wanted >= run.first_vec + run.panels * run.vecs) continue;
    const int64_t panel = (wanted - run.first_vec + run.vecs / 2) / run.vecs;
    return run.first_vec + panel * run.vecs;
  }
  return layout_.vecs;
}

}  // namespace rafter::winograd
