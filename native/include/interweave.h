/*
 * interweave.h -- shared typed memory: segments that programs in different languages, on different
 * machines, open by URL and read and write as ordinary data. (ICDCS 2003: "the paper".)
 *
 * A segment is a heap of typed blocks. Each process holds a cached copy of it in its own memory and
 * layout. Readers work under a reader lock and say how recent is recent enough; writers work under
 * the writer lock, at whose release only the differences travel.
 *
 *   IW_handle_t h = IW_open_segment("127.0.0.1:7747/list");
 *   IW_wl_acquire(h);
 *   node_t *p = IW_malloc_named(h, IW_node_t, "head");    node_t, IW_node_t: `interweave compile`
 *   p->key = 1;
 *   IW_wl_release(h);
 *
 * Results. `int` functions return 0 or a negative IW_E... code; functions that return a pointer or
 * a handle return NULL. After a failure IW_errno() and IW_strerror() tell the calling thread why. A
 * successful call leaves them as they were. Without memory a call fails with IW_ENO_MEMORY and has
 * done nothing, unless it says otherwise; once there is memory again, every handle works.
 *
 * Threads. Every function may be called from every thread. Locks belong to the thread that took
 * them, and to one segment; pointers into a segment are good in all threads. A lock still held by a
 * thread that ends is given back (a writer lock: aborted). No function may be called from a signal
 * handler. After fork() the child's calls on the parent's handles fail with IW_EFORKED; it may open
 * segments of its own.
 *
 * Shortage. A call that needs memory, address space, a file descriptor or a thread that this
 * process cannot have fails with IW_ENO_MEMORY, and its text says what is missing and which limit
 * is reached. Nothing half begun stays, and the next call tries again. The library keeps a
 * descriptor for each server and up to four more, and needs one more for a moment when a copy
 * grows. Its first call makes one thread; IW_on_change and IW_on_connection make another.
 *
 * Address space. On 64-bit machines each open segment reserves some ahead: 64 GiB the first 128
 * segments, and less the more segments are open. The library maps at most half of the machine's
 * address space and three quarters of the mappings that the kernel allows (Linux: vm.max_map_count)
 * and leaves the rest to the program. A small segment takes three mappings, so that some 14,000 of
 * them can be open with the kernel's usual 65,530. The environment's IW_RESERVATION_MIB bounds what
 * a segment reserves; a segment that outgrows its reservation goes on elsewhere.
 *
 * Time is in seconds (double), sizes are in bytes. Waiting calls without a deadline of their own
 * wait as long as the segment's timeout (IW_open_options.timeout).
 *
 * Environment: IW_TOKEN (the token to show to servers), IW_TRACKER (wp-async|scan|sigsegv|compare),
 * IW_OPTIMISATIONS (for measurements: all,-NAME,...; names: no-diff, plans, splicing, prediction),
 * IW_RESERVATION_MIB (address space that a segment may reserve ahead, at most),
 * IW_LOG (comma-separated: `locks` reports every access without a lock, `debug` traces to stderr).
 *
 * Plain C99, also read by C++ (see <interweave.hpp>). Errors, options, coherence models, states and
 * statistics are in <interweave/interface.h>, which this header includes.
 */
#ifndef INTERWEAVE_H
#define INTERWEAVE_H

#include <stddef.h>
#include <stdint.h>

