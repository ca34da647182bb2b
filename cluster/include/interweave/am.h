/* Active Messages 2: any endpoint of a cluster sends any other a small message that names a
 * function to run there, which may answer once.
 *
 *   AM_Init                   the library; before all else
 *   AM_AllocateBundle         endpoints that are progressed together: one handler of a bundle runs
 *                             at a time, bundles run beside each other
 *   AM_AllocateEndpoint       what messages are sent from and to; has a name, unique for ever
 *   AM_SetTag, AM_SetHandler, AM_SetSeg, AM_SetExpectedResources
 *   AM_Map                    makes another endpoint, by name and tag, a number to send to
 *   AM_Request*, AM_Reply*    M words of 32 bits; I: and a block; Xfer: and a block that goes into
 *                             the receiver's segment
 *   AM_Poll, AM_Wait          handlers run in AM_Poll, and while a request waits for room
 *
 * Flow: an endpoint has at most `n_outstanding_requests` requests without a reply under way to each
 * other endpoint. One more waits for room (AM_SetRequestWait says how long) or is refused
 * (AM_RequestXferAsync). A reply always has room. A request whose handler does not reply is
 * answered by the library. Messages between two endpoints arrive once and in order.
 *
 * Errors: what a call can see it returns (the codes stand at each call; before AM_Init,
 * AM_AllocateBundle, AM_Terminate and AMNS_* return AM_ERR_NOT_INIT, and the others have no bundle
 * or endpoint to be called with). What happens later comes back to the sender's handler 0 with the
 * message: once for each request or reply that could not be delivered, be it refused there or its
 * endpoint dead.
 *
 * Threads: all calls may be made from any thread. Handlers of an AM_SEQ bundle run only in the
 * program's own AM calls; those of an AM_PAR bundle run on the library's threads, too, while the
 * program does not poll: one that takes long holds up those of its bundle only, as long as there
 * are fewer than sixteen such. A handler may reply, and look up what it was sent; requests, maps
 * and waits from a handler return AM_ERR_RESOURCE. Bundles are not to be freed from handlers.
 */
#ifndef INTERWEAVE_AM_H
#define INTERWEAVE_AM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct iw_am_bundle* eb_t;
typedef struct iw_am_endpoint* ea_t;
typedef ea_t ep_t;
/* An endpoint's name. Opaque; AM_NameText shows it. Equal names are the same endpoint. */
typedef struct {
  unsigned char bytes[96];
} en_t;
typedef uint64_t tag_t;
typedef int handler_t;
typedef int op_t;
/* Any of the handler types below. */
typedef void (*am_handler_fn)(void);

/* Results. */
#define AM_OK 0
#define AM_ERR_NOT_INIT 1 /* AM_Init, or AM_SetExpectedResources, has not been called */
#define AM_ERR_BAD_ARG 2  /* an argument is out of its range, or NULL */
#define AM_ERR_RESOURCE 3 /* out of memory or room, or not allowed now */
#define AM_ERR_NOT_SENT 4 /* not sent: no room or no answer in time, or the process is gone */
#define AM_ERR_IN_USE 5   /* taken, or not empty */
const char* AM_StrError(int result);

/* Why a message came back, to handler 0. (2, 8 and 10 are the specification's; here AM_Request sees
 * an unmapped index, there is room for what was sent, and a refused reply says why.) */
#define EBADARGS 1
#define EBADENTRY 2
#define EBADTAG 3      /* the receiver's tag is another, or AM_NONE */
#define EBADHANDLER 4  /* it has no such handler */
#define EBADSEGOFF 5   /* it has no segment, or the offset is past its end */
#define EBADLENGTH 6   /* the block does not fit into its segment there */
#define EBADENDPOINT 7 /* it was freed */
#define ECONGESTION 8
#define EUNREACHABLE 9 /* its process died */
#define EREPLYREJECTED 10

/* What came back. */
#define AM_REQUEST_M 1
#define AM_REQUEST_IM 2
#define AM_REQUEST_XFER_M 3
#define AM_REPLY_M 4
#define AM_REPLY_IM 5
#define AM_REPLY_XFER_M 6
#define AM_GET_XFER_M 7

#define AM_SEQ 0
#define AM_PAR 1
#define AM_ALL ((tag_t) ~(uint64_t)0) /* an endpoint's: takes every message */
#define AM_NONE ((tag_t)0)            /* takes none; of a new endpoint */
#define AM_NOEVENTS 0
#define AM_NOTEMPTY 1

