/* The names of the cluster's C interfaces, with the types that programs outside rely on: Active
 * Messages 2 as the field has it, and DDSS. That this compiles and links is the test; what the
 * calls do is tested in cluster/. */
#include <interweave/am.h>
#include <interweave/ddss.h>
#include <interweave/dsm.h>
#include <stdio.h>

#define ENDS_WITH_WORDS(M, ...)                                                                    \
  static int (*const request_##M)(ep_t, int, handler_t __VA_ARGS__) = AM_Request##M;               \
  static int (*const request_i_##M)(ep_t, int, handler_t, const void*, size_t __VA_ARGS__) =       \
      AM_RequestI##M;                                                                              \
  static int (*const request_xfer_##M)(ep_t, int, uint64_t, handler_t, const void*,                \
                                       size_t __VA_ARGS__) = AM_RequestXfer##M;                    \
  static int (*const request_xfer_async_##M)(ep_t, int, uint64_t, handler_t, const void*,          \
                                             size_t __VA_ARGS__) = AM_RequestXferAsync##M;         \
  static int (*const get_xfer_##M)(ep_t, int, uint64_t, handler_t, uint64_t, size_t __VA_ARGS__) = \
      AM_GetXfer##M;                                                                               \
  static int (*const get_xfer_async_##M)(ep_t, int, uint64_t, handler_t, uint64_t,                 \
                                         size_t __VA_ARGS__) = AM_GetXferAsync##M;                 \
  static int (*const reply_##M)(void*, handler_t __VA_ARGS__) = AM_Reply##M;                       \
  static int (*const reply_i_##M)(void*, handler_t, const void*, size_t __VA_ARGS__) =             \
      AM_ReplyI##M;                                                                                \
  static int (*const reply_xfer_##M)(void*, uint64_t, handler_t, const void*,                      \
                                     size_t __VA_ARGS__) = AM_ReplyXfer##M;                        \
  static int messages_##M(void) {                                                                  \
    return request_##M && request_i_##M && request_xfer_##M && request_xfer_async_##M &&           \
           get_xfer_##M && get_xfer_async_##M && reply_##M && reply_i_##M && reply_xfer_##M;       \
  }
ENDS_WITH_WORDS(0, )
ENDS_WITH_WORDS(1, , int)
ENDS_WITH_WORDS(2, , int, int)
ENDS_WITH_WORDS(3, , int, int, int)
ENDS_WITH_WORDS(4, , int, int, int, int)
ENDS_WITH_WORDS(5, , int, int, int, int, int)
ENDS_WITH_WORDS(6, , int, int, int, int, int, int)
ENDS_WITH_WORDS(7, , int, int, int, int, int, int, int)
ENDS_WITH_WORDS(8, , int, int, int, int, int, int, int, int)

static struct {
  int (*init)(void), (*terminate)(void), (*max_short)(void), (*max_medium)(void), (*max_long)(void);
  int (*allocate_bundle)(int, eb_t*), (*free_bundle)(eb_t);
  int (*allocate_endpoint)(eb_t, ep_t*, en_t*), (*allocate_known_endpoint)(eb_t, ea_t*, int);
  int (*free_endpoint)(ep_t), (*move_endpoint)(ep_t, eb_t, eb_t);
  int (*set_tag)(ep_t, tag_t), (*get_tag)(ep_t, tag_t*);
  int (*map)(ep_t, int, en_t, tag_t), (*map_any)(ep_t, int*, en_t, tag_t), (*unmap)(ep_t, int);
  int (*translation_name)(ep_t, int, en_t*), (*translation_tag)(ep_t, int, tag_t*),
      (*translation_in_use)(ep_t, int);
  int (*max_translations)(int*), (*get_translations)(ep_t, int*), (*set_translations)(ep_t, int);
  int (*expected_resources)(ep_t, int, int);
  int (*set_handler)(ep_t, handler_t, am_handler_fn),
      (*set_handler_any)(ep_t, handler_t*, am_handler_fn);
  int (*get_handlers)(ep_t, int*), (*set_handlers)(ep_t, int), (*max_handlers)(void);
  int (*set_segment)(ep_t, void*, size_t), (*get_segment)(ep_t, void**, size_t*),
      (*max_segment)(size_t*);
  int (*get_mask)(eb_t, int*), (*set_mask)(eb_t, int), (*wait)(eb_t), (*wait_sema)(eb_t),
      (*poll)(eb_t);
  int (*source)(void*, en_t*), (*destination)(void*, ep_t*), (*message_tag)(void*, tag_t*);
  int (*ns_init)(const char*), (*ns_register)(const char*, en_t), (*ns_lookup)(const char*, en_t*);
  int (*ns_unregister)(const char*);
} const am = {
    AM_Init,
    AM_Terminate,
    AM_MaxShort,
    AM_MaxMedium,
    AM_MaxLong,
    AM_AllocateBundle,
    AM_FreeBundle,
    AM_AllocateEndpoint,
    AM_AllocateKnownEndpoint,
    AM_FreeEndpoint,
    AM_MoveEndpoint,
    AM_SetTag,
    AM_GetTag,
    AM_Map,
    AM_MapAny,
    AM_UnMap,
    AM_GetTranslationName,
    AM_GetTranslationTag,
    AM_GetTranslationInuse,
    AM_MaxNumTranslations,
    AM_GetNumTranslations,
    AM_SetNumTranslations,
    AM_SetExpectedResources,
    AM_SetHandler,
    AM_SetHandlerAny,
    AM_GetNumHandlers,
    AM_SetNumHandlers,
    AM_MaxNumHandlers,
    AM_SetSeg,
    AM_GetSeg,
    AM_MaxSegLength,
    AM_GetEventMask,
    AM_SetEventMask,
    AM_Wait,
    AM_WaitSema,
    AM_Poll,
    AM_GetSourceEndpoint,
    AM_GetDestEndpoint,
    AM_GetMsgTag,
    AMNS_Init,
    AMNS_Register,
    AMNS_Lookup,
    AMNS_Unregister,
};

static const int constants[] = {
    AM_OK,
    AM_ERR_NOT_INIT,
    AM_ERR_BAD_ARG,
    AM_ERR_RESOURCE,
    AM_ERR_NOT_SENT,
    AM_ERR_IN_USE,
    EBADARGS,
    EBADENTRY,
    EBADTAG,
    EBADHANDLER,
    EBADSEGOFF,
    EBADLENGTH,
    EBADENDPOINT,
    ECONGESTION,
    EUNREACHABLE,
    EREPLYREJECTED,
    AM_REQUEST_M,
    AM_REQUEST_IM,
    AM_REQUEST_XFER_M,
    AM_REPLY_M,
    AM_REPLY_IM,
    AM_REPLY_XFER_M,
    AM_SEQ,
    AM_PAR,
    AM_NOEVENTS,
    AM_NOTEMPTY,
    DDSS_NULL,
    DDSS_READ,
    DDSS_WRITE,
    DDSS_STRICT,
    DDSS_VERSION,
    DDSS_DELTA,
    DDSS_TEMPORAL,
    DDSS_ROUND_ROBIN,
    DDSS_LOCAL,
    DDSS_REMOTE,
    DDSS_NODE,
};
static const tag_t tags[] = {AM_ALL, AM_NONE};

static struct {
  int (*init)(const ddss_options_t*), (*finish)(void);
  ddss_key_t (*allocate)(size_t, ddss_model_t, const ddss_allocation_t*);
  int (*release)(ddss_key_t), (*get)(ddss_key_t, void*, size_t),
      (*put)(ddss_key_t, const void*, size_t);
  int (*acquire)(ddss_key_t), (*release_lock)(ddss_key_t), (*try_lock)(ddss_key_t);
  ddss_operation_t* (*async_get)(ddss_key_t, void*, size_t);
  ddss_operation_t* (*async_put)(ddss_key_t, const void*, size_t);
  int (*wait)(ddss_operation_t*);
} const ddss = {
    ddss_init,         ddss_finish,       ddss_allocate, ddss_release,   ddss_get,       ddss_put,
    ddss_acquire_lock, ddss_release_lock, ddss_try_lock, ddss_async_get, ddss_async_put, ddss_wait,
};

static struct {
  int (*init)(const dsm_options*), (*finish)(void), (*rank)(void), (*size)(void);
  void* (*malloc)(size_t);
  void (*free)(void*);
  int (*lock)(uint64_t), (*unlock)(uint64_t), (*barrier)(uint64_t);
} const dsm = {
    dsm_init, dsm_finish, dsm_rank,   dsm_size,    dsm_malloc,
    dsm_free, dsm_lock,   dsm_unlock, dsm_barrier,
};

int main(void) {
  const int has_messages = messages_0() && messages_1() && messages_2() && messages_3() &&
                           messages_4() && messages_5() && messages_6() && messages_7() &&
                           messages_8();
  const int has_minimums = am.max_short() >= 8 && am.max_medium() >= 512 && am.max_long() >= 8192;
  const int has_codes = constants[0] == 0 && tags[0] != tags[1];
  const int has_calls = ddss.wait != NULL && dsm.barrier != NULL;
  puts(has_messages && has_minimums && has_codes && has_calls ? "all there" : "not all there");
  return 0;
}
