// Opens a segment so that signals are heard meanwhile: in Python's main thread another thread waits
// for the server, which may take as long as the timeout says, and this one looks for signals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "failure.h"

namespace iwpy {

// The options token, ca, cert and key; none: the environment's.
using Text = std::optional<std::string>;

struct OpeningWish {
  std::string url;
  bool create = true;
  bool read_only = false;
  int durability = 0;
  double timeout = 30;
  std::uint64_t quota = 0;
  Text token;
  Text ca;
  Text cert;
  Text key;
};

// Called with the interpreter's lock. Thrown: Failure; what a signal's handler raises. What comes
// of the opening afterwards is closed again.
IW_handle_t open_segment(OpeningWish wish);

// The calling thread is the one in which Python's signals are handled.
void this_is_main_thread();
bool is_main_thread();

}  // namespace iwpy