#define AM_MAX_ARGS 8

/* Handlers by the number of words, M; see AM_SetHandler. Blocks live until the handler returns.
 *   short  void f(void *token, int a0, ... )                               M words
 *   I      void f(void *token, void *block, size_t nbytes, int a0, ... )
 *   Xfer   void f(void *token, void *block, size_t nbytes, int a0, ... )   block: in the segment
 * Handler 0: void f(int status, op_t opcode, const am_returned_t *message); the message as sent: */
typedef struct {
  int destination; /* the index it was sent to; -1: a reply */
  handler_t handler;
  int n_args;
  int args[AM_MAX_ARGS];
  const void* block; /* NULL for a reply that its receiver refused */
  size_t nbytes;     /* of an AM_GET_XFER_M: the library's own words, not the caller's */
  uint64_t offset;   /* Xfer: in the receiver's segment */
} am_returned_t;
typedef void (*am_undeliverable_fn)(int status, op_t opcode, const am_returned_t* message);

/* ---- the library ----------------------------------------------------------------------------- */

/* Reads IW_FABRIC=auto|shm|tcp|verbs. Calls are counted. RESOURCE: no transport. */
int AM_Init(void);
/* The last one frees all bundles, without waiting for their messages (AM_Flush does): they and
 * their endpoints are not to be used any more, here as after AM_FreeBundle. A program that exits
 * without it may have threads that use them: its peers hear of its end as of a process that died.
 */
int AM_Terminate(void);
int AM_MaxShort(void);  /* words: 8 */
int AM_MaxMedium(void); /* bytes of an I block: 16,384 */
int AM_MaxLong(void);   /* bytes of an Xfer block: 262,144 */
int AM_MaxNumHandlers(void);
int AM_MaxNumTranslations(int* n);   /* BAD_ARG */
int AM_MaxSegLength(size_t* nbytes); /* BAD_ARG */

/* ---- bundles and endpoints ------------------------------------------------------------------- */

/* BAD_ARG: type. RESOURCE: no memory, or from a handler. */
int AM_AllocateBundle(int type, eb_t* bundle);
/* With its endpoints, whose peers get their messages back. BAD_ARG. RESOURCE: from a handler. */
int AM_FreeBundle(eb_t bundle);
/* `name` may be NULL. BAD_ARG. */
int AM_AllocateEndpoint(eb_t bundle, ep_t* endpoint, en_t* name);
/* The endpoint's number in its bundle is chosen: below 2^16. IN_USE: it is or was taken. BAD_ARG.
 */
int AM_AllocateKnownEndpoint(eb_t bundle, ep_t* endpoint, int number);
int AM_FreeEndpoint(ep_t endpoint); /* BAD_ARG */
/* Its name becomes another. BAD_ARG: not in `from`. IN_USE: it is or was mapped, in either
 * direction. */
int AM_MoveEndpoint(ep_t endpoint, eb_t from, eb_t to);
int AM_GetEndpointName(ep_t endpoint, en_t* name); /* BAD_ARG */
/* "computer:pid:bundle:endpoint", pid, bundle and endpoint as eight hexadecimal digits. BAD_ARG: no
 * name. RESOURCE: does not fit. */
int AM_NameText(en_t name, char* text, size_t bytes);
/* A name as text that can be carried anywhere, and back. As AM_NameText. */
#define AM_NAME_CARRIED_BYTES 193
int AM_NameToCarried(en_t name, char text[AM_NAME_CARRIED_BYTES]);
int AM_NameFromCarried(const char* text, en_t* name);

int AM_SetTag(ep_t endpoint, tag_t tag);  /* BAD_ARG */
int AM_GetTag(ep_t endpoint, tag_t* tag); /* BAD_ARG */

/* ---- translations: what an endpoint sends to ------------------------------------------------- */

/* BAD_ARG: index, or no name. IN_USE: index is mapped, or meanwhile beyond the table. NOT_SENT: no
 * such endpoint, or its process does not answer (30 s). RESOURCE: from a handler. */
