// Tests with real processes: the test's program starts itself again in a role, and talks with it
// over a socket. Everything has a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace iw::testing {

inline constexpr std::chrono::seconds patience{180};

// One end of the socket. Both ends end their process if the other says nothing for too long.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void say(std::span<const std::byte> bytes) const;
  void say(const std::string& text) const;
  std::vector<std::byte> hear() const;
  std::string hear_text() const;
  template <typename T>
  void say_value(const T& value) const {
    say(std::as_bytes(std::span(&value, 1)));
  }
  template <typename T>
  T hear_value() const {
    const auto bytes = hear();
    T value{};
    expect_size(bytes.size(), sizeof value);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  void close();

 private:
  static void expect_size(std::size_t is, std::size_t should_be);
  int fd_;
};

// For a process that may start so many threads and no more.
std::map<std::string, std::string> few_threads(int most);

// A process of this program in a role. Killed at the latest when this ends.
class Child {
 public:
  explicit Child(const std::string& role,
                 const std::map<std::string, std::string>& environment = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  const Line& line() const { return line_; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  void stop() const;  // and waits until it has stopped
  void go_on() const;
  void kill();         // and waits for its end
  int wait_for_end();  // its status; -1 if a signal ended it

 private:
  pid_t pid_ = -1;
  Line line_{-1};
};

using Role = int (*)(const Line& parent);
struct RoleEntry {
  RoleEntry(const char* name, Role role);
};
// To be the test program's main.
int run(int argc, char** argv);

}  // namespace iw::testing

// ROLE(name) { ... return 0; } with `parent` to talk to.
#define ROLE(name)                                                       \
  static int role_##name(const iw::testing::Line& parent);               \
  static const iw::testing::RoleEntry entry_##name(#name, &role_##name); \
  static int role_##name([[maybe_unused]] const iw::testing::Line& parent)
