// Containers between real processes: readers have what the writer's process calls.
#include "containers/container_processes.h"
#include "containers/endpoint.h"
#include "fabric/service.h"
#include "interweave/am.h"
#include "testing/transports.h"

using namespace iw::containers_test;

namespace {

// A container of containers.
struct Shelf : ValueContainer<std::vector<Ref>> {
  void put(Ref container) { value_.push_back(std::move(container)); }
  void fill(std::uint64_t at, std::int64_t number) { at_place(at)->push_back(number); }
  const Numbers* at_place(std::uint64_t at) const {
    return dynamic_cast<const Numbers*>(value_.at(at).get());
  }
  Numbers* at_place(std::uint64_t at) { return dynamic_cast<Numbers*>(value_.at(at).get()); }
  static void list(Functions<Shelf>& functions) {
    functions.add<&Shelf::put>(1).add<&Shelf::fill>(2);
  }
};

struct Peeked : ValueContainer<std::int64_t> {
  std::int64_t peek() { return value_; }
  static void list(Functions<Peeked>& functions) { functions.add<&Peeked::peek>(1); }
};

// An argument that counts how often it is read from a stream.
struct Cargo {
  std::string bytes;
};
std::atomic<int> cargoes_read = 0;
struct Hold : ValueContainer<std::int64_t> {
  void load(Cargo cargo) { value_ += static_cast<std::int64_t>(cargo.bytes.size()); }
  static void list(Functions<Hold>& functions) { functions.add<&Hold::load>(1); }
};

}  // namespace

template <>
struct iw::containers::Marshalled<Cargo> {
  static std::string signature() { return "cargo"; }
  static bool write(MarshalStream& stream, const Cargo& value) {
    return marshal(stream, value.bytes);
  }
  static bool read(DeMarshalStream& stream, Cargo* value) {
    cargoes_read++;
    return demarshal(stream, &value->bytes);
  }
};

INSTANTIATE_TEST_SUITE_P(Over, Containers,
                         ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

// [CONT-1]
TEST_P(Containers, ReadersInOtherProcessesHaveWhatTheWriterCalled) {
  auto writer = make_numbers(*factory);
  std::list<Child> readers;
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(readers.emplace_back("numbers_reader").line().hear_text(), "ready");
  }
  for (int i = 1; i <= 100; i++) writer->call<&Numbers::push_back>(i);
  writer->call<&Numbers::erase>(1u);
  writer->call<&Numbers::set>(0u, 1000);
  writer->call<&Numbers::insert>(99u, -1);
  writer->call<&Numbers::push_back>(7);
  for (const Child& each : readers) {
    EXPECT_EQ(ask(each, "until 101"), summary(*writer));
    EXPECT_EQ(ask(each, "values"), values(*writer));
  }
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
  // An update is answered when it is in the reader's queue, and deletion waits for the answers.
  bag.reset(), map.reset(), queue.reset(), text.reset();
  EXPECT_EQ(ask(reader, "read"), "early,one,three,y=2,second,whole functions");
}

TEST_P(Containers, ContainersNest) {
  ASSERT_TRUE(register_object<Numbers>("Numbers"));
  // A container that is itself shared travels as its value at that moment, and becomes a plain
  // copy.
  ASSERT_TRUE(register_object("SharedNumbers", typeid(WriterContainer<Numbers>),
                              [] { return std::make_shared<Numbers>(); }));
  auto inner = make_numbers(*factory);
  inner->call<&Numbers::push_back>(5);
  auto shelf = factory->make_writer<Shelf>("shelf");
  auto early = factory->make_reader<Shelf>("shelf");
  shelf->call<&Shelf::put>(std::make_shared<Numbers>());
  shelf->call<&Shelf::fill>(0u, 7);
  shelf->call<&Shelf::put>(std::move(inner));
  ASSERT_TRUE(eventually([&] { return early->read()->value().size() == 2; }));
  auto late = factory->make_reader<Shelf>("shelf");
  for (const auto& reader : {early.get(), late.get()}) {
    const auto view = reader->read();
    ASSERT_EQ(view->value().size(), 2u);
    EXPECT_EQ(summary(*view->at_place(0)), "1:7");
    EXPECT_EQ(summary(*view->at_place(1)), "1:5");
  }
}

