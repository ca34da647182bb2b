// The names in questions, which spec/cluster/ddss.x has as texts of a fixed size.
#pragma once

#include <cstring>
#include <string>

#include "ddss/ddss.gen.h"

namespace iw::ddss {

static_assert(sizeof(NameText) == name_bytes_max + 1);

inline NameText text_of_name(const std::string& name) {
  NameText text{};
  name.copy(reinterpret_cast<char*>(text.data()), name_bytes_max);
  return text;
}
inline std::string name_of(const NameText& text) {
  const auto* begin = reinterpret_cast<const char*>(text.data());
  return {begin, strnlen(begin, name_bytes_max)};
}

}  // namespace iw::ddss
