// To which server a client shows the token of this user's own server, and which file it takes.
#include "client/own_token.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "client/own_token_fixture.h"

namespace iw::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* token = "iw_of_the_test";

class OwnTokenFile : public ::testing::Test {
 protected:
  OwnTokenFile() { folder_.write(7, token); }

  [[nodiscard]] fs::path file() const { return folder_.file(7); }
  static std::string shown(const std::string& url, bool is_to_loopback_v4 = true) {
    types::Url server;
    EXPECT_TRUE(types::parse_url(url, server).ok()) << url;
    return OwnTokens().find(server, is_to_loopback_v4).text;
  }

  const OwnTokenFolder folder_;
};

// [OWN-3]
TEST_F(OwnTokenFile, IsShownAtOneAddressAlone) {
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), token);
  EXPECT_EQ(shown("iw://localhost:7/x"), token);
  EXPECT_EQ(shown("iw://localhost:7/x", false), "") << "another user may have the port there";
  EXPECT_EQ(shown("iw://[::1]:7/x"), "");
  EXPECT_EQ(shown("iw://127.0.0.2:7/x"), "");
  EXPECT_EQ(shown("iw://example.org:7/x"), "");
  EXPECT_EQ(shown("iws://127.0.0.1:7/x"), token);
  EXPECT_EQ(shown("iws://localhost:7/x"), token);
  EXPECT_EQ(shown("iws://localhost:7/x", false), "");
  EXPECT_EQ(shown("iws://example.org:7/x"), "");
  EXPECT_EQ(shown("unix:/tmp/socket:/x"), "");
  EXPECT_EQ(shown("iw://127.0.0.1:8/x"), "");
}

// [OWN-2] [OWN-3]
TEST_F(OwnTokenFile, IsTakenFromAPrivateFileInAPrivateFolder) {
  OwnTokenFolder::set_mode(file(), 0644);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), "");
  OwnTokenFolder::set_mode(file(), 0600);
  OwnTokenFolder::set_mode(folder_.path(), 0755);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), "");
  OwnTokenFolder::set_mode(folder_.path(), 0700);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), token);
  fs::rename(file(), folder_.path().parent_path() / "elsewhere");
  fs::create_symlink(folder_.path().parent_path() / "elsewhere", file());
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), "");
}

// [OWN-6]
TEST_F(OwnTokenFile, ThatWasRefusedIsNotShownAgainUntilItsFileHasAnother) {
  types::Url server;
  ASSERT_TRUE(types::parse_url("iw://127.0.0.1:7/x", server).ok());
  OwnTokens tokens;
  EXPECT_EQ(tokens.advice(server, true), "");
  const auto first = tokens.find(server, true);
  EXPECT_EQ(first.text, token);
  EXPECT_EQ(first.file, file().string());
  tokens.refused(first);
  EXPECT_FALSE(tokens.find(server, true));
  const std::string advice = tokens.advice(server, true);
  EXPECT_NE(advice.find(file().string()), std::string::npos) << advice;
  EXPECT_EQ(advice.find(token), std::string::npos) << advice;
  EXPECT_EQ(tokens.advice(server, false), "") << "it is not shown there";
  std::ofstream(file()) << "another\n";
  EXPECT_EQ(tokens.find(server, true).text, "another");
  EXPECT_EQ(tokens.advice(server, true), "");
  fs::remove(file());
  EXPECT_FALSE(tokens.find(server, true));
}

}  // namespace
}  // namespace iw::client
