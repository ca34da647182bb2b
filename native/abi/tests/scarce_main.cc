// A process that is short of something while it makes one call of the library, and has plenty
// again when it makes the same call once more:
//
//   scarce CALL descriptors|threads COUNT URL    prints "FIRST" and "AGAIN", a line each
//
// COUNT of them are left. FIRST and AGAIN are "ok" or "CODE TEXT". Before AGAIN is printed, the
// process has also opened, written and closed another segment. URL has a block "number".
//
//   scarce listens URL    is short of threads when its connection is lost; see listen()
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <string>

#include "interweave.h"
#include "platform/clock.h"
#include "platform/socket.h"

namespace {

std::atomic<int> threads_left{std::numeric_limits<int>::max()};

}  // namespace

// Before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, start, argument);
}

namespace {

struct Program {
  std::string url;
  IW_handle_t segment = nullptr;
  int* number = nullptr;
  void* made = nullptr;
  double patience_s = 0.2;  // of calls that wait for what is missing
};

int code_of(const void* pointer) { return pointer != nullptr ? 0 : IW_errno(); }

void ignore_change(IW_handle_t, std::uint64_t, void*) {}
void ignore_connection(IW_handle_t, IW_connection_t, void*) {}

void leave_with(int status) {
  std::fflush(stdout);
  std::exit(status);  // which says goodbye to the server
}

void must(int code, const char* what) {
  if (code >= 0) return;
  std::printf("preparing: %s: %s\n", what, IW_strerror());
  leave_with(2);
}

// ---- states ----

void open(Program& program) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  program.segment = IW_open_segment_with(program.url.c_str(), &options);
  must(code_of(program.segment), "open");
}

void read(Program& program) {
  open(program);
  must(IW_rl_acquire(program.segment), "rl_acquire");
  program.number = static_cast<int*>(IW_mip_to_ptr((program.url + "#number").c_str()));
  must(code_of(program.number), "mip_to_ptr");
}

void write(Program& program) {
  open(program);
  must(IW_wl_acquire(program.segment), "wl_acquire");
  program.number = static_cast<int*>(IW_mip_to_ptr((program.url + "#number").c_str()));
  must(code_of(program.number), "mip_to_ptr");
  program.made = IW_malloc(program.segment, IW_int);
  must(code_of(program.made), "malloc");
}

// The server lives, and every connection to it is lost.
void lose_connections() {
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) (void)shutdown(fd, SHUT_RDWR);
  }
}

void be_disconnected(Program& program) {
  read(program);
  must(IW_rl_release(program.segment), "rl_release");
  lose_connections();
}

// ---- calls ----

using Call = std::function<int(Program&)>;
struct Case {
  std::function<void(Program&)> prepare;
  Call call;
};

int open_with(Program& program, unsigned flags) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = flags;
  program.segment = IW_open_segment_with(program.url.c_str(), &options);
  return code_of(program.segment);
}

