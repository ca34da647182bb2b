// What has come to a writer: readers that join, what they ask for, how many messages each answered.
// Only links that the writer has opened count; the others are told that they are gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "containers/endpoint.h"

namespace iw::containers {

using Clock = std::chrono::steady_clock;

class WriterInbox : public Receiver {
 public:
  Answer take(const Head& head, std::span<const std::byte> block) override;
  void answered(int link, Answer answer, std::uint32_t sequence) override;
  void came_back(int link) override;

  void open(int link);
  void close(int link);
  std::uint64_t answers(int link) const;
  // Whether readers may join, and whether one may take the writer's role.
  void set_joining(bool is_allowed);
  void set_giving(bool is_allowed);

  struct Joiner {
    int link;
    en_t name;
  };
  // False: stopped.
  bool wait_for_joiner(Joiner* joiner);

  struct News {
    std::vector<int> leaving, wanting, gone;
    std::vector<std::pair<int, std::uint32_t>> full;  // and at which item
    int role_wanted_by = 0;
    bool is_role_taken = false;
  };
  // Waits for something, or until then. With `wants_answers` an answer is something, too.
  News take_news(Clock::time_point until, bool wants_answers);
  void wake();
  void stop();
  bool is_stopped() const;

 private:
  Answer take_join(const Head& head, std::span<const std::byte> block);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable joined_;
  bool may_join_ = true, may_take_role_ = false, is_stopped_ = false;
  bool has_news_ = false, has_answers_ = false, wants_answers_ = false;
  std::map<int, std::uint64_t> answers_;  // of the open links
  std::deque<Joiner> joiners_;
  News news_;
};

}  // namespace iw::containers
