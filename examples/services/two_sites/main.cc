// two-sites: the manager, servers and clients.
#include <algorithm>
#include <optional>
#include <vector>

#include "program/program.h"
#include "two_sites/manager.h"
#include "two_sites/server.h"

namespace {

using namespace two_sites;
using command_line::StopSignal;
using services::Arguments;
using services::Misuse;
using services::say;
using services::Space;

constexpr int look_ms = 1;
constexpr std::uint64_t requests_max = 1'000'000'000;
constexpr char kHelp[] =
    "Usage: two-sites COMMAND [--join ADDRESS]\n"
    "Servers of two sites, A and B, that go where the load is: each writes its load into its own\n"
    "memory; the manager reads it there, and moves servers from the idle site to the loaded one.\n"
    "\n"
    "  manager            until Ctrl-C; prints the ADDRESS that the others join, and each change\n"
    "  server SITE        a server that begins at SITE, until Ctrl-C; kill -9 it if you like\n"
    "  load SITE COUNT    so many requests for SITE\n"
    "  show               which server serves which site, and how many requests wait\n"
    "\n"
    "  --join ADDRESS     the manager's (or set IW_DDSS)\n"
    "  --cost-us N        server: a request keeps it busy for so long (100)\n"
    "\n"
    "Examples:\n"
    "  two-sites manager                                 one terminal\n"
    "  export IW_DDSS=...                                others: the address it printed\n"
    "  two-sites server A & two-sites server B & two-sites server B &\n"
    "  two-sites load A 100000\n";

Site site_named(const std::string& text) {
  for (const Site site : sites) {
    if (text == name_of(site)) return site;
  }
  throw Misuse{"'" + text + "' is not a site: A or B"};
}

void say_change(const Change& change) {
  if (change.kind == Change::Kind::kMoved) {
    say(services::format("server %d, place %zu: moved to site %s in %.1f us", change.node,
                         change.place, name_of(change.site), change.took_us));
  } else {
    say(services::format("server %d, place %zu: died at site %s; its place is free", change.node,
                         change.place, name_of(change.site)));
  }
}

int run_manager(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(1, "");
  const Space space = Space::found();
  const Shared shared;
  Manager manager(shared);
  std::vector<double> moves_us;
  say(std::string("address ") + ddss_address());
  while (!stop.requested()) {
    for (const Change& change : manager.look()) {
      say_change(change);
      if (change.kind == Change::Kind::kMoved) moves_us.push_back(change.took_us);
    }
    command_line::wait_readable(stop.fd(), -1, -1, look_ms);
  }
  if (moves_us.empty()) return 0;
  std::sort(moves_us.begin(), moves_us.end());
  say(services::format("%zu moves: median %.1f us, longest %.1f us", moves_us.size(),
                       moves_us[moves_us.size() / 2], moves_us.back()));
  return 0;
}

int run_server(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(2, "server needs a SITE");
  const Site first = site_named(arguments.words()[1]);
  const auto cost_us = static_cast<unsigned>(arguments.number("--cost-us", 100, 0, 1'000'000));
  const Space space = Space::join_as_node(arguments.text("--join"));
  const Shared shared;
  Server server(shared, first);
  say(services::format("server %d, place %zu: begins at site %s", ddss_node(), server.place(),
                       name_of(first)));
  std::uint64_t served[2] = {0, 0};
  while (!stop.requested()) {
    if (const auto one = server.serve_one(cost_us)) {
      served[index(one->site)]++;
    } else {
      command_line::wait_readable(stop.fd(), -1, -1, look_ms);
    }
  }
  say(services::format("served %llu requests of site A, %llu of site B",
                       static_cast<unsigned long long>(served[0]),
                       static_cast<unsigned long long>(served[1])));
  return 0;
}

int run_load(const Arguments& arguments, const StopSignal&) {
  arguments.expect_words(3, "load needs SITE and COUNT");
  const Site site = site_named(arguments.words()[1]);
  const std::uint64_t count = arguments.word_as_number(2, 0, requests_max);
  const Space space = Space::join(arguments.text("--join"));
  say(std::to_string(Shared().add_requests(site, count)) + " requests wait at site " +
      name_of(site));
  return 0;
}

int run_show(const Arguments& arguments, const StopSignal&) {
  arguments.expect_words(1, "");
  const Space space = Space::join(arguments.text("--join"));
  const Shared shared;
  for (const Site site : sites) {
    std::string line =
        services::format("site %s: %llu requests wait; servers", name_of(site),
                         static_cast<unsigned long long>(shared.queue(site).get().waiting()));
    for (std::size_t number = 0; number < places_max; number++) {
      const Place place = shared.place(number).get();
      if (place.server != 0 && place.site == site) line += services::format(" %d", place.node());
    }
    say(line);
  }
  return 0;
}

int obey(const Arguments& arguments, const StopSignal& stop) {
  const std::string command = arguments.command();
  if (command == "manager") return run_manager(arguments, stop);
  if (command == "server") return run_server(arguments, stop);
  if (command == "load") return run_load(arguments, stop);
  if (command == "show") return run_show(arguments, stop);
  throw services::no_command(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  return services::run({"two-sites", kHelp, {"--join", "--cost-us"}, obey}, argc, argv);
}
