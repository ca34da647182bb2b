// The C functions that send, poll and wait.
#include <cmath>

#include "am/bundle.h"

using iw::am::Bundle;
using iw::am::Category;
using iw::am::Connection;
using iw::am::ConnectionState;
using iw::am::Token;
using iw::fabric::Clock;
using iw::fabric::Exclusion;

namespace {

Clock::time_point after(double seconds) {
  constexpr double seconds_max = 1e6;
  const std::chrono::duration<double> left(std::min(seconds, seconds_max));
  return Clock::now() + std::chrono::ceil<Clock::duration>(left);
}

std::span<const std::byte> bytes_of(const void* block, std::size_t nbytes) {
  return {static_cast<const std::byte*>(block), nbytes};
}

// A negative number of words becomes one that is_sound() refuses.
std::span<const int> words_of(int n_args, const int* args) {
  return {args, static_cast<std::size_t>(n_args)};
}

bool is_sound(const Bundle::Draft& message, std::size_t block_bytes_max) {
  return message.handler > 0 && message.handler < iw::am::handlers_max &&
         message.words.size() <= iw::am::words_max &&
         (message.words.data() != nullptr || message.words.empty()) &&
         message.block.size() <= block_bytes_max &&
         (message.block.data() != nullptr || message.block.empty());
}

// Finds the connection of a mapped index, and its tag. Returns an AM_ result.
int look_up(ep_t endpoint, int destination, Connection** connection, tag_t* tag) {
  if (endpoint->outstanding_max == 0) return AM_ERR_NOT_INIT;
  const iw::am::Translation* found = endpoint->mapped(destination);
  if (found == nullptr) return AM_ERR_BAD_ARG;
  if (found->connection->state == ConnectionState::dead) return AM_ERR_NOT_SENT;
  *connection = found->connection;
  *tag = found->tag;
  return AM_OK;
}

// Waits until the window of a pinned connection has room, and unpins the connection. Handles
// arrivals meanwhile.
int wait_for_room(Bundle& bundle, Connection& to, Clock::time_point deadline) {
  const auto has_room = [&] {
    bundle.run_arrivals();
    return !to.free_slots.empty() || to.state == ConnectionState::dead;
  };
  const auto status = bundle.worker().wait(has_room, deadline);
  const Exclusion excluded(bundle.worker());
  Bundle::unpin(to);
  return status == iw::fabric::Status::ok ? AM_OK : AM_ERR_NOT_SENT;
}

int request(ep_t endpoint, int destination, const Bundle::Draft& message, bool is_async) {
  Bundle& bundle = *endpoint->bundle;
  if (bundle.worker().in_handler() || iw::am::in_any_handler()) return AM_ERR_RESOURCE;
  Clock::time_point deadline{};
  for (;;) {
    Connection* to = nullptr;
    {
      const Exclusion excluded(bundle.worker());
      tag_t tag = AM_NONE;
      int result = look_up(endpoint, destination, &to, &tag);
      if (result == AM_OK) result = bundle.request(*to, destination, tag, message);
      if (result != AM_ERR_RESOURCE) return result;
      if (is_async || bundle.request_wait.count() == 0) return AM_ERR_NOT_SENT;
      if (deadline == Clock::time_point{}) {
        deadline = Clock::now() + std::chrono::ceil<Clock::duration>(bundle.request_wait);
      }
      to->pins++;
    }
    const int waited = wait_for_room(bundle, *to, deadline);
    if (waited != AM_OK) return waited;
  }
}

int reply(void* token, const Bundle::Draft& message) {
  auto& to = *static_cast<Token*>(token);
  return to.endpoint->bundle->reply(to, message);
}

}  // namespace

