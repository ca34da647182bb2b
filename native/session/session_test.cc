// The client's protocol engine without a socket: requests and answers, copies, grants.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "session/connection.h"
#include "session/copy_state.h"
#include "session/frames_fixture.h"
#include "session/subscription.h"
#include "session/writer_grant.h"

namespace iw::session {
namespace {

using protocol::error_code;

// ---- requests and answers ----

constexpr std::int64_t one_second_ns = 1'000'000'000;

class Connected : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::uint32_t stream = connection_.begin_request(1, message_type::HELLO, 0);
    protocol::welcome welcome;
    welcome.version = protocol::PROTOCOL_VERSION_MAX;
    welcome.session[3] = 9;
    welcome.heartbeat_ms = 1000;
    welcome.session_lease_ms = 9000;
    welcome.max_diff_bytes = 1 << 20;
    ASSERT_TRUE(receive(message(message_type::WELCOME, stream, encoded(welcome)), 0).ok());
    ASSERT_TRUE(connection_.welcomed(incoming_.front(), identity_).ok());
    incoming_.clear();
  }

  Result receive(const Bytes& bytes, std::int64_t now_ns) {
    EXPECT_EQ(connection_.space().put(bytes), bytes.size());
    return connection_.received(bytes.size(), now_ns, incoming_);
  }

  Connection connection_{0};
  SessionIdentity identity_;
  std::vector<Incoming> incoming_;
};

TEST_F(Connected, TheSessionIsKeptForTheNextHello) {
  EXPECT_EQ(identity_.id[3], 9);
  EXPECT_EQ(connection_.hello(identity_).session, identity_.id);
}

TEST_F(Connected, Ses1AHelloSaysWhoAsksAndWhatForAndWhereTo) {
  identity_.token = "secret";
  identity_.client = "viewer of a";
  identity_.origin.pid = 12;
  const protocol::redirect_field to{"b.example:7747", "b", false};
  const protocol::hello hello = connection_.hello(identity_, &to);
  EXPECT_EQ(std::string(hello.magic.begin(), hello.magic.end()), "IWV1");
  EXPECT_EQ(hello.version_min, protocol::PROTOCOL_VERSION_MIN);
  EXPECT_EQ(hello.version_max, protocol::PROTOCOL_VERSION_MAX);
  EXPECT_EQ(hello.token, "secret");
  EXPECT_EQ(hello.client, "viewer of a");
  std::vector<std::uint32_t> keys;
  for (const protocol::header_field& field : hello.fields) keys.push_back(field.key);
  const auto key = [](protocol::field_key one) { return static_cast<std::uint32_t>(one); };
  EXPECT_EQ(keys,
            (std::vector{
                key(protocol::field_key::FIELD_PID), key(protocol::field_key::FIELD_KEEPING),
                key(protocol::field_key::FIELD_MOVING), key(protocol::field_key::FIELD_REDIRECT)}));
  protocol::moving_field moving;
  protocol::redirect_field found;
  bool is_there = false;
  ASSERT_TRUE(find_field(hello.fields, protocol::field_key::FIELD_MOVING, moving, is_there).ok());
  EXPECT_TRUE(moving.follows_moves);
  ASSERT_TRUE(find_field(hello.fields, protocol::field_key::FIELD_REDIRECT, found, is_there).ok());
  EXPECT_EQ(found, to);
  EXPECT_EQ(connection_.hello(identity_).fields.size(), 3u);
}

TEST_F(Connected, Ses1AWelcomeThatCannotBeIsRefused) {
  const auto welcomed = [this](std::uint32_t version, std::uint32_t heartbeat_ms,
                               std::uint32_t lease_ms) {
    protocol::welcome welcome;
    welcome.version = version;
    welcome.heartbeat_ms = heartbeat_ms;
    welcome.session_lease_ms = lease_ms;
    Incoming answer;
    answer.message.head.type = static_cast<std::int32_t>(message_type::WELCOME);
    answer.message.body = encoded(welcome);
    return Connection(0).welcomed(answer, identity_);
  };
  constexpr std::uint32_t least = protocol::PROTOCOL_VERSION_MIN;
  constexpr std::uint32_t most = protocol::PROTOCOL_VERSION_MAX;
  EXPECT_TRUE(welcomed(least, 1, 1).ok());
  EXPECT_TRUE(welcomed(most, 1, 1).ok());
  for (const std::uint32_t version : {least - 1, most + 1}) {
    const Result refused = welcomed(version, 1, 1);
    EXPECT_EQ(refused.code, error_code::VERSION_MISMATCH);
    EXPECT_NE(refused.text.find("version " + std::to_string(version)), std::string::npos);
  }
  EXPECT_EQ(welcomed(most, 0, 1).code, error_code::MALFORMED);
  EXPECT_EQ(welcomed(most, 1, 0).code, error_code::MALFORMED);
  Incoming other;
  other.asked = message_type::HELLO;
  other.message.head.type = static_cast<std::int32_t>(message_type::PONG);
  const Result refused = Connection(0).welcomed(other, identity_);
  EXPECT_EQ(refused.code, error_code::MALFORMED);
  EXPECT_EQ(refused.text, "the server answered HELLO with PONG");
  other.message.head.type = static_cast<std::int32_t>(message_type::ERROR);
  other.message.body = encoded(protocol::error_reply{error_code::DENIED, "no", {}});
  EXPECT_EQ(Connection(0).welcomed(other, identity_).code, error_code::DENIED);
}

