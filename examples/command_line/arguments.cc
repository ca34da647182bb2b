#include "command_line/arguments.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace command_line {
namespace {

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<uint64_t> whole_number(std::string_view text) { return parsed<uint64_t>(text); }

std::optional<double> decimal_number(std::string_view text) {
  const auto value = parsed<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

int refuse_argument(const char* program, const char* option, const char* text,
                    const char* expected) {
  std::fprintf(stderr, "%s: --%s: '%s' is not %s; try --help\n", program, option, text, expected);
  return 2;
}

std::optional<int> take_options(
    const char* program, int argc, char** argv, const option* options,
    const std::function<std::optional<int>(int option, const char* text)>& take) {
  optind = 0;  // start afresh
  for (int found; (found = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    if (const auto exit_status = take(found, optarg)) return exit_status;
  }
  if (optind == argc) return std::nullopt;
  std::fprintf(stderr, "%s: unexpected argument '%s'; try --help\n", program, argv[optind]);
  return 2;
}

}  // namespace command_line
