// The calls of <interweave/dsm.h>: they find the process's part in the job, start it where the
// program has not, and keep the error of each thread.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>

#include "dsm/api/process.h"
#include "interweave/dsm.h"
#include "platform/mutex.h"

using iw::dsm::Failure;
using iw::dsm::Process;
using iw::dsm::Round;
using iw::dsm::ServiceShape;

namespace {

thread_local Failure last_failure;

int noted(Failure failure) {
  if (failure.error == 0) return 0;
  last_failure = std::move(failure);
  return last_failure.error;
}

// One job in a process, and none after it.
struct Job {
  // A child of fork has the parent's connections. What it sent there would break the parent's job.
  std::atomic<bool> is_parents{false};
  iw::platform::Mutex mutex;
  std::unique_ptr<Process> process IW_GUARDED_BY(mutex);
  bool is_over IW_GUARDED_BY(mutex) = false;
  std::atomic<Process*> started{nullptr};
  // Calls of all threads that may use the process. It is destroyed behind the last one.
  std::atomic<unsigned> calls{0};
};

Job& job() {
  static auto* const only = new Job;
  return *only;
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  if (job().started.load() == nullptr) return;
  job().is_parents = true;
  job().started = nullptr;
});

const char* text_of(int error) {
  switch (error) {
    case 0:
      return "no error";
    case DSM_EARGUMENT:
      return "an argument makes no sense";
    case DSM_ENOTINIT:
      return "dsm_init was called already, or dsm_finish was called";
    case DSM_EMEMORY:
      return "the heap, or this rank's share of it, has no room";
    case DSM_EDEAD:
      return "a rank died, and the job is over";
    case DSM_EBUSY:
      return "another thread or rank has the lock";
    case DSM_ENOTHELD:
      return "this thread does not have the lock";
    case DSM_EHELD:
      return "this thread has the lock already";
    case DSM_EREPLAY:
      return "the ranks made different calls before the first barrier";
    case DSM_EMISMATCH:
      return "the ranks are at different barriers or collectives";
    case DSM_EFOREIGN:
      return "no block of the heap begins at the address";
    case DSM_EFREED:
      return "the block is free already";
    case DSM_EEARLY:
      return "not before the first barrier";
    case DSM_ELATE:
      return "only before the first barrier";
    case DSM_EFAILED:
      return "the job cannot start, or the transport failed";
    case DSM_EINHANDLER:
      return "a handler may not call this";
    case DSM_ETIMEDOUT:
      return "the other ranks did not start in time";
    default:
      return "not an error of this interface";
  }
}

Failure start(const dsm_options& options, bool is_first_call) {
  if (job().is_parents) return {DSM_ENOTINIT, "a child of fork has no part in the parent's job"};
  const iw::platform::MutexLock held(job().mutex);
  if (job().is_over || (is_first_call && job().process != nullptr)) return {DSM_ENOTINIT};
  if (job().process != nullptr) return {};
  Failure failure;
  job().process = Process::start(options, &failure);
  job().started.store(job().process.get(), std::memory_order_release);
  return failure;
}

// The process's part; starts it. nullptr: the error is noted.
Process* process() {
  Process* const started = job().started.load(std::memory_order_acquire);
  if (started != nullptr) return started;
  Failure failure = start({}, false);
  if (failure.error != 0) {
    // A program that leaves the start to another call may not look at the call's result.
    if (failure.error != DSM_ENOTINIT) {
      std::fprintf(stderr, "interweave: the shared memory cannot start: %s\n",
                   failure.text.empty() ? text_of(failure.error) : failure.text.c_str());
    }
    noted(std::move(failure));
    return nullptr;
  }
  return job().started.load(std::memory_order_acquire);
}

// While it lives, dsm_finish of another thread does not destroy the process.
class CountedCall {
 public:
  CountedCall() { job().calls++; }
  ~CountedCall() { job().calls--; }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
};

template <typename Call>
int with_process(Call call) {
  const CountedCall counted;
  Process* const own = process();
  return own == nullptr ? last_failure.error : noted(call(*own));
}

template <typename Number>
int number_of_process(Number number) {
  const CountedCall counted;
  Process* const own = process();
  return own == nullptr ? last_failure.error : number(*own);
}

// A collective of any size, in rounds.
int run_rounds(Round round, std::byte* bytes, std::size_t size) {
  constexpr std::size_t most = iw::dsm::service_round_bytes_max;
  return with_process([&](Process& own) {
    std::size_t done = 0;
    do {
      round.bytes = std::min(most, size - done);
      Failure failure = own.run_round(round, {bytes + done, round.bytes});
      if (failure.error != 0) return failure;
      done += round.bytes;
    } while (done < size);
    return Failure{};
  });
}

bool find_shape(dsm_reduction reduction, dsm_type type, ServiceShape* shape) {
  const bool is_known =
      reduction >= DSM_SUM && reduction <= DSM_MAX && (type == DSM_INT64 || type == DSM_DOUBLE);
  if (!is_known) return false;
  const ServiceShape first = type == DSM_INT64 ? ServiceShape::sum_int64 : ServiceShape::sum_double;
  *shape = static_cast<ServiceShape>(static_cast<unsigned>(first) + (reduction - DSM_SUM));
  return true;
}

}  // namespace

