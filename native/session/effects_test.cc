// Effects as messages of the protocol, and the order in which they are carried out.
#include "session/effects.h"

#include <gtest/gtest.h>

#include "protocol/lock.gen.h"
#include "protocol/notify.gen.h"
#include "session/frame_writer.h"

namespace iw::session {
namespace {

using Kind = Effect::Kind;
using protocol::message_type;

template <typename Body>
Body sent(const Effect& effect, message_type type) {
  EXPECT_EQ(type_of(effect.kind), type);
  Body body;
  EXPECT_TRUE(decoded(body_of(effect), body));
  return body;
}

Effect effect(Kind kind) { return {.kind = kind, .on = 3, .segment = 7, .value = 99}; }

TEST(Effects, EachMessageNamesItsSegmentAndItsFence) {
  EXPECT_EQ(sent<protocol::unsubscribe>(effect(Kind::unsubscribe), message_type::UNSUBSCRIBE),
            protocol::unsubscribe{7});
  EXPECT_EQ(sent<protocol::renew_writer>(effect(Kind::renew_writer), message_type::RENEW_WRITER),
            (protocol::renew_writer{7, 99}));
  EXPECT_EQ(sent<protocol::abort_writer>(effect(Kind::abort_writer), message_type::ABORT_WRITER),
            (protocol::abort_writer{7, 99}));
  EXPECT_EQ(
      sent<protocol::release_reader>(effect(Kind::release_reader), message_type::RELEASE_READER),
      protocol::release_reader{7});
  EXPECT_EQ(sent<protocol::credit>(effect(Kind::credit), message_type::CREDIT),
            (protocol::credit{7, 99}));
  EXPECT_EQ(sent<protocol::close_segment>(effect(Kind::close_segment), message_type::CLOSE_SEGMENT),
            protocol::close_segment{7});
}

TEST(Effects, Not4ASubscriptionToDiffsSaysHowManyBytesMayComeAhead) {
  for (const bool push : {false, true}) {
    Effect asked = effect(Kind::subscribe);
    asked.watch = {{coherence::Model::DELTA, 2.5}, push};
    asked.have = {1, 4, 5};
    const auto body = sent<protocol::subscribe>(asked, message_type::SUBSCRIBE);
    EXPECT_EQ(body.segment, 7u);
    EXPECT_EQ(body.have, asked.have);
    EXPECT_EQ(body.model, coherence::Model::DELTA);
    EXPECT_EQ(body.x, 2.5);
    EXPECT_EQ(body.push, push);
    EXPECT_EQ(body.push_bytes, push ? 8'388'608u : 0u);
  }
}

TEST(Effects, AreTakenInTheirOrderAndAWakeIsNotRepeated) {
  Effects effects;
  EXPECT_TRUE(effects.is_empty());
  Effect taken;
  EXPECT_FALSE(effects.take(taken));
  // More in all than the buffer takes at once.
  for (int turn = 0; turn < 4; ++turn) {
    effects.add(Kind::wake);
    effects.add(effect(Kind::credit));
    effects.add(Kind::look_again);
    effects.add(Kind::wake);
    effects.add(effect(Kind::credit));
    EXPECT_FALSE(effects.is_empty());
    for (const Kind kind : {Kind::wake, Kind::credit, Kind::look_again, Kind::credit}) {
      ASSERT_TRUE(effects.take(taken));
      EXPECT_EQ(taken.kind, kind);
      EXPECT_EQ(taken.is_message(), kind == Kind::credit);
    }
    EXPECT_FALSE(effects.take(taken));
  }
  effects.add(Kind::wake);
  ASSERT_TRUE(effects.take(taken));
  effects.add(Kind::wake);
  EXPECT_TRUE(effects.take(taken)) << "the first one was carried out before";
}

TEST(Effects, AWakeIsAddedAgainWhileWhatFollowedTheFirstWaits) {
  Effects effects;
  effects.add(Kind::wake);
  effects.add(effect(Kind::credit));
  Effect taken;
  ASSERT_TRUE(effects.take(taken));
  effects.add(Kind::wake);
  for (const Kind kind : {Kind::credit, Kind::wake}) {
    ASSERT_TRUE(effects.take(taken));
    EXPECT_EQ(taken.kind, kind);
  }
  EXPECT_TRUE(effects.is_empty());
}

TEST(EffectsDeathTest, AConversationWithMoreEffectsThanTheBufferTakesIsAMistake) {
  Effects effects;
  for (int i = 0; i < 8; ++i) effects.add(effect(Kind::credit));
  EXPECT_DEATH(effects.add(effect(Kind::credit)), "more effects than its buffer takes");
}

}  // namespace
}  // namespace iw::session
