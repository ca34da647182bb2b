// Samples, medians, tables on the screen and CSV files in bench/results.
#pragma once

#include <string>
#include <vector>

namespace bench {

double median(std::vector<double> samples);

// A CSV file that is complete or not there: written under another name, then renamed. The folder is
// $BENCH_RESULTS or bench/results.
class Csv {
 public:
  Csv(std::string name, std::string header);
  void row(const std::string& line);
  void finish();

 private:
  std::string path_, text_;
};

// printf into a std::string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

}  // namespace bench
