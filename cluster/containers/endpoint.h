// A container's endpoint of Active Messages, in a bundle of its own. The library's thread handles
// its messages. A handler may only tell the Receiver and answer; the Receiver notes the message.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "containers/messages.h"
#include "interweave/am.h"

namespace iw::containers {

class Receiver {
 public:
  virtual ~Receiver() = default;
  // All these are called in handlers. They lock for a short time, and send nothing.
  virtual Answer take(const Head& head, std::span<const std::byte> block) = 0;
  // Takes the reader's name from the message itself, because mapping an endpoint that has sent
  // something asks it nothing.
  virtual Answer take_join([[maybe_unused]] int link, [[maybe_unused]] const en_t& reader) {
    return Answer::refused;
  }
  virtual void answered(int link, Answer answer, std::uint32_t sequence) = 0;
  // A message came back, because its receiver is gone.
  virtual void came_back(int link) = 0;
};

class Endpoint {
 public:
  // A request waits that long for room in the window. Throws ContainerError.
  Endpoint(std::shared_ptr<Receiver> receiver, double request_wait_seconds);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const en_t& name() const { return name_; }
  // Returns an index to send to. -1: the other endpoint does not exist, or was silent until the
  // deadline (half a minute without one).
  int map(const en_t& other, std::chrono::steady_clock::time_point deadline);
  int map(const en_t& other);
  void unmap(int index);
  // Handles, in this thread, the messages that have arrived.
  void poll() { AM_Poll(bundle_); }
  // Returns false if the window has no room, or the receiver is gone.
  bool send(int index, Head head, std::span<const std::byte> block);

 private:
  eb_t bundle_ = nullptr;
  ep_t endpoint_ = nullptr;
  en_t name_{};
  int number_ = 0;
};

}  // namespace iw::containers
