// Reports that no call can return, and traces for IW_LOG=debug.
#pragma once

#include <new>
#include <string>

#include "interweave.h"
#include "types/result.h"

namespace iw::client {

// What IW_LOG asks for; read once.
struct LogChoice {
  bool locks = false;
  bool debug = false;
};
const LogChoice& log_choice();

void set_log(IW_log_fn function, void* arg);
void report(protocol::error_code code, const std::string& text);
// Only with IW_LOG=debug; the caller asks log_choice() first where making the text costs.
void trace(const std::string& text);

// Where nothing may throw: `say` makes a text and reports it, or is not heard for lack of memory.
template <typename Say>
void say_if_possible(Say&& say) noexcept {
  try {
    say();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace iw::client
