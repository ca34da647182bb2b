// Child processes of a test and what they are started with. Nothing here waits by time.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace iw::test {

// A child with its stdin and stdout connected to us.
class Child {
 public:
  enum class Errors { ours, with_output };  // where its stderr goes

  Child();
  explicit Child(const std::vector<std::string>& command, Errors errors = Errors::ours);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  void write_line(const std::string& line);
  // Without its end; "" at the end of the child's output.
  std::string read_line();
  void suspend();
  void resume();
  // kill -9 and wait.
  void kill_now();
  // Waits for its end; the exit status, or -signal.
  int wait();

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

// Set for as long as it lives, here and for children that are started.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const std::string& name, const std::string& value);
  ~EnvironmentVariable();
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const std::string name_;
  bool was_set_ = false;
  std::string before_;
};

// A port of this machine, as an address to listen on. While it lives, the system gives the port to
// no other process, also not between two servers that a test starts one after the other. Where the
// system has no such thing (Windows), the address says that any port will do.
class HeldPort {
 public:
  HeldPort();
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  int socket_ = -1;
  std::string address_;
};

// A directory that is removed at the end. Its path is good for servers, too.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace iw::test
