// runtime/topology.cc: being written.
