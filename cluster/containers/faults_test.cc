// Processes that stop, go on and die, damaged queues, functions that a reader does not know.
#include <random>

#include "containers/container_processes.h"
#include "containers/reader.h"
#include "containers/reader_link.h"

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
  const auto push = [&](int messages) {
    for (int i = 0; i < messages; i++) link.add(Parcel::empty(ping));
    link.note_answers(inbox->answers(1));
    link.push(here);
  };
  there.stop();
  push(1000);  // more than there is room for
  EXPECT_TRUE(link.has_outbox());
  EXPECT_FALSE(link.is_cut_off());
  there.go_on();
  ASSERT_TRUE(eventually([&] {
    push(0);
    return link.is_settled(inbox->answers(1));
  }));
  EXPECT_EQ(inbox->answers(1), 1000u);
  EXPECT_FALSE(link.is_cut_off());
  there.kill();
  // What was still taken after that comes back; once nothing is, the first refusal says it.
  ASSERT_TRUE(eventually([&] {
    push(1);
    return link.has_outbox();
  }));
  const auto came_back = inbox->take_news(Clock::now(), false).gone.size();
  EXPECT_EQ(link.is_cut_off(), came_back == 0);
}

TEST_P(Containers, AWritersEndDoesNotWaitForAReaderThatWasKilled) {
  const Child writer("numbers_writer", {{"LIFE_MS", "3600000"}});
  ASSERT_EQ(writer.line().hear_text(), "ready");
  Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  EXPECT_EQ(ask(writer, "push 10"), "10:55");
  ASSERT_EQ(ask(reader, "until 10"), "10:55");
  reader.kill();
  EXPECT_EQ(ask(writer, "delete"), "deleted");  // and not after that hour
}

TEST_P(Containers, BothSidesAgreeThatAStoppedReaderIsGone) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  reader.stop();
  // It takes nothing: neither do calls wait for it, nor is more kept for it than its queue.
  for (int i = 0; i < 5000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
  reader.go_on();
  EXPECT_EQ(ask(reader, "broken"), "so");
}

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

TEST_P(Containers, AFunctionThatAReaderDoesNotKnowCostsTheWholeObject) {
  if (table().find(&identity_of<&Counter::add>) == nullptr) {
    Functions<Counter>::all().add<&Counter::add>(1).add<&Counter::add_twice>(2);
  }
  FunctionTable other;  // the reader's program: its number 2 has other arguments, and no 1
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

TEST_P(Containers, AFunctionWithoutANumberAndOneThatThrowsShipTheWholeObject) {
  auto writer = factory->make_writer<Counter>("counter", std::make_shared<Counter>(), quick());
  auto reader = factory->make_reader<Counter>("counter", std::make_shared<Counter>(), quick());
  EXPECT_THROW(writer->call<&Counter::fail>(), std::runtime_error);
  EXPECT_TRUE(eventually([&] { return reader->read()->value() == 1; }));
  EXPECT_EQ(reader->statistics().updates_evaluated, 0u);
  EXPECT_EQ(writer->statistics().updates, 0u);
}

TEST_P(Containers, ReadersCopiesGoWhenTheWriterRemovesWhatItKeeps) {
  ASSERT_TRUE(register_object<aString>("aString"));
  auto writer = factory->make_writer<Bag>("bag", std::make_shared<Bag>(), quick());
  auto reader = factory->make_reader<Bag>("bag", std::make_shared<Bag>(), quick());
  const auto kept = std::make_shared<aString>("kept");  // the writer's program refers to it, too
  writer->Insert(kept);
  std::weak_ptr<aString> copy;
  ASSERT_TRUE(eventually([&] {
    const auto view = reader->read();
    if (!view->objects.empty()) copy = view->objects.front();
    return !view->objects.empty();
  }));
  EXPECT_NE(copy.lock(), kept);
  writer->Delete(kept);
  EXPECT_TRUE(eventually([&] { return reader->read()->objects.empty(); }));
  EXPECT_TRUE(copy.expired());
  EXPECT_EQ(kept->text(), "kept");
}

TEST_P(Containers, ATakerThatDiesLeavesTheRoleWhereItWas) {
  auto writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
  Child taker("numbers_reader");
  ASSERT_EQ(taker.line().hear_text(), "ready");
  const Child follower("numbers_reader");
  ASSERT_EQ(follower.line().hear_text(), "ready");
  taker.line().say("take");
  ASSERT_TRUE(eventually([&] { return !writer->is_writer(); }));
  taker.kill();
  // Killed before it registered the name, the role comes back; after, its name goes with it.
  const auto make_next = [&] {
    if (writer->is_writer()) return true;
    try {
      writer = factory->make_writer<Numbers>("numbers", std::make_shared<Numbers>(), mortal());
      return true;
    } catch (const ContainerError&) {
      return false;
    }
  };
  ASSERT_TRUE(eventually(make_next));
  writer->call<&Numbers::push_back>(3);
  EXPECT_EQ(ask(follower, "until 1"), "1:3");
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
    EXPECT_TRUE(eventually([&] { return ask(each, "read") == summary(*writer); }));
  }
  EXPECT_EQ(writer->statistics().readers, 3u);
}
