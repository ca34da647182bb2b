// The passes that a worker's door gave: the right to say one hello, for a caller that has proven
// the job key [HELLO-7].
//
// Invariants: a pass is used up once, by the worker that it was given to. It ends after its
// lifetime. The oldest go when there are too many.
#pragma once

#include <algorithm>
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
  void give(const Pass& pass, const Nonce& process, std::uint32_t worker, Deadline now) {
    const platform::MutexLock held(mutex_);
    end_old(now);
    if (in_order_.size() >= most) end_first();
    in_order_.push_back(pass.of_asked);
    given_[pass.of_asked] = {pass, process, worker, now + pass_lifetime};
  }

  // False: nobody has this pass, or another worker has it. It stays as it is.
  bool find(const Nonce& of_asked, const Nonce& process, std::uint32_t worker, Deadline now,
            Pass* pass) {
    const platform::MutexLock held(mutex_);
    end_old(now);
    const auto found = given_.find(of_asked);
    if (found == given_.end()) return false;
    if (found->second.process != process || found->second.worker != worker) return false;
    *pass = found->second.pass;
    return true;
  }

  // Whether a worker of that process has a pass that it has not used.
  bool has_any(const Nonce& process) {
    const platform::MutexLock held(mutex_);
    return std::ranges::any_of(given_,
                               [&](const auto& each) { return each.second.process == process; });
  }

  void use_up(const Pass& pass) {
    const platform::MutexLock held(mutex_);
    given_.erase(pass.of_asked);
  }

 private:
  struct Given {
    Pass pass;
    Nonce process{};
    std::uint32_t worker = 0;
    Deadline until{};
  };
  void end_first() IW_REQUIRES(mutex_) {
    given_.erase(in_order_.front());
    in_order_.pop_front();
  }
  void end_old(Deadline now) IW_REQUIRES(mutex_) {
    while (!in_order_.empty()) {
      const auto first = given_.find(in_order_.front());
      if (first != given_.end() && first->second.until > now) return;
      end_first();
    }
  }
  platform::Mutex mutex_;
  std::map<Nonce, Given> given_ IW_GUARDED_BY(mutex_);
  // With those that were used up: they go as the oldest.
  std::deque<Nonce> in_order_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::fabric
