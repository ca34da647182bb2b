#include "select_records/source.h"

#include <unistd.h>

#include <string>

#include "select_records/data_node.h"
#include "select_records/sockets.h"

namespace select_records {

void SegmentSource::read(const Block& block, std::span<Record> to) {
  services::check(ddss_get_at(parts_.at(block.part).key, block.first * sizeof(Record), to.data(),
                              to.size_bytes()),
                  "reading records");
}

SocketSource::SocketSource(const std::vector<Part>& parts) {
  constexpr std::chrono::seconds patience{10};  // segments are waited for as long
  for (const Part& part : parts) {
    fds_.push_back(part.records == 0 ? -1 : connect_to(part.host.data(), part.port, patience));
  }
}

SocketSource::~SocketSource() {
  for (const int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

void SocketSource::announce(std::span<const Block> blocks) {
  for (const Block& block : blocks) {
    const RecordRequest request{block.first, block.count};
    if (!send_all(fds_.at(block.part), std::as_bytes(std::span(&request, 1)))) {
      throw services::Failure("a data node does not answer over TCP; start it again");
    }
  }
}

void SocketSource::read(const Block& block, std::span<Record> to) {
  if (!receive_all(fds_.at(block.part), std::as_writable_bytes(to))) {
    throw services::Failure("a data node ended, or did not answer in time; start it again");
  }
}

}  // namespace select_records
