// The process's backend, and a mark for each thread that is in a call. The thread that ends the
// backend waits until no call is under way. A call costs two stores to its thread's mark.
#pragma once

#include <memory>

#include "ddss/backend.h"

namespace iw::ddss {

// False: there is a backend already.
bool make_current(std::unique_ptr<Backend> backend);
// Afterwards no call uses the backend. nullptr: there was no backend.
std::unique_ptr<Backend> take_current();
bool has_current();

// A call of the calling thread, which is in one call at a time.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Backend* backend() const { return backend_; }  // nullptr: no backend is open

 private:
  Backend* backend_ = nullptr;
};

}  // namespace iw::ddss
