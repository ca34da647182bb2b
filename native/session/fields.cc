#include "session/fields.h"

#include <algorithm>

namespace iw::session {
namespace {

using protocol::field_key;
using protocol::header_field;

template <typename Value>
void add(FieldList& list, field_key key, const Value& value) {
  list.push_back({static_cast<std::uint32_t>(key), encoded(value)});
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// As much of the text as a field takes, in UTF-8.
std::string fitting(std::string text) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  if (!xdr::is_utf8(bytes, text.size())) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char byte) { return byte >= 0x80U; }, '?');
  }
  if (text.size() <= protocol::MAX_FIELD_TEXT) return text;
  std::size_t end = protocol::MAX_FIELD_TEXT;
  while (end > 0 && is_continuation(text[end])) --end;
  text.resize(end);
  return text;
}

}  // namespace

FieldList origin_fields(const Origin& origin) {
  FieldList list;
  if (!origin.program.empty()) {
    add(list, field_key::FIELD_PROGRAM, protocol::label_field{fitting(origin.program)});
  }
  if (!origin.host.empty()) {
    add(list, field_key::FIELD_HOST, protocol::label_field{fitting(origin.host)});
  }
  if (origin.pid != 0) add(list, field_key::FIELD_PID, protocol::pid_field{origin.pid});
  return list;
}

header_field keeping_field() {
  return {static_cast<std::uint32_t>(field_key::FIELD_KEEPING),
          encoded(protocol::keeping_field{true})};
}

header_field moving_field() {
  return {static_cast<std::uint32_t>(field_key::FIELD_MOVING),
          encoded(protocol::moving_field{true})};
}

header_field relay_field(const protocol::redirect_field& to) {
  return {static_cast<std::uint32_t>(field_key::FIELD_REDIRECT), encoded(to)};
}

types::Result check_fields(std::span<const header_field> list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (list[before].key != list[i].key) continue;
      return types::Result::malformed("the header field " + std::to_string(list[i].key) +
                                      " is there twice");
    }
  }
  return {};
}

std::string readable(std::string text) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F
    const bool is_c1 =
        byte == 0xC2U && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0U;
    if (is_c1) ++i;
    text[shown++] = is_c1 || byte < 0x20U || byte == 0x7FU ? '?' : text[i];
  }
  text.resize(shown);
  return text;
}

}  // namespace iw::session
