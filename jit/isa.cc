// jit/isa.cc: being written.
