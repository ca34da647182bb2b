// A MIP as the argument of a remote procedure call (InterWeave's complement to RPC) beside the deep
// copy of the structure that it leads to, over growing structures: a tree of parts that the callee
// walks and edits, of which 1 % (one, at least) changes before each call. examples/rpc has the
// calls and counts the bytes of all connections that take part. Writes rpc.csv:
// structure_nodes,system,bytes,us.
//
// Systems: sunrpc-copy, by rpcgen's routines; sunrpc-reference, with a copy cached at the callee
// from the call before, and -first, with a structure that was not shared so far; http-reference,
// where the callee is a Python program ($IW_PYTHON is a Python that has the package; without it
// these are left out).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "caller/callee.h"
#include "caller/measured.h"
#include "caller/stock_segment.h"
#include "caller/sun_rpc_callee.h"
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

// The calls by reference to one callee. Gives what repeated ones cost.
Cost by_reference(const std::string& server, const std::string& system, stock::Callee& callee,
                  std::size_t nodes, Table& table) {
  const std::string url = server + "/" + system + "/" + std::to_string(nodes) + "/";
  std::vector<Cost> first;
  for (int i = 0; i < kFirstCalls; ++i) {
    stock::StockSegment parts(url + std::to_string(i));
    first.push_back(stock::ByReference(parts, callee).first_call(nodes));
  }
  table.add(nodes, system + "-first", median_of(first));
  stock::StockSegment parts(url + "repeated");
  stock::ByReference calls(parts, callee);
  (void)calls.first_call(nodes);
  const Cost cost = repeated([&](std::size_t round) { return calls.call(nodes, round); });
  table.add(nodes, system, cost);
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

void run() {
  // Where a wake-up on another processor would come now and then, in one system or the other.
  bench::place(bench::Placement::one_core);
  const bench::ChildServer server = bench::ChildServer::interweave();
  const bench::ChildServer sun_rpc = bench::ChildServer::listening({SUN_RPC_CALLEE, "--port", "0"});
  std::unique_ptr<bench::ChildServer> http;
  std::unique_ptr<stock::Callee> http_callee;
  if (const char* python = std::getenv("IW_PYTHON")) {
    http = std::make_unique<bench::ChildServer>(
        bench::ChildServer::listening({python, HTTP_CALLEE, "--port", "0"}));
    http_callee = stock::connect("http://" + http->address());
  }
  stock::SunRpcCallee callee(sun_rpc.address());
  Table table;
  Crossing crossing;
  Cost copy, reference;
  for (std::size_t nodes = kSmallest; nodes <= kLargest; nodes *= kGrowth) {
    stock::ByCopy calls(callee, stock::planted_copy(nodes));
    copy = repeated([&](std::size_t round) { return calls.call(nodes, round); });
    table.add(nodes, "sunrpc-copy", copy);
    reference = by_reference(server.address(), "sunrpc-reference", callee, nodes, table);
    Crossing::note(crossing.bytes, reference.bytes < copy.bytes, nodes);
    Crossing::note(crossing.us, reference.us < copy.us, nodes);
    if (http_callee) by_reference(server.address(), "http-reference", *http_callee, nodes, table);
  }
  std::printf(
      "verdict: repeated calls by reference: fewer bytes than by copy %s, less time %s; at %zu "
      "nodes %.0f times fewer bytes, %.2f of the time\n",
      nodes_text(crossing.bytes).c_str(), nodes_text(crossing.us).c_str(), kLargest,
      static_cast<double>(copy.bytes) /
          static_cast<double>(std::max<std::uint64_t>(1, reference.bytes)),
      reference.us / copy.us);
  if (!http_callee) std::printf("IW_PYTHON is not set: no calls by HTTP\n");
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
