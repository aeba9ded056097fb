// runtime/fork_generation.h: has this process been forked since rafter was loaded?
//
// Threads do not survive fork: a child that waits for its parent's workers hangs. Whatever owns
// threads remembers the generation in which it started them and starts anew (or does without) in
// another one. Only fork() counts, which runs atfork handlers; a raw clone system call is not
// noticed.
#ifndef RAFTER_RUNTIME_FORK_GENERATION_H_
#define RAFTER_RUNTIME_FORK_GENERATION_H_

#include <cstdint>

namespace rafter {

// 0 in the process that loaded rafter, one more in each child, grandchild and so on. A plain load.
uint32_t ForkGeneration() noexcept;

}  // namespace rafter

#endif  // RAFTER_RUNTIME_FORK_GENERATION_H_
