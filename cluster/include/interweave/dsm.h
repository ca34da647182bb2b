/* Page-based shared memory for the processes of a cluster: one heap at one address in all of them,
 * with locks and barriers, as if the processes were threads (home-based lazy release consistency,
 * and PIPE on it: the fourth paper, sections 2 to 4).
 *
 * A rank is a process of the job: 0, 1, ... The job comes from mpirun, `interweave run -n 4`, or
 * IW_RENDEZVOUS. Without a job the process is alone, rank 0 of 1.
 *
 * Memory model. What a rank stores before it releases a lock, another rank loads after it has
 * acquired the same lock. What a rank stores before a barrier, all ranks load behind the barrier.
 * A program without data races sees sequential consistency. Loads and stores that race see old
 * bytes or new bytes. A volatile flag or a C11 atomic on the heap does not order anything, and a
 * rank that spins on one may spin for ever.
 *
 * Replay. Every rank runs main(). Until the first dsm_barrier all ranks make the same calls of
 * dsm_malloc, dsm_free, dsm_home, dsm_fetch_add and dsm_sem_post. They get the same addresses and
 * values. The stores of rank 0 are the initial bytes of the heap, and the stores of other ranks
 * are dropped. What is printed to stdout appears once. From the first barrier on each rank
 * allocates by itself. The first dsm_barrier compares the ranks' calls (DSM_EREPLAY).
 *
 * Numbers of locks, conditions, semaphores, counters and barriers are any uint64_t. They need no
 * creation, so an address serves. Each kind has numbers of its own.
 *
 * Calls are thread-safe. A lock belongs to the process, and excludes the process's threads, too.
 * dsm_barrier, dsm_reduce and dsm_broadcast are called by one thread of each rank. Functions return
 * 0 (or what is said), or a negative DSM_E...
 *
 * A child of fork has no part in the job and no heap: calls there fail with DSM_ENOTINIT, and loads
 * and stores of the heap are a segmentation fault. It may print, call exec, or end.
 *
 * Costs. "Messages" counts all messages of all ranks that a call causes; n is the number of ranks.
 * Messages for pages come later, when the pages are touched: the first touch of a page after a
 * synchronisation that brought news of it costs 2 messages (question and page), or none if its home
 * is on the same machine. The first touch of all costs up to 4 more, to learn the page's home.
 * Where barriers gather by a tree (IW_DSM_FAN_IN), a reduction or broadcast costs one message more
 * for each rank whose parent in the tree is not rank 0. */
#ifndef INTERWEAVE_DSM_H
#define INTERWEAVE_DSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In C++, too, such a type holds any int; an int that is not one of the values is refused. */
#ifdef __cplusplus
#define DSM_ANY_INT_ : int
#else
#define DSM_ANY_INT_
#endif

enum {
  DSM_EARGUMENT = -1,   /* an argument makes no sense */
  DSM_ENOTINIT = -2,    /* dsm_init was not called, or dsm_finish was */
  DSM_EMEMORY = -3,     /* the heap, or this rank's share of it, has no room */
  DSM_EDEAD = -4,       /* a rank died: dsm_dead_rank says which. The job is over */
  DSM_EBUSY = -5,       /* dsm_try_lock: another thread or rank has the lock */
  DSM_ENOTHELD = -6,    /* no thread of this rank has the lock */
  DSM_EHELD = -7,       /* this thread has the lock already */
  DSM_EREPLAY = -8,     /* the ranks made different calls before the first barrier */
  DSM_EMISMATCH = -9,   /* the ranks are at different barriers or collectives */
  DSM_EFOREIGN = -10,   /* no block of the heap begins at the address */
  DSM_EFREED = -11,     /* the block is free already */
  DSM_EEARLY = -12,     /* not before the first barrier */
  DSM_ELATE = -13,      /* only before the first barrier */
  DSM_EFAILED = -14,    /* the job cannot start, or the transport failed; dsm_strerror tells */
  DSM_EINHANDLER = -15, /* a handler of dsm_on_failure may not call this */
  DSM_ETIMEDOUT = -16   /* the other ranks did not start in time */
};

typedef enum dsm_faults DSM_ANY_INT_ {
  DSM_FAULTS_BEST,        /* userfaultfd where the kernel allows it, else SIGSEGV */
  DSM_FAULTS_USERFAULTFD, /* an error where the kernel refuses it */
  DSM_FAULTS_SIGSEGV
} dsm_faults;

typedef enum dsm_diffs DSM_ANY_INT_ {
  DSM_DIFFS_DEFAULT, /* IW_DSM_DIFFS=pipe|orig; PIPE without it */
  DSM_DIFFS_PIPE,    /* diffs packed into buffers that are sent when they are full */
  DSM_DIFFS_ORIG     /* one diff a message */
} dsm_diffs;

