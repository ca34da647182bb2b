// POSIX signals: the SIGSEGV handler and the chain of those that were there before it. See fault.h.
#include <pthread.h>
#include <signal.h>

#include "platform/fault.h"
#if defined(__linux__)
#include <ucontext.h>
#endif

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "platform/fault_handling.h"

namespace iw::platform {

namespace {

// Handlers that were there before ours, oldest first. Entries never change once counted.
constexpr std::size_t max_previous = 16;
std::array<struct sigaction, max_previous> previous{};
std::atomic<std::size_t> previous_count{0};

// Handlers of the parent's other threads are not in the child; their counts are.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, forget_running_handlers);

FaultAccess kind_of_access([[maybe_unused]] void* signal_context) {
#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__))
  const auto* context = static_cast<const ucontext_t*>(signal_context);
  constexpr greg_t was_write = 2;  // of the page fault's error code
  return (context->uc_mcontext.gregs[REG_ERR] & was_write) != 0 ? FaultAccess::write
                                                                : FaultAccess::read;
#else
  return FaultAccess::unknown;
#endif
}

void on_fault(int signal_number, siginfo_t* info, void* signal_context);

// A handler installed after ours may chain to ours in turn. The same signal frame seen again from
// deeper in the stack means that: then the next older handler is asked, so that the chain ends.
// (After a handler that left by longjmp, our frame is at the same place, not deeper.)
struct Chaining {
  void* signal_context;
  void* frame;
  std::size_t handlers_left;
};
__attribute__((tls_model("initial-exec")))  // the other models may take memory in the handler
thread_local constinit Chaining chaining{nullptr, nullptr, 0};

void call_previous(const struct sigaction& action, int signal_number, siginfo_t* info,
                   void* signal_context) {
  const bool wants_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (!wants_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    // Nobody handles it: the access is made again and ends the process as usual.
    signal(signal_number, SIG_DFL);
    return;
  }
  pthread_sigmask(SIG_BLOCK, &action.sa_mask, nullptr);  // undone when the signal returns
  if (wants_info) {
    action.sa_sigaction(signal_number, info, signal_context);
  } else {
    action.sa_handler(signal_number);
  }
}

void chain(int signal_number, siginfo_t* info, void* signal_context) {
  void* frame = __builtin_frame_address(0);
  const bool again = chaining.signal_context == signal_context && chaining.frame != frame;
  const std::size_t left =
      again ? chaining.handlers_left : previous_count.load(std::memory_order_acquire);
  const Chaining outer = chaining;
  if (left == 0) {
    signal(signal_number, SIG_DFL);
    return;
  }
  chaining = {signal_context, frame, left - 1};
  call_previous(previous[left - 1], signal_number, info, signal_context);
  chaining = outer;
}

void on_fault(int signal_number, siginfo_t* info, void* signal_context) {
  const int saved_errno = errno;
  if (!handle_watched_fault(static_cast<std::byte*>(info->si_addr),
                            kind_of_access(signal_context))) {
    chain(signal_number, info, signal_context);
  }
  errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

bool same_handler(const struct sigaction& a, const struct sigaction& b) {
  if (((a.sa_flags ^ b.sa_flags) & SA_SIGINFO) != 0) return false;
  return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                        : a.sa_handler == b.sa_handler;
}

}  // namespace

Status put_fault_handler_on_top() {
  struct sigaction now {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return last_failure("sigaction");
  if (is_ours(now)) return {};
  const std::size_t count = previous_count.load(std::memory_order_relaxed);
  if (count == 0 || !same_handler(previous[count - 1], now)) {
    if (count == max_previous) return {ENOSPC, "SIGSEGV handlers replaced too often"};
    previous[count] = now;
    previous_count.store(count + 1, std::memory_order_release);
  }
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGSEGV, &ours, nullptr) != 0) return last_failure("sigaction");
  return {};
}

}  // namespace iw::platform
