// One reader as its writer sees it: what is still to be sent to it, and whether it answers.
//
// Nothing here waits for a reader: what the window of Active Messages does not take now stays in
// the outbox; when that is as long as a reader's queue may be, it is given up for the whole object.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "containers/endpoint.h"
#include "containers/writer_inbox.h"

namespace iw::containers {

// Marshalled once, sent to every reader.
struct Parcel {
  struct Part {
    std::vector<std::byte> bytes;
    std::uint32_t checksum;
  };
  int kind = 0;
  std::uint32_t signature = 0;
  std::vector<Part> parts;
  void add(std::vector<std::byte> bytes);
  // Of a message without a body.
  static std::shared_ptr<const Parcel> empty(int kind);
};

class ReaderLink {
 public:
  ReaderLink(int number, int index, int life_ms)
      : number_(number), index_(index), life_ms_(life_ms) {}
  int number() const { return number_; }
  int index() const { return index_; }

  // An update: dropped if a whole object will come instead.
  void add_update(std::shared_ptr<const Parcel> parcel, std::size_t outbox_max);
  void add(std::shared_ptr<const Parcel> parcel);
  void add_object(std::shared_ptr<const Parcel> object);
  // How many messages were answered so far, and what the answers said was told.
  void note_answers(std::uint64_t answers) { answers_ = answers; }
  // What there is room for. How many bytes.
  std::uint64_t push(Endpoint& endpoint);
  void ping_if_quiet(Endpoint& endpoint, Clock::time_point now, int ping_ms);

  void want_object();
  bool needs_object_now() const { return wants_object_ && outbox_.empty(); }
  // Its queue is full since that item: nothing more until it wants an object.
  void suspend(std::uint32_t sequence);
  bool is_suspended() const { return is_suspended_; }
  bool lacks_object() const { return wants_object_ || is_suspended_; }
  bool has_outbox() const { return !outbox_.empty(); }
  bool has_answered_all() const { return outbox_.empty() && answers_ >= sent_; }
  // A message was refused though all before it had been answered, so that there was room: nobody
  // is there, and nothing will come back that says so.
  bool is_cut_off() const { return is_cut_off_; }
  // To be asked again and again: for life_ms a message has had no answer, or none could be sent.
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
