// Certificates for tests of iws:// URLs, made by `interweave cert`.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "abi/tests/server_process.h"

namespace iw::test {

// An authority in a folder, with a server's certificate for this host, and clients'; first alice's.
class Authority {
 public:
  Authority() {
    make({"authority", folder_.path()});
    make({"server", folder_.path()});
    client("alice");
  }

  // Makes NAME.pem and NAME.key.
  void client(const std::string& name) const { make({"client", folder_.path(), name}); }

  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  [[nodiscard]] std::vector<std::string> serving(const std::string& store = "memory",
                                                 std::vector<std::string> more = {}) const {
    std::vector<std::string> options{"--store",          store,       "--tls-cert",
                                     file("server.pem"), "--tls-key", file("server.key")};
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }

 private:
  static void make(const std::vector<std::string>& what) {
    std::vector<std::string> command{server_program(), "cert"};
    command.insert(command.end(), what.begin(), what.end());
    Child program(command);
    while (!program.read_line().empty()) {
    }
    ASSERT_EQ(program.wait(), 0);
  }

  TemporaryDirectory folder_;
};

inline std::string secure(const Server& server, const std::string& path) {
  return "iws://" + server.url(path);
}

}  // namespace iw::test
