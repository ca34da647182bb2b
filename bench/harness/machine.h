// What the machine does without InterWeave: three numbers that tell two runs apart by more than
// their date.
#pragma once

#include <string>

namespace bench {

struct Machine {
  double memcpy_mb_s = 0;          // 64 MiB from one buffer to another, both larger than a cache
  double loop_ms = 0;              // 10 million steps of integer arithmetic, each after the other
  double fdatasync_median_ms = 0;  // 4 KiB appended to a file in /var/tmp, then fdatasync
  double fdatasync_p99_ms = 0;
};

// Takes about a quarter of a second, and at most a second more where the disk is slow.
Machine measure_machine();

// Measures, prints and writes FIGURE_machine.csv beside the figure's results. Does nothing if this
// process has done so before: a program with several files of results has one record.
void record_machine(const std::string& figure);

}  // namespace bench
