// Things that a Conversation wants done, as plain values in a buffer that the caller owns. Making
// one takes no memory. The caller carries them out in their order, without the mutex that guards
// the conversation, and answers each message with Conversation::said().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/segment.gen.h"
#include "session/opening.h"
#include "session/subscription.h"

namespace iw::session {

struct Effect {
  enum class Kind : std::uint8_t {
    wake,        // tick() is due
    look_again,  // threads that wait for a change look again
    // Messages. All but CREDIT have an answer, which goes to heard() only.
    subscribe,
    unsubscribe,
    renew_writer,
    abort_writer,
    release_reader,
    credit,
    close_segment,
  };

  Kind kind = Kind::wake;
  // Of a message:
  ConnectionNumber on = 0;         // on this connection or not at all
  std::uint32_t segment = 0;       // the segment's number there
  std::uint64_t value = 0;         // a fence; of credit: bytes
  Watch watch{};                   // of subscribe
  protocol::version_stamp have{};  // of subscribe

  [[nodiscard]] bool is_message() const { return kind != Kind::wake && kind != Kind::look_again; }
};

// The message as the protocol has it. Throws std::bad_alloc.
[[nodiscard]] protocol::message_type type_of(Effect::Kind kind);
[[nodiscard]] std::vector<std::uint8_t> body_of(const Effect& effect);

class Effects {
 public:
  void add(const Effect& effect);
  void add(Effect::Kind kind) { add(Effect{.kind = kind}); }
  // The first of those that are left. False: none is left.
  bool take(Effect& out);
  [[nodiscard]] bool is_empty() const { return next_ == end_; }

  // Calls `see` with every field that makes a difference, for simulations.
  template <typename See>
  void describe(See&& see) const {
    for (std::size_t i = next_; i < end_; ++i) {
      const Effect& one = all_[i];
      see(one.kind, one.on, one.segment, one.value, one.watch.push, one.have);
    }
  }

 private:
  // No call of a conversation has more; the orders test tries them all.
  static constexpr std::size_t most = 8;
  std::array<Effect, most> all_{};
  std::size_t next_ = 0;
  std::size_t end_ = 0;
};

}  // namespace iw::session
