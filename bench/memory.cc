// The memory that a segment takes at the server and at a client, as the growth of each process's
// resident memory, compared with the bytes that the segment holds. Writes memory.csv:
// shape,blocks,wire_bytes,server_bytes,server_ratio,client_bytes,client_ratio (ratios after 64
// bytes a block are taken off).
#include <interweave.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"

namespace {

using bench::fail;
using bench::resident_bytes;

struct Shape {
  const char* name;
  std::size_t blocks;
  std::size_t elements;  // a block
  bool chars;            // else doubles
};

void fill(void* block, const Shape& shape, int round) {
  if (shape.chars) {
    std::memset(block, 'a' + round % 26, shape.elements);
    return;
  }
  auto* doubles = static_cast<double*>(block);
  for (std::size_t i = 0; i < shape.elements; ++i) doubles[i] = round + static_cast<double>(i);
}

// Makes the segment in a few releases, then changes a part of it in many, so that versions differ
// from sub-block to sub-block.
void build(IW_handle_t segment, const Shape& shape) {
  const IW_type_t type = shape.chars ? IW_char : IW_double;
  std::vector<void*> blocks;
  if (IW_wl_acquire(segment) != 0) fail("writer lock");
  for (std::size_t i = 0; i < shape.blocks; ++i) {
    void* block = IW_malloc_array(segment, type, shape.elements, nullptr);
    if (block == nullptr) fail("malloc");
    fill(block, shape, 0);
    blocks.push_back(block);
  }
  if (IW_wl_release(segment) != 0) fail("release");
  for (int round = 1; round <= 4; ++round) {
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    for (std::size_t i = static_cast<std::size_t>(round); i < blocks.size(); i += 16) {
      fill(blocks[i], shape, round);
    }
    if (IW_wl_release(segment) != 0) fail("release");
  }
}

void measure(const Shape& shape, bench::Csv& csv) {
  const bench::ChildServer server = bench::ChildServer::interweave();
  const std::string url = server.address() + "/memory";
  const std::size_t wire = shape.blocks * shape.elements * (shape.chars ? 1 : 8);
  const std::size_t server_before = resident_bytes(server.pid());
  bench::TwoProcesses client(1, [&](bench::TwoProcesses& report) {
    const IW_handle_t first = IW_open_segment((server.address() + "/warm").c_str());
    if (first == nullptr) fail("open");
    const std::size_t before = resident_bytes(getpid());
    const IW_handle_t segment = IW_open_segment(url.c_str());
    if (segment == nullptr) fail("open");
    build(segment, shape);
    report.report_bytes(resident_bytes(getpid()) - before);
    report.report_us(static_cast<double>(resident_bytes(server.pid())));
  });
  const double client_bytes = static_cast<double>(client.reader_bytes());
  const double server_bytes = client.reader_us() - static_cast<double>(server_before);
  const double allowed = 64.0 * static_cast<double>(shape.blocks);
  const double server_ratio = (server_bytes - allowed) / static_cast<double>(wire);
  const double client_ratio = (client_bytes - allowed) / static_cast<double>(wire);
  std::printf("%-22s %8zu blocks %7.1f MiB   server %7.1f MiB (%.2fx)   client %7.1f MiB (%.2fx)\n",
              shape.name, shape.blocks, static_cast<double>(wire) / 1048576, server_bytes / 1048576,
              server_ratio, client_bytes / 1048576, client_ratio);
  csv.row(bench::format("%s,%zu,%zu,%.0f,%.3f,%.0f,%.3f", shape.name, shape.blocks, wire,
                        server_bytes, server_ratio, client_bytes, client_ratio));
}

}  // namespace

int main() {
  std::printf(
      "memory compared with bytes held; ratios without 64 bytes a block. The server's includes its "
      "diff\n"
      "cache and buffers. Targets: server 1.2x and the cache, client 2.2x and a diff in transit\n");
  bench::Csv csv("memory.csv",
                 "shape,blocks,wire_bytes,server_bytes,server_ratio,client_bytes,client_ratio");
  measure({"doubles 1 MiB", 128, 131072, false}, csv);
  measure({"doubles 4 KiB", 32768, 512, false}, csv);
  measure({"chars 4 KiB", 32768, 4096, true}, csv);
  measure({"doubles 16 bytes", 200000, 2, false}, csv);
  csv.finish();
  return 0;
}
