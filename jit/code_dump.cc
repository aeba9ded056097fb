// jit/code_dump.cc: being written.
