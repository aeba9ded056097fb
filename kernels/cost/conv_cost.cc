// kernels/cost/conv_cost.cc: being written.
