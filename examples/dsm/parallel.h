/* Macros of the kind that parallel programs for threads are written with: create, shared malloc,
 * locks, barriers, condition variables, pauses. A program on them runs on threads (-DTHREADS, link
 * with -pthread) and, unmodified, on the processes of a cluster (<interweave/dsm.h>).
 *
 *   MAIN_ENV                     once, outside of functions, in the file with main
 *   MAIN_INITENV(processes)      at the beginning of main; how many threads there are to be
 *   PROCESSES()                  how many there are: threads, or ranks of the job
 *   PROCESS_NUMBER(counter)      in a worker, with a lock held: 0, 1, 2 and so on. The counter is
 *                                shared, and 0 at first
 *   G_MALLOC(bytes)              shared memory of zeroes; before CREATE, or in a worker
 *   G_HOME(memory, bytes, process), G_BLOCKS(memory, bytes)
 *                                where the memory lies best: at a process; a part at each. Before
 *                                CREATE
 *   CREATE(worker)               `void worker(void)` runs in all, also in the caller
 *   WAIT_FOR_END()               after CREATE; one process continues
 *   MAIN_END()                   at the end of main
 *
 * On the cluster each process runs main up to CREATE, so all do the same there: CREATE holds the
 * first barrier. Shared is G_MALLOC's memory alone. A global variable is each process's own: set it
 * before CREATE only. There is one CREATE in a program. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double parallel_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#define CLOCK(seconds) ((seconds) = parallel_seconds())

#ifdef THREADS

#include <pthread.h>

enum { PARALLEL_MOST = 64 };
extern int parallel_processes;
extern pthread_t parallel_threads[PARALLEL_MOST];

static inline void* parallel_start(void* worker) {
  (*(void (**)(void))worker)();
  return NULL;
}

/* Threads that come meet here until all are there. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t all_here;
  int here;
  unsigned round;
} parallel_barrier;

static inline void parallel_meet(parallel_barrier* barrier, int count) {
  pthread_mutex_lock(&barrier->lock);
  const unsigned round = barrier->round;
  if (++barrier->here == count) {
    barrier->here = 0;
    barrier->round++;
    pthread_cond_broadcast(&barrier->all_here);
  }
  while (round == barrier->round) pthread_cond_wait(&barrier->all_here, &barrier->lock);
  pthread_mutex_unlock(&barrier->lock);
}

static inline void* parallel_zeroes(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes) != 0) return NULL;
  for (size_t i = 0; i < bytes; i++) ((char*)memory)[i] = 0;
  return memory;
}

static inline void parallel_create(void (**worker)(void)) {
  for (int i = 1; i < parallel_processes; i++) {
    if (pthread_create(&parallel_threads[i], NULL, parallel_start, worker) != 0) {
      fprintf(stderr, "a thread cannot be started\n");
      exit(1);
    }
  }
  (*worker)();
}

static inline void parallel_join(void) {
  for (int i = 1; i < parallel_processes; i++) pthread_join(parallel_threads[i], NULL);
}

#define MAIN_ENV              \
  int parallel_processes = 1; \
  pthread_t parallel_threads[PARALLEL_MOST];
#define MAIN_INITENV(processes)                                       \
  (parallel_processes = (processes) < 1               ? 1             \
                        : (processes) > PARALLEL_MOST ? PARALLEL_MOST \
                                                      : (processes))
#define PROCESSES() parallel_processes
#define PROCESS_NUMBER(counter) ((counter)++)
#define G_MALLOC(bytes) parallel_zeroes(bytes)
#define G_HOME(memory, bytes, process) ((void)(memory), (void)(bytes), (void)(process))
#define G_BLOCKS(memory, bytes) ((void)(memory), (void)(bytes))
#define CREATE(worker)                    \
  do {                                    \
    static void (*parallel_worker)(void); \
    parallel_worker = (worker);           \
    parallel_create(&parallel_worker);    \
  } while (0)
#define WAIT_FOR_END() parallel_join()
#define MAIN_END() ((void)0)

#define LOCKDEC(name) pthread_mutex_t name;
#define LOCKINIT(name) pthread_mutex_init(&(name), NULL)
#define LOCK(name) pthread_mutex_lock(&(name))
#define UNLOCK(name) pthread_mutex_unlock(&(name))
#define BARDEC(name) parallel_barrier name;
#define BARINIT(name) \
  (pthread_mutex_init(&(name).lock, NULL), pthread_cond_init(&(name).all_here, NULL))
#define BARRIER(name) parallel_meet(&(name), parallel_processes)
#define CONDVARDEC(name) pthread_cond_t name;
#define CONDVARINIT(name) pthread_cond_init(&(name), NULL)
#define CONDVARWAIT(name, lock) pthread_cond_wait(&(name), &(lock))
#define CONDVARSIGNAL(name) pthread_cond_signal(&(name))
#define CONDVARBCAST(name) pthread_cond_broadcast(&(name))

#else /* processes of a cluster */

#include <interweave/dsm.h>

/* A call of the library that fails ends the process, and by this the job. */
static inline void parallel_must(int result, const char* call) {
  if (result >= 0) return;
  fprintf(stderr, "rank %d: %s: %s\n", dsm_rank(), call, dsm_strerror(result));
  exit(1);
}

