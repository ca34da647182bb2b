// The result of an engine operation that may refuse bytes, a program's tables or an argument. It
// has a code of spec/protocol/error.x and a text: what was asked, what was found and what to do.
// The engine throws only std::bad_alloc, which is caught at the joints that
// docs/decisions/2026-11-22-scarce-memory.md names.
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
  // The state of the failed work, appended to the text: a literal, perhaps empty.
  const char* outcome = "";

  [[nodiscard]] bool ok() const { return code == error_code::OK; }
  explicit operator bool() const { return ok(); }

  static Result malformed(std::string why) { return {error_code::MALFORMED, std::move(why)}; }
  // Needs no memory, because the text fits into every library's short string.
  static Result no_memory() { return {error_code::NO_MEMORY, "no memory left"}; }
  // Without memory for the text, only the text is lost; the code is kept.
  template <typename MakeText>
  static Result of(error_code code, MakeText&& make_text) {
    try {
      return {code, make_text()};
    } catch (const std::bad_alloc&) {
      return {code, "no memory left"};
    }
  }
};

// A joint: the result of `step`, or NO_MEMORY if it threw std::bad_alloc.
template <typename Step>
Result or_no_memory(Step&& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
}

}  // namespace iw::types
