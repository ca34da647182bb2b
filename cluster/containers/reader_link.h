// One reader as its writer sees it: the items that are still to be sent to it, and its answers.
//
// Nothing here waits for a reader. Items for which the window of Active Messages has no room stay
// in the outbox. When the outbox is longer than a reader's queue may be, its updates are dropped,
// and the whole object is sent instead [CONT-9].
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "containers/endpoint.h"
#include "containers/writer_inbox.h"

namespace iw::containers {

// An item or a message that is marshalled once and sent to all readers.
struct Parcel {
  struct Part {
    std::vector<std::byte> bytes;
    std::uint32_t checksum;
  };
  int kind = 0;
  std::uint32_t signature = 0;
  std::vector<Part> parts;
  void add(std::vector<std::byte> bytes);
  // A message without a body.
  static std::shared_ptr<const Parcel> empty(int kind);
};

class ReaderLink {
 public:
  ReaderLink(int number, int index, int life_ms)
      : number_(number), index_(index), life_ms_(life_ms) {}
  int number() const { return number_; }
  int index() const { return index_; }

  // Adds an update, unless a whole object will be sent instead.
  void add_update(std::shared_ptr<const Parcel> parcel, std::size_t outbox_max);
  void add(std::shared_ptr<const Parcel> parcel);
  void add_object(std::shared_ptr<const Parcel> object);
  // `answers`: how many messages the reader has answered. REQUIRES: the link has been told of the
  // answers that were not OK.
  void note_answers(std::uint64_t answers) { answers_ = answers; }
  // Sends as much of the outbox as there is room for. Returns the number of bytes.
  std::uint64_t push(Endpoint& endpoint);
  void ping_if_quiet(Endpoint& endpoint, Clock::time_point now, int ping_ms);

  void want_object();
  bool needs_object_now() const { return wants_object_ && outbox_.empty(); }
  // The reader's queue is full since that item, so it is sent no update until it wants the object.
  void suspend(std::uint32_t sequence);
  bool is_suspended() const { return is_suspended_; }
  bool lacks_object() const { return wants_object_ || is_suspended_; }
  bool has_outbox() const { return !outbox_.empty(); }
  bool has_answered_all() const { return outbox_.empty() && answers_ >= sent_; }
  // True if a message could not be sent although all earlier ones had been answered, so that there
  // was room. Then the reader is gone, and no message will come back to say so.
  bool is_cut_off() const { return is_cut_off_; }
  // True if for life_ms a message had no answer, or none could be sent. REQUIRES: it is called more
  // often than that.
  bool is_dead(Clock::time_point now);
  void forgive(Clock::time_point now) { waits_since_ = now; }

 private:
  struct Sending {
    std::shared_ptr<const Parcel> parcel;
    std::uint32_t sequence;
    std::size_t next_part = 0;
  };
  void forget_waiting();
  bool send(Endpoint& endpoint, const Head& head, std::span<const std::byte> block);

  const int number_, index_, life_ms_;
  std::deque<Sending> outbox_;
  std::uint32_t next_sequence_ = 0, object_sequence_ = 0;
  bool is_suspended_ = false, wants_object_ = true, is_refused_ = false, is_cut_off_ = false;
  std::uint64_t sent_ = 0, answers_ = 0, answers_seen_ = 0;
  Clock::time_point last_sent_{}, waits_since_ = Clock::now();
};

}  // namespace iw::containers
