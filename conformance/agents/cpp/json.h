// JSON as far as the agent protocol needs it (conformance/README.md): ASCII on one line, a string's
// characters are bytes (U+0000 to U+00FF), numbers are kept as they are written.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent {

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::string text;  // of a number, a string or a boolean
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
  // Null if this is not an object, or does not have the member.
  [[nodiscard]] const Json* member(std::string_view name) const;
};

// What the runner asked for makes no sense to the agent; answered as BAD_ARGUMENT.
struct BadCommand : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Json parse_json(std::string_view text);

// Canonical text of a string of bytes: printable ASCII as it is, all else as \u00xx.
std::string quoted(std::string_view bytes);

}  // namespace agent
