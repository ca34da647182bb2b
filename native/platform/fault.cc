// POSIX signals. The handler must find a range without a lock: it reads an immutable sorted table
// through one atomic pointer. A thread that changes the table publishes a new one and waits until
// no handler can still be using the old one (two counters, flipped, as in sleepable RCU: a handler
// that starts meanwhile counts itself on the other side, so the wait ends).
#include "platform/fault.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#if defined(__linux__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace iw::platform {

namespace {

struct WatchedRange {
  std::byte* begin;
  std::byte* end;
  FaultHandler handler;
  void* context;
};
using RangeTable = std::vector<WatchedRange>;  // sorted by begin, disjoint

std::atomic<const RangeTable*> current_table{nullptr};
std::array<std::atomic<unsigned>, 2> handlers_inside{};
std::atomic<unsigned> side{0};

// Handlers that were there before ours, oldest first. Entries never change once counted.
constexpr std::size_t max_previous = 16;
std::array<struct sigaction, max_previous> previous{};
std::atomic<std::size_t> previous_count{0};

std::mutex& change_mutex() {
  static auto* mutex = new std::mutex;  // never destroyed: watches may end during exit
  return *mutex;
}

void wait_for_handlers_on(unsigned which) {
  while (handlers_inside[which].load(std::memory_order_seq_cst) != 0) sched_yield();
}

// Call with the mutex held. Twice, because a handler may have read `side` and not yet counted.
void wait_for_handlers() {
  for (int i = 0; i < 2; ++i) {
    const unsigned old_side = side.load(std::memory_order_relaxed);
    side.store(old_side ^ 1, std::memory_order_seq_cst);
    wait_for_handlers_on(old_side);
  }
}

void publish(std::unique_ptr<const RangeTable> next) {
  std::unique_ptr<const RangeTable> old(
      current_table.exchange(next.release(), std::memory_order_seq_cst));
  wait_for_handlers();
}

// Handlers of the parent's other threads are not in the child; their counts are.
[[maybe_unused]] const int registered =
    pthread_atfork([] { change_mutex().lock(); }, [] { change_mutex().unlock(); },
                   [] {
                     for (auto& count : handlers_inside) count.store(0, std::memory_order_relaxed);
                     change_mutex().unlock();
                   });

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

bool handle_watched(std::byte* address, void* signal_context) {
  const unsigned counted = side.load(std::memory_order_seq_cst);
  handlers_inside[counted].fetch_add(1, std::memory_order_seq_cst);
  bool handled = false;
  if (const RangeTable* table = current_table.load(std::memory_order_seq_cst)) {
    auto after =
        std::upper_bound(table->begin(), table->end(), address,
                         [](const std::byte* a, const WatchedRange& r) { return a < r.begin; });
    if (after != table->begin() && address < std::prev(after)->end) {
      const WatchedRange& range = *std::prev(after);
      handled = range.handler(range.context, address, kind_of_access(signal_context));
    }
  }
  handlers_inside[counted].fetch_sub(1, std::memory_order_seq_cst);
  return handled;
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
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((tls_model("initial-exec")))  // the other models may take memory in the handler
#endif
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
  if (!handle_watched(static_cast<std::byte*>(info->si_addr), signal_context)) {
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

// Call with the mutex held.
Status install_on_top() {
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

}  // namespace

FaultWatch::FaultWatch(FaultWatch&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)) {}

FaultWatch& FaultWatch::operator=(FaultWatch&& other) noexcept {
  if (this != &other) {
    stop();
    begin_ = std::exchange(other.begin_, nullptr);
  }
  return *this;
}

Status FaultWatch::start(std::byte* begin, std::size_t size_bytes, FaultHandler handler,
                         void* context, FaultWatch& out) {
  out.stop();
  const WatchedRange range{begin, begin + size_bytes, handler, context};
  std::lock_guard lock(change_mutex());
  if (Status bad = install_on_top(); !bad) return bad;
  const RangeTable* table = current_table.load(std::memory_order_relaxed);
  auto next =
      table != nullptr ? std::make_unique<RangeTable>(*table) : std::make_unique<RangeTable>();
  auto at = std::lower_bound(next->begin(), next->end(), begin,
                             [](const WatchedRange& r, const std::byte* b) { return r.begin < b; });
  if ((at != next->end() && at->begin < range.end) ||
      (at != next->begin() && std::prev(at)->end > begin)) {
    return {EEXIST, "another watch covers the range"};
  }
  next->insert(at, range);
  publish(std::move(next));
  out.begin_ = begin;
  return {};
}

void FaultWatch::stop() {
  if (begin_ == nullptr) return;
  std::lock_guard lock(change_mutex());
  auto next = std::make_unique<RangeTable>(*current_table.load(std::memory_order_relaxed));
  std::erase_if(*next, [this](const WatchedRange& r) { return r.begin == begin_; });
  publish(std::move(next));
  begin_ = nullptr;
}

Status keep_fault_handler_on_top() {
  if (current_table.load(std::memory_order_acquire) == nullptr) return {};
  std::lock_guard lock(change_mutex());
  return install_on_top();
}

}  // namespace iw::platform
