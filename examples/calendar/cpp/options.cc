#include "cpp/options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "command_line/arguments.h"
#include "cpp/moment.h"

namespace agenda {
namespace {

constexpr double kHoursMax = 1000;
constexpr char kHelp[] =
    "Usage: shared-calendar [--url URL] COMMAND\n"
    "A calendar that several programs write to, in C++ and Python (shared_calendar.py, the same\n"
    "commands), in the segment 127.0.0.1:7747/calendar.\n"
    "\n"
    "  add START HOURS TITLE   [--room ROOM] [--who NAME] [--notes TEXT]\n"
    "  add -                   one a line of the input: START HOURS TITLE\n"
    "  move NUMBER START\n"
    "  remove NUMBER\n"
    "  list                    all appointments\n"
    "  watch                   what changes, as it changes: + added, ~ changed, - removed; until "
    "Ctrl-C\n"
    "\n"
    "  --url URL      another segment\n"
    "  --hold POINT   add, move, remove: stops in the middle of the writer section (locked, "
    "halfway or\n"
    "                 done), to be killed with kill -9: no program sees half of a change\n"
    "\n"
    "Examples:\n"
    "  interweave serve --store memory                                      one terminal\n"
    "  shared-calendar watch                                                another\n"
    "  shared-calendar add 2026-11-21T10:00 1.5 'Review' --room B12 --who Ann\n"
    "  shared_calendar.py move 1 2026-11-21T14:00\n"
    "  shared-calendar --hold halfway remove 1\n";

std::string who_by_default() {
  const char* const user = std::getenv("USER");
  return user != nullptr && std::string_view(user).size() <= PERSON_NAME_MAX ? user : "nobody";
}

// Lists and feeds are lines, which go to terminals.
void check_text(const char* what, const std::string& text, std::size_t size_max) {
  if (text.size() > size_max) {
    throw Refused(std::string(what) + " '" + text + "' is longer than " + std::to_string(size_max) +
                  " bytes");
  }
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    throw Refused(std::string(what) + " has a control character; write it in one line");
  }
}

unsigned number_of(const std::string& text) {
  const auto number = command_line::whole_number(text);
  if (!number || *number > UINT32_MAX) {
    throw Refused("'" + text + "' is not an appointment's number; `list` shows the numbers");
  }
  return static_cast<unsigned>(*number);
}

std::int64_t start_of(const std::string& text) {
  const auto minutes = minutes_of(text);
  if (!minutes) throw Refused("'" + text + "' is not a time like 2026-11-21T10:00");
  return *minutes;
}

Point point_named(const std::string& text) {
  const std::map<std::string, Point> points = {
      {"locked", Point::kLocked}, {"halfway", Point::kHalfway}, {"done", Point::kDone}};
  const auto found = points.find(text);
  if (found == points.end())
    throw Refused("--hold '" + text + "' is not one of locked, halfway, done");
  return found->second;
}

// Whether `name` is an option that takes a value, which is taken.
bool take_option(const std::string& name, const std::string& value, Options& options) {
  if (name == "--url") {
    options.url = value;
  } else if (name == "--room") {
    options.entry.room = value;
  } else if (name == "--who") {
    options.entry.who = value;
  } else if (name == "--notes") {
    options.entry.notes = value;
  } else if (name == "--hold") {
    options.hold = point_named(value);
  } else {
    return false;
  }
  return true;
}

void read_command(const std::vector<std::string>& words, Options& options) {
  using Command = Options::Command;
  const std::string command = words.empty() ? "" : words[0];
  if (command == "add" && words.size() == 4) {
    options.command = Command::kAdd;
    read_appointment(words[1], words[2], words[3], options.entry);
  } else if (command == "add" && words.size() == 2 && words[1] == "-" && !options.hold) {
    options.command = Command::kAddLines;
  } else if (command == "move" && words.size() == 3) {
    options.command = Command::kMove;
    options.entry.number = number_of(words[1]);
    options.entry.starts_min = start_of(words[2]);
  } else if (command == "remove" && words.size() == 2) {
    options.command = Command::kRemove;
    options.entry.number = number_of(words[1]);
  } else if (command == "watch" && words.size() == 1) {
    options.command = Command::kWatch;
  } else if (command != "list" || words.size() != 1) {
    throw Refused("'" + command + "' is not a command, or has the wrong number of words");
  }
}

void read_words(int argc, char** argv, Options& options) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      words.push_back(word);
    } else if (i + 1 == argc || !take_option(word, argv[i + 1], options)) {
      throw Refused("'" + word + "' is not an option, or needs a value");
    } else {
      ++i;
    }
  }
  check_text("--room", options.entry.room, ROOM_MAX);
  check_text("--who", options.entry.who, PERSON_NAME_MAX);
  check_text("--notes", options.entry.notes, options.entry.notes.size());
  read_command(words, options);
}

}  // namespace

void read_appointment(const std::string& start, const std::string& hours, const std::string& title,
                      Entry& entry) {
  entry.starts_min = start_of(start);
  const auto number = command_line::decimal_number(hours);
  if (!number || *number <= 0 || *number > kHoursMax) {
    throw Refused("'" + hours + "' is not a number of hours from 0 to 1000, like 1.5");
  }
  entry.hours = *number;
  check_text("the title", title, TITLE_MAX);
  entry.title = title;
}

int read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--help") continue;
    std::fputs(kHelp, stdout);
    return 1;
  }
  options.entry.who = who_by_default();
  try {
    read_words(argc, argv, options);
  } catch (const Refused& refused) {
    std::fprintf(stderr, "shared-calendar: %s; try --help\n", refused.what());
    return 2;
  }
  return 0;
}

}  // namespace agenda
