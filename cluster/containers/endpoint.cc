#include "containers/endpoint.h"

#include <array>
#include <bit>
#include <map>

#include "am/bundle.h"
#include "interweave/containers/active.hpp"
#include "platform/mutex.h"

namespace iw::containers {
namespace {

static_assert(insert_number.number == call_insert && delete_number.number == call_delete &&
              clear_number.number == call_clear);
static_assert(MarshalStream::buffer_bytes == part_bytes);

// A head as the words of an Active Message, and back [CONT-1].
using Words = std::array<int, sizeof(Head) / sizeof(int)>;

// The Receivers of endpoints. A handler shares its Receiver, so that the Receiver outlives it.
struct Receivers {
  platform::Mutex mutex;
  std::map<ep_t, std::shared_ptr<Receiver>> by_endpoint IW_GUARDED_BY(mutex);
  std::map<int, std::shared_ptr<Receiver>> by_number IW_GUARDED_BY(mutex);
  int last_number IW_GUARDED_BY(mutex) = 0;
};

// Never destroyed, because handlers may run while the program exits.
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
  const auto head =
      std::bit_cast<Head>(Words{sender, link, kind, sequence, part, signature, checksum, life_ms});
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
  const auto said = std::bit_cast<AnswerWords>(std::array{link, answer, sequence});
  if (receiver == nullptr || !check(said)) return;  // [CONT-2]
  receiver->answered(said.link, said.answer, said.sequence);
}

void on_returned(int, op_t operation, const am_returned_t* message) {
  // Only requests matter. If an answer comes back, its asker waits until its deadline, and nothing
  // is lost but time.
  if (operation != AM_REQUEST_IM || message->n_args != 8) return;
  const auto receiver = find(message->args[0]);
  if (receiver != nullptr) receiver->came_back(message->args[1]);
}

template <typename Function>
am_handler_fn handler(Function* function) {
  return reinterpret_cast<am_handler_fn>(function);
}

}  // namespace

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
  AM_SetTag(endpoint_, tag);
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
  const int result = bundle.map_any(endpoint_, &index, other, tag, deadline);
  return result == AM_OK ? index : -1;
}

int Endpoint::map(const en_t& other) {
  int index = -1;
  return AM_MapAny(endpoint_, &index, other, tag) == AM_OK ? index : -1;
}

void Endpoint::unmap(int index) { AM_UnMap(endpoint_, index); }

bool Endpoint::send(int index, Head head, std::span<const std::byte> block) {
  head.sender = number_;
  const auto words = std::bit_cast<Words>(head);
  const int result = AM_RequestIArgs(endpoint_, index, take_request, block.data(), block.size(),
                                     static_cast<int>(words.size()), words.data());
  return result == AM_OK;
}

}  // namespace iw::containers
