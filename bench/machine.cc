// Records the machine's numbers for a figure whose program is not C++: bench_machine FIGURE.
#include "harness/machine.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "bench_machine: which figure? bench_machine FIGURE\n");
    return 2;
  }
  bench::record_machine(argv[1]);
  return 0;
}
