// A worker without a transport: a target hands it messages and deaths, and it counts the messages
// that are sent.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace iw::fuzzing {

inline constexpr fabric::PeerId peers = 3;

class PlayedWorker final : public fabric::Worker {
  using Address = fabric::Address;
  using Bytes = fabric::Bytes;
  using Completion = fabric::Completion;
  using Deadline = fabric::Deadline;
  using PeerId = fabric::PeerId;
  using Status = fabric::Status;
  using Window = fabric::Window;

 public:
  PlayedWorker() {
    for (std::size_t i = 0; i < addresses_.size(); i++) addresses_[i].bytes[0] = std::byte(i + 1);
  }

  void arrive(PeerId from, fabric::MessageId id, Bytes header, Bytes payload, bool by_service) {
    if (dead_[from] || handlers_[id].call == nullptr) return;
    const Inside inside(*this);
    handlers_[id].call(handlers_[id].context, {from, header, payload, by_service});
  }
  void die(PeerId peer) {
    if (std::exchange(dead_[peer], true) || !on_death_) return;
    const Inside inside(*this);
    on_death_(peer);
  }
  std::size_t sent = 0;

  const Address& address() const override { return addresses_[peers]; }
  void set_spin(std::chrono::microseconds) override {}
  Status connect(const Address&, Deadline, PeerId*) override { return Status::unreachable; }
  const Address& peer_address(PeerId peer) const override { return addresses_[peer]; }
  bool is_alive(PeerId peer) const override { return peer < peers && !dead_[peer]; }
  bool was_left(PeerId) const override { return false; }
  void on_connect(std::function<void(PeerId)>) override {}
  void on_death(std::function<void(PeerId)> call) override { on_death_ = std::move(call); }
  void set_handler(fabric::MessageId id, fabric::Handler handler, void* context) override {
    handlers_[id] = {handler, context};
  }
  Status send(PeerId to, fabric::MessageId, Bytes, Bytes, Completion*) override {
    if (to >= peers) return Status::bad_argument;
    sent++;
    return dead_[to] ? Status::peer_dead : Status::ok;
  }
  Status send_in_place(PeerId to, fabric::MessageId id, std::span<std::byte> piece, std::size_t,
                       Completion* done) override {
    return send(to, id, piece, {}, done);
  }

  // Nothing is reached one-sidedly.
  std::unique_ptr<Window> open(PeerId, Bytes, Status*) override { return nullptr; }
  Status put(Window&, std::size_t, Bytes, Completion*) override { return Status::failed; }
  Status get(Window&, std::size_t, std::span<std::byte>, Completion*) override {
    return Status::failed;
  }
  Status fetch_add(Window&, std::size_t, std::uint64_t, std::uint64_t*, Completion*) override {
    return Status::failed;
  }
  Status compare_swap(Window&, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t*,
                      Completion*) override {
    return Status::failed;
  }
  Status flush(PeerId, Completion*) override { return Status::ok; }
  bool is_onesided(fabric::Operation, const Window&) const override { return false; }
  bool is_onesided(fabric::Operation, PeerId) const override { return false; }
  Status put(Window&, std::size_t, Bytes, Deadline) override { return Status::failed; }
  Status get(Window&, std::size_t, std::span<std::byte>, Deadline) override {
    return Status::failed;
  }
  Status fetch_add(Window&, std::size_t, std::uint64_t, std::uint64_t*, Deadline) override {
    return Status::failed;
  }
  Status compare_swap(Window&, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t*,
                      Deadline) override {
    return Status::failed;
  }
  Status flush(PeerId, Deadline) override { return Status::ok; }

  unsigned progress() override { return 0; }
  Status wait(const std::function<bool()>& is_done, Deadline) override {
    return is_done() ? Status::ok : Status::timed_out;
  }
  void wake() override {}
  int event_fd() const override { return -1; }
  bool arm() override { return true; }
  void enter() override { depth_++; }
  void leave() override { depth_--; }
  bool in_handler() const override { return depth_ > 0; }

 private:
  struct Inside {
    explicit Inside(PlayedWorker& worker) : worker_(worker) { worker_.enter(); }
    ~Inside() { worker_.leave(); }
    PlayedWorker& worker_;
  };
  struct Called {
    fabric::Handler call = nullptr;
    void* context = nullptr;
  };
  std::array<Address, peers + 1> addresses_{};
  std::array<bool, peers + 1> dead_{};
  std::array<Called, fabric::message_ids> handlers_{};
  std::function<void(PeerId)> on_death_;
  int depth_ = 0;
};

// Takes an input apart, from its beginning; what is missing at its end is zeroes.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}
  bool is_over() const { return rest_.empty(); }
  std::uint8_t byte() {
    const auto one = bytes(1);
    return one.empty() ? 0 : std::to_integer<std::uint8_t>(one[0]);
  }
  // At most so many.
  fabric::Bytes bytes(std::size_t count) {
    const auto first = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(first.size());
    return first;
  }

 private:
  fabric::Bytes rest_;
};

}  // namespace iw::fuzzing
