// The options ca, cert, key and token of an opening [CRED-1], with a real server.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "abi/tests/authority.h"
#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

struct Given {
  std::string ca, cert, key, token;
};

IW_handle_t open(const std::string& url, const Given& given) {
  const auto text = [](const std::string& one) { return one.empty() ? nullptr : one.c_str(); };
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.timeout = 10;
  options.token = text(given.token);
  options.ca = text(given.ca);
  options.cert = text(given.cert);
  options.key = text(given.key);
  return IW_open_segment_with(url.c_str(), &options);
}

void expect_refused(const std::string& url, const Given& given, int code,
                    const std::vector<std::string>& words) {
  EXPECT_EQ(open(url, given), nullptr);
  EXPECT_EQ(IW_errno(), code) << IW_strerror();
  const std::string text = IW_strerror();
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << text << " lacks " << word;
  }
}

// Alice may use what is below /alice, and bob what is below /bob.
class TlsCredentials : public ::testing::Test {
 protected:
  TlsCredentials() {
    authority_.client("bob");
    std::ofstream(authority_.file("rules"))
        << "allow cert:alice all /alice/**\nallow cert:bob all /bob/**\nend\n";
  }
  [[nodiscard]] std::vector<std::string> serving() const {
    return authority_.serving(
        "memory", {"--tls", "required", "--client-ca", file("ca.pem"), "--rules", file("rules")});
  }
  [[nodiscard]] std::string file(const std::string& name) const { return authority_.file(name); }
  [[nodiscard]] Given being(const std::string& name) const {
    return {file("ca.pem"), file(name + ".pem"), file(name + ".key"), ""};
  }

  Authority authority_;
};

