/*
 * libinterweave_stub: the functions of interweave.h for a program that runs alone. Nothing is
 * shared: a segment is memory of the process, blocks are calloc'ed, locks are taken and released at
 * once, no server is asked. A solver is linked with it where sharing is not wanted, without a
 * change.
 *
 * What has no meaning without sharing fails with IW_EUNIMPLEMENTED: MIPs of pointers, owned fields
 * (IW_assign), event descriptors. IW_mip_to_ptr finds nothing, as in a new segment. One thread at a
 * time may allocate and free in a segment.
 */
#include <interweave.h>
#include <stdlib.h>
#include <string.h>

/* Blocks in the order of their allocation; the memory of each begins behind its record. */
typedef struct stub_block {
  struct stub_block *before, *after;
  char* name;
  size_t padding; /* the memory is aligned as malloc's */
} stub_block;

struct IW_segment {
  stub_block *first, *last;
};

static _Thread_local int last_code;
static _Thread_local const char* last_text = "";

static int fail(int code, const char* text) {
  last_code = code;
  last_text = text;
  return code;
}

static int absent(void) {
  return fail(IW_EUNIMPLEMENTED, "the stub library shares nothing: link with libinterweave");
}

static int of(IW_handle_t h) {
  return h != NULL ? IW_OK : fail(IW_ENOT_OPEN, "the handle is not open");
}

int IW_errno(void) { return last_code; }
const char* IW_strerror(void) { return last_text; }

/* ---- Segments and locks ---- */

IW_handle_t IW_open_segment(const char* url) { return IW_open_segment_with(url, NULL); }

IW_handle_t IW_open_segment_with(const char* url, const IW_open_options* options) {
  IW_handle_t h;
  (void)options;
  if (url == NULL) {
    fail(IW_EBAD_URL, "no URL was given");
    return NULL;
  }
  h = calloc(1, sizeof *h);
  if (h == NULL) fail(IW_ENO_MEMORY, "no memory is left for a segment");
  return h;
}

int IW_close_segment(IW_handle_t h) {
  if (of(h) != IW_OK) return IW_ENOT_OPEN;
  for (stub_block *block = h->first, *after; block != NULL; block = after) {
    after = block->after;
    free(block->name);
    free(block);
  }
  free(h);
  return IW_OK;
}

uint64_t IW_version(IW_handle_t h) {
  of(h);
  return 0;
}

int IW_rl_acquire(IW_handle_t h) { return of(h); }
int IW_rl_release(IW_handle_t h) { return of(h); }
int IW_wl_acquire(IW_handle_t h) { return of(h); }
int IW_wl_release(IW_handle_t h) { return of(h); }

/* Nothing is kept from which changes could be undone. */
int IW_wl_abort(IW_handle_t h) { return of(h) != IW_OK ? IW_ENOT_OPEN : absent(); }
int IW_wl_drop(IW_handle_t h) { return IW_wl_abort(h); }

int IW_rl_acquire_for(IW_handle_t h, double seconds, int flags) {
  (void)seconds;
  (void)flags;
  return of(h);
}

int IW_wl_acquire_for(IW_handle_t h, double seconds) {
  (void)seconds;
  return of(h);
}

/* ---- Coherence: the only copy is the newest ---- */

int IW_set_coherence(IW_handle_t h, IW_coherence_t model, double x) {
  (void)model;
  (void)x;
  return of(h);
}

int IW_set_coherence_fn(IW_handle_t h, IW_recent_fn f, void* arg) {
  (void)f;
  (void)arg;
  return of(h);
}

int IW_refresh(IW_handle_t h) { return of(h); }

int IW_staleness(IW_handle_t h, double* seconds) {
  if (seconds != NULL) *seconds = 0;
  return of(h);
}

int IW_on_change(IW_handle_t h, IW_change_fn f, void* arg) {
  (void)f;
  (void)arg;
  return of(h);
}

int IW_on_connection(IW_handle_t h, IW_connection_fn f, void* arg) {
  (void)f;
  (void)arg;
  return of(h);
}

int IW_event_fd(void) { return absent(); }
int IW_dispatch(void) { return IW_OK; }

/* ---- Blocks ---- */

void* IW_malloc(IW_handle_t h, IW_type_t t) { return IW_malloc_array(h, t, 1, NULL); }

void* IW_malloc_named(IW_handle_t h, IW_type_t t, const char* name) {
  return IW_malloc_array(h, t, 1, name);
}

void* IW_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name) {
  stub_block* block;
  if (of(h) != IW_OK) return NULL;
  if (t == NULL || count == 0) {
    fail(IW_EBAD_ARGUMENT, "a block has a type and at least one element");
    return NULL;
  }
  block = count <= (SIZE_MAX - sizeof *block) / t->size ? calloc(1, sizeof *block + count * t->size)
                                                        : NULL;
  if (block != NULL && name != NULL) block->name = strdup(name);
  if (block == NULL || (name != NULL && block->name == NULL)) {
    free(block);
    fail(IW_ENO_MEMORY, "no memory is left for a block");
    return NULL;
  }
  block->before = h->last;
  if (h->last != NULL) h->last->after = block;
  if (h->first == NULL) h->first = block;
  h->last = block;
  return block + 1;
}

