// One sends, many receive: what the sender and the receivers (processes of their own) share.
#pragma once

#include <interweave/am.h>

#include <string>

#include "containers/measures.h"

namespace bench {

inline constexpr tag_t message_tag = 7;
inline constexpr handler_t update_handler = 1, answer_handler = 2;

// An endpoint of plain Active Messages in a bundle of its own.
struct MessageEnd {
  MessageEnd();
  ~MessageEnd();
  MessageEnd(const MessageEnd&) = delete;
  MessageEnd& operator=(const MessageEnd&) = delete;
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  en_t name{};
};

iw::containers::Options roomy();

}  // namespace bench
