// Small gets over TCP while the asking process polls: DDSS and the bare transport library by turns,
// each time with a target of its own. The bare target polls, too. DDSS's target makes no calls of
// its own: its service answers. Writes ddss_gets.csv: bytes,system,us,lowest_us,highest_us.
#include <cstdio>

#include "ddss/measures.h"

namespace bench {

void measure_gets() {
  constexpr int turns = 7;
  const Case measured{"tcp", false};
  Csv csv("ddss_gets.csv", "bytes,system,us,lowest_us,highest_us");
  for (const std::size_t bytes : {8, 1024, 4096}) {
    std::vector<double> ours, bare;
    for (int turn = 0; turn < turns; turn++) {
      ours.push_back(ddss_get_us(measured, bytes));
      bare.push_back(ucx_get_us(measured, bytes));
    }
    const auto row = [&](const char* system, std::vector<double>* samples) {
      std::sort(samples->begin(), samples->end());
      csv.row(format("%zu,%s,%.4f,%.4f,%.4f", bytes, system, median(*samples), samples->front(),
                     samples->back()));
      return median(*samples);
    };
    const double ours_us = row("interweave", &ours), bare_us = row("ucx", &bare);
    std::printf("get of %4zu bytes over TCP: %.1f us, bare UCX %.1f us, %.1f us more\n", bytes,
                ours_us, bare_us, ours_us - bare_us);
    std::fflush(stdout);
  }
  csv.finish();
}

}  // namespace bench
