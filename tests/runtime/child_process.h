// tests/runtime/child_process.h: runs something in a forked child that cannot hang the test.
#ifndef RAFTER_TESTS_RUNTIME_CHILD_PROCESS_H_
#define RAFTER_TESTS_RUNTIME_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rafter {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr unsigned kChildSeconds = 10;

// True if `body` (which returns whether all was right) returned true in a child within 10 seconds.
// The thread sanitizer does not let the child of a process with threads start its own: see the
// callers.
template <typename Body>
bool HoldsInChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(kChildSeconds);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace rafter

#endif  // RAFTER_TESTS_RUNTIME_CHILD_PROCESS_H_
