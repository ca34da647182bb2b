// One conversation whose messages a test carries out, one at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "session/conversation.h"
#include "session/conversation_fixture.h"

namespace iw::session {

using Kind = Effect::Kind;
using Said = Conversation::Said;

inline constexpr protocol::session_id first_session{1};
inline constexpr protocol::session_id other_session{2};

// One conversation, whose messages are carried out when the test says so.
class Talk {
 public:
  Talk() { open(1, first_session); }

  [[nodiscard]] Conversation& machine() { return machine_; }
  [[nodiscard]] Effects& effects() { return effects_; }

  void open(ConnectionNumber on, const protocol::session_id& session) {
    if (machine_.life().open(on) != Opening::Step::send) ADD_FAILURE() << "it is not to be opened";
    Conversation::OpenAnswer answer;
    answer.on = on;
    answer.opened.segment = 7;
    answer.session = session;
    (void)machine_.opened(answer, 0, effects_);
    if (machine_.life().users() == 0) machine_.life().joined();
    is_woken_ = was_woken();
  }
  void lose(ConnectionNumber gone) { machine_.connection_lost(gone, effects_); }

  // The messages that are to be sent now, in their order; they are not sent yet.
  std::vector<Effect> messages() {
    std::vector<Effect> all;
    Effect effect;
    while (effects_.take(effect)) {
      if (effect.is_message()) all.push_back(effect);
      is_woken_ = is_woken_ || effect.kind == Kind::wake;
    }
    return all;
  }
  // Since the last call: the library's thread was woken. Messages are dropped.
  bool was_woken() {
    (void)messages();
    return std::exchange(is_woken_, false);
  }
  std::vector<Effect> ticked() {
    machine_.tick({}, effects_);
    return messages();
  }
  std::vector<Effect> returned_late() {
    machine_.return_late(effects_);
    return messages();
  }
  void said(const Effect& effect, Said outcome) { machine_.said(effect, outcome, effects_); }
  void answered(message_type asked, const model::Down& down, ConnectionNumber on,
                bool is_late = false) {
    model::Down answer = down;
    answer.asked = asked;
    model::Delivery delivery(answer, on, sizeof(std::uint64_t));
    (void)machine_.heard(delivery.incoming(), is_late, {}, effects_);
  }
  void pushed(std::uint64_t from, std::uint64_t to) {
    model::Delivery delivery(
        {.type = message_type::PUSH, .is_notification = true, .from = from, .number = to}, 1,
        sizeof(std::uint64_t));
    (void)machine_.heard(delivery.incoming(), false, {}, effects_);
  }
  void refused(message_type asked, error_code code, ConnectionNumber on) {
    model::Delivery delivery({.type = message_type::ERROR, .asked = asked}, on, 0);
    delivery.incoming().message.body = encoded(protocol::error_reply{code, "no", {}});
    (void)machine_.heard(delivery.incoming(), false, {}, effects_);
  }
  void grant(std::uint64_t fence, ConnectionNumber on) {
    answered(message_type::ACQUIRE_WRITER, {.type = message_type::WRITER_ACQUIRED, .fence = fence},
             on);
    machine_.begin_writing();
  }
  // Watched: SUBSCRIBE was sent and answered.
  void watch() {
    machine_.listen(true);
    machine_.watch(effects_);
    const std::vector<Effect> asked = messages();
    ASSERT_EQ(asked.size(), 1u);
    said(asked.front(), Said::sent);
    answered(message_type::SUBSCRIBE, {.type = message_type::SUBSCRIBED}, 1);
    ASSERT_TRUE(machine_.state().subscription().has_value());
  }
  // By the last thread that has it open.
  std::vector<Effect> close() {
    EXPECT_EQ(machine_.life().close(), Opening::Close::last);
    EXPECT_EQ(machine_.life().end(), Opening::Close::last);
    machine_.clear();
    machine_.close(effects_);
    return messages();
  }

 private:
  Conversation machine_{model::begins_at, 1};
  Effects effects_;
  bool is_woken_ = false;
};

inline bool is_one(const std::vector<Effect>& all, Kind kind) {
  return all.size() == 1 && all.front().kind == kind;
}

}  // namespace iw::session
