// The errors of a program that cannot have what it asks for. Each names the process that is
// missing.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "containers/container_processes.h"
#include "containers/endpoint.h"

using namespace iw::containers_test;

namespace {

template <typename Make>
std::string error_of(Make make) {
  try {
    make();
    return "none";
  } catch (const ContainerError& error) {
    return error.what();
  }
}

std::string factory_error(const char* name_server) {
  return error_of([&] { const Factory factory(name_server); });
}

std::string reader_error(Factory& factory, const std::string& name) {
  Options options = quick();
  options.join_ms = 300;
  return error_of(
      [&] { factory.make_reader<Numbers>(name, std::make_shared<Numbers>(), options); });
}

// Has a writer's name, and lets no reader join.
struct Refusing : Receiver {
  Answer take(const Head&, std::span<const std::byte>) override { return Answer::refused; }
  void answered(int, Answer, std::uint32_t) override {}
  void came_back(int) override {}
};

// A file with one line, or none, which is removed in the end.
struct File {
  explicit File(const std::string& line) { std::ofstream(path) << line; }
  ~File() { std::filesystem::remove(path); }
  const std::string path = ::testing::TempDir() + "amns." + std::to_string(getpid());
  const std::string name = "file:" + path;
};

}  // namespace

TEST_P(Containers, AFactoryWithoutANameServerSaysWhatIsWrongWithItsName) {
  const std::string there = std::getenv("IW_AMNS");
  factory.reset();
  unsetenv("IW_AMNS");
  EXPECT_EQ(factory_error(nullptr),
            "no name server is named: set IW_AMNS=NAME or IW_AMNS=file:FILE");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(factory_error("nobody"), "nobody is not a name server's name");
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.find("nobody"), std::string::npos) << "it is said once: " << printed;
  setenv("IW_AMNS", "file:/nowhere/amns", 1);
  EXPECT_EQ(factory_error(nullptr), "file:/nowhere/amns cannot be read: No such file or directory");
  for (const std::string& damaged : {std::string(), there.substr(0, there.size() / 2)}) {
    const File file(damaged);
    EXPECT_EQ(factory_error(file.name.c_str()), file.name + " is not a name server's name");
  }
  const File file(there);
  EXPECT_EQ(factory_error(file.name.c_str()), "none");
}

TEST_P(Containers, AFactoryWhoseNameServerHasDiedSaysThatItIsNotReached) {
  factory.reset();
  server->kill();
  EXPECT_TRUE(factory_error(nullptr).starts_with("the name server is not reached: "));
}

TEST_P(Containers, WithoutAnObjectOrWithAnUnsoundNameAreRefused) {
  using namespace std::string_literals;
  const std::shared_ptr<Numbers> none;
  EXPECT_EQ(error_of([&] { factory->make_writer<Numbers>("numbers", none); }),
            "the container numbers is given no object");
  EXPECT_EQ(error_of([&] { factory->make_reader<Numbers>("numbers", none); }),
            "the container numbers is given no object");
  EXPECT_EQ(error_of([&] { factory->make_writer<Numbers>("num\0bers"s); }),
            "a container's name has no zero byte: num");
}

TEST_P(Containers, AReaderIsToldWhoIsMissing) {
  EXPECT_EQ(reader_error(*factory, "numbers"), "the container numbers has no writer");
  const Endpoint no_writer(std::make_shared<Refusing>(), 1);
  ASSERT_EQ(AMNS_Register("numbers", no_writer.name()), AM_OK);
  EXPECT_EQ(reader_error(*factory, "numbers"),
            "the writer of the container numbers does not answer");
}

TEST_P(Containers, AReaderOfAStoppedWriterWaitsAsLongAsItIsTold) {
  const Child writer("numbers_writer");
  ASSERT_EQ(writer.line().hear_text(), "ready");
  writer.stop();
  auto told = std::async(std::launch::async, [&] { return reader_error(*factory, "numbers"); });
  EXPECT_EQ(told.wait_for(std::chrono::seconds(15)), std::future_status::ready);
  EXPECT_EQ(told.get(), "the writer of the container numbers does not answer");
  writer.go_on();
}

TEST_P(Containers, AReaderIsToldThatTheNameServerIsSilent) {
  become_impatient();
  server->stop();
  EXPECT_EQ(reader_error(*factory, "numbers"),
            "the name server does not answer which process writes the container numbers");
  server->go_on();
}

// Makes a writer, and a reader that evaluates in the background. Says the error, "" for none.
ROLE(starter) {
  const std::string error = error_of([] {
    Factory factory;
    const auto writer = factory.make_writer<Numbers>("started");
    Options options = quick();
    options.evaluates_in_background = true;
    factory.make_reader<Numbers>("started", std::make_shared<Numbers>(), options);
  });
  parent.say(error);
  return 0;
}

// The first thread is the transport library's, which ends the process if it cannot have one.
TEST_P(Containers, WhereNoMoreThreadsAreToBeHadAnErrorSaysSo) {
  std::set<std::string> errors;
  std::string error;
  for (int most = 1; error != "none"; most++) {
    ASSERT_LE(most, 20);
    Child starter("starter", iw::testing::few_threads(most));
    error = starter.line().hear_text();
    EXPECT_EQ(starter.wait_for_end(), 0);
    errors.insert(error.substr(0, error.rfind(':')));
  }
  EXPECT_EQ(errors, (std::set<std::string>{"none", "AM_Init",
                                           "no thread can be started for the container started"}));
}