int AM_Map(ep_t endpoint, int index, en_t name, tag_t tag);
/* The lowest free index. As AM_Map; RESOURCE: all are mapped. */
int AM_MapAny(ep_t endpoint, int* index, en_t name, tag_t tag);
/* Requests under way are answered or come back all the same. BAD_ARG: not mapped. */
int AM_UnMap(ep_t endpoint, int index);
int AM_GetTranslationName(ep_t endpoint, int index, en_t* name); /* BAD_ARG. RESOURCE: not mapped */
int AM_GetTranslationTag(ep_t endpoint, int index, tag_t* tag);  /* the same */
int AM_GetTranslationInuse(ep_t endpoint, int index); /* OK: mapped. RESOURCE: not. BAD_ARG */
int AM_GetNumTranslations(ep_t endpoint, int* n);     /* BAD_ARG */
/* 256 at first. IN_USE: one beyond is mapped. BAD_ARG. */
int AM_SetNumTranslations(ep_t endpoint, int n);
/* Requests need it first. 1 <= n_outstanding_requests <= 1024 for each of some n_endpoints.
 * BAD_ARG. IN_USE: requests are under way. */
int AM_SetExpectedResources(ep_t endpoint, int n_endpoints, int n_outstanding_requests);
/* How long a request waits for room: 30 s at first, 0: not at all. BAD_ARG. */
int AM_SetRequestWait(eb_t bundle, double seconds);

/* ---- handlers and segment -------------------------------------------------------------------- */

/* fn: a function of any of the types above, as it is; NULL: none. 0 is the handler of what comes
 * back. BAD_ARG. */
int AM_SetHandler(ep_t endpoint, handler_t handler, am_handler_fn fn);
int AM_SetHandlerAny(ep_t endpoint, handler_t* handler,
                     am_handler_fn fn); /* BAD_ARG. RESOURCE: none is free */
/* So that no handler needs a cast. For C++ see the end. */
#ifndef __cplusplus
#define AM_SetHandler(endpoint, handler, fn) AM_SetHandler(endpoint, handler, (am_handler_fn)(fn))
#define AM_SetHandlerAny(endpoint, handler, fn) \
  AM_SetHandlerAny(endpoint, handler, (am_handler_fn)(fn))
#endif
int AM_GetNumHandlers(ep_t endpoint, int* n); /* BAD_ARG */
int AM_SetNumHandlers(ep_t endpoint, int n);  /* 256 at first. BAD_ARG. IN_USE: one beyond is set */
/* Where Xfer blocks go. nbytes 0: nowhere. BAD_ARG. */
int AM_SetSeg(ep_t endpoint, void* address, size_t nbytes);
int AM_GetSeg(ep_t endpoint, void** address, size_t* nbytes); /* BAD_ARG */

/* ---- events ---------------------------------------------------------------------------------- */

/* Runs the handlers of what has arrived. BAD_ARG. */
int AM_Poll(eb_t bundle);
int AM_GetEventMask(eb_t bundle, int* mask); /* BAD_ARG */
int AM_SetEventMask(eb_t bundle, int mask);  /* AM_NOEVENTS at first, AM_NOTEMPTY. BAD_ARG */
/* Blocks (after a short time of polling) until an event of the mask: AM_NOTEMPTY, something is
 * there for AM_Poll. Runs no handlers. BAD_ARG: the mask is AM_NOEVENTS. RESOURCE: from a handler.
 */
int AM_Wait(eb_t bundle);
int AM_WaitSema(eb_t bundle);
/* NOT_SENT: nothing came in time. */
int AM_WaitFor(eb_t bundle, double seconds);
/* Until all that the bundle's endpoints sent is handled by its receivers or came back, and handles
 * what arrives meanwhile. To be called before AM_Terminate and AM_FreeBundle where the last
 * messages matter: those wait for no handler. A receiver of an AM_SEQ bundle has to poll. BAD_ARG.
 * RESOURCE: from a handler. NOT_SENT: something is not handled in time. */
int AM_Flush(eb_t bundle, double seconds);
/* How many messages the bundle has sent and received, the library's own among them. BAD_ARG. */
int AM_GetMessageCounts(eb_t bundle, uint64_t* sent, uint64_t* received);
/* How long AM_Wait polls before it blocks: 20e-6 at first. BAD_ARG. */
int AM_SetSpin(eb_t bundle, double seconds);

/* ---- of the message that a handler was given; BAD_ARG ---------------------------------------- */

int AM_GetSourceEndpoint(void* token, en_t* name);
int AM_GetDestEndpoint(void* token, ep_t* endpoint);
int AM_GetMsgTag(void* token, tag_t* tag);

