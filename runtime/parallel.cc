// runtime/parallel.cc: being written.
