// A MIP as the argument of a remote procedure call (InterWeave's complement to RPC) beside the deep
// copy of the structure that it leads to, over growing structures: a tree of parts that the callee
// walks and edits, of which 1 % (one, at least) changes before each call. examples/rpc has the
// calls and counts the bytes of all connections that take part. Writes rpc.csv:
// structure_nodes,system,bytes,us.
//
// Systems, for sunrpc (rpcgen's routines, a callee in C++) and http (a callee in Python): -copy (by
// HTTP, as JSON); -reference, with a copy cached at the callee from the call before; and
// -reference-first, with a structure that was not shared so far. $IW_PYTHON is a Python that has
// the package; without it http is left out. IW_BENCH_NODES_MAX bounds the structures.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caller/callee.h"
#include "caller/measured.h"
#include "caller/stock_segment.h"
#include "harness/child_server.h"
#include "harness/placement.h"
#include "harness/results.h"

namespace {

using stock::Cost;

constexpr std::size_t kSmallest = 16;
constexpr std::size_t kLargest = 65536;
constexpr std::size_t kGrowth = 4;
constexpr int kFirstCalls = 5;
constexpr int kCalls = 21;
constexpr int kWarmUp = 3;

Cost median_of(const std::vector<Cost>& costs) {
  std::vector<double> bytes, us;
  for (const Cost& cost : costs) {
    bytes.push_back(static_cast<double>(cost.bytes));
    us.push_back(cost.us);
  }
  return {static_cast<std::uint64_t>(bench::median(bytes)), bench::median(us)};
}

template <typename Call>
Cost repeated(const Call& call) {
  std::vector<Cost> costs;
  for (int i = 0; i < kWarmUp + kCalls; ++i) {
    const Cost cost = call(static_cast<std::size_t>(i));
    if (i >= kWarmUp) costs.push_back(cost);
  }
  return median_of(costs);
}

class Table {
 public:
  Table() {
    std::printf("medians of %d calls, %d for first ones; one core\n%9s %-26s %12s %10s\n", kCalls,
                kFirstCalls, "nodes", "system", "bytes", "us");
  }
  void add(std::size_t nodes, const std::string& system, const Cost& cost) {
    const auto bytes = static_cast<unsigned long long>(cost.bytes);
    std::printf("%9zu %-26s %12llu %10.0f\n", nodes, system.c_str(), bytes, cost.us);
    csv_.row(bench::format("%zu,%s,%llu,%.1f", nodes, system.c_str(), bytes, cost.us));
  }
  void finish() { csv_.finish(); }

 private:
  bench::Csv csv_{"rpc.csv", "structure_nodes,system,bytes,us"};
};

// A way to call, with a callee at its other end.
struct Way {
  std::string name;
  std::unique_ptr<bench::ChildServer> process;
  std::unique_ptr<stock::Callee> callee;
};

Way way(const std::string& name, const std::vector<std::string>& callee, const char* prefix) {
  auto process = std::make_unique<bench::ChildServer>(bench::ChildServer::listening(callee));
  auto connected = stock::connect(prefix + process->address());
  return {name, std::move(process), std::move(connected)};
}

std::vector<Way> ways() {
  std::vector<Way> all;
  all.push_back(way("sunrpc", {SUN_RPC_CALLEE, "--port", "0"}, ""));
  if (const char* python = std::getenv("IW_PYTHON")) {
    all.push_back(way("http", {python, HTTP_CALLEE, "--port", "0"}, "http://"));
  } else {
    std::printf("IW_PYTHON is not set: no calls by HTTP\n");
  }
  return all;
}

Cost by_copy(const Way& way, std::size_t nodes, Table& table) {
  stock::ByCopy calls(*way.callee, stock::planted_copy(nodes));
  const Cost cost = repeated([&](std::size_t round) { return calls.call(nodes, round); });
  table.add(nodes, way.name + "-copy", cost);
  return cost;
}

// Gives what repeated calls cost.
Cost by_reference(const std::string& server, const Way& way, std::size_t nodes, Table& table) {
  const std::string url = server + "/" + way.name + "/" + std::to_string(nodes) + "/";
  std::vector<Cost> first;
  for (int i = 0; i < kFirstCalls; ++i) {
    stock::StockSegment parts(url + std::to_string(i));
    first.push_back(stock::ByReference(parts, *way.callee).first_call(nodes));
  }
  table.add(nodes, way.name + "-reference-first", median_of(first));
  stock::StockSegment parts(url + "repeated");
  stock::ByReference calls(parts, *way.callee);
  (void)calls.first_call(nodes);
  const Cost cost = repeated([&](std::size_t round) { return calls.call(nodes, round); });
  table.add(nodes, way.name + "-reference", cost);
  return cost;
}

// From how many nodes on repeated calls by reference are ahead of those by copy.
struct Crossing {
  std::size_t bytes = 0, us = 0;
  static void note(std::size_t& from, bool ahead, std::size_t nodes) {
    if (!ahead) from = 0;
    if (ahead && from == 0) from = nodes;
  }
};

std::string nodes_text(std::size_t from) {
  return from == 0 ? "at no size" : bench::format("from %zu nodes on", from);
}

// The largest structure; smaller ones for those who only want to see it work.
std::size_t nodes_max() {
  const char* const text = std::getenv("IW_BENCH_NODES_MAX");
  return text == nullptr ? kLargest : std::strtoul(text, nullptr, 10);
}

void compare(const std::string& server, const Way& way, Table& table) {
  Crossing crossing;
  Cost copy, reference;
  std::size_t last = 0;
  for (std::size_t nodes = kSmallest; nodes <= nodes_max(); nodes *= kGrowth) {
    copy = by_copy(way, nodes, table);
    reference = by_reference(server, way, nodes, table);
    Crossing::note(crossing.bytes, reference.bytes < copy.bytes, nodes);
    Crossing::note(crossing.us, reference.us < copy.us, nodes);
    last = nodes;
  }
  std::printf(
      "verdict: %s: repeated calls by reference: fewer bytes than by copy %s, less time %s; at %zu "
      "nodes %.0f times fewer bytes, %.2f of the time\n",
      way.name.c_str(), nodes_text(crossing.bytes).c_str(), nodes_text(crossing.us).c_str(), last,
      static_cast<double>(copy.bytes) /
          static_cast<double>(std::max<std::uint64_t>(1, reference.bytes)),
      reference.us / copy.us);
}

void run() {
  // Where a wake-up on another processor would come now and then, in one system or the other.
  bench::place(bench::Placement::one_core);
  const bench::ChildServer server = bench::ChildServer::interweave();
  const std::vector<Way> all = ways();
  Table table;
  for (const Way& one : all) compare(server.address(), one, table);
  table.finish();
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rpc: %s\n", failure.what());
    return 1;
  }
  return 0;
}
