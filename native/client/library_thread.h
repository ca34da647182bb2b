// Threads of the library's own, which end with the process.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "types/result.h"

namespace iw::client {

// NO_MEMORY: the system makes no further thread. `purpose` completes "a thread that ...".
template <typename Body>
types::Result begin_thread(const char* purpose, Body&& body) {
  try {
    std::thread(std::forward<Body>(body)).detach();
    return {};
  } catch (const std::system_error&) {
    return {protocol::error_code::NO_MEMORY,
            std::string("no thread can be made that ") + purpose +
                "; this process or its user has as many as are allowed (ulimit -u, pids.max)"};
  }
}

}  // namespace iw::client
