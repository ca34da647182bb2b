// To which server a client shows the token of this user's own server, and which file it takes.
#include "client/own_token.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace iw::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "XDG_RUNTIME_DIR";
constexpr const char* token = "iw_of_the_test";

class OwnTokenFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "own_token.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    runtime_ = name;
    const char* const before = std::getenv(variable);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(variable, name.c_str(), 1);
    fs::create_directory(runtime_ / "interweave");
    set_mode(runtime_ / "interweave", 0700);
    std::ofstream(file()) << token << '\n';
    set_mode(file(), 0600);
  }
  void TearDown() override {
    if (was_set_) {
      setenv(variable, before_.c_str(), 1);
    } else {
      unsetenv(variable);
    }
    fs::remove_all(runtime_);
  }

  [[nodiscard]] fs::path file() const { return runtime_ / "interweave" / "7.token"; }
  static void set_mode(const fs::path& path, unsigned mode) {
    fs::permissions(path, static_cast<fs::perms>(mode));
  }
  static std::string shown(const std::string& url, bool is_to_loopback_v4 = true) {
    types::Url server;
    EXPECT_TRUE(types::parse_url(url, server).ok()) << url;
    return OwnTokens().find(server, is_to_loopback_v4).text;
  }

  fs::path runtime_;
  std::string before_;
  bool was_set_ = false;
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
  set_mode(file(), 0644);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), "");
  set_mode(file(), 0600);
  set_mode(runtime_ / "interweave", 0755);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), "");
  set_mode(runtime_ / "interweave", 0700);
  EXPECT_EQ(shown("iw://127.0.0.1:7/x"), token);
  fs::rename(file(), runtime_ / "elsewhere");
  fs::create_symlink(runtime_ / "elsewhere", file());
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
