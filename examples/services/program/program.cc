#include "program/program.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "command_line/arguments.h"

namespace services {
namespace {

// `what` it is for, like "--count: ".
std::uint64_t number_in(const std::string& what, const std::string& text, std::uint64_t min,
                        std::uint64_t max) {
  const auto value = command_line::whole_number(text);
  if (value && *value >= min && *value <= max) return *value;
  throw Misuse{what + "'" + text + "' is not a number from " + std::to_string(min) + " to " +
               std::to_string(max)};
}

}  // namespace

Arguments::Arguments(int argc, char** argv, const std::vector<std::string>& known) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      words_.push_back(word);
      continue;
    }
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw Misuse{"'" + word + "' is not an option"};
    }
    if (i + 1 == argc) throw Misuse{word + " needs a value"};
    options_[word] = argv[++i];
  }
}

std::string Arguments::text(const std::string& option, const std::string& otherwise) const {
  const auto found = options_.find(option);
  return found == options_.end() ? otherwise : found->second;
}

std::uint64_t Arguments::number(const std::string& option, std::uint64_t otherwise,
                                std::uint64_t min, std::uint64_t max) const {
  const auto found = options_.find(option);
  if (found == options_.end()) return otherwise;
  return number_in(option + ": ", found->second, min, max);
}

std::uint64_t Arguments::word_as_number(std::size_t word, std::uint64_t min,
                                        std::uint64_t max) const {
  return number_in("", words_.at(word), min, max);
}

void Arguments::expect_words(std::size_t count, const char* missing) const {
  if (words_.size() < count) throw Misuse{missing};
  if (words_.size() > count) throw Misuse{"'" + words_[count] + "' is not expected there"};
}

Misuse no_command(const Arguments& arguments) {
  if (arguments.words().empty()) return {"which command?"};
  std::string text = "'";  // not in one expression, of which GCC 12 warns wrongly
  text += arguments.command();
  text += "' is not a command";
  return {std::move(text)};
}

int run(const Program& program, int argc, char** argv) {
  const auto is_help = [](const char* word) { return std::string_view(word) == "--help"; };
  if (std::any_of(argv + 1, argv + argc, is_help)) {
    std::fputs(program.help, stdout);
    return 0;
  }
  try {
    const command_line::StopSignal stop;
    return program.body(Arguments(argc, argv, program.options), stop);
  } catch (const Misuse& misuse) {
    std::fprintf(stderr, "%s: %s; try --help\n", program.name, misuse.text.c_str());
    return 2;
  } catch (const Interrupted&) {
    std::fprintf(stderr, "%s: interrupted\n", program.name);
    return 130;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", program.name, failure.what());
    return 1;
  }
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string format(const char* form, ...) {
  char text[1024];
  va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  return text;
}

}  // namespace services
