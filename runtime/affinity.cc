// runtime/affinity.cc: being written.
