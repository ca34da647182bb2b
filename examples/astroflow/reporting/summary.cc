#include "reporting/summary.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace astroflow {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string shortest(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string to_four_digits(double value) {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%.4g", value);
  return digits.data();
}

}  // namespace

double Samples::quantile(double q) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  const auto nth = sorted.begin() + std::max(0L, static_cast<long>(rank) - 1);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

void Summary::add(std::string_view name, std::string_view text) {
  entries_.push_back({std::string(name), quoted(text), std::string(text)});
}

void Summary::add(std::string_view name, uint64_t value) {
  entries_.push_back({std::string(name), std::to_string(value), std::to_string(value)});
}

void Summary::add(std::string_view name, double value) {
  const bool finite = std::isfinite(value);
  entries_.push_back({std::string(name), finite ? shortest(value) : "null",
                      finite ? to_four_digits(value) : "none"});
}

void Summary::add(std::string_view name, std::optional<double> value) {
  add(name, value.value_or(NAN));
}

std::string Summary::as_json() const {
  std::string out = "{";
  for (const Entry& entry : entries_) {
    if (out.size() > 1) out += ", ";
    out += quoted(entry.name) + ": " + entry.json;
  }
  return out + "}";
}

std::string Summary::as_lines() const {
  size_t width = 0;
  for (const Entry& entry : entries_) width = std::max(width, entry.name.size());
  std::string out;
  for (const Entry& entry : entries_) {
    out += "  " + entry.name + std::string(width - entry.name.size() + 2, ' ') + entry.text + '\n';
  }
  return out;
}

std::optional<std::string> write_summary(const Summary& summary, const std::string& file) {
  const std::string text = summary.as_json() + "\n";
  if (file == "-") {
    std::fputs(text.c_str(), stdout);
    return std::nullopt;
  }
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return file + ": " + std::strerror(errno);
  const bool written = std::fputs(text.c_str(), out) >= 0;
  if (std::fclose(out) != 0 || !written) return file + ": " + std::strerror(errno);
  return std::nullopt;
}

}  // namespace astroflow
