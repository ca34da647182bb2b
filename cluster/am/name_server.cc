#include "am/name_server.h"

#include "am/bundle.h"
#include "am/name_messages.h"

namespace iw::am {
namespace {

constexpr std::size_t registrations_max = 1 << 20;

bool is_same(const en_t& one, const en_t& other) {
  return std::memcmp(one.bytes, other.bytes, sizeof one.bytes) == 0;
}

std::string text_of(const void* block, std::size_t nbytes) {
  return {static_cast<const char*>(block), nbytes};
}

bool is_string(std::size_t nbytes) { return nbytes >= 1 && nbytes <= string_bytes_max; }

// The servers of this process by their endpoints.
std::map<ep_t, NameServer*>& servers() {
  static std::map<ep_t, NameServer*> all;
  return all;
}

// The answer to a client that has died.
void on_returned(int, op_t, const am_returned_t*) {}

}  // namespace

int NameServer::start(en_t* own_name) {
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  int result = AM_AllocateBundle(AM_PAR, &bundle);
  if (result == AM_OK) result = AM_AllocateEndpoint(bundle, &endpoint, own_name);
  if (result != AM_OK) return result;
  const fabric::Exclusion excluded(bundle->worker());
  servers()[endpoint] = this;
  bundle->on_end = [this, bundle](const Connection& ended) {
    forget(bundle->name_of_other(ended));
  };
  AM_SetHandler(endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
  AM_SetHandler(endpoint, register_name, reinterpret_cast<am_handler_fn>(&on_register));
  AM_SetHandler(endpoint, look_up_name, reinterpret_cast<am_handler_fn>(&on_look_up));
  AM_SetHandler(endpoint, unregister_name, reinterpret_cast<am_handler_fn>(&on_unregister));
  return AM_SetTag(endpoint, name_service_tag);
}

NameServer& NameServer::of_token(void* token, en_t* asking) {
  ep_t endpoint = nullptr;
  AM_GetDestEndpoint(token, &endpoint);
  AM_GetSourceEndpoint(token, asking);
  return *servers().at(endpoint);
}

void NameServer::on_register(void* token, void* block, std::size_t nbytes) {
  en_t asking, name;
  NameServer& self = of_token(token, &asking);
  if (nbytes < sizeof name || !is_string(nbytes - sizeof name)) {
    AM_ReplyI1(token, take_answer, nullptr, 0, AM_ERR_BAD_ARG);
    return;
  }
  std::memcpy(&name, block, sizeof name);
  const std::string string =
      text_of(static_cast<const std::byte*>(block) + sizeof name, nbytes - sizeof name);
  const auto found = self.registered_.find(string);
  int result = AM_OK;
  if (found != self.registered_.end() && !is_same(found->second.owner, asking)) {
    result = AM_ERR_IN_USE;
  } else if (found == self.registered_.end() && self.registered_.size() >= registrations_max) {
    result = AM_ERR_RESOURCE;
  } else {
    self.registered_.insert_or_assign(string, Registration{name, asking});
  }
  AM_ReplyI1(token, take_answer, nullptr, 0, result);
}

void NameServer::on_look_up(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  const auto found = self.registered_.find(text_of(block, nbytes));
  if (found == self.registered_.end()) {
    AM_ReplyI1(token, take_answer, nullptr, 0, AM_ERR_RESOURCE);
  } else {
    AM_ReplyI1(token, take_answer, &found->second.name, sizeof(en_t), AM_OK);
  }
}

void NameServer::on_unregister(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  const auto found = self.registered_.find(text_of(block, nbytes));
  const bool may = found != self.registered_.end() && is_same(found->second.owner, asking);
  if (may) self.registered_.erase(found);
  AM_ReplyI1(token, take_answer, nullptr, 0, may ? AM_OK : AM_ERR_RESOURCE);
}

void NameServer::forget(const en_t& owner) {
  std::erase_if(registered_, [&](const auto& each) { return is_same(each.second.owner, owner); });
}

}  // namespace iw::am
