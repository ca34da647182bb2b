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

}  // namespace

int main(int argc, char** argv) {
  iw::ddss::NodeOptions node_options;
  iw::ddss::DaemonOptions options;
  const char* join = std::getenv("IW_DDSS");
  if (join != nullptr) node_options.join = join;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--sleep-at-once") {
      options.spin = node_options.spin = std::chrono::microseconds(0);
      continue;
    }
    if (i + 1 == argc) return usage();
    const std::string value = argv[++i];
    if (option == "--socket") {
      options.path = value;
    } else if (option == "--join") {
      node_options.join = value;
    } else if (option == "--pool") {
      node_options.pool_bytes = std::strtoull(value.c_str(), nullptr, 10);
    } else {
      return usage();
    }
  }
  if (options.path.empty() || node_options.pool_bytes == 0) return usage();
  int error = 0;
  const auto node = iw::ddss::Node::open(node_options, &error);
  if (node == nullptr) {
    std::fprintf(stderr, "interweave-ddss: %s\n", ddss_error_text(error));
    return 1;
  }
  iw::ddss::Daemon daemon(*node, options);
  if (!daemon.open()) {
    std::perror(("interweave-ddss: " + options.path).c_str());
    return 1;
  }
  running = &daemon;
  signal(SIGTERM, [](int) { running->stop(); });
  signal(SIGINT, [](int) { running->stop(); });
  std::printf("listening %s\naddress %s\n", options.path.c_str(), node->address().c_str());
  std::fflush(stdout);
  daemon.run();
  return 0;
}
