// kernels/conv/dispatch.cc: being written.
