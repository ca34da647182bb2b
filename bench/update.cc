// 1 % of a 1 MiB array of doubles changed in 1, 82 or 1,310 runs, from the first store (under the
// writer lock) until another process has it: InterWeave, which finds the changes itself, beside
// Redis, which is told them, and a bare socket pair. Writes update.csv: runs,system,us,bytes (one
// core).
#include <hiredis/hiredis.h>
#include <interweave.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/placement.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/socket_pair.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::note_change;
using bench::open_segment;
using bench::TwoProcesses;

constexpr std::size_t kDoubles = 131072;
constexpr std::size_t kChanged = 1310;
constexpr int kRounds = 400;
constexpr int kWarmUp = 40;

struct Run {
  std::size_t first, count;
};

// The runs of a round, evenly spread; they move a little from round to round.
std::vector<Run> runs_of_round(int runs, int round) {
  std::vector<Run> out;
  const std::size_t each = kChanged / static_cast<std::size_t>(runs);
  const std::size_t stride = kDoubles / static_cast<std::size_t>(runs);
  const std::size_t shift = (static_cast<std::size_t>(round) * 7) % (stride - each + 1);
  for (int i = 0; i < runs; ++i)
    out.push_back({static_cast<std::size_t>(i) * stride + shift, each});
  return out;
}

double value_of(int round, std::size_t index) { return round * 1e6 + static_cast<double>(index); }

void store_round(double* array, int runs, int round) {
  for (const Run& run : runs_of_round(runs, round)) {
    for (std::size_t i = run.first; i < run.first + run.count; ++i) array[i] = value_of(round, i);
  }
}

// Checks that the stored values arrived, at least in the first, middle and last run.
void check_round(const double* array, int runs, int round) {
  const std::vector<Run> all = runs_of_round(runs, round);
  for (const Run& run : {all.front(), all[all.size() / 2], all.back()}) {
    if (array[run.first] == value_of(round, run.first)) continue;
    std::fprintf(stderr, "bench: round %d did not arrive\n", round);
    std::exit(1);
  }
}

struct Figure {
  double us = 0;
  double bytes = 0;  // both hops, a round
};

// ---- InterWeave ----

IW_stats_t stats_of(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment, &stats) != 0) fail("stats");
  return stats;
}

void interweave_reader(TwoProcesses& pair, const std::string& url, int runs) {
  const IW_handle_t segment = open_segment(url);
  const auto* array = static_cast<const double*>(IW_mip_to_ptr((url + "#array").c_str()));
  if (array == nullptr) fail("mip_to_ptr");
  if (IW_on_change(segment, note_change, nullptr) != 0) fail("on_change");
  pollfd wake{IW_event_fd(), POLLIN, 0};
  std::uint64_t version = 0;
  std::uint64_t bytes_before = 0;
  bool started = false;
  for (int round = 0; round < pair.rounds();) {
    if (started) poll(&wake, 1, -1);
    if (IW_dispatch() != 0) fail("dispatch");
    if (IW_rl_acquire(segment) != 0) fail("reader lock");
    const std::uint64_t now = IW_version(segment);
    if (started && now != version) {
      pair.had_it();
      check_round(array, runs, round);
      ++round;
    }
    version = now;
    IW_rl_release(segment);
    if (!started) {
      // The copy becomes subscribed after a few useless polls (POLL-1).
      for (int i = 0; i < 8; ++i) {
        if (IW_rl_acquire(segment) != 0) fail("reader lock");
        IW_rl_release(segment);
      }
      bytes_before = stats_of(segment).bytes_received;
      started = true;
      pair.ready();
    }
  }
  pair.report_bytes(stats_of(segment).bytes_received - bytes_before);
}

