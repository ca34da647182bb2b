// What an operation of the engine says when bytes, a program's tables or an argument are not
// acceptable: a code of spec/protocol/error.x and a text that says what was asked, what was found
// and what to do. Nothing in the engine throws, save std::bad_alloc, which is caught at the joints
// that docs/decisions/2026-11-22-scarce-memory.md names.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "protocol/error.gen.h"

namespace iw::types {

using protocol::error_code;

struct [[nodiscard]] Result {
  error_code code = error_code::OK;
  std::string text;
  // What has become of the work that failed; a literal, said behind the text, which may be empty.
  const char* outcome = "";

  [[nodiscard]] bool ok() const { return code == error_code::OK; }
  explicit operator bool() const { return ok(); }

  static Result malformed(std::string why) { return {error_code::MALFORMED, std::move(why)}; }
  // Made without memory: the text is short enough for every library's string.
  static Result no_memory() { return {error_code::NO_MEMORY, "no memory left"}; }
  // The text is lost if there is no memory for it, the code never is.
  template <typename MakeText>
  static Result of(error_code code, MakeText&& make_text) {
    try {
      return {code, make_text()};
    } catch (const std::bad_alloc&) {
      return {code, "no memory left"};
    }
  }
};

// A joint: what `step` says, or NO_MEMORY if memory ended in it.
template <typename Step>
Result or_no_memory(Step&& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
}

}  // namespace iw::types
