// What a callback leaves behind: locks that it took and did not release [PROC-6]. Made before the
// call, on its thread.
#pragma once

#include <string>
#include <vector>

#include "client/holds.h"

namespace iw::client {

class LocksBefore {
 public:
  LocksBefore() : before_(all_holds()) {}
  // Gives back what the thread holds now and did not hold then, and reports it if there is memory
  // for the report. `callback` names the callback's segment.
  void restore(const std::string& callback) const noexcept;

 private:
  [[nodiscard]] Hold held_before(const Segment* segment) const;
  // Whether it was more than before. `left` is void then.
  [[nodiscard]] bool give_back(Hold& left, const std::string& callback) const;
  const std::vector<Hold> before_;
};

}  // namespace iw::client
