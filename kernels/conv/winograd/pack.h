// kernels/conv/winograd/pack.h: packed weights: transformed, in panels of one register tile's output channels.
//
//   payload = bias[group][vector][lane], then for each group and run of panels:
//             U[position][panel][input channel][lane of the panel's vectors]
//
// The product kernel reads a run front to back. Missing output channels are zero. Values are transformed in double
// precision and rounded once.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_PACK_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_PACK_H_

#include <cstdint>

#include "jit/isa.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/winograd/axis.h"
#include "kernels/inline_vector.h"

namespace rafter::winograd {

// Panels of one width.
struct PanelRun {
  int64_t first_vec = 0, panels = 0;
  int vecs = 0;
};
using PanelRuns = InlineVector<PanelRun, 4>;

// How `vecs` vectors of output channels are cut into panels. A function of the layer and the vector width.
PanelRuns CutPanels(int64_t vecs, const jit::IsaInfo& isa);

// Parts of each sum over `ic_g` input channels (ProductSpec): a function of the layer.
int SumParts(int64_t ic_g);
// Tiles of a register tile with `vecs` vectors.
int MaxTiles(int vecs, int parts, const jit::IsaInfo& isa);

struct PackLayout {
  TileShape shape;
  int lanes = 0;
  int64_t groups = 0, ic_g = 0, oc_g = 0, vecs = 0;  // vecs per group
  PanelRuns runs;
  int64_t bias_floats = 0, group_floats = 0;

  int64_t bias(int64_t group) const { return group * vecs * lanes; }
  // First float of a run of a group.
  int64_t weights(int64_t group, int64_t first_vec) const {
    return bias_floats + group * group_floats + shape.positions() * ic_g * first_vec * lanes;
  }
  int64_t payload_floats() const { return bias_floats + groups * group_floats; }
};

PackLayout LayOut(const ConvProblem& problem, TileShape shape, const jit::IsaInfo& isa);
PackedHeader HeaderOf(const PackLayout& layout, const ConvProblem& problem);
// `oihw` dense [groups * oc_g][ic_g][taps]; `bias` of all channels or null; `payload` zeroed.
void PackWeights(const PackLayout& layout, const float* oihw, const float* bias, float* payload) noexcept;

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_PACK_H_
