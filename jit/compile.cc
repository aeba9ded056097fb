// jit/compile.cc: being written.
