#include "harness/two_processes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

std::int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

TwoProcesses::TwoProcesses(int rounds, const std::function<void(TwoProcesses&)>& reader)
    : rounds_(rounds) {
  shared_ = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared_ == MAP_FAILED) std::abort();
  sem_init(&shared_->go, 1, 0);
  sem_init(&shared_->ready, 1, 0);
  sem_init(&shared_->had_it, 1, 0);
  sem_init(&shared_->done, 1, 0);
  std::fflush(nullptr);
  child_ = fork();
  if (child_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  reader(*this);
  sem_post(&shared_->done);
  _exit(0);
}

TwoProcesses::~TwoProcesses() {
  wait(&shared_->done);
  waitpid(child_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

void TwoProcesses::go() { sem_post(&shared_->go); }

void TwoProcesses::wait_go() { wait(&shared_->go); }

void TwoProcesses::ready() { sem_post(&shared_->ready); }

void TwoProcesses::had_it() {
  shared_->had_it_ns = now_ns();
  sem_post(&shared_->had_it);
}

void TwoProcesses::report_bytes(std::uint64_t bytes) { shared_->bytes = bytes; }

void TwoProcesses::report_us(double us) { shared_->us = us; }

void TwoProcesses::wait_ready() { wait(&shared_->ready); }

std::int64_t TwoProcesses::wait_had_it() {
  wait(&shared_->had_it);
  return shared_->had_it_ns;
}

std::uint64_t TwoProcesses::reader_bytes() {
  wait(&shared_->done);
  sem_post(&shared_->done);
  return shared_->bytes;
}

double TwoProcesses::reader_us() {
  wait(&shared_->done);
  sem_post(&shared_->done);
  return shared_->us;
}

void TwoProcesses::wait(sem_t* semaphore) {
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 30;
  if (sem_timedwait(semaphore, &deadline) == 0) return;
  std::fprintf(stderr, "bench: the other process did not answer within 30 s\n");
  if (child_ > 0) kill(child_, SIGKILL);
  std::exit(1);
}

}  // namespace bench
