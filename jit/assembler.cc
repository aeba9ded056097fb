// jit/assembler.cc: being written.
