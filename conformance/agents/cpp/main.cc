// The conformance agent of the C and C++ client: one command a line on standard input, one line of
// answer on standard output (conformance/README.md).
#include <iostream>
#include <string>

#include "agent.h"

int main() {
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
