// An open segment and the locks that threads of this program hold through Python.
//
// Every opening of one URL shares one State, which is never freed: whatever refers to a segment
// may outlive its closing, and must find out. A thread's locks are counted here beside the
// library's own count, because a program may look at a value at any time and each look must
// know whether the lock is held; for others than the forking thread both counts begin anew in a
// child.
//
// `epoch` changes whenever a place that was good may no longer be: at each outermost acquire, and
// when something is freed under the writer lock. A place that was checked in this epoch by a
// holder of a lock needs no check again.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "failure.h"

namespace iwpy {

struct State {
  IW_handle_t handle = nullptr;
  std::atomic<std::uint64_t> epoch{1};
  std::atomic<std::uint32_t> openings{0};
  nb::object on_change;      // called with the version, on the library's thread
  nb::object on_connection;  // called with the IW_connection_t, likewise
  nb::object model;  // of coherence, as the package told the library; null: the first one, Full
};

// What the calling thread holds of a segment.
struct Holds {
  const State* state = nullptr;
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
};

// Null: nothing.
Holds* holds_of(const State* state);
// Thrown: NO_LOCK; NOT_OPEN if nobody has the segment open any more.
void need_lock(const State* state);
void need_writer_lock(const State* state);

class Segment {
 public:
  Segment(const std::string& url, bool create, bool read_only, int durability, double timeout,
          const std::optional<std::string>& token, std::uint64_t quota);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void close();
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  [[nodiscard]] State* state() const { return state_; }
  [[nodiscard]] std::uintptr_t identity() const { return reinterpret_cast<std::uintptr_t>(state_); }

  // What a model of the program's own is to judge: (version, newest known, seconds confirmed, is
  // subscribed) of the copy when the lock was taken; None if there is nothing to judge.
  nb::object acquire_read(std::optional<double> seconds, bool fresh);
  void release_read();
  void acquire_write(std::optional<double> seconds);
  void release_write();
  void abort_write();
  [[nodiscard]] bool holds_lock() const;
  [[nodiscard]] bool holds_writer_lock() const;
  // Whether the next release_write(), or close(), of this thread ends its writer section.
  [[nodiscard]] bool ends_writing_at_release() const;
  [[nodiscard]] bool ends_writing_at_close() const;

  void set_coherence(int model, double x);
  // Lets acquire_read tell the copy's state. Whatever the copy is, it is recent enough then: the
  // program's function is asked by the package when the lock is held, since the library calls with
  // its mutex held, behind which a thread with the interpreter's lock may be waiting.
  void set_own_coherence();
  [[nodiscard]] nb::object model() const;
  void set_model(nb::object model);
  void refresh();
  [[nodiscard]] std::uint64_t version() const;
  [[nodiscard]] double staleness() const;
  [[nodiscard]] nb::dict stats() const;
  void set_on_change(nb::object call);
  void set_on_connection(nb::object call);

 private:
  [[nodiscard]] IW_handle_t handle() const;
  void count_closing();

  State* state_ = nullptr;
  bool is_closed_ = false;
  double timeout_ = 30;
};

// In a forked child: nothing is held any more.
void forget_holds();
// Before the interpreter ends: no callback is running when it returns, and none will.
void end_callbacks();

void bind_segment(nb::module_& module);

}  // namespace iwpy
