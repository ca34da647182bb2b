// Those who do not prove the job key: how many were refused, and one line of the log at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fabric/fabric.h"
#include "platform/mutex.h"

namespace iw::fabric {

class Strangers {
 public:
  // `where`: "at the door", "by the transport". A line is printed to stderr if none was for
  // silence_after_a_line; it says how many were refused without a line.
  void refuse(const std::string& where, const std::string& why);
  std::uint64_t refused() const { return refused_.load(); }

 private:
  static constexpr std::chrono::seconds silence_after_a_line{10};
  std::atomic<std::uint64_t> refused_{0};
  platform::Mutex mutex_;
  std::uint64_t unsaid_ IW_GUARDED_BY(mutex_) = 0;
  Deadline silent_until_ IW_GUARDED_BY(mutex_){};
};

}  // namespace iw::fabric
