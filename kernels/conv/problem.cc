// kernels/conv/problem.cc: being written.
