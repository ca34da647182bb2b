// What the command lines of the examples share: numbers, the walk over the options,
// and how a wrong argument is reported.
#pragma once

#include <getopt.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace command_line {

// The whole text as a number; nothing if there is anything else in it.
std::optional<uint64_t> whole_number(std::string_view text);
std::optional<double> decimal_number(std::string_view text);

// Prints "PROGRAM: --OPTION: 'TEXT' is not EXPECTED; try --help" and returns the exit status 2.
int refuse_argument(const char* program, const char* option, const char* text,
                    const char* expected);

// Hands each option to `take`, which returns an exit status if the program has to end there; so
// does this. Nothing but options may be given. May be called again, for another command line.
std::optional<int> take_options(
    const char* program, int argc, char** argv, const option* options,
    const std::function<std::optional<int>(int option, const char* text)>& take);

}  // namespace command_line
