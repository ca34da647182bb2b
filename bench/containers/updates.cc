// An update's way from the call into the readers' queues: half of the time until all have answered
// that it is there.
#include <unistd.h>

#include <cstdio>
#include <list>

#include "containers/measures.h"

namespace bench {

using namespace iw::containers;

namespace {

// Nobody reads: so that only queueing is measured, queues have room for all.
Options roomy() {
  Options options;
  options.queue_length = 1 << 20;
  options.ping_ms = 60000;
  options.life_ms = 120000;
  return options;
}

double update_oneway_us(WriterContainer<Numbers>& writer) {
  const double round_trip_us = measure(11, 100, [&] {
    writer.call<&Numbers::push_back>(1);
    await_answers(writer);
  });
  return round_trip_us / 2;
}

}  // namespace

int run_reader() {
  Factory factory;
  const auto reader = factory.make_reader<Numbers>("numbers", std::make_shared<Numbers>(), roomy());
  std::printf("listening now\n");
  std::fflush(stdout);
  pause();
  return 0;
}

// Both take turns; the ratio is of the medians.
void measure_updates(Factory& factory, const std::string& transport, Table* table) {
  constexpr int turns = 5;
  const auto writer = factory.make_writer<Numbers>("numbers", std::make_shared<Numbers>(), roomy());
  std::list<ChildServer> readers;
  double plain_us = 0;
  for (const int count : {1, 4, 16}) {
    while (readers.size() < static_cast<std::size_t>(count)) readers.push_back(in_role("reader"));
    await_answers(*writer);
    std::vector<double> plain, shipped;
    for (int turn = 0; turn < turns; turn++) {
      if (count == 1) plain.push_back(am_oneway_us());
      shipped.push_back(update_oneway_us(*writer));
    }
    if (count == 1) {
      plain_us = median(plain);
      table->row("oneway", 1, transport, "am", plain_us);
    }
    table->row("oneway", count, transport, "containers", median(shipped));
    std::printf("%s, %d readers: update to queue %.2fx of an AM one way\n", transport.c_str(),
                count, median(shipped) / plain_us);
  }
}

}  // namespace bench