static inline void* parallel_zeroes(size_t bytes) {
  void* memory = dsm_malloc(bytes);
  if (memory == NULL) parallel_must(dsm_errno(), "dsm_malloc");
  return memory;
}

/* A lock, a barrier and a condition need no memory: their addresses are their numbers. */
#define PARALLEL_NUMBER(name) ((uint64_t)(uintptr_t) & (name))
#define PARALLEL_FIRST_BARRIER 1
#define PARALLEL_LAST_BARRIER 2

/* The columns of Table 2 of the paper (PIPE), as means over the ranks, on stderr. */
static inline void parallel_print_statistics(void) {
  dsm_statistics own;
  parallel_must(dsm_stats(&own, 0), "dsm_stats");
  double sums[] = {(double)own.message_bytes,   (double)own.diffs,       (double)own.diff_bytes,
                   (double)own.intervals,       (double)own.page_waits,  (double)own.diff_messages,
                   (double)own.barrier_wait_ns, (double)own.direct_pages};
  const size_t count = sizeof sums / sizeof *sums;
  parallel_must(dsm_reduce(DSM_SUM, DSM_DOUBLE, sums, sums, count), "dsm_reduce");
  if (dsm_rank() != 0) return;
  for (size_t i = 0; i < count; i++) sums[i] /= dsm_size();
  fprintf(stderr,
          "per process: %.2f MiB sent; %.0f diffs of %.1f bytes in %.0f messages; %.0f intervals "
          "with %.2f diffs; %.0f faults that needed another rank; %.0f pages read without a "
          "message; %.3f s in barriers\n",
          sums[0] / (1 << 20), sums[1], sums[1] > 0 ? sums[2] / sums[1] : 0, sums[5], sums[3],
          sums[3] > 0 ? sums[1] / sums[3] : 0, sums[4], sums[7], sums[6] * 1e-9);
}

/* Only rank 0 continues. The others serve its page faults until it ends. */
static inline void parallel_end_of_workers(void) {
  parallel_must(dsm_barrier(PARALLEL_LAST_BARRIER), "dsm_barrier");
  parallel_print_statistics();
  if (dsm_rank() == 0) return;
  parallel_must(dsm_finish(), "dsm_finish");
  exit(0);
}

#define MAIN_ENV extern int parallel_nothing;
#define MAIN_INITENV(processes) ((void)(processes), parallel_must(dsm_init(NULL), "dsm_init"))
#define PROCESSES() dsm_size()
#define PROCESS_NUMBER(counter) ((void)&(counter), dsm_rank())
#define G_MALLOC(bytes) parallel_zeroes(bytes)
#define G_HOME(memory, bytes, process) \
  parallel_must(dsm_home(memory, bytes, DSM_RANK, process), "dsm_home")
#define G_BLOCKS(memory, bytes) parallel_must(dsm_home(memory, bytes, DSM_BLOCKS, 0), "dsm_home")
#define CREATE(worker)                                                 \
  do {                                                                 \
    parallel_must(dsm_barrier(PARALLEL_FIRST_BARRIER), "dsm_barrier"); \
    (worker)();                                                        \
  } while (0)
#define WAIT_FOR_END() parallel_end_of_workers()
#define MAIN_END() parallel_must(dsm_finish(), "dsm_finish")

#define LOCKDEC(name) char name;
#define LOCKINIT(name) ((void)&(name))
#define LOCK(name) parallel_must(dsm_lock(PARALLEL_NUMBER(name)), "dsm_lock")
#define UNLOCK(name) parallel_must(dsm_unlock(PARALLEL_NUMBER(name)), "dsm_unlock")
#define BARDEC(name) char name;
#define BARINIT(name) ((void)&(name))
#define BARRIER(name) parallel_must(dsm_barrier(PARALLEL_NUMBER(name)), "dsm_barrier")
#define CONDVARDEC(name) char name;
#define CONDVARINIT(name) ((void)&(name))
#define CONDVARWAIT(name, lock) \
  parallel_must(dsm_cond_wait(PARALLEL_NUMBER(name), PARALLEL_NUMBER(lock)), "dsm_cond_wait")
#define CONDVARSIGNAL(name) parallel_must(dsm_cond_signal(PARALLEL_NUMBER(name)), "dsm_cond_signal")
#define CONDVARBCAST(name) \
  parallel_must(dsm_cond_broadcast(PARALLEL_NUMBER(name)), "dsm_cond_broadcast")

#endif

/* A flag that threads wait for: set, clear, wait until it is set. */
typedef struct {
  LOCKDEC(lock)
  CONDVARDEC(is_set)
  int flag;
} parallel_pause;
#define PAUSEDEC(name) parallel_pause name;
#define PAUSEINIT(name) (LOCKINIT((name).lock), CONDVARINIT((name).is_set))
static inline void parallel_set(parallel_pause* pause, int flag) {
  LOCK(pause->lock);
  pause->flag = flag;
  if (flag) CONDVARBCAST(pause->is_set);
  UNLOCK(pause->lock);
}
static inline void parallel_await(parallel_pause* pause) {
  LOCK(pause->lock);
  while (!pause->flag) CONDVARWAIT(pause->is_set, pause->lock);
  UNLOCK(pause->lock);
}
#define SETPAUSE(name) parallel_set(&(name), 1)
#define CLEARPAUSE(name) parallel_set(&(name), 0)
#define WAITPAUSE(name) parallel_await(&(name))

#endif
