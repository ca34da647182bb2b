// A System V segment: memory that other processes of this machine map as well. It is committed as
// it is touched (a POSIX one at once), and goes with the last process that has it, however that
// ends. Mapped here and not by the transport library because of [UCX-1] (ucx_1_13.md).
#pragma once

#include <cstddef>
#include <memory>

namespace iw::fabric {

class SharedSegment {
 public:
  // Zeroed. Nothing if the system gives none.
  static std::unique_ptr<SharedSegment> create(std::size_t bytes);
  // Another process's. Nothing if it is gone, is another user's or smaller, or if there is no room
  // for it among this process's addresses.
  static std::unique_ptr<SharedSegment> attach(int id, std::size_t bytes);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();

  int id() const { return id_; }
  std::byte* begin() const { return begin_; }

 private:
  SharedSegment(int id, std::byte* begin) : id_(id), begin_(begin) {}
  const int id_;
  std::byte* const begin_;
};

}  // namespace iw::fabric
