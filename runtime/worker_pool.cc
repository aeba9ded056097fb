// runtime/worker_pool.cc: being written.
