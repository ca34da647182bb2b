// A data node: puts its part of the records into its own memory for all to read, and, for
// comparison, sends them to whoever asks over TCP.
#pragma once

#include <atomic>
#include <list>
#include <string>
#include <thread>

#include "select_records/data_set.h"

namespace select_records {

// What is asked of a data node over TCP; it answers with as many records, as they are.
struct RecordRequest {
  std::uint64_t first, count;
};

class DataNode {
 public:
  // Part number `part`, of so many records: ids from part * records on.
  DataNode(std::size_t part, std::uint64_t records, const std::string& host);
  ~DataNode();
  DataNode(const DataNode&) = delete;
  DataNode& operator=(const DataNode&) = delete;
  static std::size_t pool_bytes(std::uint64_t records) {
    return records * sizeof(Record) + services::Space::pool_bytes_default;
  }

 private:
  struct Connection {
    explicit Connection(int socket) : fd(socket) {}
    ~Connection();
    const int fd;
    std::atomic<bool> is_over{false};
    std::jthread thread;
  };
  void accept_all();
  void serve(Connection* connection) const;

  const std::size_t part_;
  std::vector<Record> records_;
  const DataSet data_set_;
  ddss_key_t key_;
  int listener_;
  std::list<Connection> connections_;  // the accepting thread's
  std::jthread accepting_;
};

}  // namespace select_records
