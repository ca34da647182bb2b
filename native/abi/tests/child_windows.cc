// Programs for Windows are children as usual. Others are the host's, for tests that run in wine:
// they are started by host_child.sh, whose standard input and output are a socket, which is what
// both systems understand.
#include <winsock2.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "abi/tests/child.h"
#include "platform/invariant.h"
#include "platform/process.h"

namespace iw::test {

namespace {

// Arguments of tests hold no quotes and do not end with a backslash.
std::string command_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& one : command) line += (line.empty() ? "\"" : " \"") + one + '"';
  return line;
}

void set_inheritable(HANDLE handle) {
  SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
}

// The handles are the child's afterwards. Null: wine's answer for a program of the host.
HANDLE start(const std::vector<std::string>& command, HANDLE in, HANDLE out, Child::Errors errors) {
  set_inheritable(in);
  set_inheritable(out);
  STARTUPINFOA how{};
  how.cb = sizeof how;
  how.dwFlags = STARTF_USESTDHANDLES;
  how.hStdInput = in;
  how.hStdOutput = out;
  how.hStdError = errors == Child::Errors::ours ? GetStdHandle(STD_ERROR_HANDLE) : out;
  PROCESS_INFORMATION started{};
  std::string line = command_line(command);
  const BOOL is_started = CreateProcessA(command[0].c_str(), line.data(), nullptr, nullptr, TRUE, 0,
                                         nullptr, nullptr, &how, &started);
  IW_INVARIANT(is_started, "the program of a test cannot be started");
  if (started.hThread != nullptr) CloseHandle(started.hThread);
  return started.hProcess;
}

// A stream socket and its other end, over the loopback. Blocking.
std::pair<SOCKET, SOCKET> connected_sockets() {
  const auto make = [] {
    return WSASocketW(AF_INET, SOCK_STREAM, 0, nullptr, 0, WSA_FLAG_NO_HANDLE_INHERIT);
  };
  WSADATA data{};
  (void)WSAStartup(MAKEWORD(2, 2), &data);
  const SOCKET listener = make();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  int size = sizeof address;
  const SOCKET one = make();
  const bool is_ready = bind(listener, any, size) == 0 && listen(listener, 1) == 0 &&
                        getsockname(listener, any, &size) == 0 && connect(one, any, size) == 0;
  const SOCKET other = accept(listener, nullptr, nullptr);
  IW_INVARIANT(is_ready && other != INVALID_SOCKET, "no socket for the child of a test");
  closesocket(listener);
  SetHandleInformation(reinterpret_cast<HANDLE>(one), HANDLE_FLAG_INHERIT, 0);
  return {one, other};
}

void call_on_process(const char* function, HANDLE process) {
  using Call = LONG(WINAPI*)(HANDLE);
  const auto call = reinterpret_cast<Call>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleA("ntdll.dll"), function)));
  IW_INVARIANT(call != nullptr && call(process) >= 0, "a process cannot be stopped");
}

bool is_of_windows(const std::string& program) {
  return program.size() > 4 && program.substr(program.size() - 4) == ".exe";
}

}  // namespace

struct Child::Running {
  HANDLE process = nullptr;
  HANDLE to = nullptr;
  HANDLE from = nullptr;
  SOCKET socket = INVALID_SOCKET;  // of a program of the host

  bool is_of_host() const { return socket != INVALID_SOCKET; }
  void start_here(const std::vector<std::string>& command, Errors errors);
  void start_on_host(const std::vector<std::string>& command);

  bool read(char& out) const {
    if (is_of_host()) return recv(socket, &out, 1, 0) == 1;
    DWORD got = 0;
    return ReadFile(from, &out, 1, &got, nullptr) != 0 && got == 1;
  }
  void write(const std::string& text) const {
    const auto size = static_cast<int>(text.size());
    DWORD written = 0;
    if (is_of_host()) {
      (void)send(socket, text.data(), size, 0);
    } else {
      (void)WriteFile(to, text.data(), static_cast<DWORD>(size), &written, nullptr);
    }
  }
};

