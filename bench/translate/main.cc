// Figure 4 of ICDCS'03: what it costs to translate 1 MiB of nine shapes into bytes to send
// (collect) and back (apply), all of it changed, compared with other systems. Writes translate.csv:
// shape,operation,system,us,page_faults_us,commit_us,to_memcpy,to_flatbuffers; the last two are
// time ratios, and less than 1 is faster. Medians over bursts in which the systems take
// turns. Every translation is checked against its source before it is timed.
//   bench_translate [SYSTEM...]
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "harness/results.h"
#include "translate/system.h"

namespace {

using namespace bench;

struct Entry {
  const char* name;
  std::unique_ptr<System> (*make)(Shape);
};

constexpr std::array kSystems = {
    Entry{"interweave-block", interweave_block},
    Entry{"interweave-diff", interweave_diff},
    Entry{"rpcgen", rpcgen},
    Entry{"flatbuffers", flatbuffers},
    Entry{"capnproto", capnproto},
    Entry{"protobuf", protobuf},
    Entry{"memcpy", copied},
};

constexpr int kRounds = 7;
constexpr double kBurstUs = 15000;

struct Samples {
  std::vector<double> collect, apply, page_faults, commit;
};

struct Running {
  const char* name;
  std::unique_ptr<System> system;
  Samples samples;
};

// The first translation of a burst finds another system's memory in the caches, and does not count.
void burst(Running& one) {
  Samples& to = one.samples;
  (void)one.system->collect_us();
  double spent_us = 0;
  for (int i = 0; i < 3 || spent_us < kBurstUs; ++i) {
    to.collect.push_back(one.system->collect_us());
    to.page_faults.push_back(one.system->page_faults_us());
    to.commit.push_back(one.system->commit_us());
    spent_us += to.collect.back() + to.page_faults.back() + to.commit.back();
  }
  (void)one.system->apply_us();
  spent_us = 0;
  for (int i = 0; i < 3 || spent_us < kBurstUs; ++i) {
    to.apply.push_back(one.system->apply_us());
    spent_us += to.apply.back();
  }
}

using Table = std::map<std::string, std::array<double, kShapes.size()>>;  // collect + apply

void measure(Shape shape, const std::vector<Entry>& chosen, Table& table, Csv& csv) {
  std::vector<Running> running;
  for (const Entry& entry : chosen) {
    running.push_back({entry.name, entry.make(shape), {}});
    for (int turn = 0; turn < 2; ++turn) {
      (void)running.back().system->collect_us();
      (void)running.back().system->apply_us();
      running.back().system->check();
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Running& one : running) burst(one);
  }
  const auto ratios = [&](double us, std::vector<double> Samples::*samples) {
    std::string columns;
    for (const char* const rival : {"memcpy", "flatbuffers"}) {
      columns += ',';
      for (const Running& one : running) {
        if (std::strcmp(one.name, rival) != 0) continue;
        columns += format("%.2f", us / median(one.samples.*samples));
      }
    }
    return columns;
  };
  for (const Running& one : running) {
    const Samples& samples = one.samples;
    const double collect = median(samples.collect);
    const double apply = median(samples.apply);
    csv.row(format("%s,collect,%s,%.1f,%.1f,%.1f%s", shape_name(shape), one.name, collect,
                   median(samples.page_faults), median(samples.commit),
                   ratios(collect, &Samples::collect).c_str()));
    csv.row(format("%s,apply,%s,%.1f,,%s", shape_name(shape), one.name, apply,
                   ratios(apply, &Samples::apply).c_str()));
    std::printf("%-13s %-17s %9.1f %9.1f %9.1f %9.1f\n", shape_name(shape), one.name, collect,
                apply, median(samples.page_faults), median(samples.commit));
    table[one.name][static_cast<std::size_t>(shape)] = collect + apply;
  }
}

struct Wanted {
  const char* name;
  const char* rival;
  double mean;  // at least
};
constexpr std::array kWanted = {
    Wanted{"interweave-block", "rpcgen", 9}, Wanted{"interweave-diff", "rpcgen", 6},
    Wanted{"interweave-block", "flatbuffers", 1.6}, Wanted{"interweave-block", "memcpy", 0.65}};

// A line a system: times the rival's speed, the geometric mean over the shapes, the slowest shape.
void compare(const Table& table, const char* rival, std::string& line) {
  const auto reference = table.find(rival);
  if (reference == table.end()) return;
  std::printf("\ncollect + apply, times the speed of %s: mean, worst shape\n", rival);
  for (const auto& [name, us] : table) {
    double logarithms = 0;
    std::size_t worst = 0;
    for (std::size_t i = 0; i < us.size(); ++i) {
      logarithms += std::log(reference->second[i] / us[i]);
      if (reference->second[i] / us[i] < reference->second[worst] / us[worst]) worst = i;
    }
    const double mean = std::exp(logarithms / static_cast<double>(us.size()));
    std::printf("%-17s %6.2fx   %5.2fx %s\n", name.c_str(), mean,
                reference->second[worst] / us[worst], shape_name(kShapes[worst]));
    for (const Wanted& wanted : kWanted) {
      if (name != wanted.name || std::strcmp(rival, wanted.rival) != 0) continue;
      line += format("%s%s %.2fx the speed of %s (at least %.2fx wanted)", line.empty() ? "" : ", ",
                     wanted.name, mean, rival, wanted.mean);
    }
  }
}

void verdict(const Table& table) {
  std::string line;
  for (const char* const rival : {"rpcgen", "flatbuffers", "memcpy"}) compare(table, rival, line);
  if (!line.empty()) std::printf("\nverdict: %s\n", line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Entry> chosen;
  for (const Entry& entry : kSystems) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], entry.name) == 0;
    if (wanted) chosen.push_back(entry);
  }
  Csv csv("translate.csv",
          "shape,operation,system,us,page_faults_us,commit_us,to_memcpy,to_flatbuffers");
  std::printf("%-13s %-17s %9s %9s %9s %9s   us per MiB\n", "shape", "system", "collect", "apply",
              "faults", "commit");
  Table table;
  for (const Shape shape : kShapes) measure(shape, chosen, table, csv);
  verdict(table);
  if (argc == 1) csv.finish();
  return 0;
}
