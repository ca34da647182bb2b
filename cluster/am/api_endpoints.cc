// The C functions for the library, bundles, endpoints, translations, handlers and segments.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "am/bundle.h"
#include "am/library.h"

using iw::am::Bundle;
using iw::am::Library;
using iw::am::Translation;
using iw::fabric::Clock;
using iw::fabric::Exclusion;

namespace {

constexpr std::chrono::seconds map_wait{30};

// Not in a handler of this bundle. Not in one of another bundle either, because it would hold
// that bundle's Exclusion while it waits for this one's.
bool may_map(ep_t endpoint) {
  return !endpoint->bundle->worker().in_handler() && !iw::am::in_any_handler();
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0 && seconds < 1e6; }

}  // namespace

extern "C" {

const char* AM_StrError(int result) {
  switch (result) {
    case AM_OK:
      return "done";
    case AM_ERR_NOT_INIT:
      return "AM_Init or AM_SetExpectedResources has not been called";
    case AM_ERR_BAD_ARG:
      return "an argument is out of its range";
    case AM_ERR_RESOURCE:
      return "out of memory or room, or not allowed now";
    case AM_ERR_NOT_SENT:
      return "not sent: no room or no answer in time, or the process is gone";
    case AM_ERR_IN_USE:
      return "taken, or not empty";
    default:
      return "no result of Active Messages";
  }
}

int AM_Init(void) { return Library::only().init(); }
int AM_Terminate(void) { return Library::only().terminate(); }
int AM_MaxShort(void) { return iw::am::words_max; }
int AM_MaxMedium(void) { return iw::am::medium_bytes_max; }
int AM_MaxLong(void) { return iw::am::long_bytes_max; }
int AM_MaxNumHandlers(void) { return iw::am::handlers_max; }

int AM_MaxNumTranslations(int* n) {
  if (n == nullptr) return AM_ERR_BAD_ARG;
  *n = iw::am::translations_max;
  return AM_OK;
}

int AM_MaxSegLength(size_t* nbytes) {
  if (nbytes == nullptr) return AM_ERR_BAD_ARG;
  *nbytes = std::size_t{1} << 47;
  return AM_OK;
}

int AM_AllocateBundle(int type, eb_t* bundle) {
  if (bundle == nullptr || (type != AM_SEQ && type != AM_PAR)) return AM_ERR_BAD_ARG;
  if (iw::am::in_any_handler()) return AM_ERR_RESOURCE;
  return Library::only().add_bundle(type, bundle);
}

int AM_FreeBundle(eb_t bundle) {
  if (bundle == nullptr) return AM_ERR_BAD_ARG;
  if (iw::am::in_any_handler()) return AM_ERR_RESOURCE;
  return Library::only().free_bundle(bundle);
}

int AM_AllocateEndpoint(eb_t bundle, ep_t* endpoint, en_t* name) {
  if (bundle == nullptr || endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(bundle->worker());
  *endpoint = bundle->add_endpoint();
  if (name != nullptr) *name = bundle->name_of(*endpoint);
  return AM_OK;
}

int AM_AllocateKnownEndpoint(eb_t bundle, ep_t* endpoint, int number) {
  if (bundle == nullptr || endpoint == nullptr || number < 0 || number > 0xffff) {
    return AM_ERR_BAD_ARG;
  }
  const Exclusion excluded(bundle->worker());
  const ep_t made = bundle->add_endpoint(static_cast<std::uint32_t>(number));
  if (made == nullptr) return AM_ERR_IN_USE;
  *endpoint = made;
  return AM_OK;
}

int AM_FreeEndpoint(ep_t endpoint) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  endpoint->bundle->free_endpoint(endpoint);
  return AM_OK;
}

int AM_MoveEndpoint(ep_t endpoint, eb_t from, eb_t to) {
  if (endpoint == nullptr || to == nullptr || endpoint->bundle != from) return AM_ERR_BAD_ARG;
  // Always in the same order, so that two threads that move endpoints in opposite directions do not
  // wait for each other.
  const Exclusion first(std::min(from, to)->worker()), second(std::max(from, to)->worker());
  if (endpoint->was_connected) return AM_ERR_IN_USE;
  if (from != to) to->move_in(endpoint);
  return AM_OK;
}

int AM_GetEndpointName(ep_t endpoint, en_t* name) {
  if (endpoint == nullptr || name == nullptr) return AM_ERR_BAD_ARG;
  *name = endpoint->bundle->name_of(endpoint);
  return AM_OK;
}

int AM_NameText(en_t name, char* text, size_t bytes) {
  iw::fabric::Address address;
  std::uint32_t endpoint = 0;
  if (text == nullptr || !iw::am::parse(name, &address, &endpoint)) return AM_ERR_BAD_ARG;
  char number[16];
  std::snprintf(number, sizeof number, ":%08x", endpoint);
  const std::string whole = to_string(address) + number;
  if (whole.size() >= bytes) return AM_ERR_RESOURCE;
  std::memcpy(text, whole.c_str(), whole.size() + 1);
  return AM_OK;
}

int AM_NameToCarried(en_t name, char text[AM_NAME_CARRIED_BYTES]) {
  iw::fabric::Address address;
  std::uint32_t endpoint = 0;
  if (text == nullptr || !iw::am::parse(name, &address, &endpoint)) return AM_ERR_BAD_ARG;
  for (std::size_t i = 0; i < sizeof name.bytes; i++) {
    std::snprintf(text + 2 * i, 3, "%02x", name.bytes[i]);
  }
  return AM_OK;
}

int AM_NameFromCarried(const char* text, en_t* name) {
  if (text == nullptr || name == nullptr || std::strlen(text) != 2 * sizeof name->bytes) {
    return AM_ERR_BAD_ARG;
  }
  for (std::size_t i = 0; i < sizeof name->bytes; i++) {
    unsigned byte = 0;
    if (std::sscanf(text + 2 * i, "%2x", &byte) != 1) return AM_ERR_BAD_ARG;
    name->bytes[i] = static_cast<unsigned char>(byte);
  }
  iw::fabric::Address address;
  std::uint32_t endpoint = 0;
  return iw::am::parse(*name, &address, &endpoint) ? AM_OK : AM_ERR_BAD_ARG;
}

int AM_SetTag(ep_t endpoint, tag_t tag) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  endpoint->tag = tag;
  return AM_OK;
}