int dsm_init(const dsm_options* options) {
  return noted(start(options == nullptr ? dsm_options{} : *options, true));
}

int dsm_finish(void) {
  const int result = with_process([](Process& own) { return own.finish(); });
  if (result != 0) return result;
  std::unique_ptr<Process> ended;
  {
    const iw::platform::MutexLock held(job().mutex);
    job().is_over = true;
    job().started = nullptr;
    ended = std::move(job().process);
  }
  // Other threads may be in calls, though the job is over: their waits end now.
  ended->end_calls();
  while (job().calls != 0) sched_yield();
  return 0;
}

int dsm_rank(void) {
  return number_of_process([](const Process& own) { return own.rank(); });
}

int dsm_size(void) {
  return number_of_process([](const Process& own) { return own.ranks(); });
}

void* dsm_malloc(size_t bytes) {
  void* block = nullptr;
  with_process([&](Process& own) {
    Failure failure;
    block = own.allocate(bytes, &failure);
    return failure;
  });
  return block;
}

void dsm_free(void* block) {
  if (block == nullptr) return;
  with_process([&](Process& own) { return own.free(block); });
}

int dsm_lock(uint64_t lock) {
  return with_process([&](Process& own) { return own.lock(lock); });
}

int dsm_try_lock(uint64_t lock) {
  return with_process([&](Process& own) { return own.try_lock(lock); });
}

int dsm_unlock(uint64_t lock) {
  return with_process([&](Process& own) { return own.unlock(lock); });
}

int dsm_barrier(uint64_t barrier) {
  return with_process([&](Process& own) { return own.barrier(barrier); });
}

int dsm_cond_wait(uint64_t condition, uint64_t lock) {
  return with_process([&](Process& own) { return own.await(condition, lock); });
}

int dsm_cond_signal(uint64_t condition) {
  return with_process([&](Process& own) { return own.signal(condition, false); });
}

int dsm_cond_broadcast(uint64_t condition) {
  return with_process([&](Process& own) { return own.signal(condition, true); });
}

int dsm_sem_wait(uint64_t semaphore) {
  return with_process([&](Process& own) { return own.take(semaphore); });
}

int dsm_sem_post(uint64_t semaphore) {
  return with_process([&](Process& own) { return own.post(semaphore); });
}

int dsm_fetch_add(uint64_t counter, int64_t add, int64_t* before) {
  return with_process([&](Process& own) { return own.add(counter, add, before); });
}

int dsm_reduce(dsm_reduction reduction, dsm_type type, const void* values, void* results,
               size_t count) {
  constexpr size_t value_bytes = 8;
  Round round;
  const bool is_sound = find_shape(reduction, type, &round.shape) &&
                        count <= SIZE_MAX / value_bytes &&
                        (count == 0 || (values != nullptr && results != nullptr));
  if (!is_sound) return noted({DSM_EARGUMENT});
  if (count != 0 && values != results) std::memmove(results, values, count * value_bytes);
  return run_rounds(round, static_cast<std::byte*>(results), count * value_bytes);
}

int dsm_broadcast(void* data, size_t bytes, int from) {
  const int size = dsm_size();
  if (size < 0) return size;
  if (from < 0 || from >= size || (data == nullptr && bytes != 0)) return noted({DSM_EARGUMENT});
  const Round round{ServiceShape::broadcast, static_cast<iw::dsm::Rank>(from), 0};
  return run_rounds(round, static_cast<std::byte*>(data), bytes);
}

int dsm_home(void* address, size_t bytes, dsm_placement placement, int rank) {
  return with_process([&](Process& own) { return own.place(address, bytes, placement, rank); });
}

int dsm_touch(const void* address, size_t bytes, int will_store) {
  return with_process([&](Process& own) { return own.touch(address, bytes, will_store != 0); });
}

int dsm_stats_sized(dsm_statistics* statistics, size_t size, int reset) {
  if (statistics == nullptr) return noted({DSM_EARGUMENT});
  return with_process([&](Process& own) {
    const dsm_statistics all = own.read_statistics(reset != 0);
    const size_t known = std::min(size, sizeof all);
    std::memset(statistics, 0, size);
    std::memcpy(statistics, &all, known);
    return Failure{};
  });
}

int dsm_on_failure(dsm_failure_handler handler, void* context) {
  return with_process([&](Process& own) {
    own.on_failure(handler, context);
    return Failure{};
  });
}

int dsm_dead_rank(void) {
  const CountedCall counted;
  Process* const started = job().started.load(std::memory_order_acquire);
  return started == nullptr ? -1 : started->dead_rank();
}

int dsm_errno(void) { return last_failure.error; }

const char* dsm_strerror(int error) {
  if (error == last_failure.error && !last_failure.text.empty()) return last_failure.text.c_str();
  return text_of(error);
}
