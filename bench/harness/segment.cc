#include "harness/segment.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace bench {

void fail(const char* what) {
  std::fprintf(stderr, "bench: %s: %s\n", what, IW_strerror());
  std::exit(1);
}

IW_handle_t open_segment(const std::string& url, int durability) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.durability = durability;
  const IW_handle_t segment = IW_open_segment_with(url.c_str(), &options);
  if (segment == nullptr) fail("open");
  return segment;
}

void note_change(IW_handle_t, std::uint64_t, void*) {}

std::size_t resident_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    std::size_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  std::fprintf(stderr, "bench: no memory figure of process %d\n", static_cast<int>(pid));
  std::exit(1);
}

}  // namespace bench
