#include "command_line/arguments.h"

#include <getopt.h>

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

Option flag(const char* name, bool& out) {
  const auto set = [&out](const char*) { return out = true; };
  return {name, "", set, true};
}

Option text(const char* name, std::string& out) {
  return {name, "", [&out](const char* text) {
            out = text;
            return true;
          }};
}

Option decimal(const char* name, double least, double most, double& out, const char* expected) {
  return {name, expected, [=, &out](const char* text) {
            const auto value = decimal_number(text);
            if (!value || *value < least || *value > most) return false;
            out = *value;
            return true;
          }};
}

std::optional<int> take_options(const char* program, const char* help, int argc, char** argv,
                                const std::vector<Option>& options,
                                const TakeArgument& take_argument) {
  constexpr int kHelp = 256;
  constexpr int kFirst = 257;
  std::vector<option> names;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const int value = options[i].is_flag ? no_argument : required_argument;
    for (const char* name : {options[i].name, options[i].other_spelling}) {
      if (name != nullptr) names.push_back({name, value, nullptr, kFirst + static_cast<int>(i)});
    }
  }
  names.push_back({"help", no_argument, nullptr, kHelp});
  names.push_back({nullptr, 0, nullptr, 0});
  optind = 0;  // start afresh
  for (int got; (got = getopt_long(argc, argv, "", names.data(), nullptr)) != -1;) {
    if (got == kHelp) {
      std::fputs(help, stdout);
      return 0;
    }
    if (got < kFirst) return 2;  // getopt has said what is wrong
    const Option& one = options[static_cast<std::size_t>(got - kFirst)];
    if (one.take(optarg)) continue;
    return one.expected.empty() ? 2
                                : refuse_argument(program, one.name, optarg, one.expected.c_str());
  }
  std::optional<int> status;
  for (int i = optind; i < argc; ++i) {
    if (take_argument) {
      if (const auto refused = take_argument(argv[i])) status = refused;
      continue;
    }
    std::fprintf(stderr, "%s: unexpected argument '%s'; try --help\n", program, argv[i]);
    return 2;
  }
  return status;
}

}  // namespace command_line
