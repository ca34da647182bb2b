// The result of an operation that the machine may refuse. `code` is an errno value, 0 for success;
// `what` names the step that failed and lives for ever (a literal, or text kept by its owner).
// Nothing in platform, track and runs throws.
#pragma once

#include <string>

namespace iw::platform {

struct [[nodiscard]] Status {
  int code = 0;
  const char* what = "";

  [[nodiscard]] bool ok() const { return code == 0; }
  explicit operator bool() const { return ok(); }
};

// Status of the system call that has just failed, from errno (on Windows, from GetLastError).
Status last_failure(const char* what);

// The system's words for a code of a Status, for messages.
const char* error_text(int code);

// Whether the code means a shortage (of descriptors or memory) in this process or on the machine,
// which may pass.
bool is_shortage(int code);
// Names the missing resource and its limit; "" if the code does not mean a shortage. May throw
// std::bad_alloc.
std::string shortage_text(int code);

}  // namespace iw::platform
