// Get and put of DDSS under the seven models, directly and through the daemon, beside the bare
// transport library, Redis and memcached (Figure 4a of the DDSS paper; writes ddss.csv); the same
// with many clients (Figures 4b and 4c; ddss_clients.csv); and the version check of a loaded node
// (Figure 5b; ddss_load.csv); gets from a node that makes calls of its own (ddss_answers.csv); and
// small gets over TCP compared with the bare transport library, by turns (ddss_gets.csv). An
// argument chooses one: models, clients, load, answers or gets.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ddss/measures.h"

namespace bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

void Table::row(const char* operation, const char* model, std::size_t bytes, const Case& measured,
                const char* system, double us) {
  std::printf("%-16s %-9s %8zu %-4s %-9s %-11s %10.3f us\n", operation, model, bytes,
              measured.transport.c_str(), measured.mode(), system, us);
  std::fflush(stdout);
  csv_.row(format("%s,%s,%zu,%s,%s,%s,%.4f", operation, model, bytes, measured.transport.c_str(),
                  measured.mode(), system, us));
}

ChildServer target(const std::string& role, const std::string& transport,
                   const std::string& argument) {
  setenv("IW_FABRIC", transport.c_str(), 1);
  return ChildServer::listening({"/proc/self/exe", role, argument});
}

void measure_all_models() {
  Table table;
  for (const char* transport : {"shm", "tcp"}) {
    for (const bool is_blocking : {false, true}) {
      const Case measured{transport, is_blocking};
      measure_models(measured, &table);
      measure_ucx(measured, &table);
    }
  }
  measure_redis(&table);
  measure_memcached(&table);
  table.finish();
}

}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "node") return run_node();
  if (role == "loaded") return run_loaded(std::atoi(argv[2]));
  if (role == "answering") return run_answering(std::atoi(argv[2]));
  if (role == "client") return run_client(argc, argv);
  if (role == "ucx-polling" || role == "ucx-blocking") {
    return run_ucx(argv[2], role == "ucx-blocking");
  }
  if (role.empty() || role == "models") measure_all_models();
  if (role.empty() || role == "load") measure_load();
  if (role.empty() || role == "clients") measure_clients();
  if (role.empty() || role == "answers") measure_answers();
  if (role.empty() || role == "gets") measure_gets();
  return 0;
}
