// cli/interrupt.cc: see interrupt.h.
#include "cli/interrupt.h"

#include <signal.h>

namespace rafter::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> which_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used by a signal handler");

extern "C" void OnSignal(int number) {
  which_signal = number;
  interrupted = true;
}

}  // namespace

void CatchInterrupts() noexcept {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

const std::atomic<bool>& Interrupted() noexcept { return interrupted; }

int InterruptSignal() noexcept { return which_signal; }

}  // namespace rafter::cli
