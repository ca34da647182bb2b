// A bundle of Active Messages under any messages of its peers, deaths, and requests of its own. No
// request is answered twice, no handler runs for a message that should be refused, and nothing is
// written outside the segment.
//
// An input is a row of events: a byte says which and of which peer; a message follows with the
// lengths of its header and block.
#include <algorithm>

#include "am/bundle.h"
#include "fuzz/cluster/played_worker.h"
#include "fuzz/native/target.h"

using namespace iw;

namespace {

constexpr std::size_t segment_bytes = 64, guard_bytes = 64;
constexpr std::byte untouched{0xa5};
constexpr int window = 3;

int asked, ended;

void on_returned(int, op_t operation, const am_returned_t* message) {
  FUZZ_CHECK(message->n_args >= 0 && message->n_args <= AM_MAX_ARGS);
  if (operation <= AM_REQUEST_XFER_M || operation == AM_GET_XFER_M) ended++;
}

void on_message(void* as_token) {
  auto& token = *static_cast<am::Token*>(as_token);
  FUZZ_CHECK(token.connection->state == am::ConnectionState::open && token.endpoint != nullptr);
  if (token.may_reply) {
    token.endpoint->bundle->reply(token, {am::Category::words, 1, 0, {}, {}});
  } else {
    ended++;
  }
}

struct Played {
  explicit Played(int type) {
    auto made = std::make_unique<fuzzing::PlayedWorker>();
    worker = made.get();
    bundle = std::make_unique<am::Bundle>(std::move(made), type);
    endpoint = bundle->add_endpoint(0);
    endpoint->tag = AM_ALL;
    endpoint->segment = memory.data() + guard_bytes;
    endpoint->segment_bytes = segment_bytes;
    endpoint->handlers[0] = reinterpret_cast<am_handler_fn>(&on_returned);
    endpoint->handlers[1] = reinterpret_cast<am_handler_fn>(&on_message);
    bundle->set_window(endpoint, window);
    memory.fill(untouched);
  }
  // With the endpoint 0 of the peer, if it has mapped this one.
  am::Connection* connection(fabric::PeerId peer) {
    if (worker->in_handler() || !worker->is_alive(peer)) return nullptr;
    am::Connection* found = nullptr;
    const int result = bundle->connect_to_peer(endpoint, peer, 0, {}, &found);
    if (result != AM_OK) return nullptr;
    am::Bundle::unpin(*found);
    return found;
  }
  void request(fabric::PeerId peer, fuzzing::Input& input) {
    am::Connection* to = connection(peer);
    if (to == nullptr) return;
    const auto category = static_cast<am::Category>(1 + input.byte() % 4);
    const auto block = input.bytes(16);
    const fabric::Exclusion excluded(*worker);
    asked += bundle->request(*to, 0, 7, {category, 1, input.byte(), block, {}}) == AM_OK;
  }
  void message(fabric::PeerId peer, bool by_service, fuzzing::Input& input) {
    const auto header = input.bytes(input.byte());
    const auto block = input.bytes(input.byte());
    worker->arrive(peer, 0, header, block, by_service);
  }
  void step(fuzzing::Input& input) {
    const unsigned event = input.byte();
    const fabric::PeerId peer = event % fuzzing::peers;
    switch (event / fuzzing::peers % 8) {
      case 0:
        return request(peer, input);
      case 1:
        return bundle->poll();
      case 2:
        return worker->die(peer);
      case 3:
        return static_cast<void>(bundle->flush({}));
      default:
        return message(peer, event >= 128, input);
    }
  }
  void check() const {
    const auto is_guard = [](std::byte each) { return each == untouched; };
    FUZZ_CHECK(std::all_of(memory.begin(), memory.begin() + guard_bytes, is_guard));
    FUZZ_CHECK(std::all_of(memory.end() - guard_bytes, memory.end(), is_guard));
    FUZZ_CHECK(ended <= asked);
  }
  std::array<std::byte, segment_bytes + 2 * guard_bytes> memory{};
  fuzzing::PlayedWorker* worker = nullptr;
  std::unique_ptr<am::Bundle> bundle;
  iw_am_endpoint* endpoint = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  asked = ended = 0;
  fuzzing::Input input(data, size);
  Played played(input.byte() % 2 == 0 ? AM_PAR : AM_SEQ);
  for (int steps = 0; !input.is_over() && steps < 200; steps++) {
    played.step(input);
    played.check();
  }
  return 0;
}
