// Function shipping: an update's way into the queues of 1, 4 and 16 readers beside a plain Active
// Message's way there (containers.csv); the handler's time by the arguments' size
// (containers_handler.csv); an insert's bytes by the container's size (containers_size.csv); what a
// longer queue saves and keeps (containers_queue.csv).
#include <cstdio>
#include <cstdlib>

#include "containers/measures.h"

namespace bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "bench_containers: %s\n", what.c_str());
  std::exit(1);
}

ChildServer in_role(const std::string& role, const std::string& argument) {
  return ChildServer::listening({"/proc/self/exe", role, argument});
}

void Table::row(const char* operation, int readers, const std::string& transport,
                const char* system, double us) {
  std::printf("%-6s %2d readers  %-4s %-10s %10.3f us\n", operation, readers, transport.c_str(),
              system, us);
  std::fflush(stdout);
  csv_.row(format("%s,%d,%s,%s,%.4f", operation, readers, transport.c_str(), system, us));
}

namespace {

void measure_all() {
  Table table;
  for (const char* transport : {"shm", "tcp"}) {
    setenv("IW_FABRIC", transport, 1);
    const ChildServer names = ChildServer::listening({NAME_SERVER});
    setenv("IW_AMNS", names.address().c_str(), 1);
    iw::containers::Factory factory;
    measure_updates(factory, transport, &table);
    if (transport != std::string("shm")) continue;
    measure_handler();
    measure_sizes(factory);
    measure_queues(factory);
  }
  table.finish();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "answerer") return bench::run_answerer();
  if (role == "reader") return bench::run_reader();
  bench::measure_all();
  return 0;
}