#include "interweave/interface.h"
#include "interweave/type_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open segment (paper, 2.1). Opening one URL twice gives the same handle; it must be closed as
 * often as it was opened. After its last close every call on a handle fails with IW_ENOT_OPEN,
 * until the URL is opened again, which gives the same handle [OPEN-4]. A segment that was lost
 * (IW_ESEGMENT_LOST) is given another handle when it is opened again.
 *
 * For that, the process keeps less than 200 bytes (and the URL's length) of each URL that it was
 * ever given a handle for. Of URLs that could not be opened it keeps nothing. */
typedef struct IW_segment* IW_handle_t;

/* A machine-independent pointer: text `iw://host:port/path#serial[#offset]` (paper, 2.1). The
 * caller frees it with IW_mip_free. */
typedef char* IW_mip_t;

/* ---- Errors: IW_E..., the negative numbers of spec/protocol/error.x (interweave/interface.h) ----
 */

/* The code (negative) and the text of the calling thread's last failure: what was asked, what was
 * found, what to do. 0 and "" if nothing has failed yet. The text is good until the thread's next
 * call of this library. */
IW_API int IW_errno(void);
IW_API const char* IW_strerror(void);

/* ---- Segments -----------------------------------------------------------------------------------
 */

/* Opens the segment, and makes it if it does not exist. URL: [iw://]host[:port]/path or
 * unix:FILE:/path; the default port is 7747. No data moves until the first lock. */
IW_API IW_handle_t IW_open_segment(const char* url);

/* `options` NULL: as IW_open_segment. Without IW_CREATE a missing segment is IW_ENO_SEGMENT. */
IW_API IW_handle_t IW_open_segment_with(const char* url, const IW_open_options* options);

/* After the last close the copy's memory is gone; pointers into it must not be used. A writer lock
 * that the calling thread still holds is aborted. IW_ETIMED_OUT: other threads hold locks, and the
 * segment stays open. IW_ENOT_OPEN: it was closed as often as it was opened. */
IW_API int IW_close_segment(IW_handle_t h);

/* The version of the cached copy; 0 before the first lock and for an empty segment. Under a lock it
 * does not change. */
IW_API uint64_t IW_version(IW_handle_t h);

/* ---- Locks (paper, 2.2; rules PROC-*, LOCK-*, COH-* of spec/coherence.md) -----------------------
 */

/* A reader lock: the copy is brought up to date if it is not recent enough (see IW_set_coherence),
 * and stays one whole version until the release. Locks nest by counting; a nested lock never waits
 * and keeps its version. The holder of the writer lock gets a reader lock at once.
 *
 * IW_ESEGMENT_LOST, of every lock: the server came back without what this process had of the
 * segment (it kept it in memory only, or an older backup was restored). The copy's pages can still
 * be read; IW_close_segment and IW_open_segment give another handle, with what the server has. */
IW_API int IW_rl_acquire(IW_handle_t h);
IW_API int IW_rl_release(IW_handle_t h);

/* The writer lock: one holder among all processes and threads; the copy becomes the newest version.
 * IW_EWOULD_DEADLOCK if the thread holds a reader lock of the segment. Writer locks nest. The lock
 * is a lease, renewed in the background up to the server's maximum hold time. */
IW_API int IW_wl_acquire(IW_handle_t h);

/* Sends what changed and gives the lock back once the server has made the new version as durable as
 * the segment asks. On success the changes are committed. IW_EFENCED (lock lost) and
 * IW_EROLLED_BACK (connection lost): the lock is gone and the copy shows the version before the
 * acquire; so it does after IW_ESEGMENT_LOST. IW_EROLLED_BACK also says that the release could not
 * be sent. IW_EUNREACHABLE: it was sent, and the server could not be asked what became of it; the
 * lock is gone, and the next lock fetches the copy anew. IW_ESTORE_FULL and IW_ETIMED_OUT: the lock
 * is still held; release again or abort. Other refusals (IW_EQUOTA, IW_EBAD_POINTER, IW_EBAD_VALUE
 * ...) that were found before sending leave the lock held, too; found by the server they roll back.
 * IW_ENO_MEMORY: nothing was sent and the lock is still held; or, if it was sent, there was no
 * memory until the segment's timeout to learn what became of it: then it is as after
 * IW_EUNREACHABLE. After the server's acknowledgement a lack of memory does not change the outcome.
 * IW_strerror's text says which. */
IW_API int IW_wl_release(IW_handle_t h);

/* Gives the lock back and undoes everything since the acquire: stores, allocations and frees. Ends
 * all nested writer locks. Needs no memory. */
IW_API int IW_wl_abort(IW_handle_t h);

/* With a deadline: IW_ETIMED_OUT after `seconds`; 0 takes the lock only if that needs no waiting
 * for other holders. The answer of the server is waited for at least the time it takes. */
IW_API int IW_rl_acquire_for(IW_handle_t h, double seconds, int flags);
IW_API int IW_wl_acquire_for(IW_handle_t h, double seconds);

/* ---- Coherence: how recent is recent enough (paper, 2.2, 3.2) -----------------------------------
 */

/* Obeyed from the next acquire on. x is ignored by FULL, STRICT and NULL. For DELTA and TEMPORAL it
 * is 0 or more, for DIFF 0 to 100; anything else is IW_EBAD_ARGUMENT. */
IW_API int IW_set_coherence(IW_handle_t h, IW_coherence_t model, double x);

/* Returns nonzero if the copy is recent enough; otherwise the newest version is fetched. Called at
 * each acquire with the segment's mutex held: it must not call this library. NULL: back to FULL. */
typedef int (*IW_recent_fn)(const IW_copy_state* copy, void* arg);
IW_API int IW_set_coherence_fn(IW_handle_t h, IW_recent_fn f, void* arg);

/* Fetches the newest version now (for Null coherence). Under a reader lock of the thread: IW_OK and
 * nothing happens, because a lock keeps its version. */
IW_API int IW_refresh(IW_handle_t h);

/* Seconds since the copy was last known to be the newest version; negative if it never was. */
IW_API int IW_staleness(IW_handle_t h, double* seconds);

/* ---- Blocks (paper, 2.1, 3.1) -------------------------------------------------------------------
 */

/* Allocation and freeing need the writer lock, and take effect for others at its release. Memory is
 * zero. Block names are unique in the segment, do not begin with a digit and hold no '#'. */
IW_API void* IW_malloc(IW_handle_t h, IW_type_t t);
IW_API void* IW_malloc_named(IW_handle_t h, IW_type_t t, const char* name);
/* `count` elements in a row; `name` may be NULL. */
IW_API void* IW_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name);
IW_API int IW_free(IW_handle_t h, void* block);