TEST_F(Connected, Frame2TheWelcomeSaysHowLargeADiffMayBe) {
  constexpr auto push = static_cast<std::int32_t>(message_type::PUSH);
  EXPECT_TRUE(receive(frame(16, 0, {push, 0x80000001U, 1 << 20}), 0).ok());
  const Result refused = receive(frame(16, 0, {push, 0x80000002U, (1 << 20) + 1}), 0);
  EXPECT_EQ(refused.code, error_code::MALFORMED);
  EXPECT_EQ(refused.text, "the server's bytes are not the protocol: a message is too large");
}

// A server that stops sends GOODBYE on a new connection. GOODBYE neither answers HELLO nor breaks
// the protocol: the next server may answer.
TEST_F(Connected, AGoodbyeInsteadOfAWelcomeIsAServerThatStops) {
  Connection fresh(0);
  (void)fresh.begin_request(1, message_type::HELLO, 0);
  const Bytes goodbye = message(message_type::GOODBYE, 0x80000001U, {});
  ASSERT_EQ(fresh.space().put(goodbye), goodbye.size());
  ASSERT_TRUE(fresh.received(goodbye.size(), 0, incoming_).ok());
  EXPECT_EQ(fresh.welcomed(incoming_.at(0), identity_).code, error_code::STOPPING);
}

TEST_F(Connected, Frame5AnswersComeInAnyOrderAndKnowWhenTheyWereAsked) {
  const std::uint32_t first = connection_.begin_request(11, message_type::PING, 5);
  const std::uint32_t second = connection_.begin_request(12, message_type::ACQUIRE_READER, 6);
  EXPECT_NE(first, second);
  ASSERT_TRUE(receive(message(message_type::READER_ACQUIRED, second, {}), 7).ok());
  ASSERT_TRUE(receive(message(message_type::PONG, first, {}), 8).ok());
  ASSERT_EQ(incoming_.size(), 2u);
  EXPECT_EQ(incoming_[0].tag, 12u);
  EXPECT_EQ(incoming_[0].sent_ns, 6);
  EXPECT_EQ(incoming_[1].tag, 11u);
  EXPECT_EQ(incoming_[1].asked, message_type::PING);
  EXPECT_EQ(connection_.heard_ns(), 8);
}

