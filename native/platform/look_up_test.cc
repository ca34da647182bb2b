// Names that are not found, or not for a long time. The name service here is the system's, but for
// one name, over which it takes as long as the test wants.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "platform/socket_fixture.h"

namespace iw::platform {
namespace {

std::atomic<bool> is_slow_one_answered{false};
std::atomic<int> waiting{0};  // for that answer
std::atomic<int> asked{0};

}  // namespace
}  // namespace iw::platform

// Found before the C library's, in whose place it is called.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wanted,
                           addrinfo** found) {
  using namespace iw::platform;
  const bool may_ask = wanted == nullptr || (wanted->ai_flags & AI_NUMERICHOST) == 0;
  if (may_ask) ++asked;
  if (may_ask && host != nullptr && std::strcmp(host, "slow.test") == 0) {
    ++waiting;
    is_slow_one_answered.wait(false);
    host = "127.0.0.1";
    --waiting;
    waiting.notify_all();
  }
  static const auto system =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(host, service, wanted, found);
}

namespace iw::platform {
namespace {

TEST(LookUp, ANameThatIsNotAnsweredForIsGivenUpAtTheDeadline) {
  is_slow_one_answered = false;
  Socket client;
  const std::int64_t deadline_ns = now_ns() + second_ns / 20;
  EXPECT_EQ(connect_tcp("slow.test", 1, deadline_ns, client).code, ETIMEDOUT);
  EXPECT_GE(now_ns(), deadline_ns);
  EXPECT_FALSE(client);
  // Answers the look-up that nobody waits for any more.
  is_slow_one_answered = true;
  is_slow_one_answered.notify_all();
  for (int left = waiting; left != 0; left = waiting) waiting.wait(left);
}

TEST(LookUp, ANameThatIsAnsweredInTimeIsConnectedTo) {
  is_slow_one_answered = true;
  Socket client;
  const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
  EXPECT_EQ(connect_tcp("slow.test", 1, deadline_ns, client).code, ECONNREFUSED);
}

TEST(LookUp, AnAddressInDigitsAsksNoNameService) {
  const int before = asked;
  Socket client;
  const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
  EXPECT_EQ(connect_tcp("127.0.0.1", 1, deadline_ns, client).code, ECONNREFUSED);
  EXPECT_EQ(asked, before);
}

}  // namespace
}  // namespace iw::platform