int AM_GetTag(ep_t endpoint, tag_t* tag) {
  if (endpoint == nullptr || tag == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  *tag = endpoint->tag;
  return AM_OK;
}

int AM_Map(ep_t endpoint, int index, en_t name, tag_t tag) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  if (!may_map(endpoint)) return AM_ERR_RESOURCE;
  Bundle& bundle = *endpoint->bundle;
  {
    const Exclusion excluded(bundle.worker());
    if (!endpoint->is_index(index)) return AM_ERR_BAD_ARG;
  }
  return bundle.map(endpoint, index, name, tag, Clock::now() + map_wait);
}

int AM_MapAny(ep_t endpoint, int* index, en_t name, tag_t tag) {
  if (endpoint == nullptr || index == nullptr) return AM_ERR_BAD_ARG;
  if (!may_map(endpoint)) return AM_ERR_RESOURCE;
  return endpoint->bundle->map_any(endpoint, index, name, tag, Clock::now() + map_wait);
}

int AM_UnMap(ep_t endpoint, int index) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  Translation* found = endpoint->mapped(index);
  if (found == nullptr) return AM_ERR_BAD_ARG;
  Bundle::unpin(*found->connection);
  *found = {};
  return AM_OK;
}

int AM_GetTranslationName(ep_t endpoint, int index, en_t* name) {
  if (endpoint == nullptr || name == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  if (!endpoint->is_index(index)) return AM_ERR_BAD_ARG;
  const Translation* found = endpoint->mapped(index);
  if (found == nullptr) return AM_ERR_RESOURCE;
  *name = found->name;
  return AM_OK;
}

int AM_GetTranslationTag(ep_t endpoint, int index, tag_t* tag) {
  if (endpoint == nullptr || tag == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  if (!endpoint->is_index(index)) return AM_ERR_BAD_ARG;
  const Translation* found = endpoint->mapped(index);
  if (found == nullptr) return AM_ERR_RESOURCE;
  *tag = found->tag;
  return AM_OK;
}

int AM_GetTranslationInuse(ep_t endpoint, int index) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  if (!endpoint->is_index(index)) return AM_ERR_BAD_ARG;
  return endpoint->mapped(index) == nullptr ? AM_ERR_RESOURCE : AM_OK;
}

int AM_GetNumTranslations(ep_t endpoint, int* n) {
  if (endpoint == nullptr || n == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  *n = static_cast<int>(endpoint->translations.size());
  return AM_OK;
}

int AM_SetNumTranslations(ep_t endpoint, int n) {
  if (endpoint == nullptr || n < 1 || n > iw::am::translations_max) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  const auto count = static_cast<int>(endpoint->translations.size());
  for (int index = n; index < count; index++) {
    if (endpoint->mapped(index) != nullptr) return AM_ERR_IN_USE;
  }
  endpoint->translations.resize(static_cast<std::size_t>(n));
  return AM_OK;
}

int AM_SetExpectedResources(ep_t endpoint, int n_endpoints, int n_outstanding_requests) {
  if (endpoint == nullptr || n_endpoints < 1 || n_outstanding_requests < 1 ||
      n_outstanding_requests > iw::am::outstanding_max) {
    return AM_ERR_BAD_ARG;
  }
  const Exclusion excluded(endpoint->bundle->worker());
  return endpoint->bundle->set_window(endpoint, n_outstanding_requests);
}

int AM_SetHandler(ep_t endpoint, handler_t handler, am_handler_fn fn) {
  if (endpoint == nullptr || handler < 0) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  if (static_cast<std::size_t>(handler) >= endpoint->handlers.size()) return AM_ERR_BAD_ARG;
  endpoint->handlers[static_cast<std::size_t>(handler)] = fn;
  return AM_OK;
}

int AM_SetHandlerAny(ep_t endpoint, handler_t* handler, am_handler_fn fn) {
  if (endpoint == nullptr || handler == nullptr || fn == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  auto& all = endpoint->handlers;
  const auto found = std::find(all.begin() + 1, all.end(), nullptr);
  if (found == all.end()) return AM_ERR_RESOURCE;
  *found = fn;
  *handler = static_cast<handler_t>(found - all.begin());
  return AM_OK;
}

int AM_GetNumHandlers(ep_t endpoint, int* n) {
  if (endpoint == nullptr || n == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  *n = static_cast<int>(endpoint->handlers.size());
  return AM_OK;
}

int AM_SetNumHandlers(ep_t endpoint, int n) {
  if (endpoint == nullptr || n < 1 || n > iw::am::handlers_max) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  auto& all = endpoint->handlers;
  for (std::size_t i = static_cast<std::size_t>(n); i < all.size(); i++) {
    if (all[i] != nullptr) return AM_ERR_IN_USE;
  }
  all.resize(static_cast<std::size_t>(n));
  return AM_OK;
}

int AM_SetSeg(ep_t endpoint, void* address, size_t nbytes) {
  if (endpoint == nullptr || (address == nullptr && nbytes > 0)) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  endpoint->segment = nbytes == 0 ? nullptr : static_cast<std::byte*>(address);
  endpoint->segment_bytes = nbytes;
  return AM_OK;
}

int AM_GetSeg(ep_t endpoint, void** address, size_t* nbytes) {
  if (endpoint == nullptr || address == nullptr || nbytes == nullptr) return AM_ERR_BAD_ARG;
  const Exclusion excluded(endpoint->bundle->worker());
  *address = endpoint->segment;
  *nbytes = endpoint->segment_bytes;
  return AM_OK;
}

int AM_SetRequestWait(eb_t bundle, double seconds) {
  if (bundle == nullptr || !is_time(seconds)) return AM_ERR_BAD_ARG;
  const Exclusion excluded(bundle->worker());
  bundle->request_wait = std::chrono::duration<double>(seconds);
  return AM_OK;
}

int AM_SetSpin(eb_t bundle, double seconds) {
  if (bundle == nullptr || !is_time(seconds)) return AM_ERR_BAD_ARG;
  bundle->worker().set_spin(std::chrono::microseconds(static_cast<long long>(seconds * 1e6)));
  return AM_OK;
}

}  // extern "C"
