// Endpoints' names, and the name server.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <list>
#include <map>
#include <regex>
#include <unordered_set>

#include "am/am_processes.h"
#include "am/name_server.h"
#include "testing/queues.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

std::string bytes_of(const en_t& name) {
  return {reinterpret_cast<const char*>(name.bytes), sizeof name.bytes};
}

std::string text_of(const en_t& name) {
  char text[128];
  EXPECT_EQ(AM_NameText(name, text, sizeof text), AM_OK);
  return text;
}

// The names of 2,500 endpoints in five bundles. Some endpoints are freed in between.
std::vector<en_t> many_names() {
  std::vector<en_t> names;
  for (int b = 0; b < 5; b++) {
    eb_t bundle = nullptr;
    EXPECT_EQ(AM_AllocateBundle(AM_SEQ, &bundle), AM_OK);
    for (int e = 0; e < 500; e++) {
      ep_t ep = nullptr;
      EXPECT_EQ(AM_AllocateEndpoint(bundle, &ep, &names.emplace_back()), AM_OK);
      if (e % 3 == 0) {
        EXPECT_EQ(AM_FreeEndpoint(ep), AM_OK);
      }
    }
    if (b % 2 == 0) {
      EXPECT_EQ(AM_FreeBundle(bundle), AM_OK);
    }
  }
  return names;
}

}  // namespace

ROLE(namer) {
  const Library library;
  const auto names = many_names();
  parent.say(std::as_bytes(std::span(names)));
  return 0;
}

TEST(Names, TenThousandOfFourProcessesAreUnique) {
  std::unordered_set<std::string> names, texts;
  for (int i = 0; i < 4; i++) {
    Child namer("namer");
    const auto bytes = namer.line().hear();
    ASSERT_EQ(bytes.size(), 2500 * sizeof(en_t));
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(en_t)) {
      en_t name;
      std::memcpy(&name, bytes.data() + at, sizeof name);
      names.insert(bytes_of(name));
      texts.insert(text_of(name));
    }
    EXPECT_EQ(namer.wait_for_end(), 0);
  }
  EXPECT_EQ(names.size(), 10000u);
  EXPECT_EQ(texts.size(), 10000u);
}

TEST(Names, AreComputerProcessBundleAndEndpointInFixedWidth) {
  const Library library;
  const Endpoint here;
  const std::string text = text_of(here.name);
  char pid[16];
  std::snprintf(pid, sizeof pid, "%08x", static_cast<unsigned>(getpid()));
  const std::regex form("([^:]+):([0-9a-f]{8}):([0-9a-f]{8}):([0-9a-f]{8})");
  std::smatch parts;
  ASSERT_TRUE(std::regex_match(text, parts, form)) << text;
  EXPECT_EQ(parts[2], pid);
  char small[8];
  EXPECT_EQ(AM_NameText(here.name, small, sizeof small), AM_ERR_RESOURCE);
  EXPECT_EQ(AM_NameText(en_t{}, small, sizeof small), AM_ERR_BAD_ARG);
}

// [AM-17]
TEST(Names, ArriveAsTextWhatTheyWere) {
  const Library library;
  const Endpoint here;
  char text[AM_NAME_CARRIED_BYTES];
  ASSERT_EQ(AM_NameToCarried(here.name, text), AM_OK);
  en_t back;
  ASSERT_EQ(AM_NameFromCarried(text, &back), AM_OK);
  EXPECT_EQ(bytes_of(back), bytes_of(here.name));
  text[0] = text[0] == '0' ? '1' : '0';
  EXPECT_EQ(AM_NameFromCarried(text, &back), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_NameFromCarried("12", &back), AM_ERR_BAD_ARG);
}

