// jit/post_op_emitter.cc: being written.