/* ---- requests, replies and gets, M = 0 ... 8 ------------------------------------------------- */
/* AM_RequestM(ep, destination, handler, a...)
 * AM_RequestIM(ep, destination, handler, block, nbytes, a...)
 * AM_RequestXferM(ep, destination, offset, handler, block, nbytes, a...)
 * AM_RequestXferAsyncM: the same; NOT_SENT at once when there is no room
 * AM_GetXferM(ep, destination, source_offset, handler, own_offset, nbytes, a...): copies from the
 *   other's segment into one's own, then runs one's own handler as that of an Xfer reply
 * AM_GetXferAsyncM: the same; NOT_SENT at once
 *   NOT_INIT: no AM_SetExpectedResources. BAD_ARG: not mapped, too long, handler.
 *   RESOURCE: from a handler.
 *   NOT_SENT: no room in time, or the endpoint is known to be dead.
 * AM_ReplyM(token, handler, a...)
 * AM_ReplyIM(token, handler, block, nbytes, a...)
 * AM_ReplyXferM(token, offset, handler, block, nbytes, a...)
 *   BAD_ARG. RESOURCE: the second reply, or to a reply. NOT_SENT: who asked is dead.
 * Blocks may be reused when the call returns. The general forms take an array of words: */
int AM_RequestArgs(ep_t ep, int dest, handler_t h, int n_args, const int* args);
int AM_RequestIArgs(ep_t ep, int dest, handler_t h, const void* block, size_t nbytes, int n_args,
                    const int* args);
int AM_RequestXferArgs(ep_t ep, int dest, uint64_t offset, handler_t h, const void* block,
                       size_t nbytes, int is_async, int n_args, const int* args);
int AM_GetXferArgs(ep_t ep, int dest, uint64_t source_offset, handler_t h, uint64_t own_offset,
                   size_t nbytes, int is_async, int n_args, const int* args);
int AM_ReplyArgs(void* token, handler_t h, int n_args, const int* args);
int AM_ReplyIArgs(void* token, handler_t h, const void* block, size_t nbytes, int n_args,
                  const int* args);
int AM_ReplyXferArgs(void* token, uint64_t offset, handler_t h, const void* block, size_t nbytes,
                     int n_args, const int* args);

/* The words of each number, and an array of them. */
#define IW_AM_WORDS_0
#define IW_AM_WORDS_1 , int a0
#define IW_AM_WORDS_2 IW_AM_WORDS_1, int a1
#define IW_AM_WORDS_3 IW_AM_WORDS_2, int a2
#define IW_AM_WORDS_4 IW_AM_WORDS_3, int a3
#define IW_AM_WORDS_5 IW_AM_WORDS_4, int a4
#define IW_AM_WORDS_6 IW_AM_WORDS_5, int a5
#define IW_AM_WORDS_7 IW_AM_WORDS_6, int a6
#define IW_AM_WORDS_8 IW_AM_WORDS_7, int a7
#define IW_AM_ARRAY_0 \
  { 0 }
#define IW_AM_ARRAY_1 \
  { a0 }
#define IW_AM_ARRAY_2 \
  { a0, a1 }
#define IW_AM_ARRAY_3 \
  { a0, a1, a2 }
#define IW_AM_ARRAY_4 \
  { a0, a1, a2, a3 }
#define IW_AM_ARRAY_5 \
  { a0, a1, a2, a3, a4 }
#define IW_AM_ARRAY_6 \
  { a0, a1, a2, a3, a4, a5 }
#define IW_AM_ARRAY_7 \
  { a0, a1, a2, a3, a4, a5, a6 }
#define IW_AM_ARRAY_8 \
  { a0, a1, a2, a3, a4, a5, a6, a7 }

