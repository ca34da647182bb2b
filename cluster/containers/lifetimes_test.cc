// The end of writers, of readers, and of the objects that they kept.
#include "containers/container_processes.h"
#include "interweave/am.h"

using namespace iw::containers_test;

// [CONT-12]
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

// [CONT-12]
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

TEST_P(Containers, DeletedInEitherOrderNothingOfThemIsLeft) {
  for (const bool is_writer_first : {true, false}) {
    auto object = std::make_shared<Numbers>(), copy = std::make_shared<Numbers>();
    const std::weak_ptr<Numbers> objects_end = object, copys_end = copy;
    auto writer = factory->make_writer<Numbers>("numbers", std::move(object), quick());
    auto reader = factory->make_reader<Numbers>("numbers", std::move(copy), quick());
    writer->call<&Numbers::push_back>(1);
    if (is_writer_first) {
      writer.reset();
      EXPECT_TRUE(objects_end.expired());
      EXPECT_EQ(reader->tie(), Tie::ended);
      EXPECT_EQ(summary(*reader->read()), "1:1");
      reader.reset();
    } else {
      reader.reset();
      EXPECT_TRUE(copys_end.expired());
      EXPECT_TRUE(eventually([&] { return writer->statistics().readers == 0; }));
      writer.reset();
    }
    EXPECT_TRUE(objects_end.expired());
    EXPECT_TRUE(copys_end.expired());
    en_t name;
    EXPECT_EQ(AMNS_Lookup("numbers", &name), AM_ERR_RESOURCE);
  }
}

TEST_P(Containers, ReadersCopiesGoWhenTheWriterRemovesWhatItKeeps) {
  ASSERT_TRUE(register_object<aString>("aString"));
  auto writer = factory->make_writer<Bag>("bag", std::make_shared<Bag>(), quick());
  auto reader = factory->make_reader<Bag>("bag", std::make_shared<Bag>(), quick());
  std::vector<std::shared_ptr<aString>> kept;  // the writer's program refers to them, too
  for (int i = 0; i < 10; i++) {
    kept.push_back(std::make_shared<aString>(std::to_string(i)));
    writer->Insert(kept.back());
  }
  std::vector<std::weak_ptr<aString>> copies;
  ASSERT_TRUE(eventually([&] {
    const auto view = reader->read();
    copies.assign(view->objects.begin(), view->objects.end());
    return copies.size() == kept.size();
  }));
  const auto alive = [&] {
    reader->read();
    return std::ranges::count_if(copies, [](const auto& each) { return !each.expired(); });
  };
  EXPECT_EQ(alive(), 10);
  EXPECT_NE(copies[0].lock(), kept[0]);
  for (std::size_t i = 0; i < 4; i++) writer->Delete(kept[i]);
  EXPECT_TRUE(eventually([&] { return alive() == 6; }));
  EXPECT_TRUE(copies[0].expired());
  writer->Clear();
  EXPECT_TRUE(eventually([&] { return alive() == 0; }));
  EXPECT_EQ(kept[0]->text(), "0");
}

TEST_P(Containers, ADeletedWriterPingsWhileTheNameServerIsSilent) {
  auto writer = make_numbers(*factory);
  const Child reader("numbers_reader");
  ASSERT_EQ(reader.line().hear_text(), "ready");
  server->stop();
  std::thread deleting([&] { writer.reset(); });
  EXPECT_TRUE(is_pinged(reader));
  server->go_on();
  deleting.join();
  EXPECT_EQ(ask(reader, "ended"), "so");
}
