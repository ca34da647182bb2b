// The messages that have come to a reader: its queue of updates, a whole object, and the state of
// its tie to the writer. The handler joins the parts of items and answers. It evaluates nothing.
//
// Invariants: the queue has at most queue_length updates, in the order of the writer's calls. No
// update is missing between the copy and the end of the queue. Once one is missing (`is_behind`),
// later updates are dropped until a whole object comes. The queue is kept until then.
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

  // Begins a new link.
  void start(int link);
  // The items to evaluate: the object first, if there is one, then the updates.
  struct Batch {
    std::optional<Item> object;
    std::deque<Item> updates;
  };
  Batch take_batch();
  // A batch could not be evaluated, so the whole object is needed.
  void fall_behind();
  bool is_behind() const;
  Tie tie() const;
  void set_tie(Tie tie);
  int link() const;
  std::size_t queued() const;
  std::uint64_t pings() const;
  int life_ms() const;
  // The writer's silence counts from now.
  void hear();
  // True if the reader has joined, and nothing came for the writer's life_ms [CONT-11].
  bool is_writer_silent(Clock::time_point now) const;
  // Returns the number of the next question, which its answer brings back. Answers to earlier
  // questions do not count any more.
  std::uint32_t expect_answer();
  // False: no answer came.
  bool wait_for_answer(Clock::time_point deadline, Answer* answer);
  // Waits until the reader is not behind. False: no whole object will come, or none came.
  bool wait_for_object(Clock::time_point deadline);
  bool wait_for_role(Clock::time_point deadline);
  // Called by the thread that watches. True: the writer's role moves. False: it does not until
  // then, or the inbox is stopped.
  bool wait_for_move(Clock::time_point until);
  // Called by the thread that evaluates. True: there is an item to evaluate. False: the inbox is
  // stopped.
  bool wait_for_work();
  void stop();
  bool is_stopped() const;
  void wait_until_stopped(Clock::time_point until);

  // For tests of recovery: flips a bit of the last update in the queue. False: the queue is empty,
  // or the update has no bytes.
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
