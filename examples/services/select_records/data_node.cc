#include "select_records/data_node.h"

#include <sys/socket.h>
#include <unistd.h>

#include <span>

#include "select_records/sockets.h"

namespace select_records {

DataNode::DataNode(std::size_t part, std::uint64_t records, const std::string& host)
    : part_(part),
      key_(services::allocate_here(records * sizeof(Record), DDSS_NULL)),
      listener_(listen_on_any_port(host)) {
  for (std::uint64_t i = 0; i < records; i++) records_.push_back(record_of(part * records + i));
  services::check(ddss_put(key_, records_.data(), records * sizeof(Record)), "sharing the records");
  Part published{};
  published.key = key_;
  published.records = records;
  published.port = port_of(listener_);
  host.copy(published.host.data(), host_bytes_max);
  data_set_.publish(part, published);
  accepting_ = std::jthread([this] { accept_all(); });
}

DataNode::~DataNode() {
  try {
    data_set_.withdraw(part_, key_);
  } catch (const services::Failure&) {
    // The founder is gone, and the catalogue with it.
  }
  shutdown(listener_, SHUT_RDWR);  // ends the accepting thread
  accepting_.join();
  connections_.clear();
  close(listener_);
}

// Ends the thread, which may be sending.
DataNode::Connection::~Connection() {
  shutdown(fd, SHUT_RDWR);
  if (thread.joinable()) thread.join();
  close(fd);
}

void DataNode::accept_all() {
  for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    send_at_once(fd);
    connections_.remove_if([](const Connection& each) { return each.is_over.load(); });
    Connection& connection = connections_.emplace_back(fd);
    connection.thread = std::jthread([this, &connection] { serve(&connection); });
  }
}

void DataNode::serve(Connection* connection) const {
  const int fd = connection->fd;
  for (RecordRequest request; receive_all(fd, std::as_writable_bytes(std::span(&request, 1)));) {
    if (request.first > records_.size() || request.count > records_.size() - request.first) break;
    const std::span asked = std::span(records_).subspan(request.first, request.count);
    if (!send_all(fd, std::as_bytes(asked))) break;
  }
  shutdown(fd, SHUT_RDWR);
  connection->is_over = true;
}

}  // namespace select_records