/* All members may be zero: the environment's value counts then, or else the default. */
typedef struct dsm_options {
  size_t heap_bytes;     /* IW_DSM_HEAP: address space, taken when touched; 64 GiB */
  size_t page_bytes;     /* IW_DSM_PAGE: a power of two, a multiple of the processor's page, at
                            most 65536; 4096. All ranks say the same */
  dsm_faults faults;     /* IW_DSM_FAULTS=userfaultfd|sigsegv */
  dsm_diffs diffs;       /* IW_DSM_DIFFS=pipe|orig */
  size_t buffer_bytes;   /* IW_DSM_BUFFER: of one buffer of diffs; 32 KiB */
  unsigned buffer_depth; /* IW_DSM_DEPTH: buffers for each destination; 2 */
  unsigned timeout_ms;   /* IW_DSM_TIMEOUT: how long the ranks wait for each other at the start;
                            60 s */
} dsm_options;

/* Meets the other ranks of the job. NULL: all zero. The program may leave the call to its first
 * dsm_malloc, dsm_rank, dsm_size or other dsm call. Collective; messages: at most 4 n^2, once. */
int dsm_init(const dsm_options* options);

/* Waits until all ranks are here, and serves their pages until then. Frees the heap. The process
 * may not use the heap afterwards, and may not call dsm_init again. Collective; messages: 4 (n -
 * 1), and 2 (n - 1) more if the program passed no barrier. */
int dsm_finish(void);

/* This process's number, from 0 on, and how many ranks there are. No message. */
int dsm_rank(void);
int dsm_size(void);

/* A block of at least `bytes`, filled with zeroes if no block was freed there before; aligned to 16
 * bytes, and from the size of a page on to a page. NULL: dsm_errno() says why. Other ranks may
 * use and free the block. They learn of the address as they learn of any other value. No message.
 * Blocks below a page share pages: stores of unlike ranks into one page merge, but cost messages
 * (false sharing). */
void* dsm_malloc(size_t bytes);

/* Frees a block that any rank allocated; the room becomes this rank's. NULL is allowed. The rank
 * must not race with the block's last user. An address that begins no block, or a block that is
 * free already, changes nothing; dsm_errno() becomes DSM_EFOREIGN or DSM_EFREED, and stderr says
 * the address. No message. */
void dsm_free(void* block);

/* Before the first barrier a lock is taken by this rank alone, without a message.
 *
 * Locks are given in the order in which they were asked for. A lock stays where it was released:
 * an acquire by the last owner costs no message. Otherwise 3 messages at most: to the lock's home,
 * to the last owner, to the asker. The third brings notices of what was written.
 * DSM_EHELD: this thread has the lock already. DSM_EDEAD: a rank died. */
int dsm_lock(uint64_t lock);
/* Does not wait for an owner. DSM_EBUSY: another thread or rank has the lock. Messages: 4 at most,
 * and none if the lock is here. */
int dsm_try_lock(uint64_t lock);
/* 1 message if another rank waits for the lock, else none. DSM_ENOTHELD: no thread of this rank has
 * the lock. */
int dsm_unlock(uint64_t lock);

/* Returns when all ranks have called it with the same number. Messages: 2 (n - 1), and the diffs of
 * what this rank wrote away from home. The first barrier ends the replay.
 * DSM_EMISMATCH: another rank is at another barrier; stderr says which. */
int dsm_barrier(uint64_t barrier);

/* Condition variables. The caller has the lock. dsm_cond_wait releases the lock, sleeps until a
 * signal, and acquires the lock again. As with threads, look at the state again afterwards. Waiters
 * are woken in the order in which they came. A signal without a waiter is lost.
 * Messages: a wait 3 (to the condition's home, its word, the wake-up) and those of the lock; a
 * signal 1 and the wake-up; a broadcast 1 and a wake-up for each waiter. */
int dsm_cond_wait(uint64_t condition, uint64_t lock);
int dsm_cond_signal(uint64_t condition);
int dsm_cond_broadcast(uint64_t condition);

/* Semaphores begin with 0. A wait takes 1 from the semaphore and sleeps until the semaphore is not
 * 0. What a rank stored before a post, another rank loads after the wait that the post let go.
 * Messages: a wait 2 and those of a lock; a post 1 and those of a lock. */
int dsm_sem_wait(uint64_t semaphore);
int dsm_sem_post(uint64_t semaphore);

/* Counters begin with 0. Adds at once for all ranks, modulo 2^64, and sets *before to the value
 * before the addition (before may be NULL). Orders no loads and stores of the heap.
 * Messages: 2; none at the counter's home. */
int dsm_fetch_add(uint64_t counter, int64_t add, int64_t* before);

typedef enum dsm_reduction DSM_ANY_INT_ { DSM_SUM, DSM_MIN, DSM_MAX } dsm_reduction;
typedef enum dsm_type DSM_ANY_INT_ { DSM_INT64, DSM_DOUBLE } dsm_type;

/* Every rank gives `count` values and gets as many results. The results are the same bits at all
 * ranks and in all runs, because values are combined in the order of the ranks. `results` may be
 * `values`. Sums of DSM_INT64 are modulo 2^64. A NaN makes a minimum or maximum NaN. Collective;
 * orders no loads and stores of the heap. Messages: 2 (n - 1) for every 64 KiB of values. */
int dsm_reduce(dsm_reduction reduction, dsm_type type, const void* values, void* results,
               size_t count);

