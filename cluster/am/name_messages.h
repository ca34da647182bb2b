// What the name server and its clients say to each other: requests with a string as their block,
// with a Claim before it where one is registered or that is undone; replies with a result and, to a
// look-up, the name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interweave/am.h"

namespace iw::am {

inline constexpr tag_t name_service_tag = 0x534e4d41;  // "AMNS"
inline constexpr std::size_t string_bytes_max = 255;

// Handlers of the server, and the client's one.
enum NameHandler : handler_t {
  register_name = 1,
  look_up_name,
  unregister_name,
  undo_registration,
  take_answer = 1
};

struct Claim {
  en_t name;
  std::uint64_t number;  // of the client's; each is another
};

}  // namespace iw::am
