#include "fabric/strangers.h"

#include <cstdio>
#include <utility>

namespace iw::fabric {

void Strangers::refuse(const std::string& where, const std::string& why) {
  refused_++;
  std::uint64_t unsaid = 0;
  {
    const platform::MutexLock held(mutex_);
    const auto now = Clock::now();
    if (now < silent_until_) {
      unsaid_++;
      return;
    }
    silent_until_ = now + silence_after_a_line;
    unsaid = std::exchange(unsaid_, 0);
  }
  std::string line = "interweave: refused a stranger " + where + ": " + why;
  if (unsaid > 0) line += "; " + std::to_string(unsaid) + " more since the last such line";
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace iw::fabric
