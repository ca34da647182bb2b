// shared-calendar: the commands.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "command_line/stop_signal.h"
#include "cpp/feed.h"
#include "cpp/options.h"
#include "cpp/shared_calendar.h"

namespace {

using namespace agenda;
using command_line::StopSignal;

constexpr int kInterrupted = 130;
constexpr int kLook_ms = 2000;  // the feed looks whether the server is still there

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

const char* name_of(Point point) {
  return point == Point::kLocked ? "locked" : point == Point::kHalfway ? "halfway" : "done";
}

void at(Point point, const Options& options, const StopSignal& stop) {
  if (point == Point::kWaiting) {
    std::fputs("shared-calendar: waiting for another program that is writing; Ctrl-C gives up\n",
               stderr);
  }
  if (options.hold != point) return;
  say(std::string("held at ") + name_of(point) + ": kill -9 " + std::to_string(::getpid()) +
      ", or Enter to continue, or Ctrl-C to undo");
  command_line::wait_readable(STDIN_FILENO, stop.fd(), -1, -1);  // Enter, or the input's end
  if (stop.requested()) throw Interrupted();
}

// Waits for input or a request to stop; whether there may be a line. Looking at the request and
// then reading would miss a Ctrl-C that comes between the two.
bool wait_for_line(const StopSignal& stop) {
  command_line::wait_readable(STDIN_FILENO, stop.fd(), -1, -1);
  return !stop.requested();
}

// One appointment a line. False: a line was refused.
bool add_lines(const Options& options, const StopSignal& stop, SharedCalendar& calendar) {
  bool all_added = true;
  std::setvbuf(stdin, nullptr, _IONBF, 0);  // a line in a buffer would not wake who waits for input
  for (std::string line; wait_for_line(stop) && std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string start, hours, title;
    words >> start >> hours >> std::ws;
    std::getline(words, title);
    try {
      Entry entry = options.entry;
      read_appointment(start, hours, title, entry);
      say("+ " + calendar.add(entry).text());
    } catch (const Refused& refused) {
      std::fprintf(stderr, "shared-calendar: %s\n", refused.what());
      all_added = false;
    }
  }
  if (stop.requested()) throw Interrupted();
  return all_added;
}

// Whether the calendar could be read; a failure is said once.
bool look(const SharedCalendar& calendar, std::vector<Entry>& known, bool could_before) {
  try {
    std::vector<Entry> now = calendar.entries();
    for (const std::string& line : differences(known, now)) say(line);
    known = std::move(now);
  } catch (const iw::Error& failure) {
    if (could_before) std::fprintf(stderr, "shared-calendar: %s; still trying\n", failure.what());
    return false;
  }
  return true;
}

void note_change(IW_handle_t, std::uint64_t, void*) {}

void watch(const Options& options, const StopSignal& stop, const SharedCalendar& calendar) {
  const int event_fd = IW_event_fd();
  if (event_fd < 0) throw iw::Error::last();
  if (IW_on_change(calendar.segment().handle(), note_change, nullptr) != 0) throw iw::Error::last();
  std::vector<Entry> known = calendar.entries();
  say("watching " + options.url + ": " + std::to_string(known.size()) + " appointments");
  for (bool could = true; !stop.requested();) {
    could = look(calendar, known, could);
    command_line::wait_readable(event_fd, stop.fd(), -1, kLook_ms);
    if (IW_dispatch() != 0) throw iw::Error::last();
  }
}

int obey(const Options& options, const StopSignal& stop) {
  SharedCalendar calendar(options.url, stop, [&](Point point) { at(point, options, stop); });
  const Entry& entry = options.entry;
  switch (options.command) {
    case Options::Command::kAdd:
      say("+ " + calendar.add(entry).text());
      break;
    case Options::Command::kAddLines:
      return add_lines(options, stop, calendar) ? 0 : 1;
    case Options::Command::kMove:
      say("~ " + calendar.move(entry.number, entry.starts_min).text());
      break;
    case Options::Command::kRemove:
      say("- " + calendar.remove(entry.number).text());
      break;
    case Options::Command::kList:
      for (const Entry& one : calendar.entries()) say(one.text());
      break;
    case Options::Command::kWatch:
      watch(options, stop, calendar);
      break;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int status = read_options(argc, argv, options); status != 0) return status == 1 ? 0 : 2;
  try {
    const StopSignal stop;
    return obey(options, stop);
  } catch (const Interrupted&) {
    const bool is_one = options.command != Options::Command::kAddLines;
    std::fprintf(stderr, "shared-calendar: interrupted; %s\n",
                 is_one ? "nothing was changed" : "what it said it added stays");
    return kInterrupted;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "shared-calendar: %s\n", failure.what());
    return 1;
  }
}
