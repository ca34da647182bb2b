// select-records: data nodes and selections.
#include <algorithm>
#include <chrono>
#include <vector>

#include "program/program.h"
#include "select_records/data_node.h"
#include "select_records/selection.h"

namespace {

using namespace select_records;
using command_line::StopSignal;
using services::Arguments;
using services::Misuse;
using services::say;
using services::Space;

constexpr char kHelp[] =
    "Usage: select-records COMMAND [--join ADDRESS]\n"
    "Chooses among records that lie in the memory of data nodes. Workers read them there, without "
    "the\n"
    "data nodes' processors, each a share, and their results are put together.\n"
    "\n"
    "  data              a data node, until Ctrl-C. The first prints the ADDRESS that others join\n"
    "  select            chooses, and says how many, and how long it took\n"
    "\n"
    "  --join ADDRESS    of the first data node (or set IW_DDSS)\n"
    "  --records N       data: so many records (10000)\n"
    "  --part I          data: which part of the data set they are, 0 to 63 (0)\n"
    "  --host HOST       data: where it sends records over TCP as well (127.0.0.1)\n"
    "  --where TEXT      select: like 'value<0.25 and kind=3', of id station kind time x y z "
    "value\n"
    "  --workers N       select: so many processes (2)\n"
    "  --by WAY          select: segments, sockets (records shipped over TCP), or both\n"
    "  --repeat N        select: so often; the median counts (1)\n"
    "  --show N          select: prints the first N records (0)\n"
    "\n"
    "Examples:\n"
    "  select-records data --records 100000                       one terminal\n"
    "  export IW_DDSS=...                                         others: the address it printed\n"
    "  select-records data --records 100000 --part 1\n"
    "  select-records select --where 'value<0.001' --show 5\n"
    "  select-records select --where 'value<0.25' --by both --repeat 21\n";

int run_data(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(1, "");
  const auto records = arguments.number("--records", 10'000, 1, 100'000'000);
  const auto part = arguments.number("--part", 0, 0, parts_max - 1);
  const std::string host = arguments.text("--host", "127.0.0.1");
  if (host.empty() || host.size() > host_bytes_max) throw Misuse{"--host: 1 to 63 characters"};
  const Space space = Space::join_or_found(arguments.text("--join"), DataNode::pool_bytes(records));
  const DataNode node(part, records, host);
  say(std::string("address ") + ddss_address());
  while (!stop.requested()) command_line::wait_readable(stop.fd(), -1, -1, -1);
  return 0;
}

std::vector<Way> ways_of(const std::string& text) {
  if (text == "segments") return {Way::kSegments};
  if (text == "sockets") return {Way::kSockets};
  if (text == "both") return {Way::kSegments, Way::kSockets};
  throw Misuse{"--by: '" + text + "' is not one of segments, sockets, both"};
}

void show(const std::vector<Record>& found, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, found.size()); i++) {
    const Record& one = found[i];
    say(services::format("%8llu station %2u kind %u time %.1f at %.3f %.3f %.3f value %.4f",
                         static_cast<unsigned long long>(one.id), one.station, one.kind, one.time_s,
                         one.x, one.y, one.z, one.value));
  }
}

// Each way in turn, so that all have the same conditions. Says the times.
std::vector<Record> select_repeatedly(Selection* selection, const Condition& condition,
                                      const std::vector<Way>& ways, std::uint64_t times) {
  std::vector<std::vector<double>> took_ms(ways.size());
  std::vector<Record> first;
  for (std::uint64_t i = 0; i < times; i++) {
    for (std::size_t way = 0; way < ways.size(); way++) {
      const auto begin = std::chrono::steady_clock::now();
      auto found = selection->select(condition, ways[way]);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      took_ms[way].push_back(took.count());
      if (i == 0 && way == 0) first = found;
      if (found != first) throw services::Failure("two selections differ; that is a bug");
    }
  }
  for (std::size_t way = 0; way < ways.size(); way++) {
    std::sort(took_ms[way].begin(), took_ms[way].end());
    say(services::format("by %s: %.3f ms", ways[way] == Way::kSegments ? "segments" : "sockets",
                         took_ms[way][took_ms[way].size() / 2]));
  }
  return first;
}

int run_select(const Arguments& arguments, const StopSignal& stop) {
  arguments.expect_words(1, "");
  std::string why;
  const auto condition = Condition::parse(arguments.text("--where"), &why);
  if (!condition) throw Misuse{"--where: " + why};
  const auto ways = ways_of(arguments.text("--by", "segments"));
  const auto workers = arguments.number("--workers", 2, 1, 64);
  const auto times = arguments.number("--repeat", 1, 1, 100'000);
  const auto shown = arguments.number("--show", 0, 0, 1'000'000);
  constexpr std::uint64_t records_max = 100'000'000;  // pools are committed when touched
  const Space space =
      Space::join_as_node(arguments.text("--join"), Selection::pool_bytes(records_max));
  Selection selection("/proc/self/exe", workers, stop);
  const auto found = select_repeatedly(&selection, *condition, ways, times);
  show(found, shown);
  say(services::format("%zu of %llu records", found.size(),
                       static_cast<unsigned long long>(selection.records())));
  return 0;
}

int obey(const Arguments& arguments, const StopSignal& stop) {
  const std::string command = arguments.command();
  if (command == "data") return run_data(arguments, stop);
  if (command == "select") return run_select(arguments, stop);
  if (command != "worker") throw services::no_command(arguments);
  const WorkerTask task = WorkerTask::read(arguments);
  const Space space = Space::join(arguments.text("--join"));
  run_worker(task);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> options{"--join", "--records", "--part",   "--host", "--where",
                                         "--by",   "--workers", "--repeat", "--show"};
  return services::run({"select-records", kHelp, options, obey}, argc, argv);
}