// Between its first frame and the next other messages may have begun that wait at the server.
TEST_F(Connected, Fresh3AMessageIsHeardWhenItsFirstFrameHasCome) {
  const std::uint32_t stream = connection_.begin_request(11, message_type::ACQUIRE_READER, 5);
  const Bytes bytes =
      message(message_type::READER_ACQUIRED, stream, {}, pattern(protocol::MAX_CHUNK_BYTES + 1));
  const auto end_of_first = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() - 24 - 1);
  const auto middle_of_first = bytes.begin() + 1000;
  ASSERT_TRUE(receive({bytes.begin(), middle_of_first}, 7).ok());
  EXPECT_EQ(connection_.heard_ns(), 0);
  for (auto at = middle_of_first; at != end_of_first;) {
    EXPECT_TRUE(incoming_.empty());
    const auto to = at + std::min<std::ptrdiff_t>(end_of_first - at, 60'000);
    ASSERT_TRUE(receive({at, to}, 8).ok());
    at = to;
  }
  EXPECT_EQ(connection_.heard_ns(), 8);
  ASSERT_EQ(incoming_.size(), 1u);
  EXPECT_EQ(incoming_[0].tag, 11u);
  EXPECT_EQ(incoming_[0].message.part, Part::first);
  constexpr std::int64_t late_ns = 5'000'000'001;
  EXPECT_TRUE(connection_.is_silent(late_ns + 8));
  ASSERT_TRUE(receive({end_of_first, bytes.end()}, 9'000'000'000).ok());
  EXPECT_EQ(connection_.heard_ns(), 8);
  EXPECT_FALSE(connection_.is_silent(late_ns + 8)) << "bytes have come";
  ASSERT_EQ(incoming_.size(), 2u);
  EXPECT_EQ(incoming_[1].tag, 11u);
  EXPECT_EQ(incoming_[1].sent_ns, 5);
}

TEST_F(Connected, AnAnswerToNothingEndsTheConnection) {
  EXPECT_EQ(receive(message(message_type::PONG, 77, {}), 1).code, error_code::MALFORMED);
}

// Stream 0: no request has it.
TEST_F(Connected, Ses4AnErrorThatAnswersNothingSaysWhyTheConnectionEnds) {
  const auto told = [this](message_type type, const std::vector<std::uint8_t>& body) {
    Connection fresh(0);
    const Bytes bytes = message(type, 0, body);
    EXPECT_EQ(fresh.space().put(bytes), bytes.size());
    return fresh.received(bytes.size(), 0, incoming_);
  };
  const Result said =
      told(message_type::ERROR, encoded(protocol::error_reply{error_code::DENIED, "too many", {}}));
  EXPECT_EQ(said.code, error_code::DENIED);
  EXPECT_EQ(said.text, "too many");
  const Result done = told(message_type::DONE, {});
  EXPECT_EQ(done.code, error_code::MALFORMED);
  EXPECT_EQ(done.text, "the server answered what was not asked");
  EXPECT_TRUE(incoming_.empty());
}

TEST_F(Connected, ARequestHasItsStreamUntilAllOfItsAnswerHasCome) {
  const std::uint32_t stream = connection_.begin_request(11, message_type::ACQUIRE_READER, 0);
  const std::uint32_t other = connection_.begin_request(12, message_type::PING, 0);
  EXPECT_EQ(connection_.stream_of(11), stream);
  EXPECT_EQ(connection_.stream_of(12), other);
  EXPECT_EQ(connection_.stream_of(13), 0u);
  const Bytes bytes =
      message(message_type::READER_ACQUIRED, stream, {}, pattern(protocol::MAX_CHUNK_BYTES + 1));
  const auto last = bytes.end() - 1;
  for (auto at = bytes.begin(); at != last;) {
    const auto to = at + std::min<std::ptrdiff_t>(last - at, 60'000);
    ASSERT_TRUE(receive({at, to}, 1).ok());
    at = to;
  }
  EXPECT_EQ(connection_.stream_of(11), stream);
  ASSERT_TRUE(receive({last, bytes.end()}, 1).ok());
  EXPECT_EQ(connection_.stream_of(11), 0u);
  EXPECT_EQ(receive(message(message_type::PONG, stream, {}), 1).code, error_code::MALFORMED)
      << "answered twice";
}

TEST_F(Connected, NotificationsHaveNoRequest) {
  ASSERT_TRUE(receive(message(message_type::HEARTBEAT, 0x80000001U, {}), 1).ok());
  EXPECT_EQ(incoming_.at(0).tag, 0u);
}

TEST_F(Connected, Frame6UnimplementedAndErrorsBecomeResults) {
  const std::uint32_t stream = connection_.begin_request(2, message_type::SUBSCRIBE, 0);
  ASSERT_TRUE(
      receive(message(message_type::UNIMPLEMENTED, stream, encoded(protocol::unimplemented{80})), 1)
          .ok());
  const std::uint32_t other = connection_.begin_request(3, message_type::OPEN_SEGMENT, 0);
  ASSERT_TRUE(receive(message(message_type::ERROR, other,
                              encoded(protocol::error_reply{error_code::NO_SEGMENT, "none"})),
                      1)
                  .ok());
  const Result unknown = check_answer(incoming_[0], message_type::SUBSCRIBED);
  EXPECT_EQ(unknown.code, error_code::UNIMPLEMENTED);
  EXPECT_EQ(unknown.text, "the server does not implement SUBSCRIBE");
  const Result error = check_answer(incoming_[1], message_type::SEGMENT_OPENED);
  EXPECT_EQ(error.code, error_code::NO_SEGMENT);
  EXPECT_EQ(error.text, "none");
}

TEST_F(Connected, ARequestBeyondTheMostThatMayBeOpenHasNoStreamUntilOneIsForgotten) {
  std::uint32_t last = 0;
  std::set<std::uint32_t> streams;
  for (RequestTag tag = 0; tag < 65536; ++tag) {
    last = connection_.begin_request(tag, message_type::PING, 0);
    ASSERT_NE(last, 0u) << tag;
    ASSERT_LT(last, 0x80000000U) << "those are of notifications";
    ASSERT_TRUE(streams.insert(last).second);
  }
  EXPECT_EQ(connection_.begin_request(65536, message_type::PING, 0), 0u);
  connection_.forget_request(last);
  EXPECT_NE(connection_.begin_request(65536, message_type::PING, 0), 0u);
}

TEST_F(Connected, Err1AnErrorThatHasNoMeaningHereIsOneOfTheServer) {
  Incoming answer;
  answer.message.head.type = static_cast<std::int32_t>(message_type::ERROR);
  for (const auto& body : {std::vector<std::uint8_t>{1, 2, 3},
                           encoded(protocol::error_reply{error_code::OK, "fine", {}})}) {
    answer.message.body = body;
    const Result said = check_answer(answer, message_type::DONE);
    EXPECT_EQ(said.code, error_code::INTERNAL);
    EXPECT_EQ(said.text, "the server answered with an error of its own");
  }
  protocol::error_reply twice{error_code::DENIED, "no", {{4711, {}}, {4711, {}}}};
  answer.message.body = encoded(twice);
  EXPECT_EQ(check_answer(answer, message_type::DONE).code, error_code::MALFORMED);
  twice.fields = {{static_cast<std::uint32_t>(protocol::field_key::FIELD_REDIRECT), {1}}};
  answer.message.body = encoded(twice);
  EXPECT_EQ(check_answer(answer, message_type::DONE).code, error_code::MALFORMED);
  answer.message.head.type = static_cast<std::int32_t>(message_type::WELCOME);
  answer.message.body = {1, 2, 3};
  protocol::welcome welcome;
  EXPECT_EQ(decode_answer(answer, message_type::WELCOME, welcome).text,
            "the server's answer cannot be decoded");
}

TEST_F(Connected, Ses3ARequestIsAWordToTheServer) {
  (void)connection_.begin_request(11, message_type::PING, 20 * one_second_ns);
  EXPECT_EQ(connection_.ping_due_ns(), 23 * one_second_ns);
}

TEST_F(Connected, Ses3ThePingIsDueAThirdOfTheLeaseAfterTheLastWord) {
  connection_.said(10 * one_second_ns);
  EXPECT_EQ(connection_.ping_due_ns(), 13 * one_second_ns);
  EXPECT_FALSE(connection_.is_silent(5 * one_second_ns));
  EXPECT_TRUE(connection_.is_silent(6 * one_second_ns));
}

// ---- copies ----

version_stamp v(std::uint64_t number, std::uint64_t incarnation = 1) {
  return {incarnation, number, number == 0 ? 0 : number + 7000};
}

StagedDiff diff(std::uint64_t from, std::uint64_t to, bool pushed = false, std::size_t bytes = 10) {
  StagedDiff diff;
  diff.from = v(from);
  diff.now = v(to);
  (void)diff.bytes.room(bytes);
  diff.bytes.filled(bytes);
  diff.was_pushed = pushed;
  diff.as_of_ns = static_cast<std::int64_t>(to) * 100;
  return diff;
}

void apply_all(CopyState& state) {
  while (auto next = state.take_staged()) state.applied(*next);
}

CopyState copy_at(std::uint64_t version) {
  CopyState state;
  EXPECT_TRUE(state.stage(diff(0, version)));
  apply_all(state);
  return state;
}

TEST(CopyState, DiffsWaitInOrderAndAreReachedBeforeTheyAreApplied) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  EXPECT_TRUE(state.stage(diff(4, 6, true)));
  EXPECT_EQ(state.have(), v(3));
  EXPECT_EQ(state.reach(), v(6));
  EXPECT_EQ(state.newest(), v(6));
  apply_all(state);
  EXPECT_EQ(state.have(), v(6));
  EXPECT_EQ(state.take_credit(1), 20u);
  EXPECT_EQ(state.take_credit(1), 0u);
}

TEST(CopyState, ADiffThatContinuesNothingIsDroppedAndCredited) {
  CopyState state = copy_at(3);
  EXPECT_FALSE(state.stage(diff(5, 6, true)));
  EXPECT_EQ(state.reach(), v(3));
  EXPECT_EQ(state.newest(), v(6));
  EXPECT_EQ(state.take_credit(1), 10u);
}

TEST(CopyState, Seg1ACompleteCopyReplacesWhatWaits) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4)));
  StagedDiff complete = diff(0, 2);
  complete.from.incarnation = complete.now.incarnation = 2;
  EXPECT_TRUE(state.stage(std::move(complete)));
  apply_all(state);
  EXPECT_EQ(state.have(), v(2, 2));
  EXPECT_EQ(state.newest(), v(2, 2));
}

