// Samples, medians, tables on the screen and CSV files in bench/results.
#pragma once

#include <string>
#include <vector>

namespace bench {

double median(std::vector<double> samples);

// Writes a file of results that is complete or not there: written under another name, then renamed.
// The folder is $BENCH_RESULTS or bench/results.
void write_result(const std::string& name, const std::string& text);

// A CSV file of results. finish() writes the file, and the machine's numbers under the name of
// the first one of the process (harness/machine.h).
class Csv {
 public:
  Csv(std::string name, std::string header);
  void row(const std::string& line);
  void finish();

 private:
  std::string name_, text_;
};

// printf into a std::string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

}  // namespace bench
