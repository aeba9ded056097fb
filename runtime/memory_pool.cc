// runtime/memory_pool.cc: being written.
