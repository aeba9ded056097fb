// kernels/conv/packed_weights.cc: being written.