TEST(Names, AChosenNumberIsGivenOnce) {
  const Library library;
  const Endpoint here;
  ep_t ep = nullptr;
  ASSERT_EQ(AM_AllocateKnownEndpoint(here.bundle, &ep, 7), AM_OK);
  ep_t another = nullptr;
  EXPECT_EQ(AM_AllocateKnownEndpoint(here.bundle, &another, 7), AM_ERR_IN_USE);
  en_t name;
  AM_GetEndpointName(ep, &name);
  EXPECT_TRUE(text_of(name).ends_with(":00000007")) << text_of(name);
  EXPECT_EQ(AM_FreeEndpoint(ep), AM_OK);
  EXPECT_EQ(AM_AllocateKnownEndpoint(here.bundle, &another, 7), AM_ERR_IN_USE) << "it was taken";
}

// ---- the name server
// -----------------------------------------------------------------------------

int serve_names(const iw::testing::Line& parent) {
  const Library library;
  iw::am::NameServer server;
  en_t name;
  if (server.start(&name) != AM_OK) return 1;
  char text[AM_NAME_CARRIED_BYTES];
  AM_NameToCarried(name, text);
  parent.say(std::string(text));
  while (parent.hear_text() == "leave a hole") {
    iw::testing::leave_a_hole(iw::testing::own_queues().at(0));
    parent.say("left");
  }
  return 0;
}

ROLE(name_server) { return serve_names(parent); }

ROLE(name_server_of_few_files) {
  const rlimit few{64, 64};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
  return serve_names(parent);
}

// Registers an endpoint that answers, under the string that it hears.
ROLE(registrar) {
  const Library library;
  const Endpoint endpoint(AM_PAR);
  set_echo_handlers(endpoint);
  const std::string string = parent.hear_text();
  const int found = AMNS_Init(nullptr);
  parent.say_value(found == AM_OK ? AMNS_Register(string.c_str(), endpoint.name) : found);
  parent.hear();
  return 0;
}

class NameServer : public ::testing::Test {
 protected:
  NameServer() : server_("name_server"), text_(server_.line().hear_text()) {
    setenv("IW_AMNS", text_.c_str(), 1);
    EXPECT_EQ(AMNS_Init(nullptr), AM_OK);
  }
  ~NameServer() override { unsetenv("IW_AMNS"); }
  static int registered(const Child& registrar, const std::string& string) {
    registrar.line().say(string);
    return registrar.line().hear_value<int>();
  }
  const Library library_;
  Child server_;
  std::string text_;
};

static bool has_echoed;

TEST_F(NameServer, TwoProcessesMeetByAString) {
  const Child registrar("registrar");
  ASSERT_EQ(registered(registrar, "the grid's writer"), AM_OK);
  en_t name;
  ASSERT_EQ(AMNS_Lookup("the grid's writer", &name), AM_OK);
  const Endpoint here;
  here.set(1, handler(+[](void*, int, int, int, int) { has_echoed = true; }));
  ASSERT_EQ(AM_Request4(here.ep, here.map(name), echo_words, 0, 0, 0, 0), AM_OK);
  EXPECT_TRUE(here.poll_until([] { return has_echoed; }));
}

// [AM-NAME-3] [AM-NAME-5]
TEST_F(NameServer, AStringIsItsRegistrarsUntilThatEnds) {
  const Endpoint here;
  Child registrar("registrar");
  ASSERT_EQ(registered(registrar, "mine"), AM_OK);
  EXPECT_EQ(AMNS_Register("mine", here.name), AM_ERR_IN_USE);
  EXPECT_EQ(AMNS_Unregister("mine"), AM_ERR_RESOURCE);
  registrar.kill();
  // The server may get this process's request before it hears of the death.
  EXPECT_TRUE(here.poll_until([&] { return AMNS_Register("mine", here.name) == AM_OK; }));
  EXPECT_EQ(AMNS_Unregister("mine"), AM_OK);
  en_t name;
  EXPECT_EQ(AMNS_Lookup("mine", &name), AM_ERR_RESOURCE);
}

