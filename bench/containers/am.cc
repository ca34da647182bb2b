// A plain Active Message with as many words and bytes as an update has, in the same circumstances:
// at both ends the library's thread handles it, and who asked looks whether it is answered.
#include <interweave/am.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "containers/measures.h"

namespace bench {
namespace {

constexpr tag_t tag = 7;
enum : handler_t { update = 1, answer };
std::atomic<int> answered = 0;

void on_update(void* token, void*, std::size_t, int, int link, int, int sequence, int, int, int,
               int) {
  AM_Reply3(token, answer, link, 0, sequence);
}
void on_answer(void*, int, int, int) { answered++; }
// The last answers, when the asking process has ended.
void on_returned(int, op_t, const am_returned_t*) {}

class End {
 public:
  End() {
    if (AM_AllocateBundle(AM_PAR, &bundle_) != AM_OK) fail("AM_AllocateBundle");
    AM_AllocateEndpoint(bundle_, &endpoint, &name);
    AM_SetHandler(endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
    AM_SetHandler(endpoint, update, reinterpret_cast<am_handler_fn>(&on_update));
    AM_SetHandler(endpoint, answer, reinterpret_cast<am_handler_fn>(&on_answer));
    AM_SetExpectedResources(endpoint, 1, 64);
    AM_SetTag(endpoint, tag);
  }
  ~End() { AM_FreeBundle(bundle_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ep_t endpoint = nullptr;
  en_t name{};

 private:
  eb_t bundle_ = nullptr;
};

}  // namespace

int run_answerer() {
  if (AM_Init() != AM_OK) fail("AM_Init");
  const End here;
  char text[AM_NAME_CARRIED_BYTES];
  AM_NameToCarried(here.name, text);
  std::printf("listening %s\n", text);
  std::fflush(stdout);
  pause();
  return 0;
}

double am_oneway_us() {
  const ChildServer other = in_role("answerer");
  const End here;
  en_t name;
  AM_NameFromCarried(other.address().c_str(), &name);
  if (AM_Map(here.endpoint, 0, name, tag) != AM_OK) fail("AM_Map");
  const std::int64_t number = 1;
  const double round_trip_us = measure(11, 100, [&] {
    const int next = answered + 1;
    if (AM_RequestI8(here.endpoint, 0, update, &number, sizeof number, 1, 2, 3, 4, 5, 6, 7, 8) !=
        AM_OK) {
      fail("AM_RequestI8");
    }
    while (answered < next) continue;
  });
  return round_trip_us / 2;
}

}  // namespace bench