extern "C" {

int AM_RequestArgs(ep_t ep, int dest, handler_t h, int n_args, const int* args) {
  const Bundle::Draft message{Category::words, h, 0, {}, words_of(n_args, args)};
  if (ep == nullptr || !is_sound(message, 0)) return AM_ERR_BAD_ARG;
  return request(ep, dest, message, false);
}

int AM_RequestIArgs(ep_t ep, int dest, handler_t h, const void* block, size_t nbytes, int n_args,
                    const int* args) {
  const Bundle::Draft message{Category::block, h, 0, bytes_of(block, nbytes),
                              words_of(n_args, args)};
  if (ep == nullptr || !is_sound(message, iw::am::medium_bytes_max)) {
    return AM_ERR_BAD_ARG;
  }
  return request(ep, dest, message, false);
}

int AM_RequestXferArgs(ep_t ep, int dest, uint64_t offset, handler_t h, const void* block,
                       size_t nbytes, int is_async, int n_args, const int* args) {
  const Bundle::Draft message{Category::xfer, h, offset, bytes_of(block, nbytes),
                              words_of(n_args, args)};
  if (ep == nullptr || !is_sound(message, iw::am::long_bytes_max)) {
    return AM_ERR_BAD_ARG;
  }
  return request(ep, dest, message, is_async != 0);
}

int AM_GetXferArgs(ep_t ep, int dest, uint64_t source_offset, handler_t h, uint64_t own_offset,
                   size_t nbytes, int is_async, int n_args, const int* args) {
  const iw::am::GetBody body{own_offset, nbytes};
  const Bundle::Draft message{Category::get, h, source_offset, bytes_of(&body, sizeof body),
                              words_of(n_args, args)};
  if (ep == nullptr || nbytes > iw::am::long_bytes_max || !is_sound(message, sizeof body)) {
    return AM_ERR_BAD_ARG;
  }
  return request(ep, dest, message, is_async != 0);
}

int AM_ReplyArgs(void* token, handler_t h, int n_args, const int* args) {
  const Bundle::Draft message{Category::words, h, 0, {}, words_of(n_args, args)};
  if (token == nullptr || !is_sound(message, 0)) return AM_ERR_BAD_ARG;
  return reply(token, message);
}

int AM_ReplyIArgs(void* token, handler_t h, const void* block, size_t nbytes, int n_args,
                  const int* args) {
  const Bundle::Draft message{Category::block, h, 0, bytes_of(block, nbytes),
                              words_of(n_args, args)};
  if (token == nullptr || !is_sound(message, iw::am::medium_bytes_max)) {
    return AM_ERR_BAD_ARG;
  }
  return reply(token, message);
}

int AM_ReplyXferArgs(void* token, uint64_t offset, handler_t h, const void* block, size_t nbytes,
                     int n_args, const int* args) {
  const Bundle::Draft message{Category::xfer, h, offset, bytes_of(block, nbytes),
                              words_of(n_args, args)};
  if (token == nullptr || !is_sound(message, iw::am::long_bytes_max)) {
    return AM_ERR_BAD_ARG;
  }
  return reply(token, message);
}

int AM_GetSourceEndpoint(void* token, en_t* name) {
  if (token == nullptr || name == nullptr) return AM_ERR_BAD_ARG;
  const auto& of = *static_cast<Token*>(token);
  *name = of.endpoint->bundle->name_of_other(*of.connection);
  return AM_OK;
}

int AM_GetDestEndpoint(void* token, ep_t* endpoint) {
  if (token == nullptr || endpoint == nullptr) return AM_ERR_BAD_ARG;
  *endpoint = static_cast<Token*>(token)->endpoint;
  return AM_OK;
}

int AM_GetMsgTag(void* token, tag_t* tag) {
  if (token == nullptr || tag == nullptr) return AM_ERR_BAD_ARG;
  *tag = static_cast<Token*>(token)->tag;
  return AM_OK;
}

int AM_Poll(eb_t bundle) {
  if (bundle == nullptr) return AM_ERR_BAD_ARG;
  bundle->poll();
  return AM_OK;
}

int AM_GetMessageCounts(eb_t bundle, uint64_t* sent, uint64_t* received) {
  if (bundle == nullptr || sent == nullptr || received == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(bundle->worker());
  *sent = bundle->messages_sent;
  *received = bundle->messages_received;
  return AM_OK;
}

int AM_GetEventMask(eb_t bundle, int* mask) {
  if (bundle == nullptr || mask == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(bundle->worker());
  *mask = bundle->event_mask;
  return AM_OK;
}

int AM_SetEventMask(eb_t bundle, int mask) {
  if (bundle == nullptr || (mask != AM_NOEVENTS && mask != AM_NOTEMPTY)) return AM_ERR_BAD_ARG;
  const Exclusion excluded(bundle->worker());
  bundle->event_mask = mask;
  return AM_OK;
}

int AM_WaitFor(eb_t bundle, double seconds) {
  if (bundle == nullptr || !std::isfinite(seconds) || seconds < 0) return AM_ERR_BAD_ARG;
  if (bundle->worker().in_handler() || iw::am::in_any_handler()) return AM_ERR_RESOURCE;
  int mask = AM_NOEVENTS;
  AM_GetEventMask(bundle, &mask);
  if (mask == AM_NOEVENTS) return AM_ERR_BAD_ARG;
  return bundle->wait(after(seconds));
}

int AM_Flush(eb_t bundle, double seconds) {
  if (bundle == nullptr || !std::isfinite(seconds) || seconds < 0) return AM_ERR_BAD_ARG;
  if (bundle->worker().in_handler() || iw::am::in_any_handler()) return AM_ERR_RESOURCE;
  return bundle->flush(after(seconds));
}

int AM_Wait(eb_t bundle) {
  constexpr double a_while = 3600;
  for (;;) {
    const int result = AM_WaitFor(bundle, a_while);
    if (result != AM_ERR_NOT_SENT) return result;
  }
}

int AM_WaitSema(eb_t bundle) { return AM_Wait(bundle); }

}  // extern "C"
