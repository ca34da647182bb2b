// interweave-amns: the name server of Active Messages. Prints `listening NAME` once ready; clients
// take the NAME from IW_AMNS or, with --file, from the file. Ends with SIGTERM or SIGINT.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "am/name_server.h"
#include "fabric/open_files.h"

namespace {

constexpr char help[] =
    R"(Usage: interweave-amns [--file FILE]
The name server of Active Messages and containers: processes register endpoints by strings, and look
them up. What a process has registered ends with it. The server prints `listening NAME` once it is
ready, and ends with Ctrl-C or SIGTERM.

  --file FILE  writes its NAME there as well; the file goes with the server
  --help       this text

Clients are given IW_AMNS=NAME or IW_AMNS=file:FILE. IW_FABRIC=auto|shm|tcp|verbs says what carries
messages (docs/operations.md).

Example:
  interweave-amns --file /tmp/amns &
  IW_AMNS=file:/tmp/amns ./tally              # of docs/containers.md
)";

int failed(const std::string& why) {
  std::fprintf(stderr, "interweave-amns: %s\n", why.c_str());
  return 1;
}

// The file with the server's name, which is removed with this object unless it names another
// server. An empty path means that no file is written.
class NameFile {
 public:
  explicit NameFile(std::string path) : path_(std::move(path)) {}
  ~NameFile() {
    if (!text_.empty() && read() == text_) unlink(path_.c_str());
  }
  // Why the file must not be written over, or an empty text.
  std::string objection() const {
    const std::string text = read();
    if (text.empty()) return "";
    en_t name;
    if (AM_NameFromCarried(text.c_str(), &name) != AM_OK) {
      return path_ + " is there and has no server's name; give another file, or remove it";
    }
    if (AMNS_Init(text.c_str()) != AM_OK) return "";
    return path_ + " names a server that is there; use that one";
  }
  bool write(const char* text) {
    if (path_.empty()) return true;
    const std::string unfinished = path_ + ".new";
    std::ofstream file(unfinished);
    file << text << '\n';
    if (!file.flush() || std::rename(unfinished.c_str(), path_.c_str()) != 0) return false;
    text_ = text;
    return true;
  }

 private:
  std::string read() const {
    std::string text;
    std::ifstream(path_) >> text;
    return text;
  }
  const std::string path_;
  std::string text_;  // the file's text, once it is written
};

int serve(const std::string& path) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // the library's threads inherit it
  iw::am::NameServer server;
  en_t name;
  char text[AM_NAME_CARRIED_BYTES];
  if (AM_Init() != AM_OK) return 1;  // it has printed why
  NameFile file(path);
  const std::string objection = file.objection();
  if (!objection.empty()) return failed(objection);
  int result = server.start(&name);
  if (result == AM_OK) result = AM_NameToCarried(name, text);
  if (result != AM_OK) return failed(AM_StrError(result));
  if (!file.write(text)) return failed(path + " cannot be written");
  std::printf("listening %s\n", text);
  std::fflush(stdout);
  int number = 0;
  sigwait(&ends, &number);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "--help") {
    std::fputs(help, stdout);
    return 0;
  }
  const bool has_file = argc == 3 && option == "--file" && *argv[2] != '\0';
  if (argc != 1 && !has_file) {
    failed("takes --file FILE, and nothing else; try --help");
    return 2;
  }
  iw::fabric::have_as_many_open_files_as_may_be();  // each client over TCP takes some
  const int status = serve(has_file ? argv[2] : "");
  AM_Terminate();
  return status;
}
