// The calling thread's last failure, as IW_errno and IW_strerror give it.
#pragma once

#include <cstddef>
#include <string_view>

#include "types/result.h"

namespace iw::abi {

using protocol::error_code;
using types::Result;

// Both record the failure; the first returns its negative code, the second null. `where` comes
// before the text, for instance the segment's URL. They take no memory.
int fail(const Result& why, std::string_view where = {}) noexcept;
std::nullptr_t fail_null(const Result& why, std::string_view where = {}) noexcept;

// 0, or fail(result).
inline int finish(const Result& result, std::string_view where = {}) noexcept {
  return result.ok() ? 0 : fail(result, where);
}

int last_code() noexcept;
const char* last_text() noexcept;

}  // namespace iw::abi
