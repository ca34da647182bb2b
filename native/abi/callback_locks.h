// What a callback leaves behind: locks that it took and did not release [PROC-6]. Made before the
// call, on its thread.
#pragma once

#include <string>
#include <vector>

#include "abi/holds.h"

namespace iw::abi {

class LocksBefore {
 public:
  LocksBefore() : before_(all_holds()) {}
  // Gives back what the thread holds now and did not hold then, and reports it. `callback` names
  // the callback's segment.
  void restore(const std::string& callback) const;

 private:
  [[nodiscard]] Hold held_before(const Segment* segment) const;
  const std::vector<Hold> before_;
};

}  // namespace iw::abi
