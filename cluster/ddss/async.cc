// Gets and puts that go on while the application does something else. Only plain access to memory
// that is not mapped here takes time that could be used so; the rest is done when it is started.
#include <cstring>
#include <utility>

#include "ddss/node.h"

namespace iw::ddss {
namespace {

using fabric::Status;

class Done final : public Operation {
 public:
  explicit Done(int result) : result_(result) {}
  int wait() override { return result_; }

 private:
  int result_;
};

// The transport's part: with a buffer of its own, since what timed out may still use it. Who comes
// last deletes it.
struct Flight : fabric::Completion {
  enum class State { under_way, landed, abandoned };
  explicit Flight(std::size_t bytes) : buffer(bytes) {
    done = [](fabric::Completion& self, Status status) {
      auto& flight = static_cast<Flight&>(self);
      flight.result = status;
      if (flight.state.exchange(State::landed) == State::abandoned) delete &flight;
    };
  }
  bool has_landed() const { return state == State::landed; }
  std::vector<std::byte> buffer;
  Status result = Status::pending;
  std::atomic<State> state{State::under_way};
};

class Transfer final : public Operation {
 public:
  Transfer(std::shared_ptr<Segment> segment, Flight* flight, std::span<std::byte> to, bool is_put)
      : segment_(std::move(segment)), flight_(flight), to_(to), is_put_(is_put) {}
  ~Transfer() override { land(fabric::Clock::now()); }

  int wait() override {
    const Link& link = segment_->data();
    const fabric::Deadline deadline = fabric::Clock::now() + link.timeout;
    Status status = land(deadline);
    if (status == Status::ok && is_put_) status = link.worker->flush(link.peer, deadline);
    return status == Status::ok ? segment_->check_key() : error_of(status);
  }

 private:
  // Afterwards the flight is somebody else's, or gone.
  Status land(fabric::Deadline deadline) {
    if (flight_ == nullptr) return Status::failed;
    Flight* flight = std::exchange(flight_, nullptr);
    const Status waited =
        segment_->data().worker->wait([&] { return flight->has_landed(); }, deadline);
    const bool is_left =
        !flight->has_landed() &&
        flight->state.exchange(Flight::State::abandoned) == Flight::State::under_way;
    if (is_left) return waited;
    const Status result = flight->result;
    if (result == Status::ok && !to_.empty()) {
      std::memcpy(to_.data(), flight->buffer.data(), to_.size());
    }
    delete flight;
    return result;
  }

  const std::shared_ptr<Segment> segment_;
  Flight* flight_;
  const std::span<std::byte> to_;
  const bool is_put_;
};

bool goes_on_by_itself(const Segment& segment, std::size_t bytes) {
  return segment.data().window->direct() == nullptr && bytes <= segment.descriptor().size;
}

// What the posting of a flight came to.
int take_off(Status posted, Flight* flight) {
  if (posted == Status::pending) return 0;
  flight->result = posted;
  flight->state = Flight::State::landed;
  return error_of(posted);
}

}  // namespace

int Node::start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error != 0) return error;
  if (!segment->is_plain_get() || !goes_on_by_itself(*segment, to.size())) {
    *started = std::make_unique<Done>(get(key, 0, to, Which::current, nullptr));
    return 0;
  }
  auto* flight = new Flight(to.size());
  const Link& link = segment->data();
  error = take_off(link.worker->get(*link.window, segment->data_offset(), flight->buffer, flight),
                   flight);
  *started = std::make_unique<Transfer>(std::move(segment), flight, to, false);
  return error;
}

int Node::start_put(Key key, std::span<const std::byte> from, std::unique_ptr<Operation>* started) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error != 0) return error;
  if (!segment->is_plain_put() || !goes_on_by_itself(*segment, from.size())) {
    *started = std::make_unique<Done>(put(key, 0, from));
    return 0;
  }
  error = checked(key, segment->check_key());
  if (error != 0) return error;
  auto* flight = new Flight(from.size());
  if (!from.empty()) std::memcpy(flight->buffer.data(), from.data(), from.size());
  const Link& link = segment->data();
  error = take_off(link.worker->put(*link.window, segment->data_offset(), flight->buffer, flight),
                   flight);
  *started = std::make_unique<Transfer>(std::move(segment), flight, std::span<std::byte>(), true);
  return error;
}

}  // namespace iw::ddss
