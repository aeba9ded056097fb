// jit/executable_memory.cc: being written.
