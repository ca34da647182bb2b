// Descriptors that describe the process that opened them. A forked child opens its own at the next
// use. `Opened` is default-constructible and has `Status open()`. Thread-safe; a caller that shares
// an object keeps it alive.
#pragma once

#include <memory>
#include <utility>

#include "platform/mutex.h"
#include "platform/no_fork.h"
#include "platform/process.h"
#include "track/tracker.h"

namespace iw::track {

template <typename Opened>
class PerProcess {
 public:
  Status get(std::shared_ptr<const Opened>& out) {
    const platform::NoForkLock lock(mutex_);
    if (current_ == nullptr || opened_in_fork_ != platform::fork_count()) {
      auto opened = std::make_shared<Opened>();
      if (Status bad = opened->open(); !bad) return bad;
      current_ = std::move(opened);
      opened_in_fork_ = platform::fork_count();
    }
    out = current_;
    return {};
  }

 private:
  platform::Mutex mutex_;
  std::shared_ptr<const Opened> current_ IW_GUARDED_BY(mutex_);
  unsigned opened_in_fork_ IW_GUARDED_BY(mutex_) = 0;
};

}  // namespace iw::track