/* Replaces the value of an owned field, that is `T x<>` or `string s<>` in a block of the segment:
 * `count` elements are copied from `src` (for a string: characters without the NUL). `field` is the
 * address of the field itself. `src` NULL gives zeros (not for strings). Elements with owned fields
 * of their own need `src` NULL (else IW_EBAD_ARGUMENT): assign their fields afterwards. Needs the
 * writer lock. Structs with such fields may also be copied, cleared and freed as they are: at the
 * release each field has a value of its own, and values that no field has any more are freed. */
IW_API int IW_assign(IW_handle_t h, void* field, const void* src, size_t count);

/* The block after `after` in the order of serials; NULL gives the first, and is returned (with
 * IW_errno unchanged) after the last. Needs a lock. */
IW_API void* IW_next_block(IW_handle_t h, const void* after);

/* What a segment says of one of its blocks: enough to read it without generated code. */
typedef struct IW_block {
  size_t size;     /* sizeof(IW_block_t), set by the caller; members may be added at the end */
  void* address;   /* of its first value */
  IW_type_t type;  /* of one value: the program's own table if it has one, with all its parts; good
                      as  long as the program */
  size_t count;    /* of values */
  uint64_t serial; /* in its segment */
  int is_owned;    /* the value of an owned field: freed with it */
  char name[256];  /* "" if it has none */
  int is_reserved; /* space only: the block is not part of the copy's version */
} IW_block_t;

/* Fills the first `out->size` bytes of the description of the block that `p` points into; on return
 * `size` says how many were filled. Needs a lock. IW_EBAD_POINTER: `p` points into no block of the
 * segment. */
IW_API int IW_describe_block(IW_handle_t h, const void* p, IW_block_t* out);

/* Whether extents[0] x ... x extents[rank - 1] elements of so many bytes lie in one block from `p`
 * on. For front ends that make arrays of addresses. IW_EBAD_ARGUMENT: they do not, or an extent is
 * less than 0; IW_EBAD_POINTER: `p` points into no block of an open segment. */
IW_API int IW_check_extents(const void* p, size_t element_bytes, const int64_t* extents, int rank);

/* Keeps the memory that `p` points into readable until IW_unpin, even when its block is freed or
 * the segment closed meanwhile; what it then shows means nothing. For front ends whose references
 * outlive the lock that they were made under. IW_pin needs a lock; IW_unpin takes NULL, too. */
