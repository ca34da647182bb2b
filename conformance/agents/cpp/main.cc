// The conformance agent of the C and C++ client: one command a line on standard input, one line of
// answer on standard output (conformance/README.md).
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#endif

#include <iostream>
#include <string>

#include "agent.h"

namespace {

// A line ends with one byte on every machine.
void leave_line_ends_alone() {
#ifdef _WIN32
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
#endif
}

}  // namespace

int main() {
  leave_line_ends_alone();
  std::ios::sync_with_stdio(false);
  agent::Agent agent;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << agent.obey(line) << '\n';
    // Commands that have come in already are obeyed before their answers are sent.
    if (std::cin.rdbuf()->in_avail() <= 0) std::cout.flush();
  }
  return 0;
}
