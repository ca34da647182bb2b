#include "containers/endpoint.h"

#include <map>

#include "am/bundle.h"
#include "interweave/containers/active.hpp"
#include "platform/mutex.h"

namespace iw::containers {
namespace {

constexpr tag_t containers_tag = 0x4143;
constexpr handler_t take_request = 1, take_answer = 2;
constexpr int window = 64;

// Who notes what comes to an endpoint. Handlers hold the Receiver, so that it outlives them.
struct Receivers {
  platform::Mutex mutex;
  std::map<ep_t, std::shared_ptr<Receiver>> by_endpoint IW_GUARDED_BY(mutex);
  std::map<int, std::shared_ptr<Receiver>> by_number IW_GUARDED_BY(mutex);
  int last_number IW_GUARDED_BY(mutex) = 0;
};

// Never destroyed: handlers may run while the program exits.
Receivers& receivers() {
  static auto* const all = new Receivers;
  return *all;
}

std::shared_ptr<Receiver> find(ep_t endpoint) {
  Receivers& all = receivers();
  const platform::MutexLock held(all.mutex);
  const auto found = all.by_endpoint.find(endpoint);
  return found == all.by_endpoint.end() ? nullptr : found->second;
}

std::shared_ptr<Receiver> find(int number) {
  Receivers& all = receivers();
  const platform::MutexLock held(all.mutex);
  const auto found = all.by_number.find(number);
  return found == all.by_number.end() ? nullptr : found->second;
}

std::shared_ptr<Receiver> receiver_of(void* token) {
  ep_t endpoint = nullptr;
  AM_GetDestEndpoint(token, &endpoint);
  return find(endpoint);
}

void on_request(void* token, void* block, std::size_t nbytes, int sender, int link, int kind,
                int sequence, int part, int signature, int checksum, int life_ms) {
  const Head head{sender,
                  link,
                  kind,
                  static_cast<std::uint32_t>(sequence),
                  static_cast<std::uint32_t>(part),
                  static_cast<std::uint32_t>(signature),
                  static_cast<std::uint32_t>(checksum),
                  life_ms};
  Answer answer = Answer::gone;
  if (const auto receiver = receiver_of(token)) {
    if (kind == join) {
      en_t reader;
      AM_GetSourceEndpoint(token, &reader);
      answer = receiver->take_join(link, reader);
    } else {
      answer = receiver->take(head, {static_cast<const std::byte*>(block), nbytes});
    }
  }
  AM_Reply3(token, take_answer, link, static_cast<int>(answer), sequence);
}

void on_answer(void* token, int link, int answer, int sequence) {
  const auto receiver = receiver_of(token);
  if (receiver == nullptr || answer < 0 || answer > static_cast<int>(Answer::refused)) return;
  receiver->answered(link, static_cast<Answer>(answer), static_cast<std::uint32_t>(sequence));
}

void on_returned(int, op_t operation, const am_returned_t* message) {
  // Who does not get an answer waits in vain for a while: nothing is lost but time.
  if (operation != AM_REQUEST_IM || message->n_args != 8) return;
  const auto receiver = find(message->args[0]);
  if (receiver != nullptr) receiver->came_back(message->args[1]);
}

template <typename Function>
am_handler_fn handler(Function* function) {
  return reinterpret_cast<am_handler_fn>(function);
}

}  // namespace

Answer Receiver::take_join(int, const en_t&) { return Answer::refused; }

Endpoint::Endpoint(std::shared_ptr<Receiver> receiver, double request_wait_seconds) {
  if (AM_AllocateBundle(AM_PAR, &bundle_) != AM_OK) throw ContainerError("no bundle");
  AM_AllocateEndpoint(bundle_, &endpoint_, &name_);
  {
    const platform::MutexLock held(receivers().mutex);
    number_ = ++receivers().last_number;
    receivers().by_endpoint[endpoint_] = receiver;
    receivers().by_number[number_] = receiver;
  }
  AM_SetHandler(endpoint_, 0, handler(&on_returned));
  AM_SetHandler(endpoint_, take_request, handler(&on_request));
  AM_SetHandler(endpoint_, take_answer, handler(&on_answer));
  AM_SetExpectedResources(endpoint_, 1, window);
  AM_SetRequestWait(bundle_, request_wait_seconds);
  AM_SetTag(endpoint_, containers_tag);
}

Endpoint::~Endpoint() {
  AM_FreeBundle(bundle_);
  const platform::MutexLock held(receivers().mutex);
  receivers().by_endpoint.erase(endpoint_);
  receivers().by_number.erase(number_);
}

int Endpoint::map(const en_t& other, std::chrono::steady_clock::time_point deadline) {
  int index = -1;
  am::Bundle& bundle = *endpoint_->bundle;
  const int result = bundle.map_any(endpoint_, &index, other, containers_tag, deadline);
  return result == AM_OK ? index : -1;
}

int Endpoint::map(const en_t& other) {
  int index = -1;
  return AM_MapAny(endpoint_, &index, other, containers_tag) == AM_OK ? index : -1;
}

void Endpoint::unmap(int index) { AM_UnMap(endpoint_, index); }

bool Endpoint::send(int index, Head head, std::span<const std::byte> block) {
  head.sender = number_;
  const int result = AM_RequestI8(
      endpoint_, index, take_request, block.data(), block.size(), head.sender, head.link, head.kind,
      static_cast<int>(head.sequence), static_cast<int>(head.part),
      static_cast<int>(head.signature), static_cast<int>(head.checksum), head.life_ms);
  return result == AM_OK;
}

}  // namespace iw::containers
