/*
 * interweave.h -- shared typed memory. Programs in different languages and on different machines
 * open segments by URL, and read and write them as ordinary data. (ICDCS 2003: "the paper".)
 *
 * A segment is a heap of typed blocks. Each process holds a cached copy of the segment in its own
 * memory and layout. A reader takes a reader lock and says how recent the copy must be. A writer
 * takes the writer lock. When the writer releases the lock, only the differences travel.
 *
 *   IW_handle_t h = IW_open_segment("127.0.0.1:7747/list");
 *   IW_wl_acquire(h);
 *   node_t *p = IW_find_or_malloc(h, IW_node_t, "head");  node_t, IW_node_t: `interweave compile`
 *   p->key = 1;
 *   IW_wl_release(h);
 *
 * Results. Functions of type `int` return 0 or a negative IW_E... code. Functions that return a
 * pointer or a handle return NULL on failure. After a failure IW_errno() and IW_strerror() tell the
 * calling thread why; a successful call leaves them unchanged.
 *
 * Shortage. A call that needs memory, address space, a file descriptor or a thread that this
 * process cannot have fails with IW_ENO_MEMORY. The text says what is missing and which limit is
 * reached. Unless its description says otherwise, such a call has changed nothing and the next call
 * tries again. Once there is memory again, every handle works. The library keeps one descriptor for
 * each server and up to four more. It needs one more for a moment when a copy grows. The first call
 * makes one thread; IW_on_change and IW_on_connection make another.
 *
 * Threads. Every function may be called from every thread, but not from a signal handler. A lock
 * belongs to one segment and to the thread that took it. Pointers into a segment are valid in all
 * threads. When a thread ends with locks, the library releases its reader locks and aborts its
 * writer locks. After fork() the child's calls on the parent's handles fail with IW_EFORKED. The
 * child may open segments of its own.
 *
 * Address space. On 64-bit machines each open segment reserves address space ahead. Each of the
 * first 128 segments reserves 64 GiB; later ones reserve less, the more segments are open. The
 * library maps at most half of the machine's address space and three quarters of the mappings that
 * the kernel allows (Linux: vm.max_map_count). The rest is left to the program. A small segment
 * takes three mappings, so some 14,000 of them can be open with the kernel's usual 65,530.
 * IW_RESERVATION_MIB bounds what a segment reserves. A segment that outgrows its reservation takes
 * further memory elsewhere.
 *
 * Units. Time is in seconds (double), sizes are in bytes. A call that waits and takes no deadline
 * waits as long as the segment's timeout (IW_open_options.timeout).
 *
 * Environment:
 * - IW_TOKEN: the token to show to servers. IW_open_options go before this and the next two lines.
 * - IW_CA: the authorities (a PEM file) whose servers iws:// trusts; by default the system's.
 * - IW_CERT, IW_KEY: this client's certificate and its key (PEM files), if a server asks for one.
 * - IW_TRACKER: wp-async, scan, sigsegv or compare.
 * - IW_OPTIMISATIONS, for measurements: all,-NAME,...; names: no-diff, plans, splicing, prediction.
 * - IW_RESERVATION_MIB: the most address space that a segment may reserve ahead.
 * - IW_LOG, comma-separated: `locks` reports every access without a lock, `debug` traces to stderr.
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

/* An open segment (paper, 2.1). Opening a URL twice gives the same handle, and each open needs one
 * close. After the last close, every call on the handle fails with IW_ENOT_OPEN. Opening the URL
 * again gives the same handle and makes it valid again [OPEN-4]. After IW_ESEGMENT_LOST, opening
 * the URL gives a new handle.
 *
 * For this, the process keeps less than 200 bytes and the URL's text for each URL that it was ever
 * given a handle for. It keeps nothing of URLs that could not be opened. */
typedef struct IW_segment* IW_handle_t;

/* A machine-independent pointer: text `iw://host:port/path#serial[#offset]` (paper, 2.1). The
 * caller frees it with IW_mip_free. */
typedef char* IW_mip_t;

/* ---- Errors: IW_E..., the negative numbers of spec/protocol/error.x (interweave/interface.h) ----
 */

/* The code (negative) and the text of the calling thread's last failure; 0 and "" before the first
 * failure. The text says what was asked, what was found and what to do. It is valid until the
 * thread's next call of this library. */
IW_API int IW_errno(void);
IW_API const char* IW_strerror(void);

/* ---- Segments -----------------------------------------------------------------------------------
 */

