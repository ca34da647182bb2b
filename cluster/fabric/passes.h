// The passes that a worker's door gave: the right to say one hello, for a caller that has proven
// the job key [HELLO-7].
//
// Invariants: a pass is taken once, by the worker that it was given to. The oldest go when there
// are too many.
#pragma once

#include <deque>
#include <map>

#include "fabric/hello_messages.h"
#include "fabric/process_name.h"
#include "platform/mutex.h"

namespace iw::fabric {

// The numbers that the two processes drew.
struct Pass {
  Nonce of_asking{};
  Nonce of_asked{};
};

class Passes {
 public:
  static constexpr std::size_t most = 1 << 16;

  // To a worker of another process, by the service thread.
  void give(const Pass& pass, const Nonce& process, std::uint32_t worker) {
    const platform::MutexLock held(mutex_);
    if (in_order_.size() >= most) {
      given_.erase(in_order_.front());
      in_order_.pop_front();
    }
    in_order_.push_back(pass.of_asked);
    given_[pass.of_asked] = {pass, process, worker};
  }

  // False: nobody has this pass, or another worker has it.
  bool take(const Nonce& of_asked, const Nonce& process, std::uint32_t worker, Pass* pass) {
    const platform::MutexLock held(mutex_);
    const auto found = given_.find(of_asked);
    if (found == given_.end()) return false;
    if (found->second.process != process || found->second.worker != worker) return false;
    *pass = found->second.pass;
    given_.erase(found);
    return true;
  }

 private:
  struct Given {
    Pass pass;
    Nonce process{};
    std::uint32_t worker = 0;
  };
  platform::Mutex mutex_;
  std::map<Nonce, Given> given_ IW_GUARDED_BY(mutex_);
  // With those that were taken: they go as the oldest.
  std::deque<Nonce> in_order_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::fabric
