// The service threads: progress the workers that nobody polls or waits on, and keep the door.
//
// One is on duty. It progresses a worker, arms it and sleeps until something arrives. It leaves the
// worker alone while a thread waits on the worker, and for a while if the worker's count of polls
// keeps moving (leave.h). When it has armed all, or the rest are waited on, it sleeps until it is
// nudged: by whoever stops waiting, or leaves something under way. Before it sleeps it polls for a
// moment if arrivals are brisk (platform/briskness.h).
//
//   a worker is   arrivals are handled by       becomes at the next look
//   armed         the service: the descriptor   waited on, if a thread waits on it
//                 wakes it, and it looks        left, if it was polled in its watch
//                                               served otherwise
//   waited on     the waiting thread: it polls, the same; the thread nudges when its wait ends
//                 or sleeps on the descriptor
//   left          a thread that polls, or the   waited on or served as above
//                 service after the leave
//   served        the service, until nothing    armed, if nothing came before the arming
//                 is left                       served again, if something did (busy)
//                                               left, if another thread held the lock (in use)
//
// No wake-up is lost between these. The service says that it is asleep before it looks for the last
// time; a thread counts its polls and ends its attendance before it reads that, and nudges. Every
// progress by others after an arming is a poll, so that the look after it arms again. Arming and
// the progress before it happen under one hold of the lock; UCX's descriptors are ready if
// something came between the two.
//
// A handler that takes long holds up its own worker only: one of the threads is on duty, another is
// relief and waits for a timer that runs while a worker is progressed; when it has run out the
// relief takes over. Threads are made when they are needed, up to threads_max.
//
// Invariants: a worker is progressed by one thread at a time, without the mutex. Only the thread on
// duty keeps the door, and it is replaced only while it progresses a worker.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "fabric/door.h"
#include "fabric/leave.h"
#include "platform/briskness.h"
#include "platform/mutex.h"

namespace iw::fabric {

class UcxWorker;

class Service {
 public:
  static constexpr std::size_t threads_max = 16;

  // may_poll: the service thread may poll for a moment before it sleeps.
  Service(Door& door, bool may_poll);
  ~Service();
  bool start();  // false: no thread, or no descriptor, can be had
  void stop();   // afterwards the threads have ended
  void add(UcxWorker* worker);
  void remove(UcxWorker* worker);  // afterwards the service knows it no more
  // Called by the door, on this thread.
  void note_death(const ProcessName& process);
  // The worker's transport address, and it takes the caller's hello from then on. Empty: there is
  // no such worker.
  std::vector<std::byte> admit(std::uint32_t worker, const Caller& caller);

  void nudge_if_asleep() {
    if (is_asleep_.load() && is_asleep_.exchange(false)) nudge();
  }

 private:
  struct Client {
    UcxWorker* worker;
    Polls polls{};
    Leave leave{};
    int watched = -1;        // its descriptor in the set
    bool is_served = false;  // a thread progresses it
  };
  enum class Care { armed, waited_on, left, busy };

  // The thread on duty.
  void be_on_duty();
  bool is_on_duty(std::uint64_t duty) const { return duty_ == duty; }
  Care look_after(Client& client, Deadline now) IW_REQUIRES(mutex_);
  Care serve(Client& client, Deadline now) IW_REQUIRES(mutex_);
  Deadline round(std::uint64_t duty);  // when another must follow; max(): only when it is nudged
  void watch(Client& client) IW_REQUIRES(mutex_);
  void nudge();
  void sleep(Deadline until);
  int await_events(epoll_event* events, Deadline until);
  void hear(std::span<const epoll_event> events);

  // The relief.
  void run();
  void take_duty() IW_REQUIRES(mutex_);
  bool wait_for_duty();  // false: the service stops
  bool start_thread(std::function<void()> what) IW_REQUIRES(mutex_);
  void set_timer(int ms);

  Door& door_;
  bool is_listening_ = false;  // all descriptors could be had
  int epoll_ = -1;
  int nudge_fd_ = -1;
  int timer_fd_ = -1;
  std::atomic<bool> is_asleep_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> duty_{0};  // who is on duty: counts the changes

  // Of the thread on duty.
  platform::Briskness briskness_;
  Deadline door_kept_{};  // when it looked at the door last

  mutable platform::Mutex mutex_;
  platform::Condition served_;
  std::vector<std::unique_ptr<Client>> clients_ IW_GUARDED_BY(mutex_);
  std::uint64_t changes_ IW_GUARDED_BY(mutex_) = 0;  // of clients_
  // What the thread on duty progresses: counts; and what the timer runs for.
  bool is_serving_ IW_GUARDED_BY(mutex_) = false;
  bool is_timed_ IW_GUARDED_BY(mutex_) = false;
  std::uint64_t serving_ IW_GUARDED_BY(mutex_) = 0;
  std::uint64_t timed_ IW_GUARDED_BY(mutex_) = 0;
  std::size_t reliefs_ IW_GUARDED_BY(mutex_) = 0;  // threads that wait for the timer
  std::vector<std::thread> threads_;  // written with the mutex, until the service stops
};

}  // namespace iw::fabric
