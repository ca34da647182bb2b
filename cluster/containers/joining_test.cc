// Readers that join while another process is stopped.
#include "containers/container_processes.h"

using namespace iw::containers_test;

// The writer continues, and finds the joiner's request, when the joiner has stopped.
TEST_P(Containers, AJoinerThatStopsKeepsNobodyElseOut) {
  for (const char* who : {"join", "join as another"}) {
    const Child writer("numbers_writer", {{"MORTAL", "1"}});
    ASSERT_EQ(writer.line().hear_text(), "ready");
    const Child joiner("containers_joiner");
    ASSERT_EQ(joiner.line().hear_text(), "ready");
    writer.stop();
    ASSERT_EQ(ask(joiner, who), "asked");
    joiner.stop();
    writer.go_on();
    const auto reader = factory->make_reader<Numbers>("numbers");
    EXPECT_EQ(ask(writer, "push 2"), "2:3");
    EXPECT_TRUE(eventually([&] { return summary(*reader->read()) == "2:3"; }));
    EXPECT_EQ(ask(writer, "delete"), "deleted");
  }
}

TEST_P(Containers, AReaderOfAnotherClassThanItsWritersIsRefused) {
  const auto writer = factory->make_writer<Vector<int>>("letters");
  for (const int letter : {65, 66, 67}) writer->call<&Vector<int>::push_back>(letter);
  EXPECT_THROW(factory->make_reader<Text>("letters")->read(), ContainerError);
  EXPECT_EQ(factory->make_reader<Vector<int>>("letters")->read()->value().size(), 3u);
}
