/* The client's protocol engine (native/session) for a simulator, in C.
 *
 * A client is a program of one thread that takes locks of some segments, one action after the
 * other, together with what the library does by itself. It has no sockets, threads, memory maps or
 * clocks, and makes no choice by chance: all that it does follows from the calls, their times and
 * their order. A segment's copy lies with the caller, who is told which diffs to apply.
 *
 * Calls go in; events come out of iw_sim_next(), in their order, until it returns 0. The caller
 * takes them all before the next call. Times are nanoseconds that never go back. No call throws.
 * The bytes that wait in events are bounded by what the calls brought in. A client is used by one
 * thread at a time. A call that breaks this contract is not noticed.
 */
#ifndef IW_SIM_FACE_H
#define IW_SIM_FACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct iw_sim_client iw_sim_client;

typedef struct {
  uint64_t incarnation, number, chain;
} iw_sim_version;

/* The actions of a program. Each ends with an event IW_SIM_DONE, at once or later. */
enum {
  IW_SIM_READ = 1,     /* takes a reader lock, under this model, x and `fresh` */
  IW_SIM_END_READ = 2, /* gives it back */
  IW_SIM_WRITE = 3,    /* takes the writer lock */
  IW_SIM_RELEASE = 4, /* gives it back; `diff` makes the next version, empty: nothing was changed */
  IW_SIM_ABORT = 5,   /* gives it back; nothing was changed */
  IW_SIM_SERIALS = 6, /* takes another range of serials, under the writer lock */
  IW_SIM_LISTEN = 7,  /* the program is told of changes */
  IW_SIM_IGNORE = 8,  /* stops telling the program of changes */
  IW_SIM_CLOSE = 9    /* the segment is closed; the next action opens it again */
};

typedef struct {
  uint32_t kind;
  uint32_t segment;
  uint32_t model; /* of IW_SIM_READ: coherence_model of lock.x */
  uint32_t fresh;
  double x;
  int64_t deadline_ns; /* the action waits until then at most */
  const uint8_t* diff; /* of IW_SIM_RELEASE; read before the call returns */
  size_t diff_bytes;
} iw_sim_action;

enum {
  IW_SIM_NONE = 0,
  IW_SIM_SEND = 1,    /* `bytes` go to the server, on the present connection */
  IW_SIM_CONNECT = 2, /* a connection is wanted: answered by iw_sim_connected or _disconnected */
  IW_SIM_HANG_UP = 3, /* the present connection is given up: pass on none of its bytes */
  IW_SIM_APPLY = 4,   /* the copy of `segment` takes the diff `bytes`, and is `version` then */
  IW_SIM_CHANGED = 5, /* the program, which listens, is told that there is something newer */
  IW_SIM_DONE = 6     /* the action is over: `code`, and what else it says below */
};

/* The fate of the changes, in an IW_SIM_DONE for IW_SIM_RELEASE. */
enum {
  IW_SIM_COMMITTED = 1,
  IW_SIM_UNSAID = 2,      /* nothing was changed, and the server was not told */
  IW_SIM_HELD = 3,        /* refused for now: release again, or abort */
  IW_SIM_ROLLED_BACK = 4, /* they are not, and never will be, part of the segment */
  IW_SIM_UNKNOWN = 5,     /* they may be part of it: the next diff is a complete copy */
  IW_SIM_UNSENT = 6       /* there was no memory: as IW_SIM_HELD */
};

typedef struct {
  uint32_t kind;
  uint32_t segment;
  uint32_t action;        /* of IW_SIM_DONE: its kind */
  int32_t code;           /* error_code of error.x; 0: it succeeded */
  uint32_t outcome;       /* of IW_SIM_RELEASE */
  uint32_t is_asked;      /* of IW_SIM_READ: the server was asked */
  uint32_t is_promised;   /* of IW_SIM_READ: the server has promised to tell of changes */
  uint32_t is_resumed;    /* of IW_SIM_WRITE: under a grant that was kept */
  iw_sim_version version; /* of the copy, when IW_SIM_READ, _WRITE or _RELEASE is done */
  uint64_t fence;         /* of IW_SIM_WRITE */
  uint64_t first_serial;  /* of IW_SIM_WRITE, unless it is resumed, and of IW_SIM_SERIALS */
  uint64_t serials;
  const uint8_t* bytes; /* until the next call */
  size_t size;
} iw_sim_event;

/* A client of segments with these paths and durabilities (segment.x); NULL: no memory. */
iw_sim_client* iw_sim_new(const char* const* paths, const uint32_t* durable, size_t count);
void iw_sim_free(iw_sim_client* client);

/* The wanted connection is there. */
void iw_sim_connected(iw_sim_client* client, int64_t now_ns);
/* The present connection is lost, or the wanted one could not be made. */
void iw_sim_disconnected(iw_sim_client* client, int64_t now_ns);
/* Bytes of the present connection. */
void iw_sim_received(iw_sim_client* client, int64_t now_ns, const uint8_t* bytes, size_t size);
/* Time has passed. */
void iw_sim_tick(iw_sim_client* client, int64_t now_ns);
/* When iw_sim_tick() is due at the latest; INT64_MAX: never. */
int64_t iw_sim_due_ns(const iw_sim_client* client);

/* Begins an action, once the action before is done. 0: that one is under way. */
int iw_sim_begin(iw_sim_client* client, int64_t now_ns, const iw_sim_action* action);
/* The program stops waiting for the server's answer, as if the action's deadline had come. */
void iw_sim_give_up(iw_sim_client* client, int64_t now_ns);

/* Faults. From now on: so many messages are not sent for lack of memory; the next diff cannot be
 * applied, and the copy is then as before (`damages` 0) or damaged. */
void iw_sim_lack_memory(iw_sim_client* client, uint32_t messages);
void iw_sim_fail_apply(iw_sim_client* client, int damages);

/* The next event. 0: none is left. */
int iw_sim_next(iw_sim_client* client, iw_sim_event* out);

/* The client's knowledge of a segment. */
typedef struct {
  uint32_t hears_of_all; /* the server will tell when there is anything newer, and has not */
  uint32_t owes_lock;    /* a lock that no action uses is to be given back, and was not */
  iw_sim_version newest; /* the newest version heard of */
} iw_sim_knowledge;
void iw_sim_know(const iw_sim_client* client, uint32_t segment, iw_sim_knowledge* out);

/* A hash of the client's state: after the same calls two clients have the same hash. */
uint64_t iw_sim_hash(const iw_sim_client* client);

#ifdef __cplusplus
}
#endif

#endif
