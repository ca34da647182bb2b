// DDSS itself: this process joins the node that has the data, or uses a daemon that did.
#include <interweave/ddss.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "ddss/measures.h"

namespace bench {
namespace {

struct Model {
  ddss_model_t model;
  const char* name;
};
constexpr Model models[] = {{DDSS_NULL, "null"},        {DDSS_READ, "read"},
                            {DDSS_WRITE, "write"},      {DDSS_STRICT, "strict"},
                            {DDSS_VERSION, "version"},  {DDSS_DELTA, "delta"},
                            {DDSS_TEMPORAL, "temporal"}};

void check(int result) {
  if (result != 0) fail(ddss_error_text(result));
}

ddss_key_t allocate_there(std::size_t bytes, ddss_model_t model) {
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;  // 0
  how.temporal_ms = 1000;
  const ddss_key_t key = ddss_allocate(bytes, model, &how);
  if (key == 0) fail(ddss_error_text(ddss_errno()));
  return key;
}

void measure_here(const Case& measured, const char* put, const char* get, Table* table) {
  for (const Model& each : models) {
    for (const std::size_t bytes : sizes) {
      const ddss_key_t key = allocate_there(bytes, each.model);
      std::vector<char> sent(bytes, 'x'), got(bytes);
      const double put_us = measure([&] { check(ddss_put(key, sent.data(), bytes)); });
      const double get_us = measure([&] { check(ddss_get(key, got.data(), bytes)); });
      if (got != sent) fail("what was put is not what is got");
      table->row(put, each.name, bytes, measured, "interweave", put_us);
      table->row(get, each.name, bytes, measured, "interweave", get_us);
      check(ddss_release(key));
    }
  }
}

// As many at once as the daemon takes of a thread; the time of one.
void measure_async(const Case& measured, const char* put_name, const char* get_name, Table* table) {
  constexpr int at_once = 8;
  for (const std::size_t bytes : sizes) {
    const ddss_key_t key = allocate_there(bytes, DDSS_NULL);
    const std::vector<char> sent(bytes, 'x');
    std::vector<std::vector<char>> got(at_once, std::vector<char>(bytes));
    const auto all = [&](const auto& start) {
      std::array<ddss_operation_t*, at_once> started;
      for (int i = 0; i < at_once; i++) started[i] = start(i);
      for (ddss_operation_t* each : started) check(ddss_wait(each));
    };
    const auto put = [&](int) { return ddss_async_put(key, sent.data(), bytes); };
    const auto get = [&](int i) { return ddss_async_get(key, got[i].data(), bytes); };
    const double put_us = measure([&] { all(put); }) / at_once;
    const double get_us = measure([&] { all(get); }) / at_once;
    for (const auto& each : got) {
      if (each != sent) fail("what was put is not what is got");
    }
    table->row(put_name, "null", bytes, measured, "interweave", put_us);
    table->row(get_name, "null", bytes, measured, "interweave", get_us);
    check(ddss_release(key));
  }
}

}  // namespace

int run_node() {
  check(ddss_init(nullptr));
  std::printf("listening %s\n", ddss_address());
  std::fflush(stdout);
  pause();
  return 0;
}

double ddss_get_us(const Case& measured, std::size_t bytes) {
  const ChildServer node = target("node", measured.transport);
  ddss_options_t options{};
  options.join = node.address().c_str();
  options.sleeps_at_once = measured.is_blocking ? 1 : 0;
  check(ddss_init(&options));
  const ddss_key_t key = allocate_there(bytes, DDSS_NULL);
  std::vector<char> got(bytes);
  const double us = measure([&] { check(ddss_get(key, got.data(), bytes)); });
  check(ddss_finish());
  return us;
}

void measure_models(const Case& measured, Table* table) {
  const ChildServer node = target("node", measured.transport);
  ddss_options_t options{};
  options.join = node.address().c_str();
  options.sleeps_at_once = measured.is_blocking ? 1 : 0;
  check(ddss_init(&options));
  measure_here(measured, "put", "get", table);
  measure_async(measured, "async_put", "async_get", table);
  check(ddss_finish());
  const std::string path =
      std::filesystem::temp_directory_path() / ("bench-ddss-" + std::to_string(getpid()));
  std::vector<std::string> command{DDSS_DAEMON, "--socket", path, "--join", node.address()};
  if (measured.is_blocking) command.push_back("--sleep-at-once");
  {
    const ChildServer daemon = ChildServer::listening(command);
    options.daemon = path.c_str();
    check(ddss_init(&options));
    measure_here(measured, "daemon_put", "daemon_get", table);
    measure_async(measured, "daemon_async_put", "daemon_async_get", table);
    check(ddss_finish());
  }
  std::filesystem::remove(path);
}

}  // namespace bench
