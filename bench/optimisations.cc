// Each optimisation of ICDCS'03 3.3 on and off, on a workload where it matters. Writes
// optimisations.csv: optimisation,workload,on,off,unit. At the client they are switched by
// IW_OPTIMISATIONS, which is read once per process, so each case is a process of its own; at the
// server by options of `interweave serve`. Plans are compared without a server, with a plan that
// has a step for each field.
#include <interweave.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "diff/collect.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "memory/heap.h"
#include "platform/clock.h"
#include "swizzle/swizzler.h"
#include "types/registry.h"
#include "types/segment_types.h"

namespace {

using bench::fail;
using iw::platform::now_ns;

constexpr int kTurns = 5;  // of a process each
constexpr int kRounds = 25;
constexpr std::size_t kInts = 262144;  // 1 MiB

struct Node {
  int key;
  Node* next;
};
extern const IW_type_def node_def;
const IW_type_def node_pointer_def = IW_POINTER_DEF("", &node_def);
const IW_field_def node_fields[] = {{"key", &IW_def_int, offsetof(Node, key)},
                                    {"next", &node_pointer_def, offsetof(Node, next)}};
const IW_type_def node_def =
    IW_RECORD_DEF("bench_node", sizeof(Node), alignof(Node), node_fields, 2);

// One figure, or two, that a process has found.
struct Figures {
  double first = 0;
  double second = 0;
};

// Runs in a child, with the library to itself.
class Process {
 public:
  Process(const std::string& words, const std::function<Figures(Process&)>& work) {
    if (pipe(go_) != 0 || pipe(answers_) != 0) fail("pipe");
    child_ = fork();
    if (child_ != 0) return;
    setenv("IW_OPTIMISATIONS", words.c_str(), 1);
    const Figures figures = work(*this);
    if (write(answers_[1], &figures, sizeof figures) != sizeof figures) _exit(1);
    _exit(0);
  }
  Process(const Process&) = delete;
  ~Process() {
    for (const int fd : {go_[0], go_[1], answers_[0], answers_[1]}) close(fd);
  }

  // In the child: says that it is ready, and waits until the parent tells it to continue.
  void pause() {
    const Figures none;
    char byte = 0;
    if (write(answers_[1], &none, sizeof none) != sizeof none || read(go_[0], &byte, 1) != 1) {
      fail("pause");
    }
  }
  void go_on() {
    if (write(go_[1], "g", 1) != 1) fail("continue");
  }
  // Returns the child's figures, or empty figures while the child pauses.
  Figures wait() {
    close(answers_[1]);
    answers_[1] = -1;
    Figures figures;
    if (read(answers_[0], &figures, sizeof figures) != sizeof figures) fail("a child ended early");
    return figures;
  }
  Figures end() {
    const Figures figures = wait();
    waitpid(child_, nullptr, 0);
    return figures;
  }

 private:
  int go_[2] = {-1, -1};
  int answers_[2] = {-1, -1};
  pid_t child_ = -1;
};

class Server {
 public:
  explicit Server(const std::vector<std::string>& options) {
    int output[2];
    if (pipe(output) != 0) fail("pipe");
    child_ = fork();
    if (child_ == 0) {
      dup2(output[1], STDOUT_FILENO);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      const char* const program = std::getenv("IW_PROGRAM");
      std::vector<std::string> words = {program != nullptr ? program : "interweave",
                                        "serve",
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--http",
                                        "none",
                                        "--store",
                                        "memory"};
      words.insert(words.end(), options.begin(), options.end());
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(1);
    }
    close(output[1]);
    FILE* const lines = fdopen(output[0], "r");
    std::array<char, 256> address{};
    if (std::fscanf(lines, "listening %255s", address.data()) != 1) fail("the server is not there");
    std::fclose(lines);
    address_ = address.data();
  }
  Server(const Server&) = delete;
  ~Server() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  [[nodiscard]] std::string url(const std::string& name) const { return address_ + "/" + name; }

