// JSON of the agent protocol (conformance/README.md): ASCII on one line, and a string's characters
// are bytes (U+0000 to U+00FF).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "vectors/json.h"

namespace agent {

using iw::vectors::Json;

// What the runner asked for makes no sense to the agent; answered as BAD_ARGUMENT.
struct BadCommand : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws JsonError, which is answered like BadCommand.
inline Json parse_json(std::string_view text) {
  return iw::vectors::parse_json(text, iw::vectors::JsonStrings::bytes);
}

// Canonical text of a string of bytes: printable ASCII as it is, all else as \u00xx.
std::string quoted(std::string_view bytes);

}  // namespace agent
