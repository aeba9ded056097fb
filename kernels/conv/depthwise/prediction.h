// kernels/conv/depthwise/prediction.h: how long the kernels should take, in clock cycles of one thread. Only to compare
// algorithms and to explain: the choices inside depthwise do not depend on it (tuning.h).
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_PREDICTION_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_PREDICTION_H_

#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/geometry.h"
#include "kernels/conv/depthwise/width_plan.h"
#include "runtime/machine_model.h"

namespace rafter::depthwise {

double PredictChannelCycles(const Geometry& g, const ChannelBlocking& b, int lanes, const MachineModel& machine);
double PredictWidthCycles(const Geometry& g, const WidthBlocking& b, const MachineModel& machine);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_PREDICTION_H_
