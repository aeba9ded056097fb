// kernels/conv/describe.h: a problem in words, for Explain. Not for parsing: bench/descriptor has a
// notation.
#ifndef RAFTER_KERNELS_CONV_DESCRIBE_H_
#define RAFTER_KERNELS_CONV_DESCRIBE_H_

#include <string>

#include "kernels/conv/problem.h"

namespace rafter {

// One line for the layer, one per tensor, one for what it costs; each ends with a newline.
std::string DescribeProblem(const ConvProblem& problem);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_DESCRIBE_H_