TEST(CopyState, Coh11AnotherHistoryReplacesTheCopyWhateverItsNumber) {
  for (const std::uint64_t number : {2u, 3u, 4u}) {
    CopyState state = copy_at(3);
    StagedDiff complete = diff(0, number);
    complete.now.chain = 9;
    const version_stamp other = complete.now;
    EXPECT_TRUE(state.stage(std::move(complete)));
    EXPECT_EQ(state.reach(), other);
    EXPECT_EQ(state.newest(), other);
    apply_all(state);
    EXPECT_EQ(state.have(), other);
  }
}

TEST(CopyState, Coh11AnotherVersionWithOurNumberIsNewer) {
  CopyState state = copy_at(3);
  state.subscribed({}, v(3), 0);
  version_stamp other = v(3);
  other.chain = 9;
  state.not_recent(other);
  EXPECT_EQ(state.newest(), other);
  EXPECT_NE(state.newest(), state.have());
}

TEST(CopyState, Coh11AnUpdateBeginsAtTheVersionThatWeNamed) {
  const CopyState state = copy_at(3);
  EXPECT_EQ(state.base_of_update(3, 1), v(3));
  EXPECT_NE(state.base_of_update(3, 2), v(3, 2));
  EXPECT_EQ(state.base_of_update(0, 1), v(0));
}

