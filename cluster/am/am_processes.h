// Shared by the tests of Active Messages: an endpoint ready for use, and a process that echoes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "interweave/am.h"
#include "testing/children.h"
#include "testing/transports.h"

namespace iw::am_test {

inline constexpr tag_t right_tag = 42;
inline constexpr std::size_t segment_bytes = 1 << 20;

template <typename Function>
am_handler_fn handler(Function* function) {
  return reinterpret_cast<am_handler_fn>(function);
}

// A bundle with one endpoint, which takes messages of `right_tag` and has a segment.
struct Endpoint {
  explicit Endpoint(int type = AM_SEQ, int outstanding = 8) : segment(segment_bytes) {
    EXPECT_EQ(AM_AllocateBundle(type, &bundle), AM_OK);
    EXPECT_EQ(AM_AllocateEndpoint(bundle, &ep, &name), AM_OK);
    EXPECT_EQ(AM_SetTag(ep, right_tag), AM_OK);
    EXPECT_EQ(AM_SetSeg(ep, segment.data(), segment.size()), AM_OK);
    EXPECT_EQ(AM_SetExpectedResources(ep, 16, outstanding), AM_OK);
  }
  ~Endpoint() { EXPECT_EQ(AM_FreeBundle(bundle), AM_OK); }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Polls until is_so() is true. False after half a minute.
  bool poll_until(const std::function<bool()>& is_so) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so()) {
      AM_Poll(bundle);
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }
  void set(handler_t number, am_handler_fn fn) const {
    EXPECT_EQ(AM_SetHandler(ep, number, fn), AM_OK);
  }
  int map(const en_t& other, tag_t tag = right_tag) const {
    int index = -1;
    EXPECT_EQ(AM_MapAny(ep, &index, other, tag), AM_OK);
    return index;
  }

  eb_t bundle = nullptr;
  ep_t ep = nullptr;
  en_t name{};
  std::vector<std::byte> segment;
};

// Has called AM_Init for as long as it lives.
struct Library {
  Library() { EXPECT_EQ(AM_Init(), AM_OK); }
  ~Library() { EXPECT_EQ(AM_Terminate(), AM_OK); }
};

// Handlers of an echoing endpoint, which answer to handler 1.
enum Echo : handler_t {
  echo_words = 1,
  echo_block,
  echo_xfer,
  answer_nothing,
  answer_twice,
  answer_wrongly
};
void set_echo_handlers(const Endpoint& endpoint);

}  // namespace iw::am_test
