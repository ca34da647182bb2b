// The writer's role between processes that stop and die, and a name server that does not answer.
#include "containers/container_processes.h"
#include "interweave/am.h"
#include "testing/transports.h"

using namespace iw::containers_test;

namespace {

std::string why_no_writer(WriterContainer<Numbers>& writer) {
  try {
    writer.call<&Numbers::push_back>(3);
    return "it is one";
  } catch (const ContainerError& error) {
    return error.what();
  }
}

// Whether a call fails, in the end, because the name server does not answer.
bool is_silence_noticed(WriterContainer<Numbers>& writer) {
  return eventually(
      [&] { return why_no_writer(writer).find("does not answer") != std::string::npos; });
}

}  // namespace

// [CONT-13]
TEST_P(Containers, OneNameHasOneWriter) {
  auto writer = make_numbers(*factory);
  EXPECT_THROW(make_numbers(*factory), ContainerError);  // nor in the same process
  const Child other("numbers_reader");
  ASSERT_EQ(other.line().hear_text(), "ready");
  EXPECT_EQ(ask(other, "take"), "taken");
  EXPECT_TRUE(eventually([&] { return !writer->is_writer(); }));
  EXPECT_THROW(make_numbers(*factory), ContainerError);
}

// [CONT-14]
TEST_P(Containers, TheWritersRoleGoesToAReadersProcessAndTheOthersFollow) {
  auto writer = make_numbers(*factory);
  const Child next("numbers_reader"), follower("numbers_reader");
  ASSERT_EQ(next.line().hear_text(), "ready");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  for (int i = 0; i < 10; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_EQ(ask(next, "take"), "taken");
  EXPECT_FALSE(writer->is_writer());
  EXPECT_THROW(writer->call<&Numbers::push_back>(1), ContainerError);
  EXPECT_EQ(ask(next, "push 5"), "15:60");
  EXPECT_EQ(ask(follower, "until 15"), "15:60");
  EXPECT_EQ(ask(follower, "joined"), "so");
  writer.reset();
  EXPECT_EQ(ask(next, "push 1"), "16:61");
  EXPECT_EQ(ask(follower, "until 16"), "16:61");
}

TEST_P(Containers, AWriterThatGivesItsRoleIsReadAndPingsWhileTheNameServerIsSilent) {
  auto writer = make_numbers(*factory);
  const Child next("numbers_reader"), follower("numbers_reader");
  ASSERT_EQ(next.line().hear_text(), "ready");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  writer->call<&Numbers::push_back>(7);
  ASSERT_EQ(ask(next, "until 1"), "1:7");
  const auto before = writer->statistics().bytes_sent;
  server->stop();
  next.line().say("take");
  EXPECT_TRUE(eventually([&] { return !writer->is_writer(); }));
  EXPECT_TRUE(is_pinged(follower));
  EXPECT_EQ(summary(*writer), "1:7");
  // The next step, which sends the object, needs the name server's answer.
  EXPECT_EQ(writer->statistics().bytes_sent, before);
  server->go_on();
  EXPECT_EQ(next.line().hear_text(), "taken");
  EXPECT_EQ(ask(next, "push 1"), "2:8");
}

// [CONT-14]
TEST_P(Containers, ARoleThatIsNotGivenStays) {
  Options options = quick();
  options.gives_role = false;
  auto writer = make_numbers(*factory, options);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  EXPECT_EQ(ask(reader, "take"), "not taken");
  writer->call<&Numbers::push_back>(1);
  EXPECT_EQ(ask(reader, "until 1"), "1:1");
}

// [CONT-14]
TEST_P(Containers, ATakerThatDiesOnTheWayLeavesTheRoleWhereItWas) {
  auto writer = make_numbers(*factory, mortal());
  Child taker("numbers_reader");
  ASSERT_EQ(taker.line().hear_text(), "ready");
  const Child follower("numbers_reader");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  server->stop();  // so that the role stays on its way
  taker.line().say("take");
  ASSERT_TRUE(eventually([&] { return !writer->is_writer(); }));
  taker.kill();
  server->go_on();
  ASSERT_TRUE(eventually([&] { return writer->is_writer(); }));
  writer->call<&Numbers::push_back>(3);
  EXPECT_EQ(ask(follower, "until 1"), "1:3");
}

TEST_P(Containers, ATakerThatDiesLaterLeavesNoName) {
  auto writer = make_numbers(*factory, mortal());
  Child taker("numbers_reader");
  ASSERT_EQ(taker.line().hear_text(), "ready");
  ASSERT_EQ(ask(taker, "take"), "taken");
  taker.kill();
  EXPECT_TRUE(eventually_made([&] { writer = make_numbers(*factory, mortal()); }));
}

// This process does not wait long for the name server.
class Roles : public Containers {
 protected:
  static bool is_followed(WriterContainer<Numbers>& writer, const Child& reader) {
    writer.call<&Numbers::push_back>(7);
    const auto size = std::to_string(writer.read()->value().size());
    return ask(reader, "until " + size) == summary(writer);
  }
  Roles() {
    become_impatient();
    EXPECT_TRUE(eventually_made([&] { writer = make_numbers(*factory); }));
  }
  std::unique_ptr<WriterContainer<Numbers>> writer;
};
INSTANTIATE_TEST_SUITE_P(Over, Roles, ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Roles, AreKeptByAWriterThatCannotGiveUpTheName) {
  const Child taker("numbers_reader"), follower("numbers_reader");
  ASSERT_EQ(taker.line().hear_text(), "ready");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  server->stop();
  taker.line().say("take");
  EXPECT_TRUE(is_silence_noticed(*writer));
  server->go_on();
  ASSERT_TRUE(eventually([&] { return writer->is_writer(); }));
  EXPECT_TRUE(is_followed(*writer, follower));
}

TEST_P(Roles, AreTakenBackWhenTheNameServerAnswersAgain) {
  const Child follower("numbers_reader");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  Child taker("containers_joiner");
  ASSERT_EQ(taker.line().hear_text(), "ready");
  ASSERT_EQ(ask(taker, "join"), "asked");
  ASSERT_TRUE(eventually([&] { return writer->statistics().readers == 2; }));
  ASSERT_EQ(ask(taker, "want the role"), "asked");
  en_t name;
  ASSERT_TRUE(eventually([&] { return AMNS_Lookup("numbers", &name) == AM_ERR_RESOURCE; }));
  server->stop();
  taker.kill();  // before it has taken the name
  EXPECT_TRUE(is_silence_noticed(*writer));
  server->go_on();
  ASSERT_TRUE(eventually([&] { return writer->is_writer(); }));
  EXPECT_TRUE(is_followed(*writer, follower));
}
