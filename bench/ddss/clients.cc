// Many clients of one node: each with a segment of its own (Figure 4b), and with one that so many
// of a hundred operations go to (Figure 4c). Writes ddss_clients.csv:
// figure,model,clients,contention_percent,us,mean_us (of an operation: the median, and the mean,
// which holds the waiting for locks and for processors alike).
#include <interweave/ddss.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <latch>
#include <numeric>

#include "ddss/measures.h"

namespace bench {
namespace {

constexpr std::size_t bytes = 1024;
constexpr std::chrono::milliseconds run_time{150};  // so that those of all overlap

ddss_key_t allocate(const std::string& name, ddss_model_t model) {
  ddss_allocation_t how{};
  how.name = name.c_str();
  how.placement = DDSS_NODE;  // 0
  const ddss_key_t key = ddss_allocate(bytes, model, &how);
  if (key == 0) fail(ddss_error_text(ddss_errno()));
  return key;
}

struct Spread {
  double median_us, mean_us;
};

// All at once. A client goes with the thread that started it, so all threads stay until the last is
// done. A late client waits for all others.
Spread run_all(const std::string& address, const char* kind, int clients) {
  std::vector<std::future<std::string>> running;
  std::latch are_done(clients);
  for (int i = 0; i < clients; i++) {
    const std::string argument = format("%s %s %d %d", address.c_str(), kind, i, clients);
    running.push_back(std::async(std::launch::async, [&are_done, argument] {
      const ChildServer client = ChildServer::listening({"/proc/self/exe", "client", argument});
      are_done.arrive_and_wait();
      return client.address();
    }));
  }
  std::vector<double> medians;
  double sum = 0;
  for (auto& each : running) {
    double median_us = 0, mean_us = 0;
    std::sscanf(each.get().c_str(), "%lf %lf", &median_us, &mean_us);
    medians.push_back(median_us);
    sum += mean_us / clients;
  }
  return {median(medians), sum};
}

}  // namespace

void measure_clients() {
  Csv csv("ddss_clients.csv", "figure,model,clients,contention_percent,us,mean_us");
  const auto run = [&](const char* figure, ddss_model_t model, const char* name, bool is_put,
                       int clients, int contention) {
    const ChildServer node = target("node", "shm");
    const std::string kind = format("%d %d %d", model, contention, is_put ? 1 : 0);
    const Spread took = run_all(node.address(), kind.c_str(), clients);
    std::printf("figure %s %-7s %2d clients, %3d %% common: median %.3f us, mean %.3f us\n", figure,
                name, clients, contention, took.median_us, took.mean_us);
    std::fflush(stdout);
    csv.row(format("%s,%s,%d,%d,%.4f,%.4f", figure, name, clients, contention, took.median_us,
                   took.mean_us));
  };
  for (const int clients : {1, 2, 4, 8, 16}) run("4b", DDSS_NULL, "null", false, clients, 0);
  for (const int contention : {0, 20, 40, 60, 80, 100}) {
    run("4c", DDSS_NULL, "null", true, 4, contention);
    run("4c", DDSS_VERSION, "version", true, 4, contention);
    run("4c", DDSS_WRITE, "write", true, 4, contention);
    run("4c", DDSS_STRICT, "strict", true, 4, contention);
  }
  csv.finish();
}

// client ADDRESS MODEL CONTENTION IS_PUT NUMBER CLIENTS: starts when all
// are there; says `listening MEDIAN MEAN`.
int run_client(int argc, char** argv) {
  if (argc < 3) return 2;
  char address[512] = "";
  int model = 0, contention = 0, is_put = 0, number = 0, clients = 0;
  const int fields = std::sscanf(argv[2], "%511s %d %d %d %d %d", address, &model, &contention,
                                 &is_put, &number, &clients);
  ddss_options_t options{};
  options.join = address;
  options.pool_bytes = 4096;
  if (fields != 6 || ddss_init(&options) != 0) fail("ddss_init");
  const auto kind = static_cast<ddss_model_t>(model);
  const ddss_key_t mine = allocate("own " + std::to_string(number), kind);
  const ddss_key_t common = allocate("common", kind);
  if (ddss_await_nodes(clients + 1) != 0) fail("the others did not come");
  std::vector<char> data(bytes);
  std::vector<double> samples;
  auto begin_of_last = std::chrono::steady_clock::now();
  const auto end = begin_of_last + run_time;
  for (int i = 0; begin_of_last < end; i = (i + 1) % 100) {
    // Spread evenly: of each hundred so many go to the common one.
    const ddss_key_t key = i * 37 % 100 < contention ? common : mine;
    const auto begin = begin_of_last = std::chrono::steady_clock::now();
    const int result =
        is_put != 0 ? ddss_put(key, data.data(), bytes) : ddss_get(key, data.data(), bytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (result != 0) fail(ddss_error_text(result));
    samples.push_back(took.count());
  }
  const double mean =
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  std::printf("listening %.4f %.4f\n", median(samples), mean);
  std::fflush(stdout);
  pause();
  return 0;
}

}  // namespace bench
