#include "harness/results.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bench {

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

Csv::Csv(std::string name, std::string header) {
  const char* folder = std::getenv("BENCH_RESULTS");
  path_ = std::string(folder ? folder : "bench/results") + "/" + std::move(name);
  text_ = std::move(header) + "\n";
}

void Csv::row(const std::string& line) { text_ += line + "\n"; }

void Csv::finish() {
  const std::string temporary = path_ + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  const bool written = file && std::fwrite(text_.data(), 1, text_.size(), file) == text_.size();
  if (file == nullptr || std::fclose(file) != 0 || !written ||
      std::rename(temporary.c_str(), path_.c_str()) != 0) {
    std::fprintf(stderr, "bench: cannot write %s\n", path_.c_str());
    std::exit(1);
  }
  std::printf("written: %s\n", path_.c_str());
}

std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

}  // namespace bench
