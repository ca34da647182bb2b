// Figure 7: what it costs a reader to follow a lattice of frequent sequences (examples/mining) that
// its builder makes from half a database and then brings up to date 50 times, 1 % of it at a time.
// A real server, a builder (this process) and five reader processes, who all acquire after each
// version: one that fetches complete copies, one under Full coherence, which is sent diffs, and
// three that accept a copy of up to 2, 3 and 4 versions ago. Each copy is compared with the
// builder's lattice (a checksum) and with what the reader's model allows. Bytes are the readers',
// in both directions, their first copies included. Writes mining.csv: dataset,mode,bytes,updates.
//
// The paper's delta reader is "updated every second version" with Delta 2; a reader under IW_DELTA
// 2 may be 2 versions behind and so is updated every third one. The paper's Delta 4 is delta3 here.
//
// IW_BENCH_CUSTOMERS, for those who only want to see it work, makes the synthetic database smaller.
#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "database/replay.h"
#include "database/transaction_file.h"
#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"
#include "miner/simple_miner.h"
#include "quest/quest.h"
#include "sharing/lattice_reading.h"
#include "sharing/lattice_segment.h"
#include "sharing/shared_lattice.h"

namespace {

using bench::fail;
using bench::TwoProcesses;
using mining::kGrowingSteps;

constexpr unsigned kVersions = kGrowingSteps + 1;

struct Mode {
  const char* name;
  unsigned versions_behind;  // at most
  bool is_copied_whole;
};

constexpr std::array<Mode, 5> kModes{{{"full", 0, true},
                                      {"diff", 0, false},
                                      {"delta2", 2, false},
                                      {"delta3", 3, false},
                                      {"delta4", 4, false}}};

// The cost of one reader.
struct Cost {
  std::uint64_t bytes = 0;
  unsigned updates = 0;  // after the first copy
};

// Seen by all processes of a measurement. The builder writes a checksum before the readers go.
struct Board {
  std::array<std::uint64_t, kVersions + 1> checksums;  // by version
  std::array<Cost, kModes.size()> costs;
};

[[noreturn]] void give_up(const char* mode, const char* what) {
  std::fprintf(stderr, "bench: %s: %s\n", mode, what);
  std::exit(1);
}

IW_stats_t stats_of(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment, &stats) != 0) fail("stats");
  return stats;
}

class Reader {
 public:
  Reader(const Mode& mode, const std::string& url, Board& board, Cost& cost)
      : mode_(mode), url_(url), board_(board), cost_(cost) {}

  void read(TwoProcesses& pair) {
    for (unsigned newest = 1; newest <= kVersions; ++newest) {
      pair.wait_go();
      look(newest);
      pair.had_it();
    }
    close();
  }

 private:
  void look(unsigned newest) {
    if (mode_.is_copied_whole) close();
    if (!segment_) open();
    if (IW_rl_acquire(segment_->handle()) != 0) fail("reader lock");
    while (segment_->version() + mode_.versions_behind < newest) {
      IW_rl_release(segment_->handle());
      wait_for_announcement();
      if (IW_rl_acquire(segment_->handle()) != 0) fail("reader lock");
    }
    check(newest);
    IW_rl_release(segment_->handle());
    if (events_.fd < 0 && !mode_.is_copied_whole) subscribe();
  }

  void open() {
    segment_.emplace(url_);
    segment_->set_coherence(mode_.versions_behind == 0 ? IW_FULL : IW_DELTA, mode_.versions_behind);
  }

  // To be told when the copy is too old. With a copy, or the first one would come twice: asked for
  // and told of.
  void subscribe() {
    events_.fd = IW_event_fd();
    if (IW_on_change(segment_->handle(), bench::note_change, nullptr) != 0) fail("on_change");
  }

  void wait_for_announcement() {
    constexpr int kPatience_ms = 30'000;
    if (poll(&events_, 1, kPatience_ms) != 1) give_up(mode_.name, "not told of a version");
    if (IW_dispatch() != 0) fail("dispatch");
  }

  void close() {
    if (!segment_) return;
    const IW_stats_t stats = stats_of(segment_->handle());
    cost_.bytes += stats.bytes_sent + stats.bytes_received;
    segment_.reset();
  }