typedef struct IW_pin_state* IW_pin_t;
IW_API IW_pin_t IW_pin(IW_handle_t h, const void* p);
IW_API void IW_unpin(IW_pin_t pin);

/* A type that was registered without sizes and offsets, with them; NULL if it is not registered. */
IW_API IW_type_t IW_laid_out(IW_type_t type);

/* ---- Machine-independent pointers ---------------------------------------------------------------
 */

/* For a pointer to the first byte of a unit of an open segment; NULL with IW_EBAD_POINTER for
 * others. Units are numbers, enums, pointers, whole strings (`string s<N>`) and whole unions:
 * characters of a string and arms of a union have no MIP, and no pointer in a segment may lead to
 * them (a release then fails with IW_EBAD_POINTER).
 *
 * Pointers of one segment can lead into at most 65,535 other segments, counted over its whole life:
 * a segment that was once pointed into stays counted. A release that would lead into one more fails
 * with IW_ETOO_LARGE, and the lock is still held. */
IW_API IW_mip_t IW_ptr_to_mip(const void* p);
IW_API void IW_mip_free(IW_mip_t mip);

/* Where the MIP leads in this process. Opens the segment if need be (it then stays open) and
 * reserves the block's space, but moves no data: read it under a lock. Without a block: the first
 * one of the segment. NULL with IW_ENO_BLOCK if there is no such block. */
IW_API void* IW_mip_to_ptr(const char* mip);

/* ---- Changes and event loops --------------------------------------------------------------------
 */

/* Called when the server announces a version that makes the copy not recent enough for the
 * segment's coherence model. `version` is the newest one. The function runs on a thread of
 * the library's, or in IW_dispatch, once at a time for a segment; it holds no lock, may take some
 * and may take its time. Locks that it took and did not release are given back after it (a writer
 * lock: aborted), and reported to the log [PROC-6]. NULL ends it: when the call returns no callback
 * is running any more, save the one that called.
 *
 * IW_ENO_MEMORY: the thread that callbacks run on cannot be made; the function is not set. After
 * IW_event_fd no such thread is needed.
 *
 * While there is such a function the library reconnects by itself to a server that went away, and
 * calls for what became newer meanwhile. It is also called when the segment is lost: the next lock
 * then fails with IW_ESEGMENT_LOST. */
typedef void (*IW_change_fn)(IW_handle_t h, uint64_t version, void* arg);
IW_API int IW_on_change(IW_handle_t h, IW_change_fn f, void* arg);

/* Called when the segment's connection is lost, when there is another, and when the segment is
 * lost. Of several changes since the last call it is told the last. It runs where the function of
 * IW_on_change does, by the same rules, and the library reconnects for it, too. NULL ends it. */
typedef void (*IW_connection_fn)(IW_handle_t h, IW_connection_t state, void* arg);
IW_API int IW_on_connection(IW_handle_t h, IW_connection_fn f, void* arg);

/* For programs with an event loop: a descriptor that is readable when IW_dispatch has something to
 * do. After the first call of IW_event_fd callbacks run in IW_dispatch only. Returns the
 * descriptor (on Windows: a SOCKET), which stays the library's, or a negative IW_E code.
 * IW_ENO_MEMORY: there is no descriptor, and callbacks run where they ran before. */
IW_API int IW_event_fd(void);
/* Runs the callbacks that are due, without waiting. Returns 0 or a negative IW_E code. */
IW_API int IW_dispatch(void);

/* ---- Statistics and log -------------------------------------------------------------------------
 */

/* Fills the first `out->size` bytes of the statistics of the segment since its opening. */
IW_API int IW_stats(IW_handle_t h, IW_stats_t* out);

/* Where reports go that no call can return, such as stray writes (default: one line to stderr).
 * `code` is a negative IW_E code, or 0 for information. `f` may be called on any thread and must
 * not call this library. NULL: the default. */
typedef void (*IW_log_fn)(int code, const char* text, void* arg);
IW_API void IW_set_log(IW_log_fn f, void* arg);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTERWEAVE_H */
