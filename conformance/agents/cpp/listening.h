// The library's calls about one segment: commands `listen` and `told`.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "interweave.h"

namespace agent {

class Listening {
 public:
  // The code of the call that failed, or 0. The object is not moved or destroyed any more.
  int begin(IW_handle_t segment);
  // Until a version that is at least this one was announced; empty after so many seconds, or when
  // the segment is lost.
  std::optional<std::uint64_t> version(std::uint64_t wanted, double seconds);
  // Until the connection was said to be so last; false as above.
  bool connection(IW_connection_t wanted, double seconds);
  bool is_lost();

 private:
  static void changed(IW_handle_t, std::uint64_t version, void* listening);
  static void connection_changed(IW_handle_t, IW_connection_t state, void* listening);

  std::mutex mutex_;
  std::condition_variable heard_;
  std::uint64_t newest_ = 0;
  int state_ = 0;  // IW_connection_t; 0: nothing was said of it
};

}  // namespace agent
