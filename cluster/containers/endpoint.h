// A container's endpoint of Active Messages, in a bundle of its own, whose messages are handled by
// the library's thread. Handlers only note what came and answer (they may do no more): the note
// is a Receiver's.
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
  // All in handlers: they lock for a short time, and send nothing.
  virtual Answer take(const Head& head, std::span<const std::byte> block) = 0;
  // From there; an endpoint that has sent something is mapped without asking it anything.
  virtual Answer take_join([[maybe_unused]] int link, [[maybe_unused]] const en_t& reader) {
    return Answer::refused;
  }
  virtual void answered(int link, Answer answer, std::uint32_t sequence) = 0;
  // A message came back: nobody is there any more.
  virtual void came_back(int link) = 0;
};

class Endpoint {
 public:
  // Requests wait that long for room. Throws ContainerError.
  Endpoint(std::shared_ptr<Receiver> receiver, double request_wait_seconds);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const en_t& name() const { return name_; }
  // An index to send to; -1: not there, or silent until the deadline (or for half a minute).
  int map(const en_t& other, std::chrono::steady_clock::time_point deadline);
  int map(const en_t& other);
  void unmap(int index);
  // Handles what has arrived, in this thread.
  void poll() { AM_Poll(bundle_); }
  // False: no room.
  bool send(int index, Head head, std::span<const std::byte> block);

 private:
  eb_t bundle_ = nullptr;
  ep_t endpoint_ = nullptr;
  en_t name_{};
  int number_ = 0;
};

}  // namespace iw::containers
