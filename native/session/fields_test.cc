// What clients say of themselves, and what they make of fields and errors of other versions.
#include "session/fields.h"

#include <gtest/gtest.h>

#include "protocol/error.gen.h"
#include "session/connection.h"

namespace iw::session {
namespace {

using protocol::error_code;
using protocol::field_key;

Incoming error_answer(std::vector<std::uint8_t> body) {
  Incoming incoming;
  incoming.message.head.type = static_cast<std::int32_t>(message_type::ERROR);
  incoming.message.body = std::move(body);
  incoming.asked = message_type::HELLO;
  return incoming;
}

TEST(Fields, AClientSaysWhereItRunsAsFarAsItKnows) {
  const FieldList all = origin_fields({"viewer", "a.example", 4711});
  ASSERT_EQ(all.size(), 3u);
  bool is_there = false;
  protocol::pid_field pid;
  ASSERT_TRUE(find_field(all, field_key::FIELD_PID, pid, is_there).ok());
  EXPECT_TRUE(is_there);
  EXPECT_EQ(pid.pid, 4711u);
  EXPECT_TRUE(origin_fields({}).empty());
  const auto key_of_one = [](const Origin& origin) {
    const FieldList list = origin_fields(origin);
    EXPECT_EQ(list.size(), 1u);
    return static_cast<field_key>(list.front().key);
  };
  EXPECT_EQ(key_of_one({"viewer", "", 0}), field_key::FIELD_PROGRAM);
  EXPECT_EQ(key_of_one({"", "a.example", 0}), field_key::FIELD_HOST);
  EXPECT_EQ(key_of_one({"", "", 1}), field_key::FIELD_PID);
}

TEST(Fields, Field5AValueThatCannotBeReadIsMalformed) {
  const FieldList list{{static_cast<std::uint32_t>(field_key::FIELD_PID), {1, 2, 3}}};
  protocol::pid_field pid;
  bool is_there = false;
  const types::Result refused = find_field(list, field_key::FIELD_PID, pid, is_there);
  EXPECT_EQ(refused.code, error_code::MALFORMED);
  EXPECT_EQ(refused.text, "the header field FIELD_PID cannot be read");
  EXPECT_TRUE(is_there);
  protocol::label_field host;
  EXPECT_TRUE(find_field(list, field_key::FIELD_HOST, host, is_there).ok());
  EXPECT_FALSE(is_there);
}

TEST(Fields, Lock13AClientSaysThatItKeepsGrants) {
  const Connection connection(0);
  const FieldList all = connection.hello({}).fields;
  protocol::keeping_field keeping;
  bool is_there = false;
  ASSERT_TRUE(find_field(all, field_key::FIELD_KEEPING, keeping, is_there).ok());
  EXPECT_TRUE(is_there && keeping.keeps_grants);
}

TEST(Fields, NamesThatAreNotUtf8OrTooLongAreMadeToFit) {
  std::string long_name;
  for (int i = 0; i < 200; ++i) long_name += "\xC3\xA9";
  const FieldList list = origin_fields({"a\xFF", long_name, 0});
  protocol::label_field program;
  protocol::label_field host;
  bool is_there = false;
  ASSERT_TRUE(find_field(list, field_key::FIELD_PROGRAM, program, is_there).ok());
  ASSERT_TRUE(find_field(list, field_key::FIELD_HOST, host, is_there).ok());
  EXPECT_EQ(program.label, "a?");
  EXPECT_EQ(host.label.size(), 254u);
  for (const std::size_t length : {std::size_t{255}, std::size_t{256}}) {
    const FieldList fits = origin_fields({std::string(length, 'x'), "", 0});
    ASSERT_TRUE(find_field(fits, field_key::FIELD_PROGRAM, program, is_there).ok());
    EXPECT_EQ(program.label, std::string(255, 'x'));
  }
}

TEST(Fields, Field8ControlCharactersAreNotShown) {
  EXPECT_EQ(readable("a\x1B[2J\n\x7F\xC2\x9B\xC3\xA9"), "a?[2J???\xC3\xA9");
  EXPECT_EQ(readable("\x1F \x7E\xC2\xA0\xC2\x9F\xC2\x80z"), "? \x7E\xC2\xA0??z");
  EXPECT_EQ(readable("\xC2\x9Bz"), "?z");
  for (const char* cut : {"\xC2", "a\xC2"}) EXPECT_EQ(readable(cut), cut);
}

TEST(Fields, Field8AnErrorIsShownWithoutItsControlCharacters) {
  const protocol::error_reply reply{error_code::NO_SEGMENT, "none\x1B]0;title\x07", {}};
  const Result said = check_answer(error_answer(encoded(reply)), message_type::SEGMENT_OPENED);
  EXPECT_EQ(said.text, "none?]0;title?");
  const protocol::plain_error plain{error_code::DENIED,
                                    "no\r\xC2\x9B"
                                    "2J"};
  EXPECT_EQ(check_answer(error_answer(encoded(plain)), message_type::WELCOME).text, "no??2J");
}

TEST(Fields, Field2AKeyThatIsThereTwiceIsMalformed) {
  FieldList list{{4711, {}}, {5, {}}};
  EXPECT_TRUE(check_fields(list).ok());
  list.push_back({4711, {1}});
  EXPECT_EQ(check_fields(list).code, error_code::MALFORMED);
  EXPECT_EQ(check_fields(list).text, "the header field 4711 is there twice");
}

TEST(Fields, Field9AnErrorSaysWhereToAskInstead) {
  protocol::error_reply reply{error_code::REDIRECTED, "/a is not here", {}};
  const protocol::redirect_field to{"b.example:7747", "", false};
  reply.fields.push_back({static_cast<std::uint32_t>(field_key::FIELD_REDIRECT), encoded(to)});
  const Result said = check_answer(error_answer(encoded(reply)), message_type::SEGMENT_OPENED);
  EXPECT_EQ(said.code, error_code::REDIRECTED);
  EXPECT_EQ(said.text, "/a is not here; ask the server at b.example:7747");
}

TEST(Fields, Space9AnAnswerSaysWhereItSendsTheClient) {
  protocol::error_reply reply{error_code::REDIRECTED, "/a is not here", {}};
  protocol::redirect_field found;
  EXPECT_FALSE(sends_on(error_answer(encoded(reply)), found));
  const protocol::redirect_field to{"b.example:7747", "b", false};
  reply.fields.push_back({static_cast<std::uint32_t>(field_key::FIELD_REDIRECT), encoded(to)});
  EXPECT_TRUE(sends_on(error_answer(encoded(reply)), found));
  EXPECT_EQ(found, to);
  reply.code = error_code::DENIED;
  EXPECT_FALSE(sends_on(error_answer(encoded(reply)), found));
  reply.code = error_code::REDIRECTED;
  reply.fields.back().value.pop_back();
  EXPECT_FALSE(sends_on(error_answer(encoded(reply)), found));
}

TEST(Fields, Space12AWelcomeNamesTheSpace) {
  protocol::welcome welcome;
  welcome.version = protocol::PROTOCOL_VERSION_MAX;
  welcome.heartbeat_ms = welcome.session_lease_ms = 1000;
  const auto answer = [&welcome] {
    Incoming incoming = error_answer(encoded(welcome));
    incoming.message.head.type = static_cast<std::int32_t>(message_type::WELCOME);
    return incoming;
  };
  SessionIdentity identity;
  Connection without(0);
  EXPECT_TRUE(without.welcomed(answer(), identity).ok());
  EXPECT_EQ(without.space_id(), std::nullopt);
  const protocol::id_field space{{1, 2, 3}};
  welcome.fields = {{static_cast<std::uint32_t>(field_key::FIELD_SPACE_ID), encoded(space)}};
  Connection with(0);
  EXPECT_TRUE(with.welcomed(answer(), identity).ok());
  EXPECT_EQ(with.space_id(), space.id);
  welcome.fields.front().value.pop_back();
  Connection damaged(0);
  EXPECT_EQ(damaged.welcomed(answer(), identity).code, error_code::MALFORMED);
}

TEST(Fields, Ses5AnErrorWithoutFieldsIsRead) {
  const protocol::plain_error plain{error_code::VERSION_MISMATCH, "this server speaks 3"};
  const Result said = check_answer(error_answer(encoded(plain)), message_type::WELCOME);
  EXPECT_EQ(said.code, error_code::VERSION_MISMATCH);
  EXPECT_EQ(said.text, "this server speaks 3");
}

TEST(Fields, Ses5AServerOfVersion1IsToldFromOthers) {
  Connection connection(0);
  SessionIdentity identity;
  const protocol::plain_error plain{error_code::NOT_OPEN, "the first message must be HELLO"};
  const Result said = connection.welcomed(error_answer(encoded(plain)), identity);
  EXPECT_EQ(said.code, error_code::VERSION_MISMATCH);
  EXPECT_NE(said.text.find("versions 2 to 3"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("version 1"), std::string::npos) << said.text;
}

TEST(Fields, Field1AWelcomeWithUnknownFieldsIsTaken) {
  protocol::welcome welcome;
  welcome.version = protocol::PROTOCOL_VERSION_MAX;
  welcome.heartbeat_ms = 1000;
  welcome.session_lease_ms = 9000;
  welcome.fields = {{4711, {1, 2, 3}}, {4000000000U, {}}};
  Incoming incoming = error_answer(encoded(welcome));
  incoming.message.head.type = static_cast<std::int32_t>(message_type::WELCOME);
  SessionIdentity identity;
  Connection taken(0);
  EXPECT_TRUE(taken.welcomed(incoming, identity).ok());
  welcome.fields.push_back({4711, {}});
  incoming.message.body = encoded(welcome);
  Connection refused(0);
  EXPECT_EQ(refused.welcomed(incoming, identity).code, error_code::MALFORMED);
}

}  // namespace
}  // namespace iw::session
