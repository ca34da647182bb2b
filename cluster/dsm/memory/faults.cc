#include "dsm/memory/faults.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>

#include "dsm/memory/thread_stack.h"
#include "platform/mutex.h"

namespace iw::dsm {
namespace {

// Read by signal handlers without a lock. `running` counts the handlers that look at the range or
// call it: whoever empties a place waits for them.
struct Place {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<FaultRange*> range{nullptr};
  std::atomic<unsigned> running{0};

  // The part of [address, address + size) that lies in the range.
  std::size_t overlap(std::uintptr_t address, std::size_t size, std::uintptr_t* first) const {
    const std::uintptr_t low = begin.load(std::memory_order_acquire);
    const std::uintptr_t high = low + bytes.load(std::memory_order_acquire);
    *first = std::max(address, low);
    const std::uintptr_t end = std::min(address + size, high);
    return end > *first ? end - *first : 0;
  }
  bool has(const void* address) const {
    std::uintptr_t first;
    return overlap(reinterpret_cast<std::uintptr_t>(address), 1, &first) != 0;
  }
};
std::array<Place, 16> places;
// Places from there on were never taken. A program without a heap looks at none.
std::atomic<std::size_t> places_taken{0};

std::span<Place> taken_places() {
  return std::span(places).first(places_taken.load(std::memory_order_acquire));
}

platform::Mutex mutex;  // to start and stop watches, and to install the handler

// The handlers that were there before ours, of one signal, oldest first. An entry does not change
// once it is counted.
struct Previous {
  std::array<struct sigaction, 16> actions;
  std::atomic<std::size_t> count{0};
};
Previous before_segv, before_bus;

Previous& previous_of(int signal_number) {
  return signal_number == SIGSEGV ? before_segv : before_bus;
}

// The parent's threads, and the faults that they handle, are not in a child; nor is the heap.
[[maybe_unused]] const int registered = pthread_atfork(
    []() IW_NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); },  // the next two functions unlock it
    []() IW_NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); },
    []() IW_NO_THREAD_SAFETY_ANALYSIS {
      for (Place& each : places) {
        each.range = nullptr;
        each.bytes = 0;
        each.running = 0;
      }
      mutex.unlock();
    });

FaultRange::Wanted wanted_by([[maybe_unused]] ucontext_t& context) {
  using Wanted = FaultRange::Wanted;
#if defined(__x86_64__)
  constexpr greg_t was_write = 2;  // of the page fault's error code
  return (context.uc_mcontext.gregs[REG_ERR] & was_write) != 0 ? Wanted::write : Wanted::read;
#elif defined(__aarch64__)
  // Records follow each other: a number that names the kind, and the bytes with this head.
  constexpr std::uint32_t esr_magic = 0x45535201;
  constexpr std::uint64_t was_write = 1 << 6;
  const auto* record = reinterpret_cast<const std::byte*>(context.uc_mcontext.__reserved);
  const std::byte* const end = record + sizeof context.uc_mcontext.__reserved;
  while (end - record >= 16) {
    std::uint32_t head[2];
    std::memcpy(head, record, sizeof head);
    if (head[0] == esr_magic) {
      std::uint64_t syndrome;
      std::memcpy(&syndrome, record + sizeof head, sizeof syndrome);
      return (syndrome & was_write) != 0 ? Wanted::write : Wanted::read;
    }
    if (head[0] == 0 || head[1] < sizeof head) break;
    record += std::min<std::ptrdiff_t>(head[1], end - record);
  }
#endif
  return Wanted::unknown;
}

struct Fault {
  std::byte* address;
  FaultRange::Wanted wanted;
  FaultRange* range;
  bool is_done;
};

void tell(void* argument) {
  auto& fault = *static_cast<Fault*>(argument);
  fault.is_done = fault.range->on_fault(fault.address, fault.wanted);
}

bool handle(siginfo_t* info, void* context) {
  Fault fault{static_cast<std::byte*>(info->si_addr), wanted_by(*static_cast<ucontext_t*>(context)),
              nullptr, false};
  for (Place& place : taken_places()) {
    if (!place.has(fault.address)) continue;
    place.running++;
    fault.range = place.range;
    // Once more, because the place may have become another range's.
    const bool is_its = fault.range != nullptr && place.has(fault.address);
    if (is_its) call_on_interrupted_stack(context, tell, &fault);
    place.running--;
    if (is_its) break;
  }
  return fault.is_done;
}

void end_by_default(int signal_number, bool is_sent) {
  signal(signal_number, SIG_DFL);
  // A fault happens again when the handler returns; a signal that was sent does not.
  if (is_sent) raise(signal_number);
}

void call(const struct sigaction& action, int signal_number, siginfo_t* info, void* context) {
  const bool wants_info = (action.sa_flags & SA_SIGINFO) != 0;
  const bool is_sent = info->si_code <= 0;
  if (!wants_info && action.sa_handler == SIG_IGN && is_sent) return;
  if (!wants_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    return end_by_default(signal_number, is_sent);
  }
  sigset_t blocked = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal_number);
  // Undone when the signal's handler returns. pthread_sigmask would not block the signal itself.
  constexpr std::size_t kernel_set_bytes = 8;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, nullptr, kernel_set_bytes);
  if (wants_info) {
    action.sa_sigaction(signal_number, info, context);
  } else {
    action.sa_handler(signal_number);
  }
}

