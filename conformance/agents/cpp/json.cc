#include "json.h"

namespace agent {

std::string quoted(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.append(1, '\\').append(1, c);
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return text.append(1, '"');
}

}  // namespace agent