  void check(unsigned newest) {
    const std::uint64_t version = segment_->version();
    if (version > newest || version + mode_.versions_behind < newest) {
      give_up(mode_.name, "a version that the model does not allow");
    }
    if (version != seen_ && seen_ != 0) ++cost_.updates;
    seen_ = version;
    const lattice_t* const lattice = mining::find_lattice(*segment_);
    if (lattice == nullptr || mining::checksum(*lattice) != board_.checksums[version]) {
      give_up(mode_.name, "a copy that is not the builder's lattice");
    }
  }

  const Mode& mode_;
  const std::string& url_;
  Board& board_;
  Cost& cost_;
  std::optional<iw::Segment> segment_;
  pollfd events_{-1, POLLIN, 0};
  std::uint64_t seen_ = 0;
};

std::uint64_t checksum_of(const mining::SharedLattice& shared) {
  const iw::ReadLock lock(shared.segment());
  return mining::checksum(shared.lattice());
}

// The size of the segment's blocks and of their pointers in this process's memory.
struct Native {
  std::size_t bytes = 0, pointer_bytes = 0;
};

Native native_size(const iw::Segment& segment) {
  constexpr std::size_t kPointersOfPattern = 3, kPointersOfLattice = 3;
  Native size;
  const iw::ReadLock lock(segment);
  for (const void* at = nullptr; (at = IW_next_block(segment.handle(), at)) != nullptr;) {
    IW_block_t block{};
    block.size = sizeof block;
    if (IW_describe_block(segment.handle(), at, &block) != 0) fail("describe");
    size.bytes += block.count * block.type->size;
    if (block.type == IW_pattern_t) size.pointer_bytes += kPointersOfPattern * sizeof(void*);
    if (block.type == IW_lattice_t) size.pointer_bytes += kPointersOfLattice * sizeof(void*);
  }
  return size;
}

struct Dataset {
  const char* name;
  mining::Database database;
  mining::MiningOptions options;
};

// The changes in all steps after the first.
struct Growth {
  std::size_t added = 0;
  std::size_t sequences = 0;  // summed over the steps
  std::uint64_t bytes_released = 0;
};

void compare_with_scratch(const Dataset& dataset, const mining::Miner& miner);

class Measurement {
 public:
  explicit Measurement(const Dataset& dataset)
      : dataset_(dataset),
        server_(bench::ChildServer::interweave()),
        url_(server_.address() + "/" + dataset.name),
        board_(new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) Board),
        miner_(dataset.options) {}
  ~Measurement() { munmap(board_, sizeof(Board)); }
  Measurement(const Measurement&) = delete;

  // Prints what the segment is like; returns what each mode costs.
  std::array<Cost, kModes.size()> run() {
    // Before the readers are forked: they wait for a version for half a minute at most.
    mining::Changes changes = miner_.add(mining::step_of(dataset_.database, 0));
    std::vector<std::unique_ptr<TwoProcesses>> readers;
    for (std::size_t i = 0; i < kModes.size(); ++i) {
      readers.push_back(std::make_unique<TwoProcesses>(kVersions, [&, i](TwoProcesses& pair) {
        Reader(kModes[i], url_, *board_, board_->costs[i]).read(pair);
      }));
    }
    build(std::move(changes), readers);
    readers.clear();  // waits for their end
    compare_with_scratch(dataset_, miner_);
    return board_->costs;
  }

 private:
  void build(mining::Changes changes, const std::vector<std::unique_ptr<TwoProcesses>>& readers) {
    IW_open_options options{};
    options.flags = IW_CREATE;
    options.durability = IW_MEMORY;
    mining::SharedLattice shared{iw::Segment(url_, options)};
    Growth growth;
    std::uint64_t bytes_of_first = 0;
    for (unsigned step = 0; step <= kGrowingSteps; ++step) {
      if (step != 0) {
        changes = miner_.add(mining::step_of(dataset_.database, step));
        growth.added += changes.added.size();
        growth.sequences += miner_.sequences();
      }
      shared.publish(miner_, changes, step, step == kGrowingSteps);
      if (step == 0) bytes_of_first = stats_of(shared.segment().handle()).diff_bytes_sent;
      board_->checksums[step + 1] = checksum_of(shared);
      for (const auto& reader : readers) reader->go();
      for (const auto& reader : readers) reader->wait_had_it();
    }
    growth.bytes_released = stats_of(shared.segment().handle()).diff_bytes_sent - bytes_of_first;
    describe(native_size(shared.segment()), growth);
  }

  void describe(const Native& native, const Growth& growth) const {
    std::printf(
        "%s: %zu transactions, %zu customers, minimum %.2f %%: %zu sequences\n"
        "  native bytes %zu, of which pointers %.1f %%\n"
        "  a step, on average: %.0f sequences, %.1f of them new, %.0f bytes of diff\n",
        dataset_.name, miner_.transactions(), miner_.customers(), dataset_.options.minimum_percent,
        miner_.sequences(), native.bytes,
        100.0 * static_cast<double>(native.pointer_bytes) / static_cast<double>(native.bytes),
        static_cast<double>(growth.sequences) / kGrowingSteps,
        static_cast<double>(growth.added) / kGrowingSteps,
        static_cast<double>(growth.bytes_released) / kGrowingSteps);
  }

  const Dataset& dataset_;
  bench::ChildServer server_;
  std::string url_;
  Board* board_;
  mining::Miner miner_;
};

