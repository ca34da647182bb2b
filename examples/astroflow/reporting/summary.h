// What a program says at its end: lines for people and a JSON object for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace astroflow {

// Collected one by one; 0 for no samples.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  size_t count() const { return values_.size(); }
  double median() const { return quantile(0.5); }
  double p90() const { return quantile(0.9); }

 private:
  // The smallest sample that at least the share `q` of all samples does not exceed.
  double quantile(double q) const;
  std::vector<double> values_;
};

class Summary {
 public:
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, uint64_t value);
  void add(std::string_view name, double value);  // not finite: null
  void add(std::string_view name, std::optional<double> value);
  // {"a": 1, "b": null}
  std::string as_json() const;
  // One "  name  value" per line, numbers to four digits.
  std::string as_lines() const;

 private:
  struct Entry {
    std::string name, json, text;
  };
  std::vector<Entry> entries_;
};

// Writes the JSON object to the file, "-" being stdout. Returns what went wrong.
std::optional<std::string> write_summary(const Summary& summary, const std::string& file);

}  // namespace astroflow