TEST(CopyState, Fresh2AnAnswerConfirmsAsOfItsRequest) {
  CopyState state = copy_at(3);
  state.up_to_date(v(3), 5000);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 5000);
  state.up_to_date(v(4), 6000);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 5000) << "a newer one is known";
  EXPECT_EQ(state.knowledge(0, 0).newest_as_of_ns, 6000);
}

// A notification may have been long on its way: the version was made after those heard of before.
TEST(CopyState, Fresh2ANotificationConfirmsAsOfWhatWasHeardOfBefore) {
  CopyState state = copy_at(3);
  state.subscribed({}, v(3), 5000);
  StagedDiff pushed = diff(3, 4, true);
  pushed.as_of_ns = state.as_of_notified(v(4));
  EXPECT_TRUE(state.stage(std::move(pushed)));
  apply_all(state);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 5000);
  state.not_recent(v(6));
  EXPECT_EQ(state.newest(), v(6));
  EXPECT_EQ(state.knowledge(0, 0).newest_as_of_ns, 5000);
  EXPECT_EQ(state.as_of_notified(v(5)), coherence::never_ns) << "of an earlier connection";
}

TEST(CopyState, TheEmptySegmentIsACopy) {
  CopyState state;
  state.up_to_date(v(0), 10);
  EXPECT_TRUE(state.has_copy());
  EXPECT_EQ(state.have(), v(0));
}

TEST(CopyState, OnlyTheEmptySegmentNeedsNoDiff) {
  CopyState none;
  none.up_to_date(v(4), 10);
  EXPECT_FALSE(none.has_copy());
  CopyState state = copy_at(3);
  state.up_to_date(v(0), 10);
  EXPECT_EQ(state.have(), v(3));
  CopyState staged;
  EXPECT_TRUE(staged.stage(diff(0, 3)));
  staged.up_to_date(v(0), 10);
  EXPECT_FALSE(staged.has_copy());
}

TEST(CopyState, ACopyReachesEarlierVersionsOfItsIncarnation) {
  const CopyState state = copy_at(3);
  for (const std::uint64_t number : {0, 1, 2, 3}) EXPECT_TRUE(state.reaches(v(number)));
  EXPECT_FALSE(state.reaches(v(4)));
  EXPECT_FALSE(state.reaches(v(2, 2)));
  version_stamp other = v(3);
  ++other.chain;
  EXPECT_FALSE(state.reaches(other));
}

TEST(CopyState, Fresh2AnOlderConfirmationTakesNothingBack) {
  CopyState state = copy_at(3);
  state.up_to_date(v(3), 5000);
  state.up_to_date(v(3), 4000);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 5000);
  EXPECT_EQ(state.knowledge(0, 0).newest_as_of_ns, 5000);
  EXPECT_EQ(state.as_of_notified(v(3)), 5000);
  EXPECT_EQ(state.as_of_notified(v(2)), coherence::never_ns);
  EXPECT_EQ(state.as_of_notified(v(9, 2)), coherence::never_ns);
}

TEST(CopyState, Not4ADiffThatIsHereAlreadyIsCreditedAndNotLost) {
  CopyState state = copy_at(4);
  const CopyState::Asked asked = state.asked();
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  EXPECT_FALSE(state.has_staged());
  EXPECT_FALSE(state.has_lost_since(asked));
  EXPECT_EQ(state.take_credit(11), 0u);
  EXPECT_EQ(state.take_credit(10), 10u);
}