void Child::Running::start_here(const std::vector<std::string>& command, Errors errors) {
  HANDLE in = nullptr;
  HANDLE out = nullptr;
  const bool has_pipes = CreatePipe(&in, &to, nullptr, 0) && CreatePipe(&from, &out, nullptr, 0);
  IW_INVARIANT(has_pipes, "no pipes for the child of a test");
  process = start(command, in, out, errors);
  CloseHandle(in);
  CloseHandle(out);
}

void Child::Running::start_on_host(const std::vector<std::string>& command) {
  const auto [ours, theirs] = connected_sockets();
  socket = ours;
  std::vector<std::string> wrapped{"/bin/sh", IW_HOST_CHILD};
  wrapped.insert(wrapped.end(), command.begin(), command.end());
  start(wrapped, reinterpret_cast<HANDLE>(theirs), reinterpret_cast<HANDLE>(theirs), Errors::ours);
  closesocket(theirs);
}

Child::Child() = default;
Child::Child(Child&& other) noexcept = default;

Child& Child::operator=(Child&& other) noexcept {
  kill_now();
  running_ = std::move(other.running_);
  return *this;
}

Child::~Child() { kill_now(); }

Child::Child(const std::vector<std::string>& command, Errors errors)
    : running_(std::make_unique<Running>()) {
  if (is_of_windows(command[0])) {
    running_->start_here(command, errors);
  } else {
    running_->start_on_host(command);
    IW_INVARIANT(read_line() == "begun", "a program of the host did not begin");
  }
}

void Child::write_line(const std::string& line) { running_->write(line + "\n"); }

std::string Child::read_line() {
  std::string line;
  for (char c = 0; running_->read(c) && c != '\n';) {
    if (c != '\r') line += c;
  }
  return line;
}

void Child::suspend() {
  if (!running_->is_of_host()) return call_on_process("NtSuspendProcess", running_->process);
  write_line("STOP");
  IW_INVARIANT(read_line() == "STOP", "a program of the host did not stop");
}

void Child::resume() {
  if (!running_->is_of_host()) return call_on_process("NtResumeProcess", running_->process);
  write_line("CONT");
  IW_INVARIANT(read_line() == "CONT", "a program of the host did not continue");
}

void Child::kill_now() {
  if (running_ == nullptr) return;
  if (!running_->is_of_host()) TerminateProcess(running_->process, 1);
  (void)wait();
}

// A program of the host is killed: of those nobody waits for the end.
int Child::wait() {
  if (running_ == nullptr) return 0;
  const std::unique_ptr<Running> ending = std::move(running_);
  if (ending->is_of_host()) {
    shutdown(ending->socket, SD_SEND);
    for (char rest = 0; ending->read(rest);) {
    }
    closesocket(ending->socket);
    return 0;
  }
  CloseHandle(ending->to);
  WaitForSingleObject(ending->process, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(ending->process, &status);
  CloseHandle(ending->process);
  CloseHandle(ending->from);
  return static_cast<int>(status);
}

EnvironmentVariable::EnvironmentVariable(const std::string& name, const std::string& value)
    : name_(name) {
  const char* const before = std::getenv(name_.c_str());
  was_set_ = before != nullptr;
  if (was_set_) before_ = before;
  _putenv_s(name_.c_str(), value.c_str());
}

EnvironmentVariable::~EnvironmentVariable() { _putenv_s(name_.c_str(), before_.c_str()); }

HeldPort::HeldPort() : address_("127.0.0.1:0") {}

HeldPort::~HeldPort() = default;

// A path that wine and its host understand.
TemporaryDirectory::TemporaryDirectory() {
  static int made = 0;
  path_ = "/tmp/iw-test-" + std::to_string(platform::process_id()) + "-" + std::to_string(++made);
  std::filesystem::remove_all(path_);
  IW_INVARIANT(std::filesystem::create_directory(path_), "no directory for a test");
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

}  // namespace iw::test