/* Opens the segment and creates it if it does not exist. URL: [iw://|iws://]host[:port]/path or
 * unix:FILE:/path; the default port is 7747. Servers that share a store stand in one URL, with
 * commas between them: a.example,b.example/path. The library uses the first that answers, and goes
 * to the next one when it loses that. No data moves until the first lock. */
IW_API IW_handle_t IW_open_segment(const char* url);

/* As IW_open_segment if `options` is NULL. Without IW_CREATE a missing segment is
 * IW_ENO_SEGMENT. */
IW_API IW_handle_t IW_open_segment_with(const char* url, const IW_open_options* options);

/* Closes one opening of the segment. The last close frees the copy's memory: pointers into it must
 * not be used afterwards. A writer lock that the calling thread still holds is aborted.
 *
 * IW_ETIMED_OUT: other threads hold locks, and the segment stays open. IW_ENOT_OPEN: the segment
 * was already closed as often as it was opened. */
IW_API int IW_close_segment(IW_handle_t h);

/* The version of the cached copy; 0 before the first lock and for an empty segment. The version
 * does not change while the thread holds a lock. */
IW_API uint64_t IW_version(IW_handle_t h);

/* ---- Locks (paper, 2.2; rules PROC-*, LOCK-*, COH-* of spec/coherence.md) -----------------------
 */

/* Takes a reader lock. If the copy is not recent enough (see IW_set_coherence), it is brought up to
 * date first. The copy then stays one whole version until the release. Locks nest by counting. A
 * nested lock never waits and keeps its version. The holder of the writer lock gets a reader lock
 * at once.
 *
 * IW_ESEGMENT_LOST, of every lock: the server came back without what this process had of the
 * segment. Either the server kept it only in memory, or an older backup was restored. The copy's
 * pages can still be read. IW_close_segment and IW_open_segment give another handle, with what the
 * server has. */
IW_API int IW_rl_acquire(IW_handle_t h);
IW_API int IW_rl_release(IW_handle_t h);

/* Takes the writer lock; of all threads of all processes, only one can hold the lock. The copy
 * becomes the newest version. Writer locks nest. The lock is a lease: the library renews it in the
 * background, up to the server's maximum hold time.
 *
 * IW_EWOULD_DEADLOCK: the calling thread holds a reader lock of the segment. */
IW_API int IW_wl_acquire(IW_handle_t h);

/* Sends the changes and releases the lock. Returns once the server has made the new version as
 * durable as the segment asks. IW_strerror tells the cases of one code apart.
 *
 * - 0: the changes are committed. A lack of memory after the server's acknowledgement does not
 *   change that.
 * - IW_EFENCED (lock lost), IW_EROLLED_BACK (connection lost, or the release could not be sent),
 *   IW_ESEGMENT_LOST: the lock is gone. The copy shows the version before the acquire.
 * - IW_EUNREACHABLE: the release was sent, and the server could not be asked for the outcome. The
 *   lock is gone, and the next lock fetches the copy anew.
 * - IW_ESTORE_FULL, IW_ESTORE_ALONE, IW_ESTORE_AWAY, IW_ETIMED_OUT: the lock is still held. Release
 *   again or abort.
 * - IW_ETOO_LARGE: the server can take no release of this size. The lock is still held. Free some
 *   of the new blocks and release again, or abort.
 * - IW_ENO_MEMORY: usually nothing was sent and the lock is still held. If the release was sent,
 *   and memory was lacking until the segment's timeout, the outcome is as after IW_EUNREACHABLE.
 * - Other refusals (IW_EQUOTA, IW_EBAD_POINTER, IW_EBAD_VALUE, ...): found before sending, the lock
 *   is still held; found by the server, the changes are rolled back. */
IW_API int IW_wl_release(IW_handle_t h);

/* Releases the writer lock and undoes all stores, allocations and frees since the acquire. Ends all
 * nested writer locks. Needs no memory. */
IW_API int IW_wl_abort(IW_handle_t h);

/* As IW_wl_abort, for front ends whose locks end with a scope: the program has forgotten to release
 * the lock, so that its changes are lost. Reports that to the log, if there are changes. */
IW_API int IW_wl_drop(IW_handle_t h);

/* As IW_rl_acquire and IW_wl_acquire, with a deadline: IW_ETIMED_OUT after `seconds`. With 0 the
 * call takes the lock only if it need not wait for other holders. The call always waits long enough
 * for the server to answer. */
IW_API int IW_rl_acquire_for(IW_handle_t h, double seconds, int flags);
IW_API int IW_wl_acquire_for(IW_handle_t h, double seconds);

