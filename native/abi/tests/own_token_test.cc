// The tokens of this user's own servers, over TLS, and of servers that have ended [OWN-3, OWN-6]:
// a real server. Over TLS no Unix socket is taken, at which a token would not matter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "abi/tests/authority.h"
#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

namespace fs = std::filesystem;

const std::string stale = "iw_" + std::string(12, '0') + "_" + std::string(64, '1');

class OwnTokenOverTls : public ::testing::Test {
 protected:
  OwnTokenOverTls() : runtime_("XDG_RUNTIME_DIR", folder_.path()) {}

  [[nodiscard]] std::vector<std::string> ruled_by(const std::string& line) const {
    std::ofstream(authority_.file("rules")) << line << "\nend\n";
    return authority_.serving("memory", {"--rules", authority_.file("rules")});
  }
  // As a server leaves it that is killed.
  [[nodiscard]] std::string leave(const Server& server) const {
    const fs::path folder = folder_.path() + "/interweave";
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::owner_all);
    const std::string port = server.address().substr(server.address().rfind(':') + 1);
    const fs::path file = folder / (port + ".token");
    std::ofstream(file) << stale << '\n';
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file.string();
  }
  [[nodiscard]] IW_handle_t open(const Server& server, const std::string& host,
                                 const char* token = nullptr) const {
    const std::string ca = authority_.file("ca.pem");
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = IW_CREATE;
    options.timeout = 30;
    options.ca = ca.c_str();
    options.token = token;
    const std::string port = server.address().substr(server.address().rfind(':'));
    return IW_open_segment_with(("iws://" + host + port + "/s").c_str(), &options);
  }

  Authority authority_;
  TemporaryDirectory folder_;
  EnvironmentVariable runtime_;
};

TEST_F(OwnTokenOverTls, Own3IsShownAtThisHost) {
  const Server server(authority_.serving("memory", {"--own-token"}));
  ASSERT_TRUE(server.good());
  for (const char* const host : {"localhost", "127.0.0.1"}) {
    const IW_handle_t segment = open(server, host);
    ASSERT_NE(segment, nullptr) << IW_strerror();
    EXPECT_EQ(IW_close_segment(segment), 0);
  }
}

TEST_F(OwnTokenOverTls, Own6OfAnotherServerKeepsNobodyOut) {
  const Server server(ruled_by("allow anyone all /**"));
  ASSERT_TRUE(server.good());
  const std::string file = leave(server);
  const IW_handle_t segment = open(server, "localhost");
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(OwnTokenOverTls, Own6ARefusalNamesTheFileAndNotItsToken) {
  const Server server(ruled_by("allow alice all /**"));
  ASSERT_TRUE(server.good());
  const std::string file = leave(server);
  EXPECT_EQ(open(server, "localhost"), nullptr);
  EXPECT_EQ(IW_errno(), IW_EDENIED);
  std::string text = IW_strerror();
  EXPECT_NE(text.find("the token of " + file + ","), std::string::npos) << text;
  EXPECT_NE(text.find("remove the file"), std::string::npos) << text;
  EXPECT_NE(text.find("IW_TOKEN"), std::string::npos) << text;
  EXPECT_EQ(text.find(stale), std::string::npos) << text;
  // The text does not name a file whose token was not shown.
  EXPECT_EQ(open(server, "localhost", stale.c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_EDENIED);
  text = IW_strerror();
  EXPECT_EQ(text.find(file), std::string::npos) << text;
}

TEST_F(OwnTokenOverTls, Own6ThatTheFileHasByThenIsShown) {
  Server server(authority_.serving("memory", {"--own-token"}));
  ASSERT_TRUE(server.good());
  const IW_handle_t segment = open(server, "localhost");
  ASSERT_NE(segment, nullptr) << IW_strerror();
  server.kill();
  (void)leave(server);
  server.start();
  ASSERT_EQ(IW_rl_acquire_for(segment, 30, IW_FRESH), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

}  // namespace
}  // namespace iw::test
