// kernels/conv/reference/plan.cc: being written.
