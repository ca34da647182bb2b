/* Sharing data among the nodes of a cluster: allocate, get and put in one shared space, with seven
 * coherence models and locks (the Distributed Data Sharing Substrate, HiPC 2006).
 *
 * A node is a process that takes part: ddss_init founds a space or joins one. Each gives a pool of
 * memory. Get and put reach the memory of other nodes directly wherever the fabric can; the
 * processor of the other node does not help there, it may even be stopped.
 *
 * Calls are thread-safe. A lock belongs to the thread that took it. Functions return 0 (or what is
 * said), or a negative DDSS_E... */
#ifndef INTERWEAVE_DDSS_H
#define INTERWEAVE_DDSS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a shared segment, on every node; any program may be told it, as a number. Never 0 and never
 * used again. */
typedef uint64_t ddss_key_t;

/* In C++, too, such a type holds any int; an int that is not one of the values is refused. */
#ifdef __cplusplus
#define DDSS_ANY_INT_ : int
#else
#define DDSS_ANY_INT_
#endif

typedef enum ddss_model DDSS_ANY_INT_ {
  DDSS_NULL,     /* neither waits for anyone; what is read and written at once may be mixed */
  DDSS_READ,     /* gets exclude each other */
  DDSS_WRITE,    /* puts exclude each other */
  DDSS_STRICT,   /* gets and puts exclude each other */
  DDSS_VERSION,  /* each put counts; gets see no part of a put, ddss_get_if_newer moves only news */
  DDSS_DELTA,    /* the same, and the last `keep` versions can still be got */
  DDSS_TEMPORAL, /* a get may give what this node got at most temporal_ms ago */
} ddss_model_t;

typedef enum ddss_placement DDSS_ANY_INT_ {
  DDSS_ROUND_ROBIN, /* the node after the one that this node's last allocation went to */
  DDSS_LOCAL,
  DDSS_REMOTE, /* like round robin, but never here */
  DDSS_NODE,   /* `node` */
} ddss_placement_t;

enum {
  DDSS_UNCHANGED = 1,      /* ddss_get_if_newer: nothing was moved */
  DDSS_EARGUMENT = -1,     /* an argument makes no sense */
  DDSS_ENOTINIT = -2,      /* ddss_init was not called, or ddss_finish was */
  DDSS_ENOKEY = -3,        /* no such segment: never allocated, or released */
  DDSS_ENODE = -4,         /* the node that has it left or died */
  DDSS_EMEMORY = -5,       /* no pool has room for it */
  DDSS_ERANGE = -6,        /* past the segment's end */
  DDSS_ETIMEDOUT = -7,     /* timeout_ms is over */
  DDSS_EBUSY = -8,         /* ddss_try_lock: another has it */
  DDSS_ENOTHELD = -9,      /* this thread does not hold the lock */
  DDSS_EHELD = -10,        /* this thread holds the lock already */
  DDSS_ENOVERSION = -11,   /* a version that is not kept */
  DDSS_EMODEL = -12,       /* not under the segment's model */
  DDSS_EUNREACHABLE = -13, /* no transport leads there, or it failed */
  DDSS_EFULL = -14,        /* the daemon has no room for another thread: each takes an open file */
  DDSS_ENOTLOCAL = -15     /* the data are not in this process's pool */
};

/* All members may be zero. */
typedef struct ddss_options {
  const char* join;    /* what ddss_address gave on a node of the space. NULL: the environment's
                          IW_DDSS; without it the processes of a job (mpirun, IW_RENDEZVOUS) form a
                          space of their own, and a process that is in none founds one */
  size_t pool_bytes;   /* given to the space, at most 1 TiB; 64 MiB if 0. Committed when touched */
  unsigned timeout_ms; /* how long a call waits for others; 10 s if 0 */
  int sleeps_at_once;  /* not 0: waits do not poll for 20 us before they sleep */
  const char* daemon;  /* the socket of a daemon (interweave-ddss) whose node is used, so that this
                          process is none: join and pool_bytes do not count. NULL: the environment's
                          IW_DDSS_DAEMON, if it is set. A call then moves at most 4 MiB */
} ddss_options_t;

int ddss_init(const ddss_options_t* options); /* NULL: all zero */
/* Leaves the space: the segments in this node's pool are lost to all. The space continues; when its
 * founder has left, it takes no new nodes and names. Waits for the calls of other threads that are
 * under way; operations that were started and not waited for end with DDSS_ENOTINIT. */
int ddss_finish(void);
int ddss_node(void);             /* this (or the daemon's) node's number; the founder's is 0 */
int ddss_nodes(void);            /* how many take part, as far as is known here */
int ddss_await_nodes(int count); /* until so many do */
const char* ddss_address(void);  /* of this space, for others to join; lives until ddss_finish */

typedef struct ddss_allocation {
  const char* name; /* NULL, or a text of at most 127 bytes: of all who allocate with the same
                       name one creates the segment and the others get its key */
  ddss_placement_t placement; /* of the data */
  int node;                   /* for DDSS_NODE */
  int has_lock_node;          /* not 0: the lock lies on lock_node; else beside the data */
  int lock_node;
  int has_home_node; /* not 0: what others ask to find the segment lies on home_node; else
                        beside the data */
  int home_node;
  unsigned keep;        /* for DDSS_DELTA: how many old versions; 1 if 0 */
  unsigned temporal_ms; /* for DDSS_TEMPORAL */
  int* was_created;     /* not NULL: set to 1 by the creator, to 0 by the others */
} ddss_allocation_t;

