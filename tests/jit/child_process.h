// tests/jit/child_process.h: runs one test of this program again in a process of its own, for what
// is decided once per process: environment variables, seccomp filters, forks.
//
// The test to run is named DISABLED_..., so that it does not run by itself.
#ifndef RAFTER_TESTS_JIT_CHILD_PROCESS_H_
#define RAFTER_TESTS_JIT_CHILD_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace rafter::jit {

struct ChildResult {
  bool passed = false, skipped = false;
  pid_t pid = 0;
  std::string output;
};

// `test`: "Suite.DISABLED_Name". `environment`: added to that of this process; all RAFTER_
// variables of this process are removed.
inline ChildResult RunInChild(
    const std::string& test,
    const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  const std::string filter = "--gtest_filter=" + test;
  int output_pipe[2];
  ChildResult result;
  if (pipe2(output_pipe, O_CLOEXEC) != 0) return result;
  result.pid = fork();
  if (result.pid == 0) {
    dup2(output_pipe[1], STDOUT_FILENO);
    dup2(output_pipe[1], STDERR_FILENO);
    for (const char* name : {"RAFTER_MAX_ISA", "RAFTER_NO_JIT", "RAFTER_JIT_DUMP",
                             "RAFTER_JIT_PERF", "GTEST_OUTPUT", "GTEST_TOTAL_SHARDS"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl("/proc/self/exe", "rafter_child_test", filter.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_color=no", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(output_pipe[1]);
  char buffer[4096];
  ssize_t length;
  while ((length = read(output_pipe[0], buffer, sizeof buffer)) > 0 ||
         (length < 0 && errno == EINTR)) {
    if (length > 0) result.output.append(buffer, static_cast<size_t>(length));
  }
  close(output_pipe[0]);
  int status = 0;
  waitpid(result.pid, &status, 0);
  const bool ran = result.output.find("Running 1 test") != std::string::npos;
  const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.skipped = succeeded && result.output.find("[  SKIPPED ]") != std::string::npos;
  result.passed = ran && succeeded && !result.skipped;
  return result;
}

}  // namespace rafter::jit

#endif  // RAFTER_TESTS_JIT_CHILD_PROCESS_H_
