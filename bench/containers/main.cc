// Function shipping: an update's way into the queues of 1, 4 and 16 readers beside plain Active
// Messages to as many processes (containers.csv); the handler's time by the arguments' size
// (containers_handler.csv); an insert's bytes by the container's size (containers_size.csv); what a
// longer queue saves and keeps (containers_queue.csv).
#include <cstdio>
#include <cstdlib>

#include "containers/measures.h"
#include "harness/machine.h"

namespace bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "bench_containers: %s\n", what.c_str());
  std::exit(1);
}

ChildServer in_role(const std::string& role, const std::string& argument) {
  return ChildServer::listening({"/proc/self/exe", role, argument});
}

void Table::rows(int readers, const std::string& transport, const char* mode, const char* system,
                 const std::array<double, 4>& us) {
  std::printf("%2d readers  %-4s %-8s %-10s first %9.2f  median %9.2f  last %9.2f  call %9.2f us\n",
              readers, transport.c_str(), mode, system, us[0], us[1], us[2], us[3]);
  std::fflush(stdout);
  const char* operations[] = {"first", "median", "last", "call"};
  for (std::size_t i = 0; i < us.size(); i++) {
    csv_.row(format("%s,%d,%s,%s,%s,%.4f", operations[i], readers, transport.c_str(), mode, system,
                    us[i]));
  }
}

void Table::shown(int readers, const std::string& transport, const char* system, double us) {
  std::printf("%2d readers  %-4s polling  %-10s shown %9.2f us\n", readers, transport.c_str(),
              system, us);
  std::fflush(stdout);
  csv_.row(format("shown,%d,%s,polling,%s,%.4f", readers, transport.c_str(), system, us));
}

namespace {

void measure_all() {
  record_machine("containers");
  Table table;
  for (const char* transport : {"shm", "tcp"}) {
    setenv("IW_FABRIC", transport, 1);
    const ChildServer names = ChildServer::listening({NAME_SERVER});
    setenv("IW_AMNS", names.address().c_str(), 1);
    iw::containers::Factory factory;
    measure_fan_out(factory, transport, &table);
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
  const std::string argument = argc > 2 ? argv[2] : "";
  if (role == "answerer") return bench::run_answerer(argument);
  if (role == "reader") return bench::run_reader(argument);
  bench::measure_all();
  return 0;
}