/* ---- Coherence: how recent is recent enough (paper, 2.2, 3.2) -----------------------------------
 */

/* Sets the coherence model, from the next acquire on. FULL, STRICT and NULL ignore x. For DELTA and
 * TEMPORAL x must be 0 or more, for DIFF 0 to 100; other values are IW_EBAD_ARGUMENT. */
IW_API int IW_set_coherence(IW_handle_t h, IW_coherence_t model, double x);

/* A model of the program's own. It returns nonzero if the copy is recent enough; otherwise the
 * newest version is fetched. It is called at each acquire with the segment's mutex held, so it must
 * not call this library. NULL restores FULL. */
typedef int (*IW_recent_fn)(const IW_copy_state* copy, void* arg);
IW_API int IW_set_coherence_fn(IW_handle_t h, IW_recent_fn f, void* arg);

/* Fetches the newest version now (for Null coherence). If the thread holds a reader lock, the call
 * returns IW_OK and does nothing, because a lock keeps its version. */
IW_API int IW_refresh(IW_handle_t h);

/* Seconds since the copy was last known to be the newest version; negative if it never was. */
IW_API int IW_staleness(IW_handle_t h, double* seconds);

/* ---- Blocks (paper, 2.1, 3.1) -------------------------------------------------------------------
 */

/* Allocate and free blocks. REQUIRES: the writer lock. Other processes see the effect after its
 * release. New memory is zero. A block's name is unique in its segment, does not begin with a digit
 * and contains no '#'. */
IW_API void* IW_malloc(IW_handle_t h, IW_type_t t);
IW_API void* IW_malloc_named(IW_handle_t h, IW_type_t t, const char* name);
/* `count` elements in a row; `name` may be NULL. */
IW_API void* IW_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name);
IW_API int IW_free(IW_handle_t h, void* block);

/* The block with this name. REQUIRES: a lock. NULL with IW_ENO_BLOCK: the version of the lock has
 * no such block. */
IW_API void* IW_find(IW_handle_t h, const char* name);

/* The block with this name, which is made if the segment lacks it: what a program does at each of
 * its runs. REQUIRES: the writer lock. NULL with IW_ETYPE_CONFLICT: the block is of another type,
 * or not of `count` values. */
IW_API void* IW_find_or_malloc(IW_handle_t h, IW_type_t t, const char* name);
IW_API void* IW_find_or_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name);

/* Replaces the value of an owned field (`T x<>` or `string s<>` in a block of the segment).
 * REQUIRES: the writer lock. `field` is the address of the field itself. `count` elements are
 * copied from `src`; for a string, characters without the NUL. `src` NULL gives zeros (not for
 * strings). If the elements have owned fields of their own, `src` must be NULL (else
 * IW_EBAD_ARGUMENT); assign those fields afterwards.
 *
 * A program may also copy, clear and free structs with such fields by plain stores. At the release
 * each field gets a value of its own, and values that no field has any more are freed. */
IW_API int IW_assign(IW_handle_t h, void* field, const void* src, size_t count);

/* The block after `after` in the order of serials; NULL gives the first block. REQUIRES: a lock.
 * Returns NULL, with IW_errno unchanged, after the last block. */
IW_API void* IW_next_block(IW_handle_t h, const void* after);

/* A description of a block: enough to read the block without generated code. */
typedef struct IW_block {
  size_t size;     /* sizeof(IW_block_t), set by the caller; members may be added at the end */
  void* address;   /* of its first value */
  IW_type_t type;  /* of one value: the program's own table if it has one, with all its parts; valid
                      until the program ends */
  size_t count;    /* of values */
  uint64_t serial; /* in its segment */
  int is_owned;    /* the value of an owned field: freed with it */
  char name[256];  /* "" if it has none */
  int is_reserved; /* space only: the block is not part of the copy's version */
} IW_block_t;

/* Describes the block that `p` points into. REQUIRES: a lock. Fills at most `out->size` bytes; on
 * return `size` says how many were filled. IW_EBAD_POINTER: `p` does not point into a block of the
 * segment. */
IW_API int IW_describe_block(IW_handle_t h, const void* p, IW_block_t* out);

/* Checks that extents[0] x ... x extents[rank - 1] elements of `element_bytes` each lie in one
 * block, from `p` on. For front ends that make arrays of addresses. IW_EBAD_ARGUMENT: they do not,
 * or an extent is negative. IW_EBAD_POINTER: `p` does not point into a block of an open segment. */
IW_API int IW_check_extents(const void* p, size_t element_bytes, const int64_t* extents, int rank);