TEST(CopyState, DiffsBehindOneThatWasNotAppliedLeadNowhere) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  EXPECT_TRUE(state.stage(diff(4, 5, true)));
  state.dropped(*state.take_staged());
  EXPECT_FALSE(state.take_staged().has_value());
  EXPECT_EQ(state.take_credit(1), 20u);
  EXPECT_EQ(state.have(), v(3));
}

TEST(CopyState, Not4DiffsOfALostConnectionNeedNoCredit) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  state.keep_credit(7);
  state.connection_lost();
  apply_all(state);
  EXPECT_EQ(state.have(), v(4));
  EXPECT_EQ(state.take_credit(1), 0u);
}

TEST(CopyState, AClearedCopyKnowsNothing) {
  CopyState state = copy_at(3);
  state.subscribed({}, v(3), 500);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  state.begins({9, v(4), v(5)});
  state.keep_credit(7);
  state.not_recent(v(9));
  state.clear();
  EXPECT_FALSE(state.has_copy() || state.has_staged());
  for (const version_stamp& one : {state.have(), state.had(), state.newest(), state.reach()}) {
    EXPECT_EQ(one, version_stamp{});
  }
  EXPECT_FALSE(state.subscription().has_value());
  EXPECT_EQ(state.take_credit(1), 0u);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, coherence::never_ns);
  // As new: the first copy is promised at once.
  EXPECT_TRUE(state.stage(diff(0, 5)));
  apply_all(state);
  state.subscribed({}, v(5), 600);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
  EXPECT_EQ(state.will_reach(), v(5));
}

TEST(CopyState, Not1AfterNotRecentNothingIsPromisedUntilTheCopyIsTheNewest) {
  CopyState state = copy_at(3);
  state.subscribed({}, v(3), 0);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
  state.not_recent(v(5));
  EXPECT_FALSE(state.knowledge(0, 0).promised);
  EXPECT_TRUE(state.stage(diff(3, 5)));
  apply_all(state);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
  state.connection_lost();
  EXPECT_FALSE(state.knowledge(0, 0).promised);
}

TEST(CopyState, Fresh3ThePromiseIsAboutTheDiffsThatWaitAndNotAboutTheCopy) {
  CopyState state = copy_at(3);
  state.subscribed({coherence::Model::DIFF, 2}, v(3), 0);
  EXPECT_TRUE(state.stage(diff(3, 4)));
  EXPECT_FALSE(state.knowledge(0, 0).promised);
  EXPECT_TRUE(state.with_staged(state.knowledge(0, 0)).promised);
  EXPECT_TRUE(state.with_staged({}).has_copy);
  EXPECT_EQ(state.with_staged(state.knowledge(0, 0)).copy, v(4));
  EXPECT_EQ(state.with_staged(state.knowledge(0, 0)).confirmed_ns, 400);
  apply_all(state);
  EXPECT_EQ(state.knowledge(0, 0).promise, (coherence::Bound{coherence::Model::DIFF, 2}));
  EXPECT_TRUE(state.knowledge(0, 0).promised);
  EXPECT_TRUE(state.with_staged(state.knowledge(0, 0)).promised);
}

// A hand-over of the segment says so of the version that is here, too [SPACE-20].
TEST(CopyState, Not1WhateverShowsThatTheCopyIsTheNewestEndsNotRecent) {
  CopyState state = copy_at(3);
  state.subscribed({}, v(3), 0);
  for (const bool is_release : {false, true}) {
    state.not_recent(v(3));
    EXPECT_FALSE(state.knowledge(0, 0).promised);
    if (is_release) {
      state.released(v(4), 10);
    } else {
      state.up_to_date(v(3), 10);
    }
    EXPECT_TRUE(state.knowledge(0, 0).promised);
  }
}

// The server counts the client as having it, and says no more of what it changed.
TEST(CopyState, Fresh3AfterADiffThatWasDroppedNothingIsPromised) {
  CopyState state = copy_at(3);
  state.subscribed({coherence::Model::DIFF, 2}, v(3), 0);
  EXPECT_TRUE(state.stage(diff(3, 4)));
  state.dropped(*state.take_staged());
  state.drop_staged();
  EXPECT_FALSE(state.knowledge(0, 0).promised);
  state.subscribed({coherence::Model::DIFF, 2}, v(4), 0);
  state.up_to_date(v(4), 0);
  EXPECT_FALSE(state.knowledge(0, 0).promised) << "SUBSCRIBE was sent before";
  EXPECT_TRUE(state.stage(diff(3, 4)));
  apply_all(state);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
}

TEST(CopyState, Fresh3WhoeverSubscribesAfterADiffWasDroppedIsPromisedAgain) {
  CopyState state = copy_at(3);
  EXPECT_FALSE(state.stage(diff(4, 5)));
  state.unsubscribed();
  state.subscribed({coherence::Model::DELTA, 2}, v(5), 0);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
}

