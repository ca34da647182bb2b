// What the command lines of the examples share: numbers, and how a wrong argument is reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace command_line {

// The whole text as a number; nothing if there is anything else in it.
std::optional<uint64_t> whole_number(std::string_view text);
std::optional<double> decimal_number(std::string_view text);

// Prints "PROGRAM: --OPTION: 'TEXT' is not EXPECTED; try --help" and returns the exit status 2.
int refuse_argument(const char* program, const char* option, const char* text,
                    const char* expected);

}  // namespace command_line
