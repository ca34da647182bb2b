// Containers between real processes: what the writer's process calls, readers in others have.
#include "containers/container_processes.h"
#include "interweave/am.h"

using namespace iw::containers_test;

namespace {

auto make_numbers(Factory& factory, Options options = quick()) {
  return factory.make_writer<Numbers>("numbers", std::make_shared<Numbers>(), options);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, Containers, ::testing::Values("shm", "tcp"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Containers, AReaderInAnotherProcessHasWhatTheWriterCalled) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 1; i <= 100; i++) writer->call<&Numbers::push_back>(i);
  writer->call<&Numbers::erase>(1u);
  writer->call<&Numbers::set>(0u, 1000);
  writer->call<&Numbers::insert>(99u, -1);
  writer->call<&Numbers::push_back>(7);
  EXPECT_EQ(ask(reader, "until 101"), summary(*writer));
}

TEST_P(Containers, AContainerOfThePapersStringsAndTheReadyMadeOnesReachAReader) {
  ASSERT_TRUE(register_object<aString>("aString"));
  EXPECT_FALSE(register_object<Numbers>("aString"));
  auto bag = factory->make_writer<Bag>("bag");
  auto map = factory->make_writer<Map<std::string, double>>("map");
  auto queue = factory->make_writer<Queue<std::string>>("queue");
  auto text = factory->make_writer<Text>("text");
  bag->Insert(std::make_shared<aString>("early"));
  const Child reader("kinds_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (const char* each : {"one", "two", "three"}) bag->Insert(std::make_shared<aString>(each));
  bag->Delete(std::make_shared<aString>("two"));
  map->call<&Map<std::string, double>::set>("x", 0.5);
  map->call<&Map<std::string, double>::set>("y", 2);
  map->call<&Map<std::string, double>::erase>("x");
  queue->call<&Queue<std::string>::push>("first");
  queue->call<&Queue<std::string>::push>("second");
  queue->call<&Queue<std::string>::pop>();
  text->call<&Text::append>("shipped functions");
  text->call<&Text::replace>(0u, 7u, "whole");
  // Each is answered when it is in the reader's queue; deletion waits for the answers.
  bag.reset(), map.reset(), queue.reset(), text.reset();
  EXPECT_EQ(ask(reader, "read"), "early,one,three,y=2,second,whole functions");
}

TEST_P(Containers, NothingIsEvaluatedBeforeARead) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 50; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return ask(reader, "queued") == "50"; }));
  EXPECT_EQ(ask(reader, "statistics"), "0 0 0 50");
  EXPECT_EQ(ask(reader, "read"), "50:1225");
  EXPECT_EQ(ask(reader, "statistics"), "50 1 0 0");
}

TEST_P(Containers, AFullQueueCostsOneWholeObjectWhenItIsRead) {
  Options options = quick();
  options.queue_length = 1000;  // so that the writer's own patience is not what ends
  auto writer = make_numbers(*factory, options);
  const Child reader("numbers_reader", {{"QUEUE", "8"}});
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 1000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers_behind == 1; }));
  EXPECT_EQ(ask(reader, "read"), "1000:499500");
  EXPECT_EQ(writer->statistics().objects_sent, 2u);  // the first when it joined
}

TEST_P(Containers, ALateReaderEqualsAnEarlyOne) {
  auto writer = make_numbers(*factory);
  const Child early("numbers_reader");
  ASSERT_EQ(early.line().hear_text(), "ready");
  for (int i = 0; i < 20000; i++) writer->call<&Numbers::push_back>(i);  // ten parts
  const Child late("numbers_reader");
  ASSERT_EQ(late.line().hear_text(), "ready");
  writer->call<&Numbers::push_back>(7);
  EXPECT_EQ(ask(late, "until 20001"), summary(*writer));
  EXPECT_EQ(ask(early, "until 20001"), summary(*writer));
}

TEST_P(Containers, BytesOfAnInsertDoNotDependOnTheContainersSize) {
  Options options = quick();
  options.queue_length = 10000;
  auto writer = make_numbers(*factory, options);
  const Child reader("numbers_reader", {{"QUEUE", "10000"}});
  ASSERT_EQ(reader.line().hear_text(), "ready");
  const auto bytes_of_insert = [&] {
    const auto before = writer->statistics().bytes_sent;
    writer->call<&Numbers::push_back>(1);
    return writer->statistics().bytes_sent - before;
  };
  EXPECT_EQ(bytes_of_insert(), 8u);
  for (int i = 0; i < 5000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_EQ(ask(reader, "until 5001"), summary(*writer));
  // Whatever it was sent is answered: what is sent now is the insert.
  ASSERT_EQ(ask(reader, "queued"), "0");
  EXPECT_EQ(bytes_of_insert(), 8u);
}

TEST_P(Containers, ADeletedWriterLeavesItsLastStateAndNoName) {
  auto writer = make_numbers(*factory);
  const Child behind("numbers_reader", {{"QUEUE", "4"}});
  ASSERT_EQ(behind.line().hear_text(), "ready");
  for (int i = 0; i < 100; i++) writer->call<&Numbers::push_back>(i);
  writer.reset();
  EXPECT_EQ(ask(behind, "ended"), "so");
  EXPECT_EQ(ask(behind, "read"), "100:4950");
  en_t name;
  EXPECT_EQ(AMNS_Lookup("numbers", &name), AM_ERR_RESOURCE);
  EXPECT_THROW(factory->make_reader<Numbers>("numbers"), ContainerError);
  writer = make_numbers(*factory);
}

TEST_P(Containers, ADeletedReaderIsSentNothingMore) {
  auto writer = make_numbers(*factory);
  Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  EXPECT_EQ(ask(reader, "delete"), "deleted");
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
  const auto before = writer->statistics().bytes_sent;
  writer->call<&Numbers::push_back>(1);
  EXPECT_EQ(writer->statistics().bytes_sent, before);
}

TEST_P(Containers, ABackgroundThreadKeepsTheQueueShort) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader", {{"BACKGROUND", "1"}});
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 100; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return ask(reader, "statistics") == "100 1 0 0"; }));
}

TEST_P(Containers, OneNameHasOneWriter) {
  auto writer = make_numbers(*factory);
  const Child other("numbers_reader");
  ASSERT_EQ(other.line().hear_text(), "ready");
  EXPECT_EQ(ask(other, "take"), "taken");
  EXPECT_TRUE(eventually([&] { return !writer->is_writer(); }));
  EXPECT_THROW(make_numbers(*factory), ContainerError);
}

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

TEST_P(Containers, AWriterThatGivesItsRoleIsReadWhileTheNameServerIsSilent) {
  auto writer = make_numbers(*factory);
  const Child next("numbers_reader");
  ASSERT_EQ(next.line().hear_text(), "ready");
  writer->call<&Numbers::push_back>(7);
  ASSERT_EQ(ask(next, "until 1"), "1:7");
  const auto before = writer->statistics().bytes_sent;
  server->stop();
  next.line().say("take");
  // The role's next step, which sends the object, needs the name server's answer.
  EXPECT_TRUE(eventually([&] { return !writer->is_writer(); }));
  EXPECT_EQ(summary(*writer), "1:7");
  EXPECT_EQ(writer->statistics().bytes_sent, before);
  server->go_on();
  EXPECT_EQ(next.line().hear_text(), "taken");
  EXPECT_EQ(ask(next, "push 1"), "2:8");
}

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
