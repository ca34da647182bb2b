// An open segment and the locks that threads of this program hold through Python.
//
// All openings of one URL share one State. A State is never freed, because Python objects may
// outlive the closing of their segment and must notice it.
//
// A thread's locks are counted here in addition to the library's own count, because each access to
// a value checks whether the lock is held. In a forked child both counts begin anew for all threads
// but the forking one.
//
// `epoch` changes whenever a good place may become bad: at each outermost acquire, and when a block
// is freed under the writer lock. A place that a holder of a lock checked in this epoch is not
// checked again.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "failure.h"
#include "opening.h"

namespace iwpy {

struct State {
  IW_handle_t handle = nullptr;
  std::atomic<std::uint64_t> epoch{1};
  std::atomic<std::uint32_t> openings{0};
  nb::object on_change;      // called with the version, on the library's thread
  nb::object on_connection;  // called with the IW_connection_t, likewise
  nb::object model;  // of coherence, as the package told the library; null: the first one, Full
};

// The locks of a segment that the calling thread holds.
struct Holds {
  const State* state = nullptr;
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
};

// Null if the thread holds no lock of the segment.
Holds* holds_of(const State* state);
// Thrown: NO_LOCK; NOT_OPEN if the program has closed all its openings of the segment.
void need_lock(const State* state);
void need_writer_lock(const State* state);

class Segment {
 public:
  Segment(const std::string& url, bool create, bool read_only, int durability, double timeout,
          std::uint64_t quota, const Text& token, const Text& ca, const Text& cert,
          const Text& key);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void close();
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  [[nodiscard]] State* state() const { return state_; }
  [[nodiscard]] std::uintptr_t identity() const { return reinterpret_cast<std::uintptr_t>(state_); }

  // Returns the state of the copy when the lock was taken, for a model of the program's own to
  // judge: (version, newest known, seconds confirmed, is subscribed). None: there is nothing to
  // judge.
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
  // Makes acquire_read return the copy's state and accept every copy. The package then asks the
  // program's function under the lock. The library cannot ask it, because it would do so with its
  // mutex held, for which a thread with the interpreter's lock may be waiting.
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

// For a forked child, in which no locks are held any more.
void forget_holds();
// Ends all callbacks, before the interpreter ends. When it returns, no callback runs or will run.
void end_callbacks();

void bind_segment(nb::module_& module);

}  // namespace iwpy
