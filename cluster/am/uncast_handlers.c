/* Handlers as programs in C give them, without a cast; compiled with wrong pointer types as errors.
 */
#include <interweave/am.h>

static void on_words(void* token, int first, int second) {
  (void)token;
  (void)first;
  (void)second;
}
static void on_block(void* token, void* block, size_t nbytes, int word) {
  (void)token;
  (void)block;
  (void)nbytes;
  (void)word;
}
static void on_returned(int status, op_t opcode, const am_returned_t* message) {
  (void)status;
  (void)opcode;
  (void)message;
}

int set_uncast_handlers(ep_t endpoint) {
  handler_t any = 0;
  int result = AM_SetHandler(endpoint, 0, on_returned);
  if (result == AM_OK) result = AM_SetHandler(endpoint, 1, on_words);
  if (result == AM_OK) result = AM_SetHandler(endpoint, 2, &on_block);
  if (result == AM_OK) result = AM_SetHandlerAny(endpoint, &any, on_block);
  if (result == AM_OK) result = AM_SetHandler(endpoint, any, NULL);
  return result;
}
