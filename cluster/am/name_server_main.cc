// interweave-amns: the name server of Active Messages. Prints `listening NAME` once ready; clients
// take the NAME from IW_AMNS or, with --file, from the file. Ends with SIGTERM or SIGINT.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "am/name_server.h"

namespace {

bool write_file(const std::string& path, const char* text) {
  const std::string unfinished = path + ".new";
  std::ofstream file(unfinished);
  file << text << '\n';
  return file.flush() && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_file = argc == 3 && std::string(argv[1]) == "--file";
  if (argc != 1 && !has_file) {
    std::fprintf(stderr, "usage: interweave-amns [--file FILE]\n");
    return 2;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // in the library's threads, too
  iw::am::NameServer server;
  en_t name;
  int result = AM_Init();
  if (result == AM_OK) result = server.start(&name);
  char text[AM_NAME_CARRIED_BYTES];
  if (result == AM_OK) result = AM_NameToCarried(name, text);
  if (result != AM_OK) {
    std::fprintf(stderr, "interweave-amns: %s\n", AM_StrError(result));
    return 1;
  }
  if (has_file && !write_file(argv[2], text)) {
    std::fprintf(stderr, "interweave-amns: %s cannot be written\n", argv[2]);
    return 1;
  }
  std::printf("listening %s\n", text);
  std::fflush(stdout);
  int number = 0;
  sigwait(&ends, &number);
  if (has_file) unlink(argv[2]);
  AM_Terminate();
  return 0;
}