 private:
  pid_t child_ = -1;
  std::string address_;
};

void require(int code, const char* what) {
  if (code != 0) fail(what);
}

void* make(IW_handle_t segment, IW_type_t type, std::size_t count, const char* name) {
  void* const block = IW_malloc_array(segment, type, count, name);
  if (block == nullptr) fail("IW_malloc_array");
  return block;
}

IW_stats_t stats_of(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  require(IW_stats(segment, &stats), "IW_stats");
  return stats;
}

// Of this process, so that others do not count.
double processor_us() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

// Medians of a writer section: the processor's time, and by how much a statistic grew.
Figures sections(IW_handle_t segment, std::uint64_t IW_stats_t::*statistic,
                 const std::function<void(int)>& store) {
  std::vector<double> us;
  std::vector<double> grown;
  for (int round = 0; round < kRounds; ++round) {
    const IW_stats_t before = stats_of(segment);
    const double begin_us = processor_us();
    require(IW_wl_acquire(segment), "IW_wl_acquire");
    store(round);
    require(IW_wl_release(segment), "IW_wl_release");
    us.push_back(processor_us() - begin_us);
    grown.push_back(static_cast<double>(stats_of(segment).*statistic - before.*statistic));
  }
  return {bench::median(us), bench::median(grown)};
}

Figures rewrite_ints(const std::string& url, std::size_t step,
                     std::uint64_t IW_stats_t::*statistic) {
  const IW_handle_t segment = bench::open_segment(url);
  require(IW_wl_acquire(segment), "IW_wl_acquire");
  int* const ints = static_cast<int*>(make(segment, IW_int, kInts, "ints"));
  require(IW_wl_release(segment), "IW_wl_release");
  return sections(segment, statistic, [=](int) {
    for (std::size_t i = 0; i < kInts; i += step) ++ints[i];
  });
}

// Every pointer of a list, each node a block, changes between the next node and the one after it.
Figures relink_list(const std::string& url) {
  constexpr std::size_t count = 16384;
  const IW_handle_t segment = bench::open_segment(url);
  require(IW_register_types(std::array<IW_type_t, 1>{&node_def}.data(), 1), "IW_register_types");
  require(IW_wl_acquire(segment), "IW_wl_acquire");
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(static_cast<Node*>(IW_malloc(segment, &node_def)));
    if (nodes.back() == nullptr) fail("IW_malloc");
  }
  require(IW_wl_release(segment), "IW_wl_release");
  return sections(segment, &IW_stats_t::searched_blocks, [&](int round) {
    const auto distance = static_cast<std::size_t>(1 + round % 2);
    for (std::size_t i = 0; i + distance < count; ++i) nodes[i]->next = nodes[i + distance];
  });
}

// The pages that a fresh copy has of 1,024 blocks of 65,536 that change together.
Figures hot_blocks(const std::string& url) {
  constexpr std::size_t count = 65536;
  constexpr std::size_t hot = 64;  // one in so many
  {
    Process maker("all", [&](Process&) {
      const IW_handle_t segment = bench::open_segment(url);
      std::vector<int*> blocks;
      require(IW_wl_acquire(segment), "IW_wl_acquire");
      for (std::size_t i = 0; i < count; ++i) {
        const std::string name = "h" + std::to_string(i);
        const bool is_hot = i % hot == 0;
        blocks.push_back(
            static_cast<int*>(make(segment, IW_int, 16, is_hot ? name.c_str() : nullptr)));
        blocks.back()[0] = 1;
      }
      require(IW_wl_release(segment), "IW_wl_release");
      require(IW_wl_acquire(segment), "IW_wl_acquire");
      for (std::size_t i = 0; i < count; i += hot) ++blocks[i][0];
      require(IW_wl_release(segment), "IW_wl_release");
      return Figures{};
    });
    maker.end();
  }
  Process fresh("all", [&](Process&) {
    const IW_handle_t segment = bench::open_segment(url);
    require(IW_wl_acquire(segment), "IW_wl_acquire");
    for (std::size_t i = 0; i < count; i += hot) {
      ++static_cast<int*>(IW_mip_to_ptr((url + "#h" + std::to_string(i)).c_str()))[0];
    }
    require(IW_wl_release(segment), "IW_wl_release");
    return Figures{static_cast<double>(stats_of(segment).faults), 0};
  });
  return fresh.end();
}

