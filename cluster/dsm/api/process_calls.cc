// Locks, barriers, services and statistics of a process.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "dsm/api/process.h"

namespace iw::dsm {

using fabric::Exclusion;
using fabric::Status;

namespace {

constexpr fabric::MessageId service_message = Node::first_service;

// Semaphores order stores by locks of their own. A number of a lock is 64 bits wide, and so are
// the numbers of a program: these are spread over all of them, so that they do not meet.
LockId lock_of_semaphore(std::uint64_t semaphore) {
  std::uint64_t value = (semaphore ^ 0x73656d6170686f72) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 32)) * 0x94d049bb133111eb;
  return value ^ (value >> 29);
}

// Adds the time until its end.
class Timed {
 public:
  explicit Timed(std::atomic<std::uint64_t>* sum) : sum_(sum) {}
  ~Timed() {
    const auto passed = fabric::Clock::now() - begin_;
    sum_->fetch_add(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count()));
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::atomic<std::uint64_t>* const sum_;
  const fabric::Clock::time_point begin_ = fabric::Clock::now();
};

}  // namespace

// Locks and barriers.

Failure Process::acquire(LockId lock) {
  const Timed timed(&lock_wait_ns_);
  return failure_of(node_->lock(lock), DSM_EHELD);
}

Failure Process::lock(std::uint64_t lock) {
  std::optional<Failure> early;
  if (!node_->has_begun()) early = lock_early(lock);
  return early ? *early : acquire(lock);
}

std::optional<Failure> Process::lock_early(std::uint64_t lock) {
  // The job may have ended at the first barrier: no lock is this rank's alone then.
  if (const Result health = node_->health(); !health.is_ok()) {
    return health.status == Status::bad_argument ? Failure{DSM_EREPLAY} : end_of_job(health);
  }
  const platform::MutexLock held(mutex_);
  if (node_->has_begun()) return std::nullopt;
  const auto [found, is_new] = early_locks_.emplace(lock, std::this_thread::get_id());
  if (is_new) return Failure{};
  if (found->second == std::this_thread::get_id()) return Failure{DSM_EHELD};
  return Failure{DSM_EEARLY,
                 "another thread has the lock, and before the first barrier none can wait"};
}

Failure Process::try_lock(std::uint64_t lock) {
  std::optional<Failure> early;
  if (!node_->has_begun()) early = lock_early(lock);
  if (early) return early->error == DSM_EEARLY ? Failure{DSM_EBUSY} : *early;
  bool got = false;
  Failure failure = failure_of(node_->try_lock(lock, &got), DSM_EHELD);
  if (failure.error != 0 || got) return failure;
  return {DSM_EBUSY};
}

Failure Process::unlock(std::uint64_t lock) {
  if (node_->has_begun()) return failure_of(node_->unlock(lock), DSM_ENOTHELD);
  const platform::MutexLock held(mutex_);
  const auto found = early_locks_.find(lock);
  if (found == early_locks_.end() || found->second != std::this_thread::get_id()) {
    return {DSM_ENOTHELD};
  }
  early_locks_.erase(found);
  return {};
}

Failure Process::barrier(std::uint64_t barrier) {
  const Timed timed(&barrier_wait_ns_);
  if (!node_->has_begun()) return begin(barrier);
  return failure_of(node_->barrier(barrier), DSM_EMISMATCH);
}

// Services.

void Process::send(Rank to, const ServiceHead& head, std::span<const std::byte> payload) {
  const Result result = node_->send(to, service_message, fabric::bytes_of(head), payload);
  if (!result.is_ok() && result.status != Status::pending) node_->fail(result);
}

void Process::on_service(void* context, const fabric::Message& message) {
  Process& process = *static_cast<Process*>(context);
  // Nobody sends one before all ranks have begun.
  if (process.node_ == nullptr || process.services_ == nullptr) return;
  const Rank from = process.node_->rank_of(message.from);
  ServiceHead head;
  if (fabric::read_whole(message.header, &head) &&
      process.services_->heard(from, head, message.payload)) {
    if (head.call == ServiceCall::give) {
      process.node_->heard_collective(from, head.ticket, head.number);
    }
    if (process.services_->differing_rank()) {
      const Rank rank = *process.services_->differing_rank();
      process.node_->fail({Status::bad_argument, rank});
    }
    return;
  }
  std::fprintf(stderr,
               "interweave: rank %u sent rank %d a service message that breaks the protocol. The "
               "job ends. Start the same build at all ranks.\n",
               from, process.rank());
  process.node_->fail({Status::failed, from});
}

