// What a rank did, for a replay in virtual time (bench/dsm/virtual_time.py): a line for each event
// of the protocol, with the processor time that the application's thread took before the event.
//
//   interweave-dsm-trace 1 RANK RANKS PAGE-BYTES    the first line
//   TIME EVENT NUMBER...                            all others
//
// TIME is in nanoseconds since the thread's last line, without what it did in waits. "-" stands for
// an event of the application's thread in a wait, or of another thread: mostly of a handler, for
// another rank. A replay knows one thread of the application. Events:
//
//   D home page sequence bytes   a diff goes to the page's home      F   the interval has no more
//   M page                       a page is missing                   E   those have come
//   h, i or p to page            question: its home, its initial bytes, its bytes
//   L lock          asks for a lock; then A lock: has it; N lock: was refused; nothing: it was here
//   R lock          releases it
//   K home lock     question to the lock's home                      G to lock   given to a rank
//   B barrier       arrives, and waits                               S    a service's message
//   T passed lines  behind a barrier: the clock on the wall since the trace's beginning, and how
//                   long the application's thread wrote lines since then, in nanoseconds
//   end             the job's end; a trace without it was cut off
//
// A file has `bytes_most` bytes at most; where it is full, the last line is "cut". The rank's
// exclusion is held in all calls but begin_wait and end_wait, which only the application makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>

#include "dsm/protocol/locks.h"
#include "dsm/protocol/pages.h"

namespace iw::dsm {

class Trace {
 public:
  static constexpr std::size_t bytes_most = std::size_t{256} << 20;

  // Writes to the file `path` with the rank behind a point. nullptr, and why in *error.
  static std::unique_ptr<Trace> open(const std::string& path, Rank rank, Rank ranks,
                                     std::size_t page_bytes, std::string* error);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The calling thread is the application's. Events before this call are not noted.
  void begin();
  void note(const char* event, std::initializer_list<std::uint64_t> numbers = {});
  void note_clock();
  void begin_wait();
  void end_wait();
  void end();

 private:
  explicit Trace(std::FILE* file) : file_(file) {}
  bool is_application() const { return std::this_thread::get_id() == application_; }
  void write(const char* event, std::initializer_list<std::uint64_t> numbers);

  std::FILE* file_;
  std::size_t bytes_ = 0;
  bool has_begun_ = false;
  std::thread::id application_;
  bool is_waiting_ = false;
  std::uint64_t mark_ns_ = 0;     // the application's thread's time at its last line or wait
  std::uint64_t carried_ns_ = 0;  // and before, since its last line
  std::uint64_t begin_ns_ = 0;    // by the clock on the wall
  std::uint64_t lines_ns_ = 0;
};

// Notes what pages and locks send, and passes it on. Without a trace it passes it on only.
class TracedMail final : public PageMail, public LockMail {
 public:
  TracedMail(PageMail& pages, LockMail& locks, Trace* trace)
      : pages_(pages), locks_(locks), trace_(trace) {}

  void ask_home(Rank to, PageNumber page) override {
    note("h", {to, page});
    pages_.ask_home(to, page);
  }
  void tell_home(Rank to, PageNumber page, Rank home) override { pages_.tell_home(to, page, home); }
  void ask_initial(Rank to, PageNumber page) override {
    note("i", {to, page});
    pages_.ask_initial(to, page);
  }
  void tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) override {
    pages_.tell_initial(to, page, bytes);
  }
  void ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) override {
    note("p", {to, page});
    pages_.ask_page(to, page, needed);
  }
  void tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                 std::span<const std::byte> bytes) override {
    pages_.tell_page(to, page, there, bytes);
  }
  void send_diff(Rank to, PageNumber page, Sequence sequence,
                 std::span<const std::byte> runs) override {
    note("D", {to, page, sequence, runs.size()});
    pages_.send_diff(to, page, sequence, runs);
  }
  void flush_diffs() override {
    note("F", {});
    pages_.flush_diffs();
  }
  // A trace is of a run without kept diffs.
  void pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) override {
    pages_.pull_diffs(to, page, last, asker);
  }
  void ask_diffs(Rank to, PageNumber page, const DiffRange& range) override {
    pages_.ask_diffs(to, page, range);
  }
  void tell_diffs(Rank to, PageNumber page, std::span<const KeptDiff* const> diffs) override {
    pages_.tell_diffs(to, page, diffs);
  }
  void ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) override {
    note("K", {to, lock});
    locks_.ask_lock(to, lock, is_try, known);
  }
  void forward(Rank to, LockId lock, Rank asker, bool is_try, const VectorTime& known) override {
    locks_.forward(to, lock, asker, is_try, known);
  }
  void grant(Rank to, LockId lock, Epoch epoch, std::span<const Interval> intervals) override {
    note("G", {to, lock});
    locks_.grant(to, lock, epoch, intervals);
  }
  void refuse(Rank to, LockId lock) override { locks_.refuse(to, lock); }
  void tell_tried(Rank to, LockId lock, bool is_given) override {
    locks_.tell_tried(to, lock, is_given);
  }
  void give_back(Rank to, Epoch epoch, std::span<const GivenLock> locks) override {
    locks_.give_back(to, epoch, locks);
  }
  void take_back(Rank to, std::span<const GivenLock> locks) override {
    locks_.take_back(to, locks);
  }

 private:
  void note(const char* event, std::initializer_list<std::uint64_t> numbers) {
    if (trace_ != nullptr) trace_->note(event, numbers);
  }
  PageMail& pages_;
  LockMail& locks_;
  Trace* const trace_;
};

}  // namespace iw::dsm