/* All ranks get the bytes of rank `from`. Collective; orders no loads and stores of the heap.
 * Messages: 2 (n - 1) for every 64 KiB. */
int dsm_broadcast(void* data, size_t bytes, int from);

typedef enum dsm_placement DSM_ANY_INT_ {
  DSM_FIRST_TOUCH, /* the rank that touches the page first after the first barrier: the default */
  DSM_BLOCKS,      /* the pages are cut into n pieces of equal size, one for each rank in turn */
  DSM_ROUND_ROBIN, /* page i of the range lies at rank i modulo n */
  DSM_RANK         /* all pages lie at `rank` */
} dsm_placement;

/* Chooses the homes of the pages that lie in the range, in whole or in part. `rank` counts for
 * DSM_RANK only. Before the first barrier, by all ranks alike (DSM_ELATE). No message. */
int dsm_home(void* address, size_t bytes, dsm_placement placement, int rank);

/* Brings the pages of the range to this rank, for loads, or for stores if `will_store` is not 0.
 * All pages are asked for at once. Needed before the memory is handed to a system call that the
 * library does not know (read, write, send, recv and their families are known). Another rank's
 * store may take the pages away again at the next synchronisation. Messages: 2 for each page that
 * is not valid here. */
int dsm_touch(const void* address, size_t bytes, int will_store);

/* The work of this rank since the start (or since the last reset). Times are in nanoseconds, sizes
 * in bytes. docs/dsm.md says how to read them. */
typedef struct dsm_statistics {
  uint64_t faults;           /* accesses to pages that were not open for them */
  uint64_t page_waits;       /* faults that needed another rank */
  uint64_t direct_pages;     /* pages read in the memory of their homes, on the same machine; these
                                bytes are not in message_bytes */
  uint64_t twins;            /* copies made before a store away from home */
  uint64_t intervals;        /* intervals of this rank that wrote something */
  uint64_t diffs;            /* diffs sent to homes */
  uint64_t diff_bytes;       /* their bytes; diff_bytes / diffs is the paper's "size" */
  uint64_t diff_messages;    /* messages that carried diffs; equal to diffs under ORIG */
  uint64_t diff_stalls;      /* diffs that found no free buffer */
  uint64_t locks;            /* acquires, those of semaphores and conditions among them */
  uint64_t lock_waits;       /* acquires that had to wait */
  uint64_t lock_wait_ns;     /* threads were in dsm_lock so long */
  uint64_t barriers;         /* passed */
  uint64_t barrier_wait_ns;  /* a thread was in dsm_barrier so long */
  uint64_t messages;         /* sent by this rank, of all kinds */
  uint64_t message_bytes;    /* their bytes: with all ranks', the paper's "traffic" */
  uint64_t diff_memory;      /* bytes of diffs that are held at this moment */
  uint64_t diff_memory_most; /* and at most so far; no reset */
  uint64_t twin_memory;      /* bytes of twins that are held at this moment */
  uint64_t pages_ahead;      /* pages that a fault opened besides its own: those behind it that were
                                open before the last synchronisation, too */
  uint64_t copy_memory;      /* bytes of copies of pages away from their home at this moment */
  uint64_t copy_memory_most; /* and at most so far; no reset */
  uint64_t copies_evicted;   /* copies that were given up because of IW_DSM_CACHE */
  uint64_t copies_freed;     /* copies whose memory was given back because they were old */
  uint64_t diff_pulls;       /* questions of this rank, as a home, for diffs (IW_DSM_PULL) */
  uint64_t writer_reads;     /* pages that came as diffs of their last writer (IW_DSM_FETCH) */
  uint64_t kept_memory;      /* bytes of diffs that stay at this rank, with what keeps them, now */
  uint64_t kept_memory_most; /* and at most so far; no reset */
  uint64_t locks_known;      /* entries about locks at this rank, now: as user, as home */
} dsm_statistics;

/* Reads the first `size` bytes of the statistics; `reset` not 0: the counts start at 0 again. No
 * message. The size is the one of the header that the program was built with, so a later library,
 * which counts more, writes no byte behind the program's record. Bytes that the library has no
 * count for become 0. */
int dsm_stats_sized(dsm_statistics* statistics, size_t size, int reset);
static inline int dsm_stats(dsm_statistics* statistics, int reset) {
  return dsm_stats_sized(statistics, sizeof *statistics, reset);
}

/* A load or store cannot return an error. If one can never be served because a rank died, the
 * handler is called on the faulting thread, with the rank. It may print, or leave by _exit, and
 * makes no dsm call. If it returns, or without one, the library prints rank and page to stderr and
 * the process ends with status 3. NULL: no handler. No message. */
typedef void (*dsm_failure_handler)(int rank, void* context);
int dsm_on_failure(dsm_failure_handler handler, void* context);

/* The rank whose death or error ended the job, as far as this rank knows; -1: none. No message. */
int dsm_dead_rank(void);

/* The error of the calling thread's last call that failed. */
int dsm_errno(void);
/* What an error means. If it is dsm_errno(), the text also says what was found; that text lives
 * until the thread's next call that fails. */
const char* dsm_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
