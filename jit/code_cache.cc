// jit/code_cache.cc: being written.
