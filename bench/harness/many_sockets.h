// The sockets of very many readers in one process, which counts what arrives. Reading them costs so
// little that the time until the last one has its bytes is the sender's.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

class ManySockets {
 public:
  explicit ManySockets(std::vector<int> fds);
  ~ManySockets();
  ManySockets(const ManySockets&) = delete;
  ManySockets& operator=(const ManySockets&) = delete;

  // Until so many bytes have come on each of them since the last call. Ends the process if one is
  // closed or gets more.
  void receive_each(std::size_t bytes);

 private:
  std::vector<int> fds_;
  std::vector<std::size_t> got_;
  std::vector<char> buffer_;
  int ready_ = -1;
};

// Lets this process and its children have that many descriptors.
void allow_descriptors(std::size_t most);

}  // namespace bench
