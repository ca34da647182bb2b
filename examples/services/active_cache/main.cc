// active-cache: the back end, front ends, and who changes the data.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "active_cache/front_end.h"
#include "program/input_lines.h"
#include "program/program.h"

namespace {

using namespace active_cache;
using command_line::StopSignal;
using services::Arguments;
using services::say;
using services::Space;

constexpr char kHelp[] =
    "Usage: active-cache COMMAND [--join ADDRESS]\n"
    "Front ends that keep responses and never give one that is stale: before each answer they "
    "read\n"
    "the versions of the data it was made of, in the back end's memory, without its processor.\n"
    "\n"
    "  back-end          has the data, until Ctrl-C; prints the ADDRESS that the others join\n"
    "  set NAME TEXT     changes an item, or makes it; `set -`: one a line of the input\n"
    "  front-end         answers pages, one a line of the input: the items' names with + between\n"
    "  check PAGE        how long answering a kept page takes\n"
    "\n"
    "  --join ADDRESS    the back end's (or set IW_DDSS)\n"
    "  --busy-threads N  back-end: so many threads keep its processors busy (0)\n"
    "  --count N         check: so many answers (10000)\n"
    "\n"
    "Examples:\n"
    "  active-cache back-end --busy-threads 8                     one terminal\n"
    "  export IW_DDSS=...                                         others: the address it printed\n"
    "  active-cache set news 'sunny, 21 degrees'\n"
    "  active-cache front-end                                     then type: news\n"
    "  active-cache check news --count 100000\n";

int run_back_end(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(1, "");
  const auto count = arguments.number("--busy-threads", 0, 0, 1024);
  const Space space = Space::found();
  const Items items;
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> busy(count);
  for (auto& thread : busy) {
    thread = std::jthread([&] {
      while (!is_over.load(std::memory_order_relaxed)) {
      }
    });
  }
  say(std::string("address ") + ddss_address());
  while (!stop.requested()) command_line::wait_readable(stop.fd(), -1, -1, -1);
  is_over = true;
  return 0;
}

void set_one(Items& items, const std::string& name, const std::string& text) {
  say(name + " has version " + std::to_string(items.set(name, text)));
}

int run_set(const Arguments& arguments, const StopSignal& stop) {
  const auto& words = arguments.words();
  const bool is_of_input = words.size() == 2 && words[1] == "-";
  if (!is_of_input) arguments.expect_words(3, "set needs NAME and TEXT, or -");
  const Space space = Space::join(arguments.text("--join"));
  Items items;
  if (!is_of_input) {
    set_one(items, words[1], words[2]);
    return 0;
  }
  services::InputLines lines(stop);
  while (const auto line = lines.next()) {
    const std::size_t end = std::min(line->find(' '), line->size());
    set_one(items, line->substr(0, end), line->substr(std::min(end + 1, line->size())));
  }
  return 0;
}

int run_front_end(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(1, "");
  const Space space = Space::join(arguments.text("--join"));
  FrontEnd front_end;
  services::InputLines lines(stop);
  while (const auto page = lines.next()) {
    try {
      const Answer answer = front_end.answer(*page);
      say(answer.text + (answer.was_kept ? "(kept)" : "(new)"));
    } catch (const services::Failure& failure) {
      if (failure.error() != 0) throw;
      say(failure.what());
    }
  }
  return 0;
}

int run_check(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(2, "check needs a PAGE");
  const auto count = arguments.number("--count", 10'000, 1, 10'000'000);
  const Space space = Space::join(arguments.text("--join"));
  FrontEnd front_end;
  const std::string page = arguments.words()[1];
  front_end.answer(page);
  std::vector<double> samples;
  while (samples.size() < count && !stop.requested()) {
    const auto begin = std::chrono::steady_clock::now();
    front_end.answer(page);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    samples.push_back(took.count());
  }
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  say(services::format("%zu answers: median %.2f us, 99 of 100 within %.2f us", samples.size(),
                       samples[samples.size() / 2], samples[samples.size() * 99 / 100]));
  return 0;
}

int obey(const Arguments& arguments, const StopSignal& stop) {
  const std::string command = arguments.command();
  if (command == "back-end") return run_back_end(arguments, stop);
  if (command == "set") return run_set(arguments, stop);
  if (command == "front-end") return run_front_end(arguments, stop);
  if (command == "check") return run_check(arguments, stop);
  throw services::no_command(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  return services::run({"active-cache", kHelp, {"--join", "--busy-threads", "--count"}, obey}, argc,
                       argv);
}
