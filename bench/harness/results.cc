#include "harness/results.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/machine.h"

namespace bench {

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

void write_result(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("BENCH_RESULTS");
  const std::string path = std::string(folder ? folder : "bench/results") + "/" + name;
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file == nullptr || std::fclose(file) != 0 || !written ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::fprintf(stderr, "bench: cannot write %s\n", path.c_str());
    std::exit(1);
  }
  std::printf("written: %s\n", path.c_str());
}

Csv::Csv(std::string name, std::string header)
    : name_(std::move(name)), text_(std::move(header) + "\n") {}

void Csv::row(const std::string& line) { text_ += line + "\n"; }

void Csv::finish() {
  write_result(name_, text_);
  record_machine(name_.substr(0, name_.rfind('.')));
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
