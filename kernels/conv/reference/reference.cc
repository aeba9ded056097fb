// kernels/conv/reference/reference.cc: being written.
