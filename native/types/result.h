// What an operation of the engine says when bytes, a program's tables or an argument are not
// acceptable: a code of spec/protocol/error.x and a text that says what was asked, what was found
// and what to do. Nothing in the engine throws.
#pragma once

#include <string>
#include <utility>

#include "protocol/error.gen.h"

namespace iw::types {

using protocol::error_code;

struct [[nodiscard]] Result {
  error_code code = error_code::OK;
  std::string text;

  [[nodiscard]] bool ok() const { return code == error_code::OK; }
  explicit operator bool() const { return ok(); }

  static Result malformed(std::string why) { return {error_code::MALFORMED, std::move(why)}; }
};

}  // namespace iw::types