// Eight readers, ten versions behind, one after the other.
Figures late_readers(const std::string& url) {
  constexpr int readers = 8;
  Process writer("all", [&](Process& self) {
    const IW_handle_t segment = bench::open_segment(url);
    require(IW_wl_acquire(segment), "IW_wl_acquire");
    int* const ints = static_cast<int*>(make(segment, IW_int, kInts, "ints"));
    require(IW_wl_release(segment), "IW_wl_release");
    self.pause();
    for (int version = 0; version < 10; ++version) {
      require(IW_wl_acquire(segment), "IW_wl_acquire");
      for (std::size_t i = 0; i < kInts; i += 40) ++ints[i];
      require(IW_wl_release(segment), "IW_wl_release");
    }
    return Figures{};
  });
  writer.wait();
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < readers; ++i) {
    all.push_back(std::make_unique<Process>("all", [&](Process& self) {
      const IW_handle_t segment = bench::open_segment(url);
      require(IW_rl_acquire(segment), "IW_rl_acquire");
      require(IW_rl_release(segment), "IW_rl_release");
      self.pause();
      const std::int64_t begin = now_ns();
      require(IW_rl_acquire(segment), "IW_rl_acquire");
      return Figures{static_cast<double>(now_ns() - begin) / 1e3, 0};
    }));
    all.back()->wait();
  }
  writer.go_on();
  writer.end();
  std::vector<double> us;
  for (const auto& reader : all) {
    reader->go_on();
    us.push_back(reader->end().first);
  }
  return {bench::median(us), 0};
}

// ---- plans, without a server ----

class NoOtherSegments final : public iw::swizzle::Resolver {
  iw::memory::Heap* find(const iw::types::Url&) override { return nullptr; }
};

void require(const iw::types::Result& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "optimisations: %s\n", result.text.c_str());
  std::exit(1);
}

double translate_us(bool has_merged_plan) {
  static const std::array<IW_field_def, 10> fields = [] {
    std::array<IW_field_def, 10> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      static const char* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
      all[i] = {names[i], IW_int, i * sizeof(int)};
    }
    return all;
  }();
  static const IW_type_def record = IW_RECORD_DEF("bench_ten_ints", 40, 4, fields.data(), 10);
  iw::types::Url url;
  require(iw::types::parse_url("localhost/plans", url));
  iw::memory::HeapOptions options;
  options.url = url;
  options.reservation_bytes = 0;
  std::unique_ptr<iw::memory::Heap> heap;
  require(iw::memory::Heap::create(options, heap));
  iw::types::set_merging_of_plans(has_merged_plan);
  iw::types::Registry registry;  // its own: plans are made once a registry
  iw::types::SegmentTypes types(registry);
  iw::swizzle::SlotTable slots(url);
  NoOtherSegments resolver;
  IW_type_t const table = &record;
  require(registry.add({&table, 1}));
  iw::types::Result why;
  const iw::types::Type* const registered = registry.find(&record, why);
  require(why);
  const iw::types::Type* const own = types.add(*registered, why);
  require(why);
  const iw::memory::SerialRange serials{1, 1};
  require(heap->begin_write(std::span(&serials, 1)));
  iw::memory::Block block;
  require(heap->allocate(*own, kInts / 10, {}, false, block));
  for (std::size_t i = 0; i < block.size_bytes / sizeof(int); ++i) {
    reinterpret_cast<int*>(block.address)[i] = static_cast<int>(i) + 1;
  }
  std::vector<iw::memory::SubsegmentPages> pages;
  std::vector<iw::memory::SubsegmentRuns> runs;
  require(heap->collect(pages));
  require(heap->changed_runs(pages, runs));
  iw::diff::CollectedDiff out;
  std::vector<double> us;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin = now_ns();
    iw::swizzle::Swizzler swizzler(*heap, slots, resolver);
    require(iw::diff::collect({*heap, types, slots, swizzler, 0, runs, false}, out));
    us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
  }
  return bench::median(us);
}