int look_up(Program& program) {
  const std::string port = program.url.substr(program.url.find(':') + 1);
  iw::platform::Socket socket;
  const iw::platform::Status status =
      iw::platform::connect_tcp("localhost", static_cast<std::uint16_t>(std::stoi(port)),
                                iw::platform::now_ns() + 10'000'000'000, socket);
  if (iw::platform::is_shortage(status.code)) return IW_ENO_MEMORY;
  return status.ok() ? 0 : IW_EUNREACHABLE;
}

const std::map<std::string, Case>& cases() {
  const auto nothing = [](Program&) {};
  const auto malloc_large = [](Program& p) {
    return code_of(IW_malloc_array(p.segment, IW_int, 1 << 20, nullptr));
  };
  static const std::map<std::string, Case> all{
      {"open", {nothing, [](Program& p) { return open_with(p, IW_CREATE); }}},
      {"open_read_only", {nothing, [](Program& p) { return open_with(p, IW_READ_ONLY); }}},
      {"mip_to_ptr",
       {nothing, [](Program& p) { return code_of(IW_mip_to_ptr((p.url + "#number").c_str())); }}},
      {"event_fd", {nothing, [](Program&) { return IW_event_fd(); }}},
      {"dispatch", {nothing, [](Program&) { return IW_dispatch(); }}},
      {"look_up", {nothing, look_up}},
      {"event_fd_later", {open, [](Program&) { return IW_event_fd(); }}},
      {"rl_acquire", {open, [](Program& p) { return IW_rl_acquire(p.segment); }}},
      {"wl_acquire", {open, [](Program& p) { return IW_wl_acquire(p.segment); }}},
      {"refresh", {open, [](Program& p) { return IW_refresh(p.segment); }}},
      {"on_change",
       {open, [](Program& p) { return IW_on_change(p.segment, ignore_change, nullptr); }}},
      {"on_connection",
       {open, [](Program& p) { return IW_on_connection(p.segment, ignore_connection, nullptr); }}},
      {"close",
       {open,
        [](Program& p) {
          const int code = IW_close_segment(p.segment);
          return code == IW_ENOT_OPEN ? 0 : code;  // the first time has closed it
        }}},
      {"pin",
       {read,
        [](Program& p) {
          IW_pin_t const pinned = IW_pin(p.segment, p.number);
          const int code = code_of(pinned);
          IW_unpin(pinned);
          return code;
        }}},
      {"ptr_to_mip",
       {read,
        [](Program& p) {
          IW_mip_t const mip = IW_ptr_to_mip(p.number);
          const int code = code_of(mip);
          IW_mip_free(mip);
          return code;
        }}},
      {"next_block", {read, [](Program& p) { return code_of(IW_next_block(p.segment, nullptr)); }}},
      {"malloc", {write, [](Program& p) { return code_of(IW_malloc(p.segment, IW_double)); }}},
      {"malloc_large", {write, malloc_large}},
      {"wl_release",
       {write,
        [](Program& p) {
          const int code = IW_wl_release(p.segment);
          return code == IW_ENO_LOCK ? 0 : code;
        }}},
      {"wl_abort",
       {write,
        [](Program& p) {
          const int code = IW_wl_abort(p.segment);
          return code == IW_ENO_LOCK ? 0 : code;
        }}},
      {"rl_reconnecting",
       {be_disconnected,
        [](Program& p) { return IW_rl_acquire_for(p.segment, p.patience_s, IW_FRESH); }}},
      {"wl_reconnecting",
       {be_disconnected, [](Program& p) { return IW_wl_acquire_for(p.segment, p.patience_s); }}},
  };
  return all;
}

// ---- shortage ----

class Shortage {
 public:
  Shortage(const std::string& of, int count) {
    if (of == "threads") {
      threads_left = count;
      return;
    }
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;
    rlim_t most = 0;
    for (int free = 0; free < count || is_open(static_cast<int>(most)); ++most) {
      if (!is_open(static_cast<int>(most))) ++free;
    }
    limit.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &limit);
    is_lowered_ = true;
  }
  ~Shortage() {
    threads_left = std::numeric_limits<int>::max();
    if (is_lowered_) setrlimit(RLIMIT_NOFILE, &before_);
  }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

 private:
  static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
  rlimit before_{};
  bool is_lowered_ = false;
};

void print(int code) {
  if (code >= 0) {
    std::puts("ok");
  } else {
    std::printf("%d %s\n", code, IW_strerror());
  }
}

int write_another(const std::string& url) {
  const IW_handle_t other = IW_open_segment((url + "/other").c_str());
  if (other == nullptr) return IW_errno();
  int code = IW_wl_acquire(other);
  if (code == 0) code = code_of(IW_malloc(other, IW_int));
  if (code == 0) code = IW_wl_release(other);
  const int closed = IW_close_segment(other);
  return code == 0 ? closed : code;
}

void run(const Case& one, Program& program, const std::string& of, int count) {
  one.prepare(program);
  int code = 0;
  {
    const Shortage now(of, count);
    code = one.call(program);
  }
  print(code);
  program.patience_s = 30;
  code = one.call(program);
  if (code >= 0) code = write_another(program.url);
  print(code);
}

// ---- a listener ----

void say_report(int code, const char* text, void*) { std::printf("report %d %s\n", code, text); }
void say_version(IW_handle_t, std::uint64_t version, void*) {
  std::printf("version %d\n", static_cast<int>(version));
  std::fflush(stdout);
}

// Prints what it is told and what is reported. "plenty" on stdin: threads can be made again.
void listen(Program& program) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  read(program);
  must(IW_rl_release(program.segment), "rl_release");
  must(IW_on_change(program.segment, say_version, nullptr), "on_change");
  IW_set_log(say_report, nullptr);
  threads_left = 0;
  lose_connections();
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "plenty") threads_left = std::numeric_limits<int>::max();
  }
}

}  // namespace

int main(int argc, char** argv) {
  Program program;
  if (argc == 3 && std::string(argv[1]) == "listens") {
    program.url = argv[2];
    listen(program);
    leave_with(0);
  }
  if (argc != 5 || cases().count(argv[1]) == 0) return 2;
  program.url = argv[4];
  run(cases().at(argv[1]), program, argv[2], std::atoi(argv[3]));
  if (program.segment != nullptr) (void)IW_close_segment(program.segment);  // and its locks
  leave_with(0);
}