template <typename Ask>
Failure Process::ask(Ask ask, std::uint64_t* value) {
  if (!node_->has_begun()) return {DSM_EEARLY};
  if (node_->worker().in_handler()) return {DSM_EINHANDLER};
  Ticket ticket = 0;
  bool is_answered = false;
  {
    const Exclusion exclusion(node_->worker());
    ticket = ask();
    is_answered = services_->is_answered(ticket);
    if (is_answered) *value = services_->close(ticket);
  }
  if (is_answered) return {};
  const Result result = node_->wait([&] { return services_->is_answered(ticket); });
  if (!result.is_ok()) return failure_of(result, DSM_EARGUMENT);
  const Exclusion exclusion(node_->worker());
  *value = services_->close(ticket);
  return {};
}

Failure Process::add(std::uint64_t counter, std::int64_t value, std::int64_t* before) {
  const auto added = static_cast<std::uint64_t>(value);
  std::uint64_t answer = 0;
  Failure failure;
  if (!add_early(counter, added, &answer)) {
    failure = ask([&] { return services_->add(counter, added); }, &answer);
  }
  if (failure.error == 0 && before != nullptr) *before = static_cast<std::int64_t>(answer);
  return failure;
}

bool Process::add_early(std::uint64_t counter, std::uint64_t added, std::uint64_t* before) {
  if (node_->has_begun()) return false;
  const platform::MutexLock held(mutex_);
  if (node_->has_begun()) return false;
  replay_.note(Replay::Call::add, counter, added);
  const Exclusion exclusion(node_->worker());
  *before = services_->add_in_replay(counter, added);
  return true;
}

// [DSM-COND-1]
Failure Process::await(std::uint64_t condition, std::uint64_t lock) {
  if (!node_->has_begun()) return {DSM_EEARLY};
  if (!node_->has_lock(lock)) return failure_of({Status::bad_argument, 0}, DSM_ENOTHELD);
  Ticket ticket = 0;
  {
    const Exclusion exclusion(node_->worker());
    ticket = services_->await(condition);
  }
  const Result queued = node_->wait([&] { return services_->is_queued(ticket); });
  if (!queued.is_ok()) return failure_of(queued, DSM_EARGUMENT);
  Failure failure = failure_of(node_->unlock(lock), DSM_ENOTHELD);
  if (failure.error != 0) return failure;
  const Result woken = node_->wait([&] { return services_->is_answered(ticket); });
  if (!woken.is_ok()) return failure_of(woken, DSM_EARGUMENT);
  {
    const Exclusion exclusion(node_->worker());
    services_->close(ticket);
  }
  return acquire(lock);
}

Failure Process::signal(std::uint64_t condition, bool wakes_all) {
  if (!node_->has_begun()) return {};  // nobody waits yet
  {
    const Exclusion exclusion(node_->worker());
    services_->signal(condition, wakes_all);
  }
  // A waiter may be another thread of this rank.
  node_->wake();
  return failure_of(node_->health(), DSM_EARGUMENT);
}

Failure Process::take(std::uint64_t semaphore) {
  std::uint64_t nothing = 0;
  Failure failure = ask([&] { return services_->take(semaphore); }, &nothing);
  if (failure.error != 0) return failure;
  const LockId lock = lock_of_semaphore(semaphore);
  failure = acquire(lock);
  return failure.error != 0 ? failure : failure_of(node_->unlock(lock), DSM_ENOTHELD);
}

bool Process::post_early(std::uint64_t semaphore) {
  if (node_->has_begun()) return false;
  const platform::MutexLock held(mutex_);
  if (node_->has_begun()) return false;
  replay_.note(Replay::Call::post, semaphore);
  const Exclusion exclusion(node_->worker());
  services_->post_in_replay(semaphore);
  return true;
}

Failure Process::post(std::uint64_t semaphore) {
  if (post_early(semaphore)) return {};
  const LockId lock = lock_of_semaphore(semaphore);
  Failure failure = acquire(lock);
  if (failure.error != 0) return failure;
  {
    const Exclusion exclusion(node_->worker());
    services_->post(semaphore);
  }
  node_->wake();
  return failure_of(node_->unlock(lock), DSM_ENOTHELD);
}