TEST_P(Containers, CallsThatChangeNothingAreShippedAndCounted) {
  auto writer = factory->make_writer<Peeked>("peeked");
  auto reader = factory->make_reader<Peeked>("peeked");
  EXPECT_EQ(writer->call<&Peeked::peek>(), 0);
  EXPECT_EQ(writer->read()->value(), 0);  // is not
  EXPECT_EQ(writer->statistics().updates, 1u);
  EXPECT_TRUE(eventually([&] {
    reader->read();
    return reader->statistics().updates_evaluated == 1;
  }));
}

TEST_P(Containers, NothingIsEvaluatedBeforeARead) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 50; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return ask(reader, "queued") == "50"; }));
  EXPECT_EQ(ask(reader, "statistics"), "0 0 0 50");
  EXPECT_EQ(ask(reader, "values"), values(*writer));
  EXPECT_EQ(ask(reader, "statistics"), "50 1 0 0");
}

// Holds up all threads that the library may have, for as long as this lives.
class HeldUp {
 public:
  HeldUp() {
    for (std::size_t i = 0; i < iw::fabric::Service::threads_max; i++) {
      Endpoint& each = endpoints_.emplace_back(holding_, 10);
      each.send(each.map(each.name()), Head{}, {});
    }
  }
  ~HeldUp() {
    holding_->may_end = true;
    holding_->may_end.notify_all();
  }
  std::size_t threads() const { return holding_->threads; }

 private:
  struct Holding : Receiver {
    Answer take(const Head&, std::span<const std::byte>) override {
      threads++;
      may_end.wait(false);
      return Answer::ok;
    }
    void answered(int, Answer, std::uint32_t) override {}
    void came_back(int) override {}
    std::atomic<std::size_t> threads = 0;
    std::atomic<bool> may_end = false;
  };
  const std::shared_ptr<Holding> holding_ = std::make_shared<Holding>();
  std::list<Endpoint> endpoints_;
};

TEST_P(Containers, AReaderThatPollsNeedsNobodyElseToTakeWhatArrives) {
  const Child writer("numbers_writer");
  ASSERT_EQ(writer.line().hear_text(), "ready");
  Options options = quick();
  options.polls_when_read = true;
  auto reader = factory->make_reader<Numbers>("numbers", std::make_shared<Numbers>(), options);
  const HeldUp held_up;
  ASSERT_TRUE(eventually([&] { return held_up.threads() == iw::fabric::Service::threads_max; }));
  EXPECT_EQ(ask(writer, "push 3"), "3:6");
  EXPECT_TRUE(eventually([&] { return summary(*reader->read()) == "3:6"; }));
}

TEST_P(Containers, AHandlerReadsNoArgumentsOfWhateverSize) {
  cargoes_read = 0;
  auto writer = factory->make_writer<Hold>("hold");
  auto reader = factory->make_reader<Hold>("hold");
  for (const std::size_t bytes : {8, 1000, 16000, 100000}) {
    writer->call<&Hold::load>(Cargo{std::string(bytes, 'x')});
  }
  // All updates are answered, so all are in the queue.
  ASSERT_TRUE(eventually([&] { return writer->statistics().readers_waited_for == 0; }));
  EXPECT_EQ(reader->statistics().queued, 4u);
  EXPECT_EQ(cargoes_read, 0);
  EXPECT_EQ(reader->read()->value(), 117008);
  EXPECT_EQ(cargoes_read, 4);
}