// NOT_RECENT follows SUBSCRIBED at once, perhaps in another packet.
TEST(CopyState, Not5SubscribedPromisesNoUnitsOfAnOlderCopyUntilMoreIsHeard) {
  for (const coherence::Model model : {coherence::Model::DIFF, coherence::Model::DELTA}) {
    CopyState state = copy_at(3);
    state.subscribed({model, 2}, v(4), 0);
    EXPECT_EQ(state.knowledge(0, 0).promised, model != coherence::Model::DIFF);
    CopyState told(state);
    told.not_recent(v(4));
    told.up_to_date(v(4), 0);
    EXPECT_FALSE(told.knowledge(0, 0).promised);
    state.up_to_date(v(4), 0);
    EXPECT_TRUE(state.knowledge(0, 0).promised);
  }
  CopyState state = copy_at(3);
  state.subscribed({coherence::Model::DIFF, 2}, v(5), 0);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  apply_all(state);
  EXPECT_TRUE(state.knowledge(0, 0).promised) << "NOT_RECENT would have come before it";
}

// The server counts the client as having version 4 once it has begun to send the diff.
TEST(CopyState, Not6WhileADiffIsComingNothingIsPromised) {
  for (const bool is_answer : {false, true}) {
    CopyState state = copy_at(3);
    state.subscribed({coherence::Model::DELTA, 2}, v(3), 0);
    state.begins({9, is_answer ? std::nullopt : std::optional(v(3)), v(4)});
    state.ends(8);
    state.up_to_date(v(3), 0);
    EXPECT_FALSE(state.knowledge(0, 0).promised);
    EXPECT_FALSE(CopyState(state).knowledge(0, 0).promised);
    EXPECT_EQ(state.will_reach(), is_answer ? v(3) : v(4));
    state.ends(9);
    EXPECT_TRUE(state.stage(diff(3, 4)));
    apply_all(state);
    EXPECT_TRUE(state.knowledge(0, 0).promised);
    EXPECT_EQ(state.will_reach(), v(4));
  }
}

TEST(CopyState, Not6ADiffThatWasComingIsForgottenWithItsConnection) {
  CopyState state = copy_at(3);
  state.begins({9, v(3), v(4)});
  state.connection_lost();
  EXPECT_EQ(state.will_reach(), v(3));
  state.subscribed({}, v(3), 0);
  EXPECT_TRUE(state.knowledge(0, 0).promised);
}

// No program has seen version 5. If one saw it now, its copy would go back afterwards.
TEST(CopyState, Coh11DiffsBeyondAServerThatLostVersionsAreDropped) {
  version_stamp other_history = v(5);
  ++other_history.chain;
  version_stamp other_life = v(9);
  ++other_life.incarnation;
  for (const version_stamp& newest : {v(3), v(4), other_history, other_life}) {
    CopyState state = copy_at(3);
    state.subscribed({}, v(3), 100);
    EXPECT_TRUE(state.stage(diff(3, 4)));
    EXPECT_TRUE(state.stage(diff(4, 5)));
    state.connection_lost();
    state.opened_at(newest, 200);
    EXPECT_EQ(state.reach(), v(3));
    EXPECT_FALSE(state.take_staged().has_value());
    EXPECT_EQ(state.newest(), newest);
  }
}

TEST(CopyState, DiffsThatTheServerStillHasAreKeptWhenTheSegmentIsOpenedAgain) {
  for (const std::uint64_t newest : {4, 5}) {
    CopyState state = copy_at(3);
    EXPECT_TRUE(state.stage(diff(3, 4)));
    state.connection_lost();
    state.opened_at(v(newest), 200);
    EXPECT_EQ(state.reach(), v(4));
  }
}

TEST(CopyState, Fresh2AnOpeningConfirmsTheCopyAsOfItsRequest) {
  CopyState state = copy_at(3);
  state.connection_lost();
  state.opened_at(v(3), 5000);
  EXPECT_EQ(state.knowledge(0, 0).newest_as_of_ns, 5000);
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 5000);
}

TEST(CopyState, AQuestionCountsOnNoDiffThatWillNotContinueTheCopy) {
  CopyState state = copy_at(3);
  state.begins({9, v(4), v(5)});
  EXPECT_EQ(state.will_reach(), v(3));
  EXPECT_TRUE(state.stage(diff(3, 4)));
  EXPECT_EQ(state.will_reach(), v(5));
}

TEST(CopyState, AReleaseOfOurOwnIsTheNewestVersion) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4, true)));
  state.released(v(4), 777);
  EXPECT_FALSE(state.has_staged());
  EXPECT_EQ(state.take_credit(1), 10u);
  EXPECT_EQ(state.have(), v(4));
  EXPECT_EQ(state.newest(), v(4));
  EXPECT_EQ(state.knowledge(0, 0).confirmed_ns, 777);
}