Failure Process::run_round(const Round& round, std::span<std::byte> bytes) {
  if (!node_->has_begun()) return {DSM_EEARLY};
  if (is_in_round_.exchange(true)) {
    return {DSM_EARGUMENT, "another thread of this rank is in a collective"};
  }
  const bool is_given = round.shape != ServiceShape::broadcast || round.source == node_->rank();
  std::vector<std::byte> result;
  const Result waited = [&] {
    // The bytes may lie in the heap: a fault there must not happen under the exclusion.
    std::vector<std::byte> own;
    if (is_given) own.assign(bytes.begin(), bytes.end());
    {
      const Exclusion exclusion(node_->worker());
      Round numbered = round;
      numbered.barriers = node_->come_to_collective();
      services_->give(numbered, own);
      if (services_->differing_rank()) {
        node_->fail({Status::bad_argument, *services_->differing_rank()});
      }
    }
    const Result outcome = node_->wait([&] { return services_->round_result().has_value(); });
    const Exclusion exclusion(node_->worker());
    if (outcome.is_ok()) result = *services_->round_result();
    return outcome;
  }();
  is_in_round_ = false;
  if (!waited.is_ok()) return failure_of(waited, DSM_EMISMATCH);
  std::copy_n(result.begin(), std::min(bytes.size(), result.size()), bytes.begin());
  return {};
}

// Statistics and failures.

dsm_statistics Process::read_statistics(bool resets) {
  const Stats now = node_->stats();
  dsm_statistics all{};
  all.faults = now.misses;
  all.page_waits = now.fetches;
  all.direct_pages = now.pages.direct_reads;
  all.twins = now.pages.twins_made;
  all.intervals = now.pages.intervals;
  all.diffs = now.mail.diffs;
  all.diff_bytes = now.mail.diff_bytes;
  all.diff_messages = now.mail.buffers;
  all.diff_stalls = now.mail.stalls;
  all.locks = now.locks;
  all.lock_waits = now.lock_waits;
  all.lock_wait_ns = lock_wait_ns_.load();
  all.barriers = now.barriers + (node_->has_begun() ? 1 : 0);
  all.barrier_wait_ns = barrier_wait_ns_.load();
  all.messages = now.mail.service_messages;
  for (const std::uint64_t each : now.mail.messages) all.messages += each;
  all.message_bytes = now.mail.bytes;
  all.pages_ahead = now.pages.opened_ahead;
  all.copies_evicted = now.pages.evictions;
  all.copies_freed = now.pages.stale_given_back;
  all.diff_pulls = now.pages.pulls;
  all.writer_reads = now.pages.writer_reads;
  const platform::MutexLock held(statistics_mutex_);
  const dsm_statistics before = at_reset_;
  if (resets) at_reset_ = all;
  const auto since = [&](std::uint64_t dsm_statistics::*count) { all.*count -= before.*count; };
  for (const auto count : {&dsm_statistics::faults,       &dsm_statistics::page_waits,
                           &dsm_statistics::direct_pages, &dsm_statistics::twins,
                           &dsm_statistics::intervals,    &dsm_statistics::diffs,
                           &dsm_statistics::diff_bytes,   &dsm_statistics::diff_messages,
                           &dsm_statistics::diff_stalls,  &dsm_statistics::locks,
                           &dsm_statistics::lock_waits,   &dsm_statistics::lock_wait_ns,
                           &dsm_statistics::barriers,     &dsm_statistics::barrier_wait_ns,
                           &dsm_statistics::messages,     &dsm_statistics::message_bytes,
                           &dsm_statistics::pages_ahead,  &dsm_statistics::copies_evicted,
                           &dsm_statistics::copies_freed, &dsm_statistics::diff_pulls,
                           &dsm_statistics::writer_reads}) {
    since(count);
  }
  all.diff_memory = now.mail.waiting_bytes;
  all.diff_memory_most = now.mail.waiting_bytes_most;
  all.twin_memory = now.twin_bytes;
  all.copy_memory = now.pages.copies * node_->heap().page_bytes();
  all.copy_memory_most = now.pages.copies_most * node_->heap().page_bytes();
  all.kept_memory = now.pages.kept_bytes;
  all.kept_memory_most = now.pages.kept_bytes_most;
  all.locks_known = now.remembered_locks;
  return all;
}

void Process::on_failure(dsm_failure_handler handler, void* context) {
  if (handler == nullptr) return node_->on_failure(nullptr);
  node_->on_failure([handler, context](const Result& why) { handler(why.rank, context); });
}

}  // namespace iw::dsm