// ---- the table ----

class Table {
 public:
  void row(const char* optimisation, const char* workload, double on, double off,
           const char* unit) {
    std::printf("%-12s %-46s %10.1f %10.1f  %s\n", optimisation, workload, on, off, unit);
    csv_.row(bench::format("%s,%s,%.1f,%.1f,%s", optimisation, workload, on, off, unit));
  }
  void finish() { csv_.finish(); }

 private:
  bench::Csv csv_{"optimisations.csv", "optimisation,workload,on,off,unit"};
};

void client_rows(Table& table) {
  const Server server({});
  // In turns, because other programs of the machine come and go.
  const auto measured = [&](const std::string& name, auto work) {
    std::array<std::vector<double>, 2> first;
    std::array<std::vector<double>, 2> second;
    for (int turn = 0; turn < 2 * kTurns; ++turn) {
      const std::string url = server.url(name + std::to_string(turn));
      const bool is_on = turn % 2 == 0;
      Process process(is_on ? "all" : "all,-" + name, [&](Process&) { return work(url); });
      const Figures figures = process.end();
      first[is_on ? 0 : 1].push_back(figures.first);
      second[is_on ? 0 : 1].push_back(figures.second);
    }
    return std::array{Figures{bench::median(first[0]), bench::median(second[0])},
                      Figures{bench::median(first[1]), bench::median(second[1])}};
  };
  const auto splicing = measured("splicing", [](const std::string& url) {
    return rewrite_ints(url, 2, &IW_stats_t::diff_bytes_sent);
  });
  const char* const half = "every second int of 1 MiB";
  table.row("splicing", half, splicing[0].first, splicing[1].first,
            "us of the writer's processor a section");
  table.row("splicing", half, splicing[0].second, splicing[1].second, "bytes a release");
  const auto no_diff = measured(
      "no-diff", [](const std::string& url) { return rewrite_ints(url, 1, &IW_stats_t::faults); });
  const char* const whole = "all ints of 1 MiB in every section";
  table.row("no-diff", whole, no_diff[0].first, no_diff[1].first,
            "us of the writer's processor a section");
  table.row("no-diff", whole, no_diff[0].second, no_diff[1].second, "page faults");
  const auto prediction = measured("prediction", relink_list);
  const char* const list = "a list of 16384 blocks in order; relinked";
  table.row("prediction", list, prediction[0].first, prediction[1].first,
            "us of the writer's processor a section");
  table.row("prediction", list, prediction[0].second, prediction[1].second, "searches a release");
}

void server_rows(Table& table) {
  const Server plain({"--layout", "serial", "--diff-cache", "0"});
  const Server optimised({});
  table.row("layout", "1 block in 64 of 65536 changed together",
            hot_blocks(optimised.url("hot")).first, hot_blocks(plain.url("hot")).first,
            "pages of a fresh copy");
  table.row("diff-cache", "8 readers 10 versions behind; 1 int in 40 of 1 MiB",
            late_readers(optimised.url("late")).first, late_readers(plain.url("late")).first,
            "us an update");
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // children have nothing to print again
  Table table;
  std::printf("%-12s %-46s %10s %10s\n", "", "medians", "on", "off");
  client_rows(table);
  server_rows(table);
  table.row("plans", "26214 records of ten ints; 1 MiB", translate_us(true), translate_us(false),
            "us to translate");
  table.finish();
  return 0;
}
