// mining-builder: mines a growing database and keeps the lattice of its frequent sequences in a
// segment. The mining of a step is done before the writer lock is taken: readers and other writers
// wait for the stores alone.
#include <chrono>
#include <cstdio>
#include <exception>

#include "builder/options.h"
#include "command_line/stop_signal.h"
#include "database/transaction_file.h"
#include "sharing/shared_lattice.h"

namespace mining {
namespace {

constexpr char kProgram[] = "mining-builder";

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

std::uint64_t bytes_sent(const iw::Segment& segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment.handle(), &stats) != 0) throw iw::Error::last();
  return stats.bytes_sent;
}

class Builder {
 public:
  explicit Builder(const BuilderOptions& options)
      : options_(options), miner_(options.mining), shared_(iw::Segment(options.url)) {}

  int run();

 private:
  bool read_database();
  void take_step(unsigned step);
  void say_step(unsigned step, const Changes& changes, double mined_s, std::uint64_t bytes) const;

  BuilderOptions options_;
  command_line::StopSignal stop_;
  Database database_;
  Miner miner_;
  SharedLattice shared_;
};

int Builder::run() {
  shared_.check_segment();  // before the long work
  if (!read_database()) return 1;
  unsigned step = 0;
  take_step(step);
  while (step < options_.steps && !stop_.requested()) {
    if (options_.pause_s > 0) {
      command_line::wait_readable(stop_.fd(), -1, -1, static_cast<int>(options_.pause_s * 1e3));
    }
    if (!stop_.requested()) take_step(++step);
  }
  // Readers that wait for more need not.
  if (step < options_.steps) shared_.publish(miner_, {}, step, true);
  if (stop_.requested() && !options_.quiet) std::printf("stopped after step %u\n", step);
  return 0;
}

bool Builder::read_database() {
  if (options_.data_file.empty()) {
    database_ = make_quest_database(options_.quest);
  } else if (const auto wrong = read_transactions(options_.data_file, database_)) {
    std::fprintf(stderr, "%s: %s\n", kProgram, wrong->c_str());
    return false;
  }
  if (!options_.quiet) {
    std::printf("%zu transactions; mining the first half\n", database_.size());
    std::fflush(stdout);
  }
  return true;
}

void Builder::take_step(unsigned step) {
  const double began_s = now_s();
  const Changes changes = miner_.add(step_of(database_, step));
  const double mined_s = now_s() - began_s;
  const std::uint64_t sent_before = bytes_sent(shared_.segment());
  shared_.publish(miner_, changes, step, step == options_.steps);
  if (!options_.quiet) {
    say_step(step, changes, mined_s, bytes_sent(shared_.segment()) - sent_before);
  }
}

void Builder::say_step(unsigned step, const Changes& changes, double mined_s,
                       std::uint64_t bytes) const {
  std::printf("step %u/%u: %zu customers, %zu sequences, %zu new, mined in %.2f s, %llu bytes\n",
              step, options_.steps, miner_.customers(), miner_.sequences(), changes.added.size(),
              mined_s, static_cast<unsigned long long>(bytes));
  std::fflush(stdout);
}

}  // namespace
}  // namespace mining

int main(int argc, char** argv) {
  const mining::BuilderCommand command = mining::parse_builder_command(argc, argv);
  if (command.exit_status) return *command.exit_status;
  try {
    return mining::Builder(command.options).run();
  } catch (const std::exception& error) {  // iw::Error, NotOurs
    std::fprintf(stderr, "%s: %s: %s\n", mining::kProgram, command.options.url.c_str(),
                 error.what());
    return 1;
  }
}