// [AM-NAME-5] It does so when a client is killed in the middle of a message.
TEST_F(NameServer, KeepsWhatIsRegisteredWhenItTakesAnotherTransport) {
  const Endpoint here;
  Child kept("registrar"), victim("registrar");
  ASSERT_EQ(registered(kept, "kept"), AM_OK);
  ASSERT_EQ(registered(victim, "the victim's"), AM_OK);
  server_.line().say("leave a hole");
  EXPECT_EQ(server_.line().hear_text(), "left");
  victim.kill();
  EXPECT_TRUE(here.poll_until([&] { return AMNS_Register("the victim's", here.name) == AM_OK; }));
  en_t name;
  EXPECT_EQ(AMNS_Lookup("kept", &name), AM_OK);
  EXPECT_EQ(AMNS_Register("kept", here.name), AM_ERR_IN_USE);
  kept.kill();
  EXPECT_TRUE(here.poll_until([&] { return AMNS_Register("kept", here.name) == AM_OK; }));
}

TEST_F(NameServer, EndsInOrderWhileAClientIsRegistered) {
  const Child registrar("registrar");
  ASSERT_EQ(registered(registrar, "still here"), AM_OK);
  server_.line().say(std::string("end"));
  EXPECT_EQ(server_.wait_for_end(), 0);
}

// UCX would end the server when it finds no file for one more client.
TEST(NameServerOverTcp, OutlivesMoreClientsThanItHasFilesFor) {
  const std::map<std::string, std::string> tcp{{"IW_FABRIC", "tcp"}};
  Child server("name_server_of_few_files", tcp);
  auto environment = tcp;
  environment["IW_AMNS"] = server.line().hear_text();
  environment["IW_AMNS_TIMEOUT_MS"] = "100";
  std::list<Child> clients;
  int taken = 0;
  for (int i = 0; i < 20; i++) {
    const Child& client = clients.emplace_back("registrar", environment);
    client.line().say("client " + std::to_string(i));
    taken += client.line().hear_value<int>() == AM_OK;
  }
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 20) << "there were files for all";
  server.line().say(std::string("end"));
  EXPECT_EQ(server.wait_for_end(), 0);
}

TEST_F(NameServer, WhatIsNoNameIsNotRegistered) {
  EXPECT_EQ(AMNS_Register("nobody", en_t{}), AM_ERR_BAD_ARG);
  en_t name;
  EXPECT_EQ(AMNS_Lookup("nobody", &name), AM_ERR_RESOURCE);
}

// [AM-NAME-2]
TEST_F(NameServer, StringsOutOfRangeAreRefused) {
  en_t name;
  EXPECT_EQ(AMNS_Lookup("", &name), AM_ERR_BAD_ARG);
  EXPECT_EQ(AMNS_Lookup(std::string(256, 'x').c_str(), &name), AM_ERR_BAD_ARG);
  const Endpoint here;
  EXPECT_EQ(AMNS_Register(std::string(255, 'x').c_str(), here.name), AM_OK);
  EXPECT_EQ(AMNS_Register(std::string(256, 'x').c_str(), here.name), AM_ERR_BAD_ARG);
}

// The text that AMNS_Init prints when it is not given a server's name.
static std::string said_of(const char* server) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(AMNS_Init(server), AM_ERR_BAD_ARG);
  return ::testing::internal::GetCapturedStderr();
}

static bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(NameServersName, ThatIsNoneIsNamedWithTheReason) {
  const Library library;
  unsetenv("IW_AMNS");
  for (const char* nothing : {static_cast<const char*>(nullptr), ""}) {
    EXPECT_TRUE(contains(said_of(nothing), "no name server is named: set IW_AMNS="));
  }
  EXPECT_TRUE(contains(said_of("nonsense"), "nonsense is not a name server's name"));
  EXPECT_TRUE(contains(said_of("file:/nowhere/x"), "file:/nowhere/x cannot be read: No such file"));
  EXPECT_TRUE(contains(said_of("file:/dev/null"), "file:/dev/null is not a name server's name"));
  char damaged[AM_NAME_CARRIED_BYTES];
  ASSERT_EQ(AM_NameToCarried(Endpoint().name, damaged), AM_OK);
  std::fill(damaged + 16, damaged + AM_NAME_CARRIED_BYTES - 1, 'f');
  EXPECT_TRUE(contains(said_of(damaged), "name is damaged"));
}