// A handler that was installed after ours may call ours in turn. The same context, seen again
// deeper in the stack, means that: then an older handler is called, so that the chain ends.
struct Chain {
  void* context;
  void* frame;
  std::size_t left;
};
// Other models may take memory at a thread's first use.
__attribute__((tls_model("initial-exec"))) thread_local constinit Chain chain{};

void call_previous(int signal_number, siginfo_t* info, void* context) {
  void* const frame = __builtin_frame_address(0);
  const Previous& previous = previous_of(signal_number);
  const bool is_again = chain.context == context && chain.frame != frame;
  const std::size_t left = is_again ? chain.left : previous.count.load(std::memory_order_acquire);
  if (left == 0) return end_by_default(signal_number, info->si_code <= 0);
  const Chain outer = chain;
  chain = {context, frame, left - 1};
  call(previous.actions[left - 1], signal_number, info, context);
  chain = outer;
}

void on_signal(int signal_number, siginfo_t* info, void* context) {
  const int kept = errno;
  const bool is_sent = info->si_code <= 0;
  if (is_sent || !handle(info, context)) call_previous(signal_number, info, context);
  errno = kept;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

bool are_same(const struct sigaction& one, const struct sigaction& other) {
  if (((one.sa_flags ^ other.sa_flags) & SA_SIGINFO) != 0) return false;
  return (one.sa_flags & SA_SIGINFO) != 0 ? one.sa_sigaction == other.sa_sigaction
                                          : one.sa_handler == other.sa_handler;
}

bool put_on_top(int signal_number) IW_REQUIRES(mutex) {
  struct sigaction now {};
  if (sigaction(signal_number, nullptr, &now) != 0) return false;
  if (is_ours(now)) return true;
  Previous& previous = previous_of(signal_number);
  const std::size_t count = previous.count;
  if (count == 0 || !are_same(previous.actions[count - 1], now)) {
    if (count == previous.actions.size()) {
      errno = ENOSPC;
      return false;
    }
    previous.actions[count] = now;
    previous.count.store(count + 1, std::memory_order_release);
  }
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  // Not deferred: a fault during a fault must be told, not end the process without a word.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  return sigaction(signal_number, &ours, nullptr) == 0;
}

std::array<std::atomic<bool>, 2> is_wanted;  // SIGSEGV, SIGBUS

}  // namespace

bool FaultWatch::start(std::byte* begin, std::size_t bytes, int signal_number, FaultRange* range,
                       std::string* error) {
  stop();
  const platform::MutexLock lock(mutex);
  const auto free = std::ranges::find_if(
      places, [](Place& each) { return each.range == nullptr && each.running == 0; });
  if (free == places.end()) {
    *error = "no more than " + std::to_string(places.size()) +
             " heaps can be watched for faults in one process: unmap one first";
    return false;
  }
  is_wanted[signal_number == SIGSEGV ? 0 : 1] = true;
  if (!put_on_top(signal_number)) {
    *error = std::string("the handler of faults (") + strsignal(signal_number) +
             ") cannot be installed: " + std::strerror(errno) +
             "; look for a library that replaces it again and again";
    return false;
  }
  free->begin = reinterpret_cast<std::uintptr_t>(begin);
  free->range = range;
  free->bytes = bytes;
  place_ = static_cast<int>(free - places.begin());
  sigset_t signal_alone;
  sigemptyset(&signal_alone);
  sigaddset(&signal_alone, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &signal_alone, nullptr);
  const auto taken = static_cast<std::size_t>(place_) + 1;
  places_taken = std::max(places_taken.load(), taken);
  return true;
}

void FaultWatch::stop() {
  if (place_ < 0) return;
  Place& place = places[static_cast<std::size_t>(place_)];
  place.bytes = 0;
  place.range = nullptr;
  while (place.running != 0) sched_yield();
  place_ = -1;
}

void keep_fault_handler_on_top() {
  const platform::MutexLock lock(mutex);
  if (is_wanted[0]) (void)put_on_top(SIGSEGV);
  if (is_wanted[1]) (void)put_on_top(SIGBUS);
}

bool takes_faults(int signal_number) {
  return (signal_number == SIGSEGV && is_wanted[0]) || (signal_number == SIGBUS && is_wanted[1]);
}

bool is_in_heap(std::uintptr_t begin, std::size_t bytes) {
  std::uintptr_t first;
  return std::ranges::any_of(
      places, [&](const Place& each) { return each.overlap(begin, bytes, &first) != 0; });
}

// A store of what is there already must not undo another thread's store between load and store, so
// it is one atomic operation. The threads of a program may race here; the kernel's access would.
__attribute__((no_sanitize("thread", "address"))) void open_for_call(const void* begin,
                                                                     std::size_t bytes,
                                                                     Access wanted) {
  constexpr std::uintptr_t least_page = 4096;
  for (const Place& each : taken_places()) {
    std::uintptr_t at;
    const std::size_t size = each.overlap(reinterpret_cast<std::uintptr_t>(begin), bytes, &at);
    for (const std::uintptr_t end = at + size; at < end; at = (at | (least_page - 1)) + 1) {
      auto* const byte = reinterpret_cast<unsigned char*>(at);
      if (wanted == Access::write) {
        __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
      } else {
        (void)*const_cast<volatile unsigned char*>(byte);
      }
    }
  }
}

}  // namespace iw::dsm
