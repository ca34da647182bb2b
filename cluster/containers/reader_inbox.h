// What has come to a reader: its queue, a whole object, how its tie to the writer stands.
//
// The handler puts parts together and answers; it evaluates nothing. Invariants: the queue has at
// most queue_length items, in the order of the writer's calls with none missing between the copy
// and the last of them. Once one is missing (`is_behind`), updates are dropped until a whole object
// came; the queue is kept till then, as it is right as far as it goes.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "containers/endpoint.h"
#include "interweave/containers/active.hpp"
#include "platform/mutex.h"

namespace iw::containers {

using Clock = std::chrono::steady_clock;

// An update or a whole object.
struct Item {
  Head head;  // of its first part
  DeMarshalStream::Buffers buffers;
  std::vector<std::uint32_t> checksums;
  bool is_undamaged() const;
};

class ReaderInbox : public Receiver {
 public:
  explicit ReaderInbox(const Options& options) : options_(options) {}

  Answer take(const Head& head, std::span<const std::byte> block) override;
  void answered(int link, Answer answer, std::uint32_t sequence) override;
  void came_back(int link) override;

  // A new link begins.
  void start(int link);
  // What is to be evaluated: the object first, if there is one.
  struct Batch {
    std::optional<Item> object;
    std::deque<Item> updates;
  };
  Batch take_batch();
  // Something was wrong with a batch: the whole object is needed.
  void fall_behind();
  bool is_behind() const;
  Tie tie() const;
  void set_tie(Tie tie);
  int link() const;
  std::size_t queued() const;
  std::uint64_t pings() const;
  int life_ms() const;
  // Silence counts from now.
  void hear();
  // Joined, and nothing came for the writer's life_ms.
  bool is_writer_silent(Clock::time_point now) const;
  // A question's number, which its answer has. False: none by then.
  std::uint32_t expect_answer();
  bool wait_for_answer(Clock::time_point deadline, Answer* answer);
  // Until an object is there, or none will come.
  bool wait_for_object(Clock::time_point deadline);
  bool wait_for_role(Clock::time_point deadline);
  // For the thread that watches: whether the writer's role moves. False: stopped, or not by then.
  bool wait_for_move(Clock::time_point until);
  // For the thread that evaluates: until there is something to evaluate. False: stopped.
  bool wait_for_work();
  void stop();
  bool is_stopped() const;
  void wait_until_stopped(Clock::time_point until);

  // For tests of recovery: a bit of the last item in the queue flips. False: there is none.
  bool flip_a_bit();

 private:
  Answer take_part(const Head& head, std::span<const std::byte> block) IW_REQUIRES(mutex_);
  Answer take_whole(Item item) IW_REQUIRES(mutex_);
  void lose_incoming() IW_REQUIRES(mutex_);
  bool may_object_come() const IW_REQUIRES(mutex_);
  bool has_work() const IW_REQUIRES(mutex_);

  const Options options_;
  mutable platform::Mutex mutex_;
  platform::Condition changed_;
  int link_ IW_GUARDED_BY(mutex_) = 0;
  Tie tie_ IW_GUARDED_BY(mutex_) = Tie::joining;
  int life_ms_ IW_GUARDED_BY(mutex_) = 0;
  Clock::time_point heard_ IW_GUARDED_BY(mutex_){};
  std::deque<Item> queue_ IW_GUARDED_BY(mutex_);
  std::optional<Item> object_ IW_GUARDED_BY(mutex_);
  std::optional<Item> incoming_ IW_GUARDED_BY(mutex_);
  std::size_t incoming_bytes_ IW_GUARDED_BY(mutex_) = 0;
  std::uint32_t expected_ IW_GUARDED_BY(mutex_) = 0;  // the next item's number
  bool is_behind_ IW_GUARDED_BY(mutex_) = true;
  bool has_role_ IW_GUARDED_BY(mutex_) = false;
  bool is_stopped_ IW_GUARDED_BY(mutex_) = false;
  std::uint64_t pings_ IW_GUARDED_BY(mutex_) = 0;
  std::uint32_t asked_ IW_GUARDED_BY(mutex_) = 0;  // the last question's number
  std::optional<Answer> answer_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::containers