TEST_F(NameServer, AServerThatDiedIsNoticed) {
  server_.kill();
  en_t name;
  EXPECT_EQ(AMNS_Lookup("anything", &name), AM_ERR_NOT_SENT);
}

// A map without this limit would wait three times as long.
TEST_F(NameServer, WhoMeetsAStoppedServerWaitsAsLongAsItIsTold) {
  setenv("IW_AMNS_TIMEOUT_MS", "100", 1);
  server_.stop();
  auto met = std::async(std::launch::async, [] { return AMNS_Init(nullptr); });
  EXPECT_EQ(met.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(met.get(), AM_ERR_NOT_SENT);
  unsetenv("IW_AMNS_TIMEOUT_MS");
}

// The late answer of a server that continues is not taken for the answer to a later question.
TEST_F(NameServer, AnAnswerThatComesTooLateIsNobodys) {
  setenv("IW_AMNS_TIMEOUT_MS", "100", 1);
  EXPECT_EQ(AMNS_Init(nullptr), AM_OK);
  unsetenv("IW_AMNS_TIMEOUT_MS");
  const Endpoint here;
  server_.stop();
  EXPECT_EQ(AMNS_Register("late", here.name), AM_ERR_NOT_SENT);
  server_.go_on();
  en_t name;
  const auto looked_up = [&](const char* string) {
    int result;
    while ((result = AMNS_Lookup(string, &name)) == AM_ERR_NOT_SENT) {
    }
    return result;
  };
  EXPECT_EQ(looked_up("nobody's"), AM_ERR_RESOURCE);
  EXPECT_EQ(looked_up("late"), AM_ERR_RESOURCE) << "nobody has it who does not know it";
}

// A registration stays when its owner gives up repeating it.
// [AM-NAME-4]
TEST_F(NameServer, OnlyTheRegistrationThatWasGivenUpIsUndone) {
  setenv("IW_AMNS_TIMEOUT_MS", "100", 1);
  EXPECT_EQ(AMNS_Init(nullptr), AM_OK);
  unsetenv("IW_AMNS_TIMEOUT_MS");
  const Endpoint here;
  const auto until_answered = [](const auto& call) {
    int result;
    while ((result = call()) == AM_ERR_NOT_SENT) {
    }
    return result;
  };
  ASSERT_EQ(until_answered([&] { return AMNS_Register("mine", here.name); }), AM_OK);
  server_.stop();
  EXPECT_EQ(AMNS_Register("mine", here.name), AM_ERR_NOT_SENT);
  server_.go_on();
  en_t name;
  EXPECT_EQ(until_answered([&] { return AMNS_Lookup("mine", &name); }), AM_OK);
}

// [AM-NAME-1]
TEST_F(NameServer, AStringIsOneEndpointsAlsoWithinAProcess) {
  const Endpoint one, other;
  ASSERT_EQ(AMNS_Register("mine", one.name), AM_OK);
  EXPECT_EQ(AMNS_Register("mine", one.name), AM_OK) << "it is";
  EXPECT_EQ(AMNS_Register("mine", other.name), AM_ERR_IN_USE);
  en_t name;
  ASSERT_EQ(AMNS_Lookup("mine", &name), AM_OK);
  EXPECT_EQ(bytes_of(name), bytes_of(one.name));
  ASSERT_EQ(AMNS_Unregister("mine"), AM_OK);
  EXPECT_EQ(AMNS_Register("mine", other.name), AM_OK);
}