TEST_P(Containers, ALongerQueueKeepsMoreUpdatesAndSavesTheWholeObject) {
  Options patient = quick();
  patient.queue_length = 1000;
  auto writer = make_numbers(*factory, patient);
  for (const std::size_t length : {1u, 64u, 500u}) {
    Options options = quick();
    options.queue_length = length;
    auto reader = factory->make_reader<Numbers>("numbers", std::make_shared<Numbers>(), options);
    const auto objects = writer->statistics().objects_sent;
    for (int i = 0; i < 500; i++) writer->call<&Numbers::push_back>(i);
    ASSERT_TRUE(eventually([&] { return writer->statistics().readers_waited_for == 0; }));
    EXPECT_EQ(reader->statistics().queued, length);
    const std::string read = summary(*reader->read());
    EXPECT_EQ(read, summary(*writer));
    EXPECT_EQ(writer->statistics().objects_sent - objects, length < 500 ? 1u : 0u);
  }
}

// [CONT-9]
TEST_P(Containers, AFullQueueCostsOneWholeObjectWhenItIsRead) {
  Options options = quick();
  options.queue_length = 1000;  // so that the reader's queue, and not the outbox, is full first
  auto writer = make_numbers(*factory, options);
  const Child reader("numbers_reader", {{"QUEUE", "8"}});
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 1000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return writer->statistics().readers_behind == 1; }));
  EXPECT_EQ(ask(reader, "read"), "1000:499500");
  EXPECT_EQ(writer->statistics().objects_sent, 2u);  // the first when it joined
  EXPECT_EQ(ask(reader, "statistics"), "0 1 0 0");   // the queue was flushed
}

// By the whole object, and by arguments, of just so many full buffers and a byte more or less.
// [CONT-5]
TEST_P(Containers, WhatEndsWithABufferTravelsWhole) {
  constexpr std::size_t count_bytes = 4;  // before the text
  constexpr auto full = MarshalStream::buffer_bytes;
  auto writer = factory->make_writer<Text>("text");
  auto early = factory->make_reader<Text>("text");
  for (const std::size_t bytes : {full - 1, full, full + 1, 3 * full - 1, 3 * full, 3 * full + 1}) {
    std::string text(bytes - count_bytes, ' ');
    for (std::size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>('a' + i % 26);
    writer->Clear();
    const auto before = writer->statistics().bytes_sent;
    writer->call<&Text::append>(text);
    EXPECT_EQ(writer->statistics().bytes_sent - before, bytes);
    auto late = factory->make_reader<Text>("text");
    EXPECT_TRUE(late->read()->value() == text) << bytes;
    ASSERT_TRUE(eventually([&] { return writer->statistics().readers_waited_for == 0; }));
    EXPECT_TRUE(early->read()->value() == text) << bytes;
    EXPECT_EQ(early->statistics().recoveries, 0u);
  }
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
  // Earlier messages have been answered, so this call sends the insert and nothing else.
  const auto bytes_of_insert = [&] {
    EXPECT_TRUE(eventually([&] { return writer->statistics().readers_waited_for == 0; }));
    const auto before = writer->statistics().bytes_sent;
    writer->call<&Numbers::push_back>(1);
    return writer->statistics().bytes_sent - before;
  };
  EXPECT_EQ(bytes_of_insert(), 8u);
  for (int i = 0; i < 5000; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_EQ(ask(reader, "until 5001"), summary(*writer));
  EXPECT_EQ(bytes_of_insert(), 8u);
}

TEST_P(Containers, ABackgroundThreadKeepsTheQueueShort) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader", {{"BACKGROUND", "1"}});
  ASSERT_EQ(reader.line().hear_text(), "ready");
  for (int i = 0; i < 100; i++) writer->call<&Numbers::push_back>(i);
  EXPECT_TRUE(eventually([&] { return ask(reader, "statistics") == "100 1 0 0"; }));
}

TEST_P(Containers, AViewThatIsHeldStopsNoPings) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  const auto view = writer->read();
  EXPECT_TRUE(is_pinged(reader));
}
