// The name server's client: AMNS_*. One call at a time asks and waits for the answer. The server
// answers each question, in the order of the questions, also if the call has given up. A call that
// gives up a registration sends an undo after it, so that no process has a name without knowing.
// The window has two slots, one of them for the undo.
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>

#include "am/am.gen.h"
#include "am/bundle.h"
#include "am/library.h"
#include "platform/mutex.h"

using namespace iw::am;

namespace {

// The process's only client. Trivially destructible, because a thread may use it while another
// thread calls exit().
struct Client {
  iw::platform::Mutex mutex;  // one call at a time; taken before the library's mutex
  eb_t bundle IW_GUARDED_BY(mutex) = nullptr;
  ep_t endpoint IW_GUARDED_BY(mutex) = nullptr;
  en_t server IW_GUARDED_BY(mutex){};
  std::chrono::milliseconds patience IW_GUARDED_BY(mutex){};
  std::uint64_t asked IW_GUARDED_BY(mutex) = 0, claims IW_GUARDED_BY(mutex) = 0;
  // Touched inside the bundle's Exclusion only.
  std::uint64_t answered = 0;
  int result = AM_OK;
  en_t name{};
};

Client& client() {
  static_assert(std::is_trivially_destructible_v<Client>);
  static Client only;
  return only;
}

void on_answer(void*, void* block, std::size_t nbytes, int result) {
  Client& self = client();
  self.answered++;
  self.result = result;
  if (nbytes == sizeof self.name) std::memcpy(&self.name, block, nbytes);
}

void on_returned(int, op_t, const am_returned_t*) {
  client().answered++;
  client().result = AM_ERR_NOT_SENT;
}

bool wait_for_answers(Client& self) IW_REQUIRES(self.mutex) {
  const std::uint64_t asked = self.asked;
  const auto status = self.bundle->worker().wait([&] { return self.answered == asked; },
                                                 iw::fabric::Clock::now() + self.patience);
  return status == iw::fabric::Status::ok;
}

int send(Client& self, handler_t what, const std::string& block) IW_REQUIRES(self.mutex) {
  const int sent = AM_RequestI0(self.endpoint, 0, what, block.data(), block.size());
  if (sent == AM_OK) self.asked++;
  return sent;
}

int map_server(Client& self) IW_REQUIRES(self.mutex) {
  const auto deadline = iw::fabric::Clock::now() + self.patience;
  return self.bundle->map(self.endpoint, 0, self.server, name_service_tag, deadline);
}

// Maps the server anew if its connection is dead. The server may have taken another transport, and
// lost its clients by that.
int connect_again(Client& self) IW_REQUIRES(self.mutex) {
  {
    const iw::fabric::Exclusion excluded(self.bundle->worker());
    const Translation* to = self.endpoint->mapped(0);
    if (to != nullptr && to->connection->state != ConnectionState::dead) return AM_OK;
  }
  AM_UnMap(self.endpoint, 0);
  return map_server(self);
}

int ask(Client& self, handler_t what, const std::string& block, en_t* name)
    IW_REQUIRES(self.mutex) {
  if (self.bundle == nullptr) return AM_ERR_NOT_INIT;
  // First the answers to earlier questions, whose calls gave up.
  if (!wait_for_answers(self) || connect_again(self) != AM_OK) return AM_ERR_NOT_SENT;
  const int sent = send(self, what, block);
  if (sent != AM_OK) return sent;
  if (!wait_for_answers(self)) {
    if (what == register_name) send(self, undo_registration, block);
    return AM_ERR_NOT_SENT;
  }
  const iw::fabric::Exclusion excluded(self.bundle->worker());
  if (self.result == AM_OK && name != nullptr) *name = self.name;
  return self.result;
}

// IW_AMNS_TIMEOUT_MS, or 10 s.
std::chrono::milliseconds patience_by_environment() {
  constexpr long most_ms = 86'400'000;
  const char* set = std::getenv("IW_AMNS_TIMEOUT_MS");
  const long ms = set == nullptr ? 0 : std::strtol(set, nullptr, 10);
  return std::chrono::milliseconds(ms > 0 && ms <= most_ms ? ms : 10'000);
}

// The name that a program or IW_AMNS gives. An AM_ result, and the reason of a failure in *why.
int parse_server(const char* server, en_t* name, std::string* why) {
  if (server == nullptr) server = std::getenv("IW_AMNS");
  if (server == nullptr || *server == '\0') {
    *why = "no name server is named: set IW_AMNS=NAME or IW_AMNS=file:FILE";
    return AM_ERR_BAD_ARG;
  }
  const std::string given = server;
  std::string text = given;
  if (given.starts_with("file:")) {
    std::ifstream file(given.substr(5));
    if (!file) {
      *why = given + " cannot be read: " + std::strerror(errno);
      return AM_ERR_BAD_ARG;
    }
    text.clear();
    file >> text;
  }
  if (AM_NameFromCarried(text.c_str(), name) == AM_OK) return AM_OK;
  *why = given + " is not a name server's name";
  return AM_ERR_BAD_ARG;
}

int make_endpoint(Client& self, const en_t& server) IW_REQUIRES(self.mutex) {
  self.asked = self.answered = 0;
  self.patience = patience_by_environment();
  int result = AM_AllocateBundle(AM_PAR, &self.bundle);
  if (result != AM_OK) return result;
  result = AM_AllocateEndpoint(self.bundle, &self.endpoint, nullptr);
  if (result == AM_OK) {
    AM_SetHandler(self.endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
    AM_SetHandler(self.endpoint, take_answer, reinterpret_cast<am_handler_fn>(&on_answer));
    result = AM_SetExpectedResources(self.endpoint, 1, 2);
    AM_SetRequestWait(self.bundle, std::chrono::duration<double>(self.patience).count());
  }
  self.server = server;
  if (result == AM_OK) result = map_server(self);
  if (result != AM_OK) AM_FreeBundle(std::exchange(self.bundle, nullptr));
  return result;
}

// Whether a call may be made now. Asked before the arguments are checked. An AM_ result.
int may_call() {
  if (in_any_handler()) return AM_ERR_RESOURCE;
  return Library::only().is_open() ? AM_OK : AM_ERR_NOT_INIT;
}

bool is_string(const char* string) {
  return string != nullptr && *string != '\0' && std::strlen(string) <= string_bytes_max;
}

}  // namespace

void iw::am::forget_name_client(const std::set<eb_t>& ended) {
  Client& self = client();
  const iw::platform::MutexLock held(self.mutex);
  if (ended.contains(self.bundle)) self.bundle = nullptr;
}

int iw::am::find_name_server(const char* server, std::string* why) {
  en_t name;
  int result = may_call();
  if (result == AM_OK) result = parse_server(server, &name, why);
  if (result != AM_OK) return result;
  Client& self = client();
  const iw::platform::MutexLock held(self.mutex);
  if (self.bundle != nullptr) AM_FreeBundle(std::exchange(self.bundle, nullptr));
  result = make_endpoint(self, name);
  if (result == AM_ERR_BAD_ARG) *why = "the name server's name is damaged";
  return result;
}

extern "C" {

int AMNS_Init(const char* server) {
  std::string why;
  const int result = iw::am::find_name_server(server, &why);
  // Printed, as AM_Init prints its reason.
  if (!why.empty()) std::fprintf(stderr, "interweave: AMNS_Init: %s\n", why.c_str());
  return result;
}

int AMNS_Register(const char* string, en_t name) {
  if (const int result = may_call(); result != AM_OK) return result;
  char carried[AM_NAME_CARRIED_BYTES];
  if (!is_string(string) || AM_NameToCarried(name, carried) != AM_OK) return AM_ERR_BAD_ARG;
  Client& self = client();
  const iw::platform::MutexLock held(self.mutex);
  const auto block = encode(Claim{std::bit_cast<Name>(name), ++self.claims, string});
  return ask(self, register_name, std::string(iw::fabric::text_of(block)), nullptr);
}

int AMNS_Lookup(const char* string, en_t* name) {
  if (const int result = may_call(); result != AM_OK) return result;
  if (!is_string(string) || name == nullptr) return AM_ERR_BAD_ARG;
  Client& self = client();
  const iw::platform::MutexLock held(self.mutex);
  return ask(self, look_up_name, string, name);
}

int AMNS_Unregister(const char* string) {
  if (const int result = may_call(); result != AM_OK) return result;
  if (!is_string(string)) return AM_ERR_BAD_ARG;
  Client& self = client();
  const iw::platform::MutexLock held(self.mutex);
  return ask(self, unregister_name, string, nullptr);
}

}  // extern "C"
