// kernels/conv/conv.cc: being written.