Figure interweave_update(int runs) {
  const bench::ChildServer server = bench::ChildServer::interweave();
  const std::string url = server.address() + "/update";
  Figure figure;
  // The writer's half runs in a forked process, too: the library is used after fork only.
  TwoProcesses writer(1, [&](TwoProcesses& report) {
    TwoProcesses pair(kRounds, [&](TwoProcesses& inner) {
      inner.wait_go();
      interweave_reader(inner, url, runs);
    });
    const IW_handle_t segment = open_segment(url);
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    auto* array = static_cast<double*>(IW_malloc_array(segment, IW_double, kDoubles, "array"));
    if (array == nullptr) fail("malloc");
    for (std::size_t i = 0; i < kDoubles; ++i) array[i] = 0.5;
    if (IW_wl_release(segment) != 0) fail("release");
    std::vector<double> samples;
    pair.go();
    pair.wait_ready();
    const std::uint64_t sent_before = stats_of(segment).bytes_sent;
    for (int round = 0; round < kRounds; ++round) {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      const std::int64_t begin = bench::now_ns();
      store_round(array, runs, round);
      if (IW_wl_release(segment) != 0) fail("release");
      const std::int64_t end = pair.wait_had_it();
      if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e3);
    }
    const std::uint64_t sent = stats_of(segment).bytes_sent - sent_before;
    report.report_bytes((sent + pair.reader_bytes()) / kRounds);
    report.report_us(bench::median(samples));
  });
  figure.bytes = static_cast<double>(writer.reader_bytes());
  figure.us = writer.reader_us();
  return figure;
}

// ---- Redis ----

redisContext* connect_redis(const std::string& path) {
  redisContext* redis = redisConnectUnix(path.c_str());
  if (redis == nullptr || redis->err) {
    std::fprintf(stderr, "bench: cannot connect to redis-server\n");
    std::exit(1);
  }
  return redis;
}

redisReply* next_reply(redisContext* redis) {
  void* reply = nullptr;
  if (redisGetReply(redis, &reply) != REDIS_OK) {
    std::fprintf(stderr, "bench: redis: %s\n", redis->errstr);
    std::exit(1);
  }
  return static_cast<redisReply*>(reply);
}

double redis_network_bytes(redisContext* redis) {
  auto* reply = static_cast<redisReply*>(redisCommand(redis, "INFO stats"));
  double total = 0;
  for (const char* name : {"total_net_input_bytes:", "total_net_output_bytes:"}) {
    total += std::atof(std::strstr(reply->str, name) + std::strlen(name));
  }
  freeReplyObject(reply);
  return total;
}

// The diff as Redis' users would send it: first, count and values of each run.
std::string diff_of(const double* array, int runs, int round) {
  std::string diff;
  for (const Run& run : runs_of_round(runs, round)) {
    const std::uint32_t head[2] = {static_cast<std::uint32_t>(run.first),
                                   static_cast<std::uint32_t>(run.count)};
    diff.append(reinterpret_cast<const char*>(head), sizeof head);
    diff.append(reinterpret_cast<const char*>(array + run.first), run.count * sizeof(double));
  }
  return diff;
}

void apply_diff(const char* at, std::size_t size, double* array) {
  const char* end = at + size;
  while (at < end) {
    std::uint32_t head[2];
    std::memcpy(head, at, sizeof head);
    at += sizeof head;
    std::memcpy(array + head[0], at, head[1] * sizeof(double));
    at += head[1] * sizeof(double);
  }
}

void redis_reader(TwoProcesses& pair, const std::string& path, int runs, bool whole) {
  redisContext* subscriber = connect_redis(path);
  redisContext* getter = connect_redis(path);
  std::vector<double> array(kDoubles, 0.5);
  freeReplyObject(redisCommand(subscriber, "SUBSCRIBE change"));
  pair.ready();
  for (int round = 0; round < pair.rounds(); ++round) {
    redisReply* message = next_reply(subscriber);
    if (whole) {
      auto* value = static_cast<redisReply*>(redisCommand(getter, "GET array"));
      std::memcpy(array.data(), value->str, value->len);
      freeReplyObject(value);
    } else {
      apply_diff(message->element[2]->str, message->element[2]->len, array.data());
    }
    pair.had_it();
    check_round(array.data(), runs, round);
    freeReplyObject(message);
  }
}

void send_runs(redisContext* redis, const double* array, int runs, int round) {
  const std::vector<Run> all = runs_of_round(runs, round);
  for (const Run& run : all) {
    const auto offset = static_cast<unsigned long long>(run.first * sizeof(double));
    redisAppendCommand(redis, "SETRANGE array %llu %b", offset, array + run.first,
                       run.count * sizeof(double));
  }
  const std::string diff = diff_of(array, runs, round);
  redisAppendCommand(redis, "PUBLISH change %b", diff.data(), diff.size());
  for (std::size_t i = 0; i < all.size() + 1; ++i) freeReplyObject(next_reply(redis));
}

