// Faults in the heap: one handler of SIGSEGV (of SIGBUS for userfaultfd) in a process. It finds the
// heap that has the address and calls the heap on the thread that faulted. A fault anywhere else
// goes to the handler that was there before.
//
// The instruction that faults is a load or a store of the application. Therefore a handler may take
// locks and memory, send messages and wait, as a function that the application calls may. It keeps
// errno. It runs on the stack of the thread, not on its alternative stack, which may be small.
//
// The kernel ends a process whose thread faults while it blocks the signal. Therefore threads
// cannot block it from the first watch on (interpose.h). A thread that blocked it before must
// unblock it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dsm/protocol/page_memory.h"

namespace iw::dsm {

// best: userfaultfd where the kernel lets this process have it, else sigsegv.
enum class FaultWay : std::uint8_t { best, userfaultfd, sigsegv };

// Told of an access to a page that the page's state does not allow.
class FaultHandler {
 public:
  virtual ~FaultHandler() = default;
  // On the thread that faulted. Returns when the access may be tried again. False: it never can,
  // and the reason was told; the process ends as by the handler that was there before.
  virtual bool on_fault(PageNumber page, Access wanted) = 0;
};

// A range of addresses whose faults somebody takes.
class FaultRange {
 public:
  virtual ~FaultRange() = default;
  // unknown: the processor does not say. Returns false as FaultHandler does.
  enum class Wanted : std::uint8_t { unknown, read, write };
  virtual bool on_fault(std::byte* address, Wanted wanted) = 0;
};

// While it is started, faults in [begin, begin + bytes) go to the range. Ranges do not overlap.
// Neither function may be called on a thread in which such a fault is being handled.
// A forked child has no ranges: a fault there goes to the handler that was there before.
class FaultWatch {
 public:
  FaultWatch() = default;
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;
  ~FaultWatch() { stop(); }

  // The calling thread no longer blocks the signal.
  // False, and why in *error: there are too many ranges, or the handler cannot be installed.
  [[nodiscard]] bool start(std::byte* begin, std::size_t bytes, int signal_number,
                           FaultRange* range, std::string* error);
  // Returns when no fault of the range is being handled, and the range hears of no more.
  void stop();

 private:
  int place_ = -1;
};

// Puts the handler on top again where another library installed its own afterwards. That one gets
// the faults outside of the heap. Cheap: one system call for each signal.
void keep_fault_handler_on_top();

// Whether faults come by this signal.
bool takes_faults(int signal_number);

// A system call (read, recv, ...) is to load from or store to this memory. The kernel raises no
// signal where it may not, but fails with EFAULT. So each page that is a heap's is accessed here
// first, in the same way. Another thread may close it again at once.
void open_for_call(const void* begin, std::size_t bytes, Access wanted);
// Whether any of the bytes lies in a heap. Takes a few nanoseconds.
bool is_in_heap(std::uintptr_t begin, std::size_t bytes);
inline bool is_in_heap(const void* begin, std::size_t bytes) {
  return is_in_heap(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

}  // namespace iw::dsm
