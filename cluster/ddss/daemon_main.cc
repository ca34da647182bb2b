// The daemon for the processes of a machine that share in one node:
//
//   interweave-ddss --socket FILE [--join ADDRESS] [--pool BYTES] [--sleep-at-once]
//
// Prints `listening FILE` and `address ADDRESS` once it is ready; SIGTERM and SIGINT end it.
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ddss/daemon.h"
#include "fabric/open_files.h"

namespace {

iw::ddss::Daemon* running = nullptr;

constexpr char help[] =
    R"(Usage: interweave-ddss --socket FILE [OPTION]...
A node of a DDSS space for the processes of this machine, which come and go. They share its memory,
and reach the memory of the other nodes through it. Prints `listening FILE` and the space's
`address ADDRESS` once it is ready. Ends with Ctrl-C or SIGTERM; the segments in its memory are gone
then.

  --socket FILE    where processes of the same user find it: they are given IW_DDSS_DAEMON=FILE
  --join ADDRESS   takes part in the space that another node has (or IW_DDSS); else founds one
  --pool BYTES     of memory that it gives to the space (67108864)
  --sleep-at-once  waits without polling for 20 us first
  --help           this text

IW_FABRIC=auto|shm|tcp|verbs says what carries memory and messages (docs/operations.md).

Example:
  interweave-ddss --socket /tmp/ddss &
  IW_DDSS_DAEMON=/tmp/ddss ./visits           # of docs/ddss.md
)";

int failed(const std::string& why, int status = 1) {
  std::fprintf(stderr, "interweave-ddss: %s\n", why.c_str());
  return status;
}

int misused(const std::string& why) { return failed(why + "; try --help", 2); }

struct CommandLine {
  iw::ddss::NodeOptions node;
  std::string path;
  std::chrono::microseconds spin{20};
};

bool read_bytes(const std::string& text, std::size_t* bytes) {
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, *bytes);
  return error == std::errc{} && stopped_at == end && *bytes > 0;
}

// Returns why the command line cannot be used. Empty: it can.
std::string read_options(int argc, char** argv, CommandLine* all) {
  const char* join = std::getenv("IW_DDSS");
  if (join != nullptr) all->node.join = join;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--sleep-at-once") {
      all->spin = all->node.spin = std::chrono::microseconds(0);
      continue;
    }
    const bool is_known = option == "--socket" || option == "--join" || option == "--pool";
    if (!is_known) return "'" + option + "' is not an option";
    if (i + 1 == argc) return option + " needs a value";
    const std::string value = argv[++i];
    if (option == "--socket") all->path = value;
    if (option == "--join") all->node.join = value;
    if (option == "--pool" && !read_bytes(value, &all->node.pool_bytes)) {
      return "--pool: '" + value + "' is not a number of bytes";
    }
  }
  return all->path.empty() ? "--socket FILE is needed" : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::fputs(help, stdout);
    return 0;
  }
  CommandLine given;
  std::string why = read_options(argc, argv, &given);
  if (!why.empty()) return misused(why);
  iw::fabric::have_as_many_open_files_as_may_be();  // each thread that is served needs one
  const auto socket = iw::ddss::DaemonSocket::open(given.path, &why);
  if (socket == nullptr) return failed(given.path + ": " + why);
  iw::ddss::Failure failure;
  const auto node = iw::ddss::Node::open(given.node, &failure);
  if (node == nullptr) {
    return failed(failure.why.empty() ? ddss_error_text(failure.error) : failure.why);
  }
  iw::ddss::Daemon daemon(*node, *socket, given.spin);
  running = &daemon;
  signal(SIGTERM, [](int) { running->stop(); });
  signal(SIGINT, [](int) { running->stop(); });
  std::printf("listening %s\naddress %s\n", given.path.c_str(), node->address().c_str());
  std::fflush(stdout);
  daemon.run();
  return 0;
}
