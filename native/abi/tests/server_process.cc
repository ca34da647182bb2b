#include "abi/tests/server_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace iw::test {

namespace {

bool says_who(const std::vector<std::string>& options) {
  const auto is_about_access = [](const std::string& option) {
    return option == "--tokens" || option == "--rules" || option == "--own-token";
  };
  return std::any_of(options.begin(), options.end(), is_about_access);
}

}  // namespace

Server::Server(std::vector<std::string> options) : options_(std::move(options)) { start(); }

const char* server_program() {
  const char* const given = std::getenv("IW_TEST_SERVER");
  return given != nullptr ? given : IW_TEST_SERVER_DEFAULT;
}

void Server::start() {
  const char* const program = server_program();
  if (!std::filesystem::exists(program)) {
    ADD_FAILURE() << "the server program " << program
                  << " is missing: build it (cargo build "
                     "--release), or set IW_TEST_SERVER to one";
    return;
  }
  const std::string listen = address_.empty() ? port_.address() : address_;
  std::vector<std::string> command{program, "serve", "--listen", listen, "--http", "none"};
  // Tests come through other ports, too, at which no token of the server's own is found.
  if (!says_who(options_)) command.emplace_back("--insecure");
  command.insert(command.end(), options_.begin(), options_.end());
  child_ = Child(command);
  const std::string line = child_.read_line();
  const std::string word = "listening ";
  if (line.rfind(word, 0) != 0) {
    ADD_FAILURE() << "the server did not start; it said: '" << line << "'";
    return;
  }
  address_ = line.substr(word.size());
}

namespace {

const char* agent_program() {
  const char* const program = std::getenv("IW_TEST_AGENT");
  if (program != nullptr) return program;
  std::fputs("IW_TEST_AGENT is not set: run these tests with ctest\n", stderr);
  std::abort();
}

}  // namespace

Agent::Agent(Child::Errors errors) : child_({agent_program()}, errors) {}

std::string Agent::tell(const std::string& command) {
  child_.write_line(command);
  return child_.read_line();
}

}  // namespace iw::test
