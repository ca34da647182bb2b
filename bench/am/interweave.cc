// Active Messages. 32 bytes are sent as eight words, other sizes as a block.
#include <interweave/am.h>

#include <cstdlib>
#include <cstring>

#include "am/peers.h"

namespace bench {
namespace {

constexpr tag_t tag = 7;
enum : handler_t { words = 1, block, words_reply, block_reply };
int arrived = 0;

void check(int result, const char* what) {
  if (result != AM_OK) fail(std::string(what) + ": " + AM_StrError(result));
}

void on_words(void* token, int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7) {
  AM_Reply8(token, words_reply, a0, a1, a2, a3, a4, a5, a6, a7);
}
void on_block(void* token, void* data, std::size_t nbytes) {
  AM_ReplyI0(token, block_reply, data, nbytes);
}
void on_words_reply(void*, int, int, int, int, int, int, int, int) { arrived++; }
void on_block_reply(void*, void*, std::size_t) { arrived++; }
// Takes the last replies, which come back because the asking process has ended.
void on_returned(int, op_t, const am_returned_t*) {}

class Peer {
 public:
  explicit Peer(const Case& measured) : measured_(measured) {
    setenv("IW_FABRIC", measured.transport.c_str(), 1);
    check(AM_Init(), "AM_Init");
    check(AM_AllocateBundle(AM_SEQ, &bundle_), "AM_AllocateBundle");
    check(AM_AllocateEndpoint(bundle_, &endpoint, &name), "AM_AllocateEndpoint");
    AM_SetTag(endpoint, tag);
    AM_SetExpectedResources(endpoint, 1, 8);
    AM_SetHandler(endpoint, words, reinterpret_cast<am_handler_fn>(&on_words));
    AM_SetHandler(endpoint, block, reinterpret_cast<am_handler_fn>(&on_block));
    AM_SetHandler(endpoint, words_reply, reinterpret_cast<am_handler_fn>(&on_words_reply));
    AM_SetHandler(endpoint, block_reply, reinterpret_cast<am_handler_fn>(&on_block_reply));
    AM_SetHandler(endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
    AM_SetEventMask(bundle_, AM_NOTEMPTY);
    AM_SetSpin(bundle_, 0);
  }
  void poll() const {
    if (measured_.is_blocking) AM_Wait(bundle_);
    AM_Poll(bundle_);
  }
  ep_t endpoint = nullptr;
  en_t name{};

 private:
  const Case& measured_;
  eb_t bundle_ = nullptr;
};

}  // namespace

double ask_by_interweave(const Case& measured, const Line& line) {
  const Peer here(measured);
  const auto bytes = line.hear();
  en_t other;
  std::memcpy(&other, bytes.data(), sizeof other);
  check(AM_Map(here.endpoint, 0, other, tag), "AM_Map");
  const std::vector<char> data(measured.bytes, 'x');
  return measure(measured, [&] {
    const int next = arrived + 1;
    if (measured.bytes == 8 * sizeof(int)) {
      AM_Request8(here.endpoint, 0, words, 1, 2, 3, 4, 5, 6, 7, 8);
    } else {
      AM_RequestI0(here.endpoint, 0, block, data.data(), data.size());
    }
    while (arrived < next) here.poll();
  });
}

void answer_by_interweave(const Case& measured, const Line& line) {
  const Peer here(measured);
  const auto* name = reinterpret_cast<const char*>(here.name.bytes);
  line.say({name, name + sizeof here.name.bytes});
  for (;;) here.poll();
}

}  // namespace bench