#define IW_AM_CALLS(M)                                                                            \
  static inline int AM_Request##M(ep_t ep, int dest, handler_t h IW_AM_WORDS_##M) {               \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_RequestArgs(ep, dest, h, M, args);                                                  \
  }                                                                                               \
  static inline int AM_RequestI##M(ep_t ep, int dest, handler_t h, const void* block,             \
                                   size_t nbytes IW_AM_WORDS_##M) {                               \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_RequestIArgs(ep, dest, h, block, nbytes, M, args);                                  \
  }                                                                                               \
  static inline int AM_RequestXfer##M(ep_t ep, int dest, uint64_t offset, handler_t h,            \
                                      const void* block, size_t nbytes IW_AM_WORDS_##M) {         \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_RequestXferArgs(ep, dest, offset, h, block, nbytes, 0, M, args);                    \
  }                                                                                               \
  static inline int AM_RequestXferAsync##M(ep_t ep, int dest, uint64_t offset, handler_t h,       \
                                           const void* block, size_t nbytes IW_AM_WORDS_##M) {    \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_RequestXferArgs(ep, dest, offset, h, block, nbytes, 1, M, args);                    \
  }                                                                                               \
  static inline int AM_GetXfer##M(ep_t ep, int dest, uint64_t source_offset, handler_t h,         \
                                  uint64_t own_offset, size_t nbytes IW_AM_WORDS_##M) {           \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_GetXferArgs(ep, dest, source_offset, h, own_offset, nbytes, 0, M, args);            \
  }                                                                                               \
  static inline int AM_GetXferAsync##M(ep_t ep, int dest, uint64_t source_offset, handler_t h,    \
                                       uint64_t own_offset, size_t nbytes IW_AM_WORDS_##M) {      \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_GetXferArgs(ep, dest, source_offset, h, own_offset, nbytes, 1, M, args);            \
  }                                                                                               \
  static inline int AM_Reply##M(void* token, handler_t h IW_AM_WORDS_##M) {                       \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_ReplyArgs(token, h, M, args);                                                       \
  }                                                                                               \
  static inline int AM_ReplyI##M(void* token, handler_t h, const void* block,                     \
                                 size_t nbytes IW_AM_WORDS_##M) {                                 \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_ReplyIArgs(token, h, block, nbytes, M, args);                                       \
  }                                                                                               \
  static inline int AM_ReplyXfer##M(void* token, uint64_t offset, handler_t h, const void* block, \
                                    size_t nbytes IW_AM_WORDS_##M) {                              \
    const int args[] = IW_AM_ARRAY_##M;                                                           \
    return AM_ReplyXferArgs(token, offset, h, block, nbytes, M, args);                            \
  }
IW_AM_CALLS(0)
IW_AM_CALLS(1)
IW_AM_CALLS(2)
IW_AM_CALLS(3)
IW_AM_CALLS(4)
IW_AM_CALLS(5)
IW_AM_CALLS(6)
IW_AM_CALLS(7)
IW_AM_CALLS(8)
#undef IW_AM_CALLS
/* As the specification spells it. */
#define AM_GetXferAsynch0 AM_GetXferAsync0
#define AM_GetXferAsynch1 AM_GetXferAsync1
#define AM_GetXferAsynch2 AM_GetXferAsync2
#define AM_GetXferAsynch3 AM_GetXferAsync3
#define AM_GetXferAsynch4 AM_GetXferAsync4
#define AM_GetXferAsynch5 AM_GetXferAsync5
#define AM_GetXferAsynch6 AM_GetXferAsync6
#define AM_GetXferAsynch7 AM_GetXferAsync7
#define AM_GetXferAsynch8 AM_GetXferAsync8

/* ---- the name server: endpoints' names by agreed strings ------------------------------------- */

/* The server (interweave-amns) prints its own name as text and can write it to a file. `server` is
 * that text or "file:PATH"; NULL: IW_AMNS says. BAD_ARG: it leads to no name, and stderr says why.
 * Of this call and those below: NOT_INIT: before AM_Init, whatever the arguments are, and of those
 * below before AMNS_Init. RESOURCE: from a handler. NOT_SENT: no answer in 10 s, or
 * IW_AMNS_TIMEOUT_MS as it was at AMNS_Init. A registration is undone then; an unregistration may
 * be done all the same. */
int AMNS_Init(const char* server);
/* Strings have 1 to 255 bytes, and `name` is an endpoint's. A registration ends with its process.
 * IN_USE: registered by another process, or for another endpoint. */
int AMNS_Register(const char* string, en_t name);
/* RESOURCE: not registered. */
int AMNS_Lookup(const char* string, en_t* name);
/* RESOURCE: not registered, or by another process. */
int AMNS_Unregister(const char* string);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
template <typename... Args>
int AM_SetHandler(ep_t endpoint, handler_t handler, void (*fn)(Args...)) {
  return AM_SetHandler(endpoint, handler, reinterpret_cast<am_handler_fn>(fn));
}
template <typename... Args>
int AM_SetHandlerAny(ep_t endpoint, handler_t* handler, void (*fn)(Args...)) {
  return AM_SetHandlerAny(endpoint, handler, reinterpret_cast<am_handler_fn>(fn));
}
#endif

#endif
