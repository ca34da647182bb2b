// What the services' command lines share: options, --help, Ctrl-C, errors and exit statuses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "command_line/stop_signal.h"

namespace services {

// Words, and options with a value each: --name value.
class Arguments {
 public:
  // Throws Misuse for an option that is not one of `known` ("--name").
  Arguments(int argc, char** argv, const std::vector<std::string>& known);
  const std::vector<std::string>& words() const { return words_; }
  std::string command() const { return words_.empty() ? "" : words_.front(); }
  std::string text(const std::string& option, const std::string& otherwise = "") const;
  std::uint64_t number(const std::string& option, std::uint64_t otherwise, std::uint64_t min,
                       std::uint64_t max) const;
  std::uint64_t word_as_number(std::size_t word, std::uint64_t min, std::uint64_t max) const;
  // Throws Misuse if there are more words, the command among them, or fewer: what is missing.
  void expect_words(std::size_t count, const char* missing) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
};

// A wrong command line.
struct Misuse {
  std::string text;
};

// The error for a command that the program does not have.
Misuse no_command(const Arguments& arguments);

// Ctrl-C before the work was done: status 130.
struct Interrupted {};

struct Program {
  const char* name;
  const char* help;
  std::vector<std::string> options;
  std::function<int(const Arguments&, const command_line::StopSignal&)> body;
};

// The exit status: 0, 1 after a failure, 2 after misuse. A second Ctrl-C ends the program at once.
int run(const Program& program, int argc, char** argv);

// A line of output, at once.
void say(const std::string& line);
// printf into a text.
std::string format(const char* form, ...) __attribute__((format(printf, 1, 2)));

}  // namespace services