TEST_F(TlsCredentials, Cred1OptionsGoBeforeTheEnvironment) {
  const Server server(serving());
  ASSERT_TRUE(server.good());
  const EnvironmentVariable trust("IW_CA", file("nothing.pem"));
  const EnvironmentVariable certificate("IW_CERT", file("bob.pem"));
  const EnvironmentVariable key("IW_KEY", file("bob.key"));
  const IW_handle_t segment = open(secure(server, "/alice/s"), being("alice"));
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(TlsCredentials, Cred1TheEnvironmentSaysWhatTheOptionsDoNot) {
  const Server server(serving());
  ASSERT_TRUE(server.good());
  const EnvironmentVariable trust("IW_CA", file("ca.pem"));
  Given given = being("alice");
  given.ca = "";
  const IW_handle_t segment = open(secure(server, "/alice/s"), given);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(TlsCredentials, Cred1AnotherIdentityIsRefusedWhileASegmentIsOpenAndTakenAfterwards) {
  const Server server(serving());
  ASSERT_TRUE(server.good());
  const IW_handle_t of_alice = open(secure(server, "/alice/s"), being("alice"));
  ASSERT_NE(of_alice, nullptr) << IW_strerror();
  expect_refused(secure(server, "/bob/s"), being("bob"), IW_EBAD_ARGUMENT,
                 {"option cert", "close"});
  expect_refused(secure(server, "/alice/s"), being("bob"), IW_EBAD_ARGUMENT, {"option cert"});
  expect_refused(secure(server, "/alice/s"), {"", "", "", "iw_x"}, IW_EBAD_ARGUMENT,
                 {"option token"});
  for (const Given& same : {being("alice"), Given{}}) {
    const IW_handle_t again = open(secure(server, "/alice/other"), same);
    ASSERT_NE(again, nullptr) << IW_strerror();
    EXPECT_EQ(IW_close_segment(again), 0);
  }
  EXPECT_EQ(IW_close_segment(of_alice), 0);
  for (int round = 0; round < 20; ++round) {
    const char* const name = round % 2 == 0 ? "bob" : "alice";
    const IW_handle_t own = open(secure(server, std::string("/") + name + "/s"), being(name));
    ASSERT_NE(own, nullptr) << round << ": " << IW_strerror();
    ASSERT_EQ(IW_wl_acquire(own), 0) << IW_strerror();
    ASSERT_EQ(IW_wl_release(own), 0) << IW_strerror();
    EXPECT_EQ(IW_close_segment(own), 0);
  }
}

TEST_F(TlsCredentials, AFileThatCannotBeUsedIsNamed) {
  const Server server(serving());
  ASSERT_TRUE(server.good());
  const std::string url = secure(server, "/alice/s");
  Given given = being("alice");
  given.ca = file("nothing.pem");
  expect_refused(url, given, IW_EDENIED, {given.ca, "option ca", "No such file"});
  // OpenSSL takes such a list, which makes nobody trusted.
  std::ofstream(file("list.pem")) << "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n";
  std::ofstream(file("empty.pem")).flush();
  for (const char* const name : {"list.pem", "empty.pem", "alice.key", "rules"}) {
    given.ca = file(name);
    expect_refused(url, given, IW_EDENIED, {given.ca, "option ca", "holds no certificate"});
  }
  given = being("alice");
  given.cert = file("rules");
  expect_refused(url, given, IW_EDENIED, {given.cert, "option cert"});
  given = being("alice");
  given.key = file("bob.key");
  expect_refused(url, given, IW_EDENIED, {given.key, "option key", "certificate's key"});
  const EnvironmentVariable key("IW_KEY", file("alice.key"));
  given.key = "";
  expect_refused(url, given, IW_EDENIED, {"options cert and key", "go together"});
}

// A program that was compiled with the header of before.
TEST_F(TlsCredentials, OptionsOfAnOlderProgramAreReadAsFarAsTheyGo) {
  const Server server(serving());
  ASSERT_TRUE(server.good());
  const EnvironmentVariable trust("IW_CA", file("ca.pem"));
  const EnvironmentVariable certificate("IW_CERT", file("alice.pem"));
  const EnvironmentVariable key("IW_KEY", file("alice.key"));
  IW_open_options options{};
  options.flags = IW_CREATE;
  const char* const beyond = "not an option of that program";
  options.token = options.ca = options.cert = options.key = beyond;
  options.size = offsetof(IW_open_options, token);
  const IW_handle_t segment = IW_open_segment_with(secure(server, "/alice/s").c_str(), &options);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST(TlsTokens, Cred3ATokenTooLongForAnyServerAndTheTextOfAKeyAreRefused) {
  IW_open_options options{};
  options.size = sizeof options;
  const std::string token(4097, 'a');
  options.token = token.c_str();
  EXPECT_EQ(IW_open_segment_with("127.0.0.1:1/a", &options), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_ARGUMENT) << IW_strerror();
  options.token = "";
  const std::string key = "-----BEGIN PRIVATE KEY-----\nsecret";
  options.key = key.c_str();
  EXPECT_EQ(IW_open_segment_with("iws://127.0.0.1:1/a", &options), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_ARGUMENT) << IW_strerror();
  EXPECT_EQ(std::string(IW_strerror()).find("secret"), std::string::npos) << IW_strerror();
}

// The deadline of the calls is beyond that of the test.
TEST(TlsTokens, Cred2ATokenThatIsRevokedIsToldAtOnceWhateverTheDeadline) {
  const TemporaryDirectory folder;
  const std::string tokens = folder.path() + "/tokens";
  Child made({server_program(), "token", "new", "alice", "--tokens", tokens});
  const std::string token = made.read_line();
  ASSERT_EQ(made.wait(), 0);
  Server server({"--store", "memory", "--tokens", tokens});
  ASSERT_TRUE(server.good());
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.timeout = 3600;
  options.token = token.c_str();
  const IW_handle_t segment = IW_open_segment_with(server.url("/s").c_str(), &options);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  server.kill();
  std::ofstream(tokens) << "end\n";
  server.start();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(IW_wl_acquire(segment), IW_EDENIED) << IW_strerror();
    EXPECT_EQ(IW_rl_acquire_for(segment, 3600, IW_FRESH), IW_EDENIED) << IW_strerror();
  }
  EXPECT_EQ(std::string(IW_strerror()).find(token), std::string::npos) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

TEST(TlsTokens, Cred1AnotherTokenIsRefusedWhileASegmentIsOpen) {
  const Server server;
  ASSERT_TRUE(server.good());
  const IW_handle_t first = open(server.url("/a"), {"", "", "", "one"});
  ASSERT_NE(first, nullptr) << IW_strerror();
  expect_refused(server.url("/b"), {"", "", "", "two"}, IW_EBAD_ARGUMENT, {"option token"});
  EXPECT_EQ(std::string(IW_strerror()).find("two"), std::string::npos);
  EXPECT_EQ(IW_close_segment(first), 0);
  const IW_handle_t second = open(server.url("/b"), {"", "", "", "two"});
  ASSERT_NE(second, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(second), 0);
}

}  // namespace
}  // namespace iw::test