TEST(CopyState, AForgottenCopyNeedsACompleteOne) {
  CopyState state = copy_at(3);
  EXPECT_TRUE(state.stage(diff(3, 4)));
  state.forget();
  EXPECT_FALSE(state.has_copy() || state.has_staged());
  EXPECT_EQ(state.reach(), version_stamp{});
  EXPECT_FALSE(state.stage(diff(3, 4)));
  EXPECT_TRUE(state.stage(diff(0, 4)));
}

// ---- grants ----

protocol::writer_acquired grant() {
  protocol::writer_acquired grant;
  grant.fence = 5;
  grant.lease_ms = 9000;
  grant.max_hold_ms = 60000;
  return grant;
}

constexpr coherence::Bound full;
constexpr coherence::Bound behind_by_two{coherence::Model::DELTA, 2};

TEST(Subscription, IsAskedForOnceAndAgainOnlyForAnotherPromiseOrForTheDiffs) {
  Subscription one;
  EXPECT_TRUE(one.lacks({full, false}, std::nullopt));
  one.subscribing({full, false});
  EXPECT_FALSE(one.lacks({full, false}, std::nullopt)) << "it is on its way";
  EXPECT_FALSE(one.lacks({behind_by_two, true}, std::nullopt));
  one.settled();
  EXPECT_FALSE(one.lacks({full, false}, full));
  EXPECT_TRUE(one.lacks({full, true}, full)) << "the diffs are wanted, too";
  EXPECT_TRUE(one.lacks({behind_by_two, false}, full));
  EXPECT_TRUE(one.lacks({full, false}, std::nullopt)) << "the server refused";
  one.subscribing({full, true});
  one.settled();
  EXPECT_FALSE(one.lacks({full, true}, full));
  EXPECT_FALSE(one.lacks({full, false}, full)) << "diffs that come need no other subscription";
}

TEST(Subscription, NothingIsWatchedBeforeTheFirstRequest) {
  const Subscription none;
  EXPECT_FALSE(none.is_changing() || none.may_be_watched());
  EXPECT_FALSE(none.asked().push);
}

// One thread ends it, another wants it again before the end is on the wire.
TEST(Subscription, Not5NothingOvertakesItsEnd) {
  Subscription one;
  one.subscribing({full, true});
  one.settled();
  one.unsubscribing();
  EXPECT_FALSE(one.lacks({full, true}, std::nullopt)) << "its SUBSCRIBE would be undone";
  one.settled();
  EXPECT_TRUE(one.lacks({full, true}, std::nullopt));
}

TEST(WriterGrant, NothingIsHeldKeptOrOwedBeforeTheFirstGrant) {
  const WriterGrant none;
  EXPECT_FALSE(none.is_held() || none.is_lost() || none.is_owed());
  EXPECT_FALSE(none.is_kept() || none.may_stay() || none.may_resume(-1));
  EXPECT_EQ(none.idle_due_ns(), WriterGrant::never_due_ns);
  EXPECT_EQ(none.renewal_due_ns(), WriterGrant::never_due_ns);
}

TEST(WriterGrant, Lock3TheRenewalCountsFromTheRequestsSending) {
  WriterGrant held;
  EXPECT_EQ(held.renewal_due_ns(), WriterGrant::never_due_ns);
  held.granted(grant(), 10 * one_second_ns, 11 * one_second_ns);
  EXPECT_EQ(held.renewal_due_ns(), 13 * one_second_ns);
  held.renewal_sent();
  EXPECT_EQ(held.renewal_due_ns(), WriterGrant::never_due_ns);
  held.renewed(9000, 13 * one_second_ns);
  EXPECT_EQ(held.renewal_due_ns(), 16 * one_second_ns);
}

TEST(WriterGrant, Lock3RenewalsStopAtTheLongestHold) {
  WriterGrant held;
  held.granted(grant(), 0, 0);
  held.renewal_sent();
  held.renewed(9000, 57 * one_second_ns);
  EXPECT_EQ(held.renewal_due_ns(), WriterGrant::never_due_ns);
}

TEST(WriterGrant, Lock5OnlyItsOwnFenceIsLost) {
  WriterGrant held;
  held.granted(grant(), 0, 0);
  held.lost(4);
  EXPECT_FALSE(held.is_lost());
  held.lost(5);
  EXPECT_TRUE(held.is_lost());
  EXPECT_EQ(held.renewal_due_ns(), WriterGrant::never_due_ns);
}

}  // namespace
}  // namespace iw::session