/* Keeps the memory that `p` points into readable until IW_unpin, even if the block is freed or the
 * segment is closed. After that the bytes mean nothing. For front ends whose references outlive the
 * lock that they were made under. IW_pin needs a lock; IW_unpin also takes NULL. */
typedef struct IW_pin_state* IW_pin_t;
IW_API IW_pin_t IW_pin(IW_handle_t h, const void* p);
IW_API void IW_unpin(IW_pin_t pin);

/* A type with its sizes and offsets, for one that was registered without them; NULL if the type is
 * not registered. */
IW_API IW_type_t IW_laid_out(IW_type_t type);

/* ---- Machine-independent pointers ---------------------------------------------------------------
 */

/* The MIP of a pointer to the first byte of a unit of an open segment; NULL with IW_EBAD_POINTER
 * for other pointers. Units are numbers, enums, pointers, whole strings (`string s<N>`) and whole
 * unions. Characters of a string and arms of a union have no MIP. If a pointer in a segment leads
 * to one of them, the release fails with IW_EBAD_POINTER.
 *
 * Pointers of one segment can lead into at most 65,535 other segments, counted over its whole life:
 * a segment that was once pointed into stays counted. A release that would add one more fails with
 * IW_ETOO_LARGE, and the lock is still held. */
IW_API IW_mip_t IW_ptr_to_mip(const void* p);
IW_API void IW_mip_free(IW_mip_t mip);

/* The address in this process that the MIP leads to; for a MIP without a block, the segment's first
 * block. Opens the segment if necessary (the segment then stays open) and reserves the block's
 * space, but moves no data: read the block under a lock. NULL with IW_ENO_BLOCK if the segment does
 * not have the block. */
IW_API void* IW_mip_to_ptr(const char* mip);

/* ---- Changes and event loops --------------------------------------------------------------------
 */

/* Called when the server announces a version that makes the copy not recent enough for the
 * segment's coherence model, and when the segment is lost (the next lock then fails with
 * IW_ESEGMENT_LOST). `version` is the newest version. The function runs on a thread of the library,
 * or in IW_dispatch, and never twice at once for one segment. It is called without a lock, may take
 * locks, and may take its time. Locks that it took and did not release are released after it
 * (writer locks are aborted) and reported to the log [PROC-6].
 *
 * NULL removes the function. When that call returns, no callback is running, except the one that
 * made the call.
 *
 * While a function is set, the library by itself reconnects to a server that went away. It then
 * calls the function for what became newer meanwhile.
 *
 * IW_ENO_MEMORY: the thread for callbacks cannot be made, and the function is not set. After
 * IW_event_fd that thread is not needed. */
typedef void (*IW_change_fn)(IW_handle_t h, uint64_t version, void* arg);
IW_API int IW_on_change(IW_handle_t h, IW_change_fn f, void* arg);

/* Called when the segment's connection is lost, when there is another, and when the segment is
 * lost. After several changes since the last call, only the last change is reported. The function
 * runs where the function of IW_on_change does and by the same rules; the library also reconnects
 * for it. NULL removes it. */
typedef void (*IW_connection_fn)(IW_handle_t h, IW_connection_t state, void* arg);
IW_API int IW_on_connection(IW_handle_t h, IW_connection_fn f, void* arg);

/* For programs with an event loop: a descriptor that is readable when IW_dispatch has something to
 * do. That may be a message that makes no callback due. After the first call of IW_event_fd,
 * callbacks run only in IW_dispatch. Returns the
 * descriptor (on Windows: a SOCKET), which belongs to the library, or a negative IW_E code.
 * IW_ENO_MEMORY: a descriptor could not be made, and callbacks run where they ran before. */
IW_API int IW_event_fd(void);
/* Runs the callbacks that are due, without waiting. First reads what has come, but about 1 MiB of a
 * connection at most: the descriptor is readable again while there is more. Returns 0 or a negative
 * IW_E code. */
IW_API int IW_dispatch(void);

/* ---- Statistics and log -------------------------------------------------------------------------
 */

/* The statistics of the segment since its opening. Fills at most `out->size` bytes. */
IW_API int IW_stats(IW_handle_t h, IW_stats_t* out);

/* Sets the function that receives reports that no call can return, such as stray writes. NULL
 * restores the default: one line to stderr. `code` is a negative IW_E code, or 0 for information.
 * `f` may be called on any thread and must not call this library. */
typedef void (*IW_log_fn)(int code, const char* text, void* arg);
IW_API void IW_set_log(IW_log_fn f, void* arg);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INTERWEAVE_H */