void* IW_find(IW_handle_t h, const char* name) {
  stub_block* block;
  if (of(h) != IW_OK) return NULL;
  for (block = h->first; block != NULL; block = block->after) {
    if (name != NULL && block->name != NULL && strcmp(block->name, name) == 0) return block + 1;
  }
  fail(IW_ENO_BLOCK, "the segment has no block of this name");
  return NULL;
}

void* IW_find_or_malloc(IW_handle_t h, IW_type_t t, const char* name) {
  return IW_find_or_malloc_array(h, t, 1, name);
}

/* Does not compare types. */
void* IW_find_or_malloc_array(IW_handle_t h, IW_type_t t, size_t count, const char* name) {
  void* found = IW_find(h, name);
  return found != NULL || h == NULL ? found : IW_malloc_array(h, t, count, name);
}

int IW_free(IW_handle_t h, void* address) {
  stub_block* block = (stub_block*)address - 1;
  if (of(h) != IW_OK) return IW_ENOT_OPEN;
  if (address == NULL) return fail(IW_EBAD_POINTER, "no block was given");
  *(block->before != NULL ? &block->before->after : &h->first) = block->after;
  *(block->after != NULL ? &block->after->before : &h->last) = block->before;
  free(block->name);
  free(block);
  return IW_OK;
}

void* IW_next_block(IW_handle_t h, const void* after) {
  const stub_block* next;
  if (of(h) != IW_OK) return NULL;
  next = after == NULL ? h->first : ((const stub_block*)after - 1)->after;
  return next == NULL ? NULL : (void*)(next + 1);
}

int IW_assign(IW_handle_t h, void* field, const void* src, size_t count) {
  (void)h;
  (void)field;
  (void)src;
  (void)count;
  return absent();
}

int IW_describe_block(IW_handle_t h, const void* p, IW_block_t* out) {
  (void)h;
  (void)p;
  (void)out;
  return absent();
}

/* Which memory is a block's is not known here, so that only what no block has is refused. */
int IW_check_extents(const void* p, size_t element_bytes, const int64_t* extents, int rank) {
  uint64_t bytes = element_bytes;
  if (p == NULL) return fail(IW_EBAD_POINTER, "no block was given");
  for (int i = 0; i < rank; ++i) {
    const uint64_t extent = (uint64_t)extents[i];
    if (extents[i] < 0 || (extent > 0 && bytes > SIZE_MAX / extent)) {
      return fail(IW_EBAD_ARGUMENT, "an extent of the array is less than 0, or too large");
    }
    bytes *= extent;
  }
  return IW_OK;
}

IW_pin_t IW_pin(IW_handle_t h, const void* p) {
  (void)h;
  (void)p;
  absent();
  return NULL;
}

void IW_unpin(IW_pin_t pin) { (void)pin; }

/* ---- Machine-independent pointers ---- */

IW_mip_t IW_ptr_to_mip(const void* p) {
  (void)p;
  absent();
  return NULL;
}

void IW_mip_free(IW_mip_t mip) { free(mip); }

void* IW_mip_to_ptr(const char* mip) {
  (void)mip;
  fail(IW_ENO_BLOCK, "the stub library shares nothing: it has no such block");
  return NULL;
}

/* ---- Statistics and log ---- */

int IW_stats(IW_handle_t h, IW_stats_t* out) {
  if (of(h) != IW_OK) return IW_ENOT_OPEN;
  if (out == NULL || out->size < sizeof out->size) return fail(IW_EBAD_ARGUMENT, "no size is set");
  memset((char*)out + sizeof out->size, 0, out->size - sizeof out->size);
  return IW_OK;
}

void IW_set_log(IW_log_fn f, void* arg) {
  (void)f;
  (void)arg;
}

/* ---- Types ---- */

int IW_register_types(const IW_type_t* types, size_t count) {
  (void)types;
  (void)count;
  return IW_OK;
}

/* Generated tables have their sizes; others are made with the library's help. */
IW_type_t IW_laid_out(IW_type_t type) { return type; }

#define PRIMITIVE(name, number, type)                   \
  const IW_type_def IW_def_##name = {#name,             \
                                     IW_KIND_PRIMITIVE, \
                                     number,            \
                                     sizeof(type),      \
                                     _Alignof(type),    \
                                     0,                 \
                                     NULL,              \
                                     0,                 \
                                     NULL,              \
                                     0,                 \
                                     NULL,              \
                                     0,                 \
                                     NULL,              \
                                     0,                 \
                                     NULL};             \
  const IW_type_t IW_##name = &IW_def_##name

PRIMITIVE(char, IW_PRIMITIVE_CHAR, char);
PRIMITIVE(uchar, IW_PRIMITIVE_UCHAR, unsigned char);
PRIMITIVE(short, IW_PRIMITIVE_SHORT, short);
PRIMITIVE(ushort, IW_PRIMITIVE_USHORT, unsigned short);
PRIMITIVE(int, IW_PRIMITIVE_INT, int);
PRIMITIVE(uint, IW_PRIMITIVE_UINT, unsigned int);
PRIMITIVE(hyper, IW_PRIMITIVE_HYPER, int64_t);
PRIMITIVE(uhyper, IW_PRIMITIVE_UHYPER, uint64_t);
PRIMITIVE(float, IW_PRIMITIVE_FLOAT, float);
PRIMITIVE(double, IW_PRIMITIVE_DOUBLE, double);
PRIMITIVE(bool, IW_PRIMITIVE_BOOL, IW_bool_t);
