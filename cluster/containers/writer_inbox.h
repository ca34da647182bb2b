// The messages that have come to a writer: joins, requests of readers, and the number of messages
// that each reader has answered.
//
// Invariants: the number of answers is taken together with what they said. So a thread that has all
// answers knows what all of them said. Only links that the writer has opened count; messages of
// other links are answered GONE [CONT-3].
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "containers/endpoint.h"
#include "platform/mutex.h"

namespace iw::containers {

using Clock = std::chrono::steady_clock;

class WriterInbox : public Receiver {
 public:
  Answer take(const Head& head, std::span<const std::byte> block) override;
  Answer take_join(int link, const en_t& reader) override;
  void answered(int link, Answer answer, std::uint32_t sequence) override;
  void came_back(int link) override;

  void open(int link);
  void close(int link);
  // Allow readers to join, and one to take the writer's role.
  void set_joining(bool is_allowed);
  void set_giving(bool is_allowed);

  // False: the door is closed.
  bool wait_for_taker(int* taker);
  // False: the door is closed, the taker is gone, or it did not say so in time.
  bool wait_for_role_taken(Clock::time_point until);
  void close_door();
  bool is_door_closed() const;
  void wait_until_door_closed(Clock::time_point until);

  struct Joiner {
    int link;
    en_t name;
  };
  struct News {
    std::vector<Joiner> joining;
    std::vector<int> leaving, wanting, gone;
    std::vector<std::pair<int, std::uint32_t>> full;  // the link, and the item's number
    std::map<int, std::uint64_t> answers;             // of each open link, so far
  };
  // Waits for news, or wake(). With `wants_answers` an answer is news, too.
  void wait_for_news(Clock::time_point until, bool wants_answers);
  News take_news();
  void wake();
  void stop();
  bool is_stopped() const;

 private:
  mutable platform::Mutex mutex_;
  platform::Condition changed_;
  platform::Condition knocked_;  // a reader wants the role, or has taken it
  bool may_join_ IW_GUARDED_BY(mutex_) = true;
  bool may_take_role_ IW_GUARDED_BY(mutex_) = false;
  bool is_door_closed_ IW_GUARDED_BY(mutex_) = false;
  bool is_stopped_ IW_GUARDED_BY(mutex_) = false;
  bool has_news_ IW_GUARDED_BY(mutex_) = false;
  bool has_answers_ IW_GUARDED_BY(mutex_) = false;
  bool wants_answers_ IW_GUARDED_BY(mutex_) = false;
  bool is_woken_ IW_GUARDED_BY(mutex_) = false;
  int role_wanted_by_ IW_GUARDED_BY(mutex_) = 0;
  int taker_ IW_GUARDED_BY(mutex_) = 0;
  bool is_role_taken_ IW_GUARDED_BY(mutex_) = false;
  std::map<int, std::uint64_t> answers_ IW_GUARDED_BY(mutex_);  // of the open links
  News news_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::containers
