// Header fields: what messages carry besides their own members [FIELD-1..9].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/field.gen.h"
#include "session/frame_writer.h"
#include "types/result.h"

namespace iw::session {

using FieldList = std::vector<protocol::header_field>;

// Where this client runs. What is empty or 0 is not said.
struct Origin {
  std::string program;
  std::string host;
  std::uint64_t pid = 0;
};

// What HELLO says of the client. Bytes that are not UTF-8 are replaced, because the server would
// refuse them.
FieldList origin_fields(const Origin& origin);

// Says in HELLO that this client keeps grants [LOCK-13].
protocol::header_field keeping_field();
// Says in HELLO that this client follows SEGMENT_MOVED [SPACE-23].
protocol::header_field moving_field();
// Asks in HELLO to be passed on to there [SPACE-48].
protocol::header_field relay_field(const protocol::redirect_field& to);

// MALFORMED if a key stands in the list twice [FIELD-2].
types::Result check_fields(std::span<const protocol::header_field> list);

// The text without its control characters [FIELD-8]. It takes no memory for a text that is moved.
std::string readable(std::string text);

// The value of the key; `is_there` says whether there is one. MALFORMED if it is not a `Value`
// [FIELD-5].
template <typename Value>
types::Result find_field(std::span<const protocol::header_field> list, protocol::field_key key,
                         Value& value, bool& is_there) {
  is_there = false;
  for (const protocol::header_field& field : list) {
    if (field.key != static_cast<std::uint32_t>(key)) continue;
    is_there = true;
    if (decoded(field.value, value)) return {};
    return types::Result::malformed(std::string("the header field ") + name_of(key) +
                                    " cannot be read");
  }
  return {};
}

}  // namespace iw::session
