// A writer (this process) and a reader (a forked one) that take turns: the writer makes round n,
// the reader says at what moment it had it. Moments are of the one monotonic clock of this machine.
#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace bench {

std::int64_t now_ns();

class TwoProcesses {
 public:
  // Forks. `reader` runs in the child, and calls ready() once it can receive, then had_it() for
  // every round; it must not return before the last one.
  TwoProcesses(int rounds, const std::function<void(TwoProcesses&)>& reader);
  // Waits for the child; a child that failed ends this process, too.
  ~TwoProcesses();

  int rounds() const { return rounds_; }

  // Reader. The library of a writer is used after the fork only, so the reader waits for go()
  // before it looks for what the writer makes.
  void wait_go();
  void ready();
  void had_it();  // now
  void report_bytes(std::uint64_t bytes);
  void report_us(double us);

  // Writer.
  void go();
  void wait_ready();
  std::int64_t wait_had_it();    // when the reader had the round; ends the process after 30 s
  std::uint64_t reader_bytes();  // waits for the reader's end, as does reader_us
  double reader_us();

 private:
  struct Shared {
    sem_t go;
    sem_t ready;
    sem_t had_it;
    sem_t done;
    std::int64_t had_it_ns;
    std::uint64_t bytes;
    double us;
  };
  void wait(sem_t* semaphore);
  Shared* shared_;
  pid_t child_ = -1;
  int rounds_;
};

}  // namespace bench
