// Numbers that nobody can guess, from the system, which is asked for many at a time.
#pragma once

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace iw::fabric {

class Secrets {
 public:
  std::uint64_t next() {
    if (used_ == drawn_.size()) {
      if (getrandom(drawn_.data(), sizeof drawn_, 0) != sizeof drawn_) std::abort();
      used_ = 0;
    }
    return drawn_[used_++];
  }

 private:
  std::array<std::uint64_t, 32> drawn_{};  // 256 bytes, which are never cut short
  std::size_t used_ = drawn_.size();
};

}  // namespace iw::fabric
