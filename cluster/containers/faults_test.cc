// Processes that stop, continue or die, damaged queues, and functions that a reader does not know.
#include <random>

#include "containers/container_processes.h"
#include "containers/reader.h"
#include "containers/readership.h"

using namespace iw::containers_test;

namespace {

// A counter whose functions get their numbers in the test.
struct Counter : ValueContainer<std::int64_t> {
  void add(std::int64_t amount) { value_ += amount; }
  void add_twice(std::int64_t amount) { value_ += 2 * amount; }
  void fail() {
    value_++;
    throw std::runtime_error("half done");
  }
};

FunctionTable& table() { return Functions<Counter>::all().table(); }

}  // namespace

TEST_P(Containers, AWriterThatIsKilledIsNoticedAndTheLastStateStays) {
  Child writer("numbers_writer", {{"MORTAL", "1"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  EXPECT_EQ(ask(writer, "push 10"), "10:55");
  ASSERT_EQ(ask(reader, "until 10"), "10:55");
  writer.kill();
  EXPECT_EQ(ask(reader, "broken"), "so");
  EXPECT_EQ(ask(reader, "read"), "10:55");
}

TEST_P(Containers, AReaderThatIsKilledIsDropped) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
  Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  reader.kill();
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
}

TEST_P(Containers, OnlyARefusalWithNothingUnderWayCutsALinkOff) {
  const auto inbox = std::make_shared<WriterInbox>();
  Endpoint here(inbox, 0);
  Child there("containers_answerer");
  ReaderLink link(1, here.map(there.line().hear_value<en_t>()), 1000);
  inbox->open(1);
  std::size_t came_back = 0;
  const auto push = [&](int messages) {
    for (int i = 0; i < messages; i++) link.add(Parcel::empty(ping));
    const auto news = inbox->take_news();
    came_back += news.gone.size();
    link.note_answers(news.answers.at(1));
    link.push(here);
  };
  there.stop();
  push(1000);  // more than there is room for
  EXPECT_TRUE(link.has_outbox());
  EXPECT_FALSE(link.is_cut_off());
  there.go_on();
  ASSERT_TRUE(eventually([&] {
    push(0);
    return link.has_answered_all();
  }));
  EXPECT_FALSE(link.is_cut_off());
  there.kill();
  ASSERT_TRUE(eventually([&] {
    push(1);
    return link.has_outbox();
  }));
  // A message that was taken after the death comes back, and then the link is not cut off.
  if (link.is_cut_off()) {
    EXPECT_EQ(came_back, 0u);
  } else {
    EXPECT_TRUE(eventually([&] {
      push(0);
      return came_back > 0;
    }));
  }
}

// [CONT-9]
TEST(ReaderLinks, KeepAsManyUpdatesAsTheyMayAndThenWantTheObjectInstead) {
  constexpr std::size_t outbox_max = 4;
  ReaderLink link(1, 0, 1000);
  link.add_object(Parcel::empty(whole_object));
  for (std::size_t i = 1; i < outbox_max; i++) link.add_update(Parcel::empty(1), outbox_max);
  EXPECT_FALSE(link.lacks_object());
  link.add_update(Parcel::empty(1), outbox_max);
  EXPECT_TRUE(link.needs_object_now());
  link.add_update(Parcel::empty(1), outbox_max);  // the object will contain it
  EXPECT_FALSE(link.has_outbox());
}

TEST_P(Containers, WhoHasAllAnswersKnowsWhoIsBehind) {
  const auto inbox = std::make_shared<WriterInbox>();
  Endpoint here(inbox, 0);
  const Child there("containers_answerer");
  Readership readers(inbox, here, quick());
  readers.let_in(1, there.line().hear_value<en_t>());
  readers.send_object(Parcel::empty(whole_object));
  readers.ship(Parcel::empty(1));
  // No thread serves here, so statistics() notes what the answer said.
  ASSERT_TRUE(eventually([&] { return readers.statistics().readers_waited_for == 0; }));
  EXPECT_TRUE(readers.lacks_objects());
}

TEST_P(Containers, AWritersEndDoesNotWaitForAReaderThatWasKilled) {
  const Child writer("numbers_writer", {{"LIFE_MS", "3600000"}, {"PING_MS", "1800000"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  EXPECT_EQ(ask(writer, "push 10"), "10:55");
  ASSERT_EQ(ask(reader, "until 10"), "10:55");
  reader.kill();
  EXPECT_EQ(ask(writer, "delete"), "deleted");  // and not only after an hour
}

// [CONT-11]
TEST_P(Containers, BothSidesAgreeThatAStoppedReaderIsGone) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  reader.stop();
  // Calls do not wait for the stopped reader, and no more is kept for it than its queue may hold.
  for (int i = 0; i < 5000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
  reader.go_on();
  EXPECT_EQ(ask(reader, "broken"), "so");
}

// [CONT-11]
TEST_P(Containers, BothSidesAgreeThatAStoppedWriterIsGone) {
  const Child writer("numbers_writer", {{"MORTAL", "1"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  writer.stop();
  EXPECT_EQ(ask(reader, "broken"), "so");
  writer.go_on();
  EXPECT_TRUE(eventually([&] { return ask(writer, "readers") == "0"; }));
}

// Over TCP, where messages to one side can be lost without the other side's notice.
class OneWay : public Containers {};
INSTANTIATE_TEST_SUITE_P(Over, OneWay, ::testing::Values("tcp"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(OneWay, BothSidesAgreeThatAReaderIsGoneThatIsNotReached) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  ASSERT_NE(ask(reader, "deafen"), "0");
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
  EXPECT_EQ(ask(reader, "broken"), "so");
}

TEST_P(OneWay, BothSidesAgreeThatAReaderIsGoneWhoseAnswersAreLost) {
  const Child writer("numbers_writer", {{"LIFE_MS", "2000"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  ASSERT_NE(ask(writer, "deafen"), "0");
  const auto pings = std::stoul(ask(reader, "pings"));
  EXPECT_TRUE(eventually([&] { return ask(writer, "readers") == "0"; }));
  EXPECT_GT(std::stoul(ask(reader, "pings")), pings);  // until it was given up
  EXPECT_EQ(ask(reader, "broken"), "so");
}

TEST_P(Containers, AReaderWhoseFunctionsTakeLongNoticesItsWritersDeath) {
  Child writer("numbers_writer", {{"MORTAL", "1"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  std::atomic<bool> is_begun = false, may_end = false;
  FunctionTable slow;
  slow.add(1, &slow, "i8", [&](StandardContainer&, DeMarshalStream&) {
    is_begun = true;
    may_end.wait(false);
    return true;
  });
  Options options = quick();
  options.evaluates_in_background = true;
  Reader reader("numbers", std::make_shared<Numbers>(), slow, options);
  EXPECT_EQ(ask(writer, "push 1"), "1:1");
  EXPECT_TRUE(eventually([&] { return is_begun.load(); }));
  writer.kill();
  EXPECT_TRUE(eventually([&] { return reader.tie() == Tie::broken; }));
  may_end = true;
  may_end.notify_all();
}

// [CONT-10]
TEST_P(Containers, ADamagedQueueIsMendedByTheWholeObject) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), quick());
  const auto copy = std::make_shared<Numbers>();
  Reader reader("numbers", copy, Functions<Numbers>::all().table(), quick());
  for (int i = 0; i < 10; i++) writer->call<&Numbers::push_back>(i);
  ASSERT_TRUE(eventually([&] { return reader.inbox().queued() == 10; }));
  ASSERT_TRUE(reader.inbox().flip_a_bit());
  const std::lock_guard held(reader.mutex());
  reader.evaluate();
  EXPECT_EQ(summary(*copy), summary(*writer));
  EXPECT_EQ(writer->statistics().objects_sent, 2u);
}

// [CONT-10]
TEST_P(Containers, AFunctionThatAReaderDoesNotKnowCostsTheWholeObject) {
  if (table().find(&identity_of<&Counter::add>) == nullptr) {
    Functions<Counter>::all().add<&Counter::add>(1).add<&Counter::add_twice>(2);
  }
  FunctionTable other;  // the reader's: its 2 has other arguments, and it has no 1
  other.add(2, &other, "s", [](StandardContainer&, DeMarshalStream&) { return true; });
  auto writer = factory->make_writer<Counter>("counter", std::make_shared<Counter>(), quick());
  const auto copy = std::make_shared<Counter>();
  Reader reader("counter", copy, other, quick());
  const auto value = [&] {
    const std::lock_guard held(reader.mutex());
    reader.evaluate();
    return copy->value();
  };
  writer->call<&Counter::add>(5);
  EXPECT_TRUE(eventually([&] { return value() == 5; }));
  writer->call<&Counter::add_twice>(5);
  EXPECT_TRUE(eventually([&] { return value() == 15; }));
  EXPECT_EQ(reader.statistics().recoveries, 2u);
  EXPECT_EQ(reader.statistics().updates_evaluated, 0u);
}

// Runs in a process of its own, because no other test has written to that process's table. The
// process says the value, and how many objects and updates that took.
TEST_P(Containers, AFunctionThatGetsItsNumberWhileTheyRunIsShippedFromThenOn) {
  const Child both("late_number");
  ASSERT_EQ(both.line().hear_text(), "0 1 0");
  EXPECT_EQ(ask(both, "add"), "5 2 0");
  EXPECT_EQ(ask(both, "number"), "5 2 0");
  EXPECT_EQ(ask(both, "add"), "10 2 1");
}

TEST_P(Containers, AFunctionThatThrowsShipsTheWholeObject) {
  if (table().find(&identity_of<&Counter::fail>) == nullptr) {
    Functions<Counter>::all().add<&Counter::fail>(3);
  }
  auto writer = factory->make_writer<Counter>("counter", std::make_shared<Counter>(), quick());
  auto reader = factory->make_reader<Counter>("counter", std::make_shared<Counter>(), quick());
  EXPECT_THROW(writer->call<&Counter::fail>(), std::runtime_error);
  EXPECT_TRUE(eventually([&] { return reader->read()->value() == 1; }));
  EXPECT_EQ(reader->statistics().updates_evaluated, 0u);
  EXPECT_EQ(writer->statistics().updates, 0u);
}

TEST_P(Containers, ReadersThatStopAndGoOnAreRightInTheEnd) {
  const char* given = std::getenv("IW_SEED");
  const unsigned seed =
      given != nullptr ? static_cast<unsigned>(std::atol(given)) : std::random_device()();
  std::printf("IW_SEED=%u\n", seed);
  std::fflush(stdout);
  std::mt19937 random(seed);
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), quick());
  std::list<Child> readers;
  for (int i = 0; i < 3; i++) {
    readers.emplace_back("numbers_reader", std::map<std::string, std::string>{{"QUEUE", "16"}});
    ASSERT_EQ(readers.back().line().hear_text(), "ready");
  }
  std::vector<bool> is_stopped(3);
  for (int step = 0; step < 4000; step++) {
    writer->call<&Numbers::push_back>(static_cast<std::int64_t>(random() % 100));
    if (random() % 100 != 0) continue;
    const std::size_t which = random() % readers.size();
    const Child& reader = *std::next(readers.begin(), static_cast<std::ptrdiff_t>(which));
    is_stopped[which] ? reader.go_on() : reader.stop();
    is_stopped[which] = !is_stopped[which];
  }
  for (const Child& each : readers) {
    each.go_on();
    EXPECT_TRUE(eventually([&] { return ask(each, "values") == values(*writer); }));
  }
  EXPECT_EQ(writer->statistics().readers, 3u);
}
