// The daemon for the processes of a machine that share in one node:
//
//   interweave-ddss --socket FILE [--join ADDRESS] [--pool BYTES] [--sleep-at-once]
//
// Prints `listening FILE` and `address ADDRESS` once it is ready; SIGTERM and SIGINT end it.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ddss/daemon.h"

namespace {

iw::ddss::Daemon* running = nullptr;

int usage() {
  std::fprintf(stderr,
               "usage: interweave-ddss --socket FILE [--join ADDRESS] [--pool BYTES] "
               "[--sleep-at-once]\n");
  return 2;
}

int failed(const std::string& why) {
  std::fprintf(stderr, "interweave-ddss: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  iw::ddss::NodeOptions node_options;
  std::string path;
  std::chrono::microseconds spin{20};
  const char* join = std::getenv("IW_DDSS");
  if (join != nullptr) node_options.join = join;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--sleep-at-once") {
      spin = node_options.spin = std::chrono::microseconds(0);
      continue;
    }
    if (i + 1 == argc) return usage();
    const std::string value = argv[++i];
    if (option == "--socket") {
      path = value;
    } else if (option == "--join") {
      node_options.join = value;
    } else if (option == "--pool") {
      node_options.pool_bytes = std::strtoull(value.c_str(), nullptr, 10);
    } else {
      return usage();
    }
  }
  if (path.empty() || node_options.pool_bytes == 0) return usage();
  std::string why;
  const auto socket = iw::ddss::DaemonSocket::open(path, &why);
  if (socket == nullptr) return failed(path + ": " + why);
  int error = 0;
  const auto node = iw::ddss::Node::open(node_options, &error);
  if (node == nullptr) return failed(ddss_error_text(error));
  iw::ddss::Daemon daemon(*node, *socket, spin);
  running = &daemon;
  signal(SIGTERM, [](int) { running->stop(); });
  signal(SIGINT, [](int) { running->stop(); });
  std::printf("listening %s\naddress %s\n", path.c_str(), node->address().c_str());
  std::fflush(stdout);
  daemon.run();
  return 0;
}
