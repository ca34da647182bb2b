// The name server's clients: AMNS_*. One call at a time asks and waits for the answer.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "am/bundle.h"
#include "am/library.h"
#include "am/name_messages.h"

using namespace iw::am;

namespace {

constexpr std::chrono::seconds answer_wait{10};

struct Client {
  std::mutex mutex;  // of calls
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  // Of the bundle's Exclusion.
  bool is_answered = false;
  int result = AM_OK;
  en_t name{};
};

Client& client() {
  static Client only;
  return only;
}

void on_answer(void*, void* block, std::size_t nbytes, int result) {
  Client& self = client();
  self.is_answered = true;
  self.result = result;
  if (nbytes == sizeof self.name) std::memcpy(&self.name, block, nbytes);
}

void on_returned(int, op_t, const am_returned_t*) {
  client().is_answered = true;
  client().result = AM_ERR_NOT_SENT;
}

int ask(handler_t what, const std::string& block, en_t* name) {
  Client& self = client();
  const std::lock_guard held(self.mutex);
  if (self.bundle == nullptr) return AM_ERR_NOT_INIT;
  {
    const iw::fabric::Exclusion excluded(self.bundle->worker());
    self.is_answered = false;
  }
  const int sent = AM_RequestI0(self.endpoint, 0, what, block.data(), block.size());
  if (sent != AM_OK) return sent;
  const auto status = self.bundle->worker().wait([&] { return self.is_answered; },
                                                 iw::fabric::Clock::now() + answer_wait);
  const iw::fabric::Exclusion excluded(self.bundle->worker());
  if (status != iw::fabric::Status::ok) return AM_ERR_NOT_SENT;
  if (self.result == AM_OK && name != nullptr) *name = self.name;
  return self.result;
}

int parse_server(const char* server, en_t* name) {
  if (server == nullptr) server = std::getenv("IW_AMNS");
  if (server == nullptr) return AM_ERR_BAD_ARG;
  std::string text = server;
  if (text.starts_with("file:")) {
    std::ifstream file(text.substr(5));
    if (!(file >> text)) return AM_ERR_BAD_ARG;
  }
  return AM_NameFromCarried(text.c_str(), name);
}

int make_endpoint(Client& self, const en_t& server) {
  int result = AM_AllocateBundle(AM_PAR, &self.bundle);
  if (result != AM_OK) return result;
  result = AM_AllocateEndpoint(self.bundle, &self.endpoint, nullptr);
  if (result == AM_OK) {
    AM_SetHandler(self.endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
    AM_SetHandler(self.endpoint, take_answer, reinterpret_cast<am_handler_fn>(&on_answer));
    result = AM_SetExpectedResources(self.endpoint, 1, 1);
  }
  if (result == AM_OK) result = AM_Map(self.endpoint, 0, server, name_service_tag);
  if (result != AM_OK) AM_FreeBundle(std::exchange(self.bundle, nullptr));
  return result;
}

bool is_string(const char* string) {
  return string != nullptr && *string != '\0' && std::strlen(string) <= string_bytes_max;
}

}  // namespace

void iw::am::forget_name_client() { client().bundle = nullptr; }

extern "C" {

int AMNS_Init(const char* server) {
  if (in_any_handler()) return AM_ERR_RESOURCE;
  en_t name;
  const int parsed = parse_server(server, &name);
  if (parsed != AM_OK) return parsed;
  Client& self = client();
  const std::lock_guard held(self.mutex);
  if (self.bundle != nullptr) AM_FreeBundle(std::exchange(self.bundle, nullptr));
  return make_endpoint(self, name);
}

int AMNS_Register(const char* string, en_t name) {
  if (!is_string(string)) return AM_ERR_BAD_ARG;
  const std::string block(reinterpret_cast<const char*>(name.bytes), sizeof name.bytes);
  return ask(register_name, block + string, nullptr);
}

int AMNS_Lookup(const char* string, en_t* name) {
  if (!is_string(string) || name == nullptr) return AM_ERR_BAD_ARG;
  return ask(look_up_name, string, name);
}

int AMNS_Unregister(const char* string) {
  if (!is_string(string)) return AM_ERR_BAD_ARG;
  return ask(unregister_name, string, nullptr);
}

}  // extern "C"
