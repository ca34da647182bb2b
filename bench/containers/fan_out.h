// One sends, many receive: what the sender and the receivers (processes of their own) share.
#pragma once

#include <interweave/am.h>

#include <string>

#include "containers/measures.h"

namespace bench {

inline constexpr tag_t message_tag = 7;
inline constexpr handler_t update_handler = 1, answer_handler = 2;

// How a receiver takes what comes, and when it notes that.
enum class Manner {
  sleeping,  // the library's thread takes it, and sleeps until something comes; noted when queued
  polling,   // the program looks again and again; noted when queued
  showing    // so does this; noted when the look is over: answered and, of a reader, evaluated
};

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
