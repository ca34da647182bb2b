// What the command lines of the examples share: numbers, tables of options, and how a wrong
// argument is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace command_line {

// The whole text as a number; nothing if there is anything else in it.
std::optional<uint64_t> whole_number(std::string_view text);
std::optional<double> decimal_number(std::string_view text);

// Prints "PROGRAM: --OPTION: 'TEXT' is not EXPECTED; try --help" and returns the exit status 2.
int refuse_argument(const char* program, const char* option, const char* text,
                    const char* expected);

// An option, which has a value unless it is a flag.
struct Option {
  const char* name;
  // Describes an allowed value, for refuse_argument; empty if take() reports what is wrong.
  std::string expected;
  // Stores the value. False: it is refused.
  std::function<bool(const char* text)> take;
  bool is_flag = false;
  const char* other_spelling = nullptr;
};

Option flag(const char* name, bool& out);
Option text(const char* name, std::string& out);
Option decimal(const char* name, double least, double most, double& out, const char* expected);

template <typename Number>
Option whole(const char* name, uint64_t least, uint64_t most, Number& out,
             const std::string& expected) {
  return {name, expected, [=, &out](const char* text) {
            const auto value = whole_number(text);
            if (!value || *value < least || *value > most) return false;
            out = static_cast<Number>(*value);
            return true;
          }};
}

// A value that a function finds, as coherence_named does; it finds nothing in what is refused.
template <typename Value, typename Find>
Option found(const char* name, const char* expected, Value& out, Find find) {
  return {name, expected, [&out, find](const char* text) {
            const auto value = find(text);
            if (value) out = *value;
            return value.has_value();
          }};
}

// Reads a command line. Returns an exit status if the program has to end: --help prints `help`; a
// value that is refused, and an option that there is not, are reported. `take_argument` is given
// each argument that is not an option, behind all options; without it there may be none. May be
// called again, for another command line.
using TakeArgument = std::function<std::optional<int>(const char* text)>;
std::optional<int> take_options(const char* program, const char* help, int argc, char** argv,
                                const std::vector<Option>& options,
                                const TakeArgument& take_argument = nullptr);

}  // namespace command_line