/* Zeroes. 0 on failure: see ddss_errno. `how` may be NULL. */
ddss_key_t ddss_allocate(size_t nbytes, ddss_model_t model, const ddss_allocation_t* how);
/* From then on its key is refused everywhere, and the memory given to others. */
int ddss_release(ddss_key_t key);

typedef struct ddss_description {
  size_t nbytes;
  ddss_model_t model;
  int home_node, data_node, lock_node;
  uint64_t data_offset; /* in the data node's pool */
} ddss_description_t;
int ddss_describe(ddss_key_t key, ddss_description_t* description);

/* From the segment's beginning. If the model needs a lock and the thread does not hold it, it is
 * taken and let go. */
int ddss_get(ddss_key_t key, void* data, size_t nbytes);
int ddss_put(ddss_key_t key, const void* data, size_t nbytes);
/* From anywhere in it; not under DDSS_DELTA, where a put is a whole version. */
int ddss_get_at(ddss_key_t key, size_t offset, void* data, size_t nbytes);
int ddss_put_at(ddss_key_t key, size_t offset, const void* data, size_t nbytes);

/* The word of 8 bytes at `offset`, a multiple of 8, is changed at once for all nodes, and *before
 * is what it was. Adding is modulo 2^64; the swap is done if the word is `expected`. Under
 * DDSS_NULL without the lock, under DDSS_READ, DDSS_WRITE and DDSS_STRICT with it, as a get or put;
 * not under the other models. A word that is changed so is not to be put or stored to by others
 * meanwhile. After DDSS_ETIMEDOUT it may have been changed, or may be yet. */
int ddss_fetch_add(ddss_key_t key, size_t offset, uint64_t add, uint64_t* before);
int ddss_compare_swap(ddss_key_t key, size_t offset, uint64_t expected, uint64_t desired,
                      uint64_t* before);

/* Until `count` threads of any nodes have called it for this segment, again and again. The segment
 * is under DDSS_NULL and has 8 bytes or more; the first are the barrier's, and all give the same
 * count. DDSS_ETIMEDOUT: the others did not come, and this call does not count; it may be made
 * again. When a node dies in a barrier it counts there for ever: take a new segment. */
int ddss_barrier(ddss_key_t key, int count);

/* Where the data lie in this process's own pool, for loads and stores, until the segment is
 * released or the node finishes. NULL: see ddss_errno; DDSS_ENOTLOCAL where they lie on another
 * node, or a daemon's. Not under DDSS_VERSION and DDSS_DELTA. No load or store takes the lock. */
void* ddss_local(ddss_key_t key);

/* DDSS_VERSION and DDSS_DELTA count from 0, nothing put yet. */
int ddss_version(ddss_key_t key, uint64_t* version);
/* Gets if the version is not *version, which is set; else DDSS_UNCHANGED, and 8 bytes were moved:
 * the version. DDSS_DELTA: 32, with the key and a version's header. */
int ddss_get_if_newer(ddss_key_t key, void* data, size_t nbytes, uint64_t* version);
/* DDSS_DELTA: what the version-th put wrote; zeroes after its end. */
int ddss_get_version(ddss_key_t key, void* data, size_t nbytes, uint64_t version);

/* First come, first served; sharers that follow each other hold it together. The locks of a node
 * that dies, or of a thread that waited in vain, are recovered by those who wait. */
int ddss_acquire_lock(ddss_key_t key);
int ddss_acquire_shared_lock(ddss_key_t key);
int ddss_try_lock(ddss_key_t key); /* at once; DDSS_EBUSY also while a dead holder's is recovered */
int ddss_try_shared_lock(ddss_key_t key);
int ddss_release_lock(ddss_key_t key);
/* The lock's word as it is now. Bits 63-48: the node, plus 1, that asked last for the exclusive
 * lock; 0xffff while the lock is recovered. 47-32: how often that was asked for. 31-0: how many
 * asked to share it since. */
int ddss_lock_word(ddss_key_t key, uint64_t* word);

/* Start, and are over after ddss_wait; `data` is not touched until then. What takes a lock, and a
 * get that looks for versions, is done at the start. */
typedef struct ddss_operation ddss_operation_t;
ddss_operation_t* ddss_async_get(ddss_key_t key, void* data, size_t nbytes);
ddss_operation_t* ddss_async_put(ddss_key_t key, const void* data, size_t nbytes);
int ddss_wait(ddss_operation_t* operation); /* and forgets it. NULL: how the start failed */

/* 1 if get and put of this segment reach it without the help of its node's processor, else 0. */
int ddss_is_onesided(ddss_key_t key);

/* How many bytes the calling thread's calls have moved to and from segments, their headers and
 * their locks' words among them; through a daemon none. */
uint64_t ddss_bytes_moved(void);

/* Of the calling thread's last call that failed. */
int ddss_errno(void);
/* What it means. If it is what the calling thread's last call failed with, and that was ddss_init:
 * why; this text lives until the thread's next call that fails. */
const char* ddss_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
