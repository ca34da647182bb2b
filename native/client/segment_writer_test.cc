// A server that grants the writer lock on a version to which its answers do not lead.
#include <memory>

#include "client/runtime.h"
#include "client/scripted_server_fixture.h"
#include "client/segment.h"

namespace iw::client {
namespace {

using protocol::error_code;

constexpr protocol::version_stamp elsewhere{1, 7, 7};

ScriptedServer::Answer granted() {
  protocol::writer_acquired body;
  body.now = elsewhere;
  body.fence = 1;
  body.lease_ms = body.max_hold_ms = 60'000;
  body.first_serial = 1;
  body.serial_count = 100;
  return {message_type::WRITER_ACQUIRED, session::encoded(body)};
}

ScriptedServer::Answer up_to_date() {
  protocol::reader_acquired body;
  body.now = elsewhere;
  return {message_type::READER_ACQUIRED, session::encoded(body)};
}

TEST(SegmentWriter, GivesUpWhereTheServersAnswersNeverLeadToTheVersionThatItGranted) {
  ScriptedServer server(
      {{message_type::ACQUIRE_WRITER, granted}, {message_type::ACQUIRE_READER, up_to_date}});
  Runtime* runtime = nullptr;
  ASSERT_TRUE(Runtime::get(runtime).ok());
  platform::WakeUp nobody;
  ASSERT_TRUE(platform::WakeUp::create(nobody).ok());
  ServerLink link(server.url(), session::SessionIdentity{}, nobody);
  const auto segment = std::make_shared<Segment>(*runtime, server.url(), link);
  const Result opened = segment->open({});
  ASSERT_TRUE(opened.ok()) << opened.text;
  const Result acquired = segment->acquire_writer(segment->wish_for(1e9));
  EXPECT_EQ(acquired.code, error_code::MALFORMED) << acquired.text;
  EXPECT_LE(server.asked(message_type::ACQUIRE_READER), 16);
  EXPECT_TRUE(server.is_asked(message_type::ABORT_WRITER)) << "the lock is given back";
  EXPECT_TRUE(segment->close().ok());
}

}  // namespace
}  // namespace iw::client
