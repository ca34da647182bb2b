// A folder with tokens of this user's servers, in the place of the system's [OWN-2].
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace iw::client {

class OwnTokenFolder {
 public:
  OwnTokenFolder() {
    std::string name = ::testing::TempDir() + "own_token.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    runtime_ = name;
    const char* const before = std::getenv(variable);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(variable, name.c_str(), 1);
    std::filesystem::create_directory(path());
    set_mode(path(), 0700);
  }
  ~OwnTokenFolder() {
    if (was_set_) {
      setenv(variable, before_.c_str(), 1);
    } else {
      unsetenv(variable);
    }
    std::filesystem::remove_all(runtime_);
  }
  OwnTokenFolder(const OwnTokenFolder&) = delete;
  OwnTokenFolder& operator=(const OwnTokenFolder&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return runtime_ / "interweave"; }
  [[nodiscard]] std::filesystem::path file(std::uint16_t port) const {
    return path() / (std::to_string(port) + ".token");
  }
  // As the server at that port does.
  void write(std::uint16_t port, const std::string& token) const {
    std::ofstream(file(port)) << token << '\n';
    set_mode(file(port), 0600);
  }
  static void set_mode(const std::filesystem::path& path, unsigned mode) {
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
  }

 private:
  static constexpr const char* variable = "XDG_RUNTIME_DIR";

  std::filesystem::path runtime_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace iw::client