// Compares the last lattice with the simple miner's, because a wrong lattice measures nothing.
void compare_with_scratch(const Dataset& dataset, const mining::Miner& miner) {
  const auto supports = mining::mine_from_scratch(dataset.database, dataset.options);
  if (supports.size() != miner.sequences()) give_up(dataset.name, "not what mining finds");
  for (const auto& [sequence, support] : supports) {
    const mining::FrequentSequence* at = &miner.root();
    for (const mining::Extension& extension : sequence) {
      const auto found = at->extensions.find(extension);
      if (found == at->extensions.end()) give_up(dataset.name, "a sequence is missing");
      at = found->second.get();
    }
    if (at->support != support) give_up(dataset.name, "a wrong support");
  }
}

// In per cent of complete copies.
double saved(const Cost& cost, const Cost& full) {
  return 100 - 100 * static_cast<double>(cost.bytes) / static_cast<double>(full.bytes);
}

std::array<Cost, kModes.size()> measure(const Dataset& dataset, bench::Csv& csv) {
  const auto costs = Measurement(dataset).run();
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    std::printf("  %-8s %12llu bytes %4u updates  saves %5.1f %%\n", kModes[i].name,
                static_cast<unsigned long long>(costs[i].bytes), costs[i].updates,
                saved(costs[i], costs[0]));
    csv.row(bench::format("%s,%s,%llu,%u", dataset.name, kModes[i].name,
                          static_cast<unsigned long long>(costs[i].bytes), costs[i].updates));
  }
  std::fflush(stdout);
  return costs;
}

// The paper's description of its data has two readings.
void print_readings(const mining::Database& quest) {
  const auto megabytes = [](const mining::Database& database) {
    std::size_t words = 0;  // Quest's files: customer, transaction, count, items
    for (const mining::Transaction& transaction : database) words += 3 + transaction.items.size();
    return static_cast<double>(words) * 4 / 1e6;
  };
  mining::QuestOptions words;
  words.transactions_per_customer = 1.25;
  std::printf(
      "quest's data have %.1f MB (the paper: 20 MB); with 1.25 transactions a customer, as the "
      "paper's words have it, %.1f MB\n",
      megabytes(quest), megabytes(mining::make_quest_database(words)));
}

mining::QuestOptions quest_options() {
  mining::QuestOptions options;
  const char* const customers = std::getenv("IW_BENCH_CUSTOMERS");
  if (customers != nullptr) {
    options.customers = static_cast<std::uint32_t>(std::strtoul(customers, nullptr, 10));
  }
  return options;
}

}  // namespace

int main() {
  bench::Csv csv("mining.csv", "dataset,mode,bytes,updates");
  Dataset retail{"retail", {}, {.minimum_percent = 2}};
  if (const auto wrong = mining::read_transactions(MINING_DATA, retail.database)) {
    std::fprintf(stderr, "bench: %s\n", wrong->c_str());
    return 1;
  }
  measure(retail, csv);
  const Dataset quest{
      "quest", mining::make_quest_database(quest_options()), {.minimum_percent = 0.25}};
  print_readings(quest.database);
  const auto costs = measure(quest, csv);
  csv.finish();
  const double diff = saved(costs[1], costs[0]), delta4 = saved(costs[4], costs[0]);
  std::printf(
      "verdict: on quest diffs save %.1f %% of complete copies (wanted: 80), Delta 4 saves %.1f %% "
      "(wanted: 90); with the paper's Delta 4, every fourth version, %.1f %%: %s\n",
      diff, delta4, saved(costs[3], costs[0]), diff >= 80 && delta4 >= 90 ? "reached" : "missed");
  return 0;
}
