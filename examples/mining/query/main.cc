// mining-query: what customers who bought A, then B buy next, from a lattice that grows meanwhile.
// The lattice is walked under a reader lock, as ordinary memory.
#include <cstdio>

#include "command_line/set_coherence.h"
#include "command_line/stop_signal.h"
#include "query/options.h"
#include "sharing/lattice_reading.h"
#include "sharing/lattice_segment.h"

namespace mining {
namespace {

constexpr char kProgram[] = "mining-query";

// One who follows may be there before the builder; others must not make a segment by a slip of the
// pen.
iw::Segment opened(const QueryOptions& options) {
  return options.follow ? iw::Segment(options.url) : iw::Segment(options.url, IW_open_options{});
}

// Asked for only so that the event descriptor wakes this program.
void on_change(IW_handle_t, std::uint64_t, void*) {}

class Query {
 public:
  explicit Query(const QueryOptions& options) : options_(options), segment_(opened(options)) {
    if (!command_line::set_coherence(segment_.handle(), options.coherence)) {
      throw iw::Error::last();
    }
  }

  int run();

 private:
  enum class Seen { kNothing, kLattice, kFinished };

  Seen look();
  int follow();
  void answer(const lattice_t& lattice);
  std::string spelled() const;
  std::string how_bought(Extension extension) const;

  QueryOptions options_;
  iw::Segment segment_;
  std::uint64_t answered_version_ = 0;
};

int Query::run() {
  if (options_.follow) return follow();
  if (look() != Seen::kNothing) return 0;
  std::fprintf(stderr, "%s: %s holds no lattice; see mining-builder\n", kProgram,
               options_.url.c_str());
  return 1;
}

int Query::follow() {
  const command_line::StopSignal stop;
  const int events = IW_event_fd();
  if (events < 0 || IW_on_change(segment_.handle(), on_change, nullptr) != 0) {
    throw iw::Error::last();
  }
  // Whatever the model, the wait ends: a copy that is old enough by then is brought up to date.
  constexpr int kLookAgain_ms = 1000;
  while (look() != Seen::kFinished && !stop.requested()) {
    command_line::wait_readable(events, stop.fd(), -1, kLookAgain_ms);
    IW_dispatch();
  }
  return 0;
}

Query::Seen Query::look() {
  const iw::ReadLock lock(segment_);
  const lattice_t* const lattice = find_lattice(segment_);
  if (lattice == nullptr) return Seen::kNothing;
  if (segment_.version() != answered_version_) answer(*lattice);
  answered_version_ = segment_.version();
  return lattice->finished ? Seen::kFinished : Seen::kLattice;
}

void Query::answer(const lattice_t& lattice) {
  std::printf("version %llu: %u customers, %u sequences\n",
              static_cast<unsigned long long>(segment_.version()), lattice.customers,
              lattice.sequences);
  const pattern_t* const found = find(lattice, options_.sequence);
  if (found == nullptr) {
    std::printf("fewer than %u customers bought %s\n", lattice.minimum, spelled().c_str());
  } else {
    if (!is_empty(*found)) {
      std::printf("%u customers bought %s; next they buy\n", support(lattice, *found),
                  spelled().c_str());
    }
    for (const Next& next : next_after(lattice, *found, options_.most)) {
      std::printf("%8u %5.1f %%  %s\n", next.customers, next.share * 100,
                  how_bought(next.extension).c_str());
    }
  }
  std::fflush(stdout);
}

std::string Query::spelled() const {
  std::string text;
  for (const Extension& one : options_.sequence) {
    if (!text.empty()) text += one.with_last ? " with " : ", later ";
    text += options_.names.name_of(one.item);
  }
  return text;
}

std::string Query::how_bought(Extension extension) const {
  const std::string name = options_.names.name_of(extension.item);
  if (extension.with_last) return name + " with it";
  return options_.sequence.empty() ? name : name + " later";
}

}  // namespace
}  // namespace mining

int main(int argc, char** argv) {
  const mining::QueryCommand command = mining::parse_query_command(argc, argv);
  if (command.exit_status) return *command.exit_status;
  try {
    return mining::Query(command.options).run();
  } catch (const iw::Error& error) {
    std::fprintf(stderr, "%s: %s: %s\n", mining::kProgram, command.options.url.c_str(),
                 error.what());
    return 1;
  }
}
