// Descriptions of conversations. Simulations know states again by them, so states that differ must
// have different descriptions.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "session/conversation_fixture.h"
#include "session/talk_fixture.h"

namespace iw::session {
namespace {

template <typename Machine>
std::string described(const Machine& machine) {
  std::ostringstream out;
  const auto add = [&out](const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, version_stamp>) {
      out << field.incarnation << '/' << field.number << '/' << field.chain << ' ';
    } else if constexpr (std::is_same_v<Field, protocol::session_id>) {
      for (const std::uint8_t byte : field) out << int{byte} << ' ';
    } else if constexpr (std::is_enum_v<Field>) {
      out << static_cast<int>(field) << ' ';
    } else {
      out << +field << ' ';
    }
  };
  machine.describe([&add](const auto&... fields) { (add(fields), ...); });
  return out.str();
}

using Happening = std::function<void(Talk&)>;

TEST(Describe, ConversationsThatDifferInOneThingAreToldApart) {
  const Happening grant = [](Talk& talk) { talk.grant(5, 1); };
  const Happening keep = [grant](Talk& talk) {
    grant(talk);
    talk.answered(message_type::RELEASE_WRITER, {.type = message_type::WRITER_KEPT, .number = 1},
                  1);
  };
  const auto bound = [](double x, bool decides_itself) {
    return [=](Talk& talk) {
      talk.machine().set_bound({coherence::Model::DELTA, x}, decides_itself, {}, talk.effects());
    };
  };
  const auto open_again = [](const protocol::session_id& session) {
    return [=](Talk& talk) {
      talk.lose(1);
      talk.open(2, session);
    };
  };
  const Happening listen = [](Talk& talk) { talk.machine().listen(true); };
  const std::vector<Happening> happenings{
      [](Talk&) {},
      open_again(first_session),
      open_again(other_session),
      [](Talk& talk) { talk.machine().life().joined(); },
      listen,
      [listen](Talk& talk) {  // SUBSCRIBE was sent
        listen(talk);
        talk.said(talk.ticked().front(), Said::sent);
      },
      bound(2, false),
      bound(3, false),
      bound(3, true),
      [](Talk& talk) { talk.machine().strict_unused(talk.effects()); },
      [](Talk& talk) { talk.machine().asks_strict(); },
      [](Talk& talk) { talk.machine().release().number(first_session, 1, 100); },
      [](Talk& talk) { talk.machine().state().keep_credit(8); },
      grant,
      [grant](Talk& talk) {  // RENEW_WRITER was sent
        grant(talk);
        talk.machine().tick({.now_ns = 15'000'000'000}, talk.effects());
        talk.said(talk.messages().front(), Said::sent);
      },
      keep,
      [keep](Talk& talk) {
        keep(talk);
        talk.answered(
            {}, {.type = message_type::RECALL_WRITER, .is_notification = true, .fence = 5}, 1);
      },
  };
  std::set<std::string> seen;
  for (std::size_t i = 0; i < happenings.size(); ++i) {
    Talk talk;
    happenings[i](talk);
    EXPECT_TRUE(seen.insert(described(talk.machine())).second) << "number " << i;
    EXPECT_EQ(described(Conversation(talk.machine())), described(talk.machine()));
  }
}

StagedDiff diff(std::uint64_t from, std::uint64_t to, std::size_t bytes) {
  StagedDiff one;
  one.from = model::stamp(from);
  one.now = model::stamp(to);
  (void)one.bytes.room(bytes);
  one.bytes.filled(bytes);
  one.as_of_ns = 300;
  return one;
}

TEST(Describe, CopiesThatDifferInOneThingAreToldApart) {
  using Change = std::function<void(CopyState&)>;
  const auto subscribe = [](double x) {
    return [=](CopyState& state) {
      state.subscribed({coherence::Model::DELTA, x}, version_stamp{}, 0);
    };
  };
  const auto begin = [](std::uint32_t stream) {
    return [=](CopyState& state) { state.begins({stream, std::nullopt, model::stamp(4)}); };
  };
  const auto stage = [](std::size_t bytes) {
    return [=](CopyState& state) { (void)state.stage(diff(0, 3, bytes)); };
  };
  const std::vector<Change> changes{
      [](CopyState&) {},
      [](CopyState& state) { state.adaptation.asked(true); },
      [](CopyState& state) { state.keep_credit(8); },
      [](CopyState& state) { state.newest_is(model::stamp(3), 300); },
      subscribe(2),
      subscribe(3),
      begin(8),
      begin(9),
      stage(10),
      stage(11),
      [](CopyState& state) {  // the program saw version 3, and the copy was given up
        (void)state.stage(diff(0, 3, 10));
        state.applied(*state.take_staged());
        state.forget();
      },
      [](CopyState& state) {  // the same, but it has seen nothing
        state.newest_is(model::stamp(3), 300);
        state.drop_staged();
      },
  };
  std::set<std::string> seen;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CopyState state;
    changes[i](state);
    EXPECT_TRUE(seen.insert(described(state)).second) << "number " << i;
    EXPECT_EQ(described(CopyState(state)), described(state));
  }
}

TEST(Describe, EffectsThatWaitAreToldApart) {
  std::set<std::string> seen;
  for (const std::uint64_t value : {1, 2}) {
    Effects effects;
    effects.add({.kind = Kind::credit, .on = 1, .segment = 7, .value = value});
    EXPECT_TRUE(seen.insert(described(effects)).second);
    Effect taken;
    ASSERT_TRUE(effects.take(taken));
    EXPECT_EQ(described(effects), "");
  }
}

}  // namespace
}  // namespace iw::session
