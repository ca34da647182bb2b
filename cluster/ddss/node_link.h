// Access to the memory of one node, with the errors of <interweave/ddss.h>.
#pragma once

#include <atomic>

#include "fabric/fabric.h"
#include "interweave/ddss.h"

namespace iw::ddss {

inline int error_of(fabric::Status status) {
  switch (status) {
    case fabric::Status::ok:
    case fabric::Status::pending:
      return 0;
    case fabric::Status::timed_out:
      return DDSS_ETIMEDOUT;
    case fabric::Status::peer_dead:
      return DDSS_ENODE;
    case fabric::Status::bad_argument:
      return DDSS_EARGUMENT;
    case fabric::Status::no_memory:
      return DDSS_EMEMORY;
    default:
      return DDSS_EUNREACHABLE;
  }
}

// The bytes that this thread has moved to and from segments, for ddss_bytes_moved().
inline thread_local std::uint64_t bytes_moved = 0;

// A thread that works for another process: true when that process is gone, so that the thread stops
// waiting for locks. nullptr: the thread works for its own process.
inline thread_local const std::atomic<bool>* is_unwanted = nullptr;

struct NodeLink {
  fabric::Worker* worker = nullptr;
  fabric::PeerId peer = 0;
  fabric::Window* window = nullptr;
  std::chrono::milliseconds timeout{0};

  // Access to mapped memory does not wait, so the clock is not read, which would cost as much.
  fabric::Deadline deadline() const {
    return window->direct() != nullptr ? fabric::Deadline::max() : fabric::Clock::now() + timeout;
  }
  int get(std::size_t offset, std::span<std::byte> to) const {
    bytes_moved += to.size();
    return error_of(worker->get(*window, offset, to, deadline()));
  }
  int put(std::size_t offset, fabric::Bytes from) const {
    bytes_moved += from.size();
    return error_of(worker->put(*window, offset, from, deadline()));
  }
  template <typename T>
  int get(std::size_t offset, T* value) const {
    return get(offset, std::as_writable_bytes(std::span(value, 1)));
  }
  template <typename T>
  int put_value(std::size_t offset, const T& value) const {
    return put(offset, std::as_bytes(std::span(&value, 1)));
  }
  int add(std::size_t offset, std::uint64_t what, std::uint64_t* before) const {
    bytes_moved += sizeof what;
    return error_of(worker->fetch_add(*window, offset, what, before, deadline()));
  }
  int swap(std::size_t offset, std::uint64_t expected, std::uint64_t desired,
           std::uint64_t* before) const {
    bytes_moved += sizeof desired;
    return error_of(worker->compare_swap(*window, offset, expected, desired, before, deadline()));
  }
};

}  // namespace iw::ddss
