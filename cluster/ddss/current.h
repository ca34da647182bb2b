// The backend that the process's calls use, and the calls that do: whoever ends it waits until none
// is under way any more. A call costs two stores to a mark of its thread's own.
#pragma once

#include <memory>

#include "ddss/backend.h"

namespace iw::ddss {

// False: there is one.
bool make_current(std::unique_ptr<Backend> backend);
// No call uses it any more, and later ones find none. nullptr: there was none.
std::unique_ptr<Backend> take_current();
bool has_current();

// A call, at most one at a time in a thread.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Backend* backend() const { return backend_; }  // nullptr: there is none

 private:
  Backend* backend_ = nullptr;
};

}  // namespace iw::ddss
