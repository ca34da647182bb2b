// grid: the demo of the paper "Active Containers" (section 4.2) on several processes.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "grid/launcher.h"

namespace {

// The processes are this program again, whatever it was started as.
constexpr char this_program[] = "/proc/self/exe";

int run(const grid::MemberOptions& options) {
  grid::Member(options).run();
  return 0;
}

int run(const grid::LauncherOptions& options) {
  return grid::Launcher(options, this_program).run();
}

int run(int exit_status) { return exit_status; }

}  // namespace

int main(int argc, char** argv) {
  try {
    return std::visit([](const auto& each) { return run(each); }, grid::options_from(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "grid: %s\n", error.what());
    return 1;
  }
}