void send_whole(redisContext* redis, const double* array) {
  redisAppendCommand(redis, "SET array %b", array, kDoubles * sizeof(double));
  redisAppendCommand(redis, "PUBLISH change 1");
  for (int i = 0; i < 2; ++i) freeReplyObject(next_reply(redis));
}

Figure redis_update(int runs, bool whole) {
  const bench::ChildServer server = bench::ChildServer::redis();
  redisContext* redis = connect_redis(server.address());
  std::vector<double> array(kDoubles, 0.5);
  freeReplyObject(redisCommand(redis, "SET array %b", array.data(), array.size() * sizeof(double)));
  std::vector<double> samples;
  TwoProcesses pair(
      kRounds, [&](TwoProcesses& inner) { redis_reader(inner, server.address(), runs, whole); });
  pair.wait_ready();
  const double bytes_before = redis_network_bytes(redis);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = bench::now_ns();
    store_round(array.data(), runs, round);
    if (whole) {
      send_whole(redis, array.data());
    } else {
      send_runs(redis, array.data(), runs, round);
    }
    const std::int64_t end = pair.wait_had_it();
    if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e3);
  }
  const double bytes = (redis_network_bytes(redis) - bytes_before) / kRounds;
  redisFree(redis);
  return {bench::median(samples), bytes};
}

// ---- The limit: a diff over a socket pair, one hop, nothing stored ----

Figure socket_pair_update(int runs) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  std::vector<double> array(kDoubles, 0.5);
  std::vector<double> samples;
  std::size_t bytes = 0;
  TwoProcesses pair(kRounds, [&](TwoProcesses& inner) {
    std::string diff;
    inner.ready();
    for (int round = 0; round < inner.rounds(); ++round) {
      std::uint64_t size = 0;
      bench::read_all(ends[1], &size, sizeof size);
      diff.resize(size);
      bench::read_all(ends[1], diff.data(), size);
      apply_diff(diff.data(), size, array.data());
      inner.had_it();
      check_round(array.data(), runs, round);
    }
  });
  pair.wait_ready();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = bench::now_ns();
    store_round(array.data(), runs, round);
    const std::string diff = diff_of(array.data(), runs, round);
    const std::uint64_t size = diff.size();
    bench::write_all(ends[0], &size, sizeof size);
    bench::write_all(ends[0], diff.data(), size);
    const std::int64_t end = pair.wait_had_it();
    bytes = size + sizeof size;
    if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e3);
  }
  return {bench::median(samples), static_cast<double>(bytes)};
}

Figure measure(const std::string& system, int runs) {
  if (system == "interweave") return interweave_update(runs);
  if (system == "redis-setrange-publish") return redis_update(runs, false);
  if (system == "redis-set-get") return redis_update(runs, true);
  return socket_pair_update(runs);
}

}  // namespace

int main() {
  const std::vector<std::string> systems = {"interweave", "redis-setrange-publish", "redis-set-get",
                                            "limit-socketpair"};
  bench::Csv csv("update.csv", "runs,system,us,bytes");
  std::printf(
      "1 %% of 1 MiB of doubles, first store to the other process having it; medians of %d\n",
      kRounds - kWarmUp);
  std::printf("%6s  %-24s %12s %14s %12s\n", "runs", "system", "us (free)", "us (one core)",
              "bytes");
  for (const int runs : {1, 82, 1310}) {
    std::map<std::string, double> one_core_us;
    for (const std::string& system : systems) {
      bench::place(bench::Placement::free);
      const Figure free = measure(system, runs);
      bench::place(bench::Placement::one_core);
      const Figure pinned = measure(system, runs);
      one_core_us[system] = pinned.us;
      std::printf("%6d  %-24s %12.1f %14.1f %12.0f\n", runs, system.c_str(), free.us, pinned.us,
                  pinned.bytes);
      csv.row(bench::format("%d,%s,%.2f,%.0f", runs, system.c_str(), pinned.us, pinned.bytes));
    }
    std::printf("%6d  interweave takes %.2fx the time of redis-setrange-publish\n", runs,
                one_core_us["interweave"] / one_core_us["redis-setrange-publish"]);
  }
  csv.finish();
  return 0;
}
