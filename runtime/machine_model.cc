// runtime/machine_model.cc: being written.
