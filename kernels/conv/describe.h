// kernels/conv/describe.h: a problem, and a plan's kernels, in words, for Explain. Not for parsing: bench/descriptor
// has a notation of problems.
#ifndef RAFTER_KERNELS_CONV_DESCRIBE_H_
#define RAFTER_KERNELS_CONV_DESCRIBE_H_

#include <span>
#include <string>

#include "jit/compiled_kernel.h"
#include "kernels/conv/problem.h"

namespace rafter {

// One line for the layer, one per tensor, one for what it costs; each ends with a newline.
std::string DescribeProblem(const ConvProblem& problem);

// How many different kernels there are, and the name of each, a line for each; sorted.
std::string DescribeKernels(std::span<const jit::KernelPtr> kernels);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_DESCRIBE_H_
