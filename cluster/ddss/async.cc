// Gets and puts that go on while the application does something else. Where memory is mapped here,
// or a lock is to be taken, there is nothing to go on: that is done when it is started. A put to a
// node whose processor must help anyway is one message, other access is the transport's.
#include <cstring>
#include <utility>

#include "ddss/name_text.h"
#include "ddss/node.h"
#include "platform/mutex.h"

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

// What the posting of a flight came to.
int take_off(Status posted, Flight* flight) {
  if (posted == Status::pending) return 0;
  flight->result = posted;
  flight->state = Flight::State::landed;
  return error_of(posted);
}

}  // namespace

// What was started. It ends with its node at the latest.
class UnderWay : public Operation {
  Node* node_;

 public:
  UnderWay(Node& node, std::shared_ptr<Segment> segment)
      : node_(&node), segment_(std::move(segment)) {
    const platform::MutexLock held(node.under_way_mutex_);
    node.under_way_.insert(this);
  }
  ~UnderWay() override {
    if (node_ == nullptr) return;
    const platform::MutexLock held(node_->under_way_mutex_);
    node_->under_way_.erase(this);
  }
  int wait() final {
    return node_ == nullptr ? DDSS_ENOTINIT : node_->checked(segment_->descriptor().key, finish());
  }
  // By the node that is being closed.
  void abandon() {
    drop();
    segment_.reset();
    node_ = nullptr;
  }

 protected:
  virtual int finish() = 0;
  virtual void drop() = 0;  // nobody waits for it any more
  bool is_abandoned() const { return node_ == nullptr; }
  Questions& questions() const { return *node_->questions_; }
  fabric::Deadline deadline() const { return fabric::Clock::now() + segment_->data().timeout; }
  std::shared_ptr<Segment> segment_;
};

// A get with the block's header before it, or a put.
class Transfer final : public UnderWay {
 public:
  Transfer(Node& node, std::shared_ptr<Segment> segment, Flight* flight, std::span<std::byte> to,
           bool is_put)
      : UnderWay(node, std::move(segment)), flight_(flight), to_(to), is_put_(is_put) {}
  ~Transfer() override { drop(); }

 private:
  int finish() override {
    const NodeLink& link = segment_->data();
    const fabric::Deadline until = deadline();
    Status status = land(until);
    if (status == Status::ok && is_put_) status = link.worker->flush(link.peer, until);
    if (status != Status::ok) return error_of(status);
    if (is_put_) return segment_->check_key();
    return key_ == segment_->descriptor().key ? 0 : DDSS_ENOKEY;
  }
  void drop() override {
    if (flight_ != nullptr) land(fabric::Clock::now());
  }

  // Afterwards the flight is somebody else's, or gone.
  Status land(fabric::Deadline until) {
    Flight* flight = std::exchange(flight_, nullptr);
    const Status waited =
        segment_->data().worker->wait([&] { return flight->has_landed(); }, until);
    const bool is_left =
        !flight->has_landed() &&
        flight->state.exchange(Flight::State::abandoned) == Flight::State::under_way;
    if (is_left) return waited;
    const Status result = flight->result;
    if (result == Status::ok && !is_put_) {
      const std::byte* block = flight->buffer.data();
      std::memcpy(&key_, block + offsetof(BlockHeader, key), sizeof key_);
      std::copy_n(block + sizeof(BlockHeader), to_.size(), to_.begin());
    }
    delete flight;
    return result;
  }

  Flight* flight_;
  Key key_ = 0;
  const std::span<std::byte> to_;
  const bool is_put_;
};

// A put that the other node does.
class Stored final : public UnderWay {
 public:
  Stored(Node& node, std::shared_ptr<Segment> segment, std::span<const std::byte> from)
      : UnderWay(node, std::move(segment)) {
    const StoreAsked asked{segment_->descriptor(), 0};
    bytes_moved += from.size();
    questions().begin(&asking_, segment_->data().peer, Question::store, asked, from);
  }
  ~Stored() override {
    if (!is_abandoned()) drop();
  }

 private:
  int finish() override {
    StoreAnswer answer{};
    const Status status = questions().finish(&asking_, &answer, deadline());
    return status != Status::ok ? error_of(status) : static_cast<int>(answer.error);
  }
  void drop() override { questions().drop(&asking_); }

  Questions::Asking asking_;
};

void Node::abandon_operations() {
  const platform::MutexLock held(under_way_mutex_);
  for (UnderWay* each : under_way_) each->abandon();
}

int Node::start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error != 0) return error;
  const NodeLink& link = segment->data();
  const bool goes_on = segment->is_plain_get() && link.window->direct() == nullptr &&
                       to.size() <= segment->descriptor().size;
  if (!goes_on) {
    *started = std::make_unique<Done>(get(key, 0, to, Which::current, nullptr));
    return 0;
  }
  auto* flight = new Flight(sizeof(BlockHeader) + to.size());
  bytes_moved += flight->buffer.size();
  const std::uint64_t at = segment->descriptor().data_offset;
  error = take_off(link.worker->get(*link.window, at, flight->buffer, flight), flight);
  *started = std::make_unique<Transfer>(*this, segment, flight, to, false);
  return error;
}

int Node::start_put(Key key, std::span<const std::byte> from, std::unique_ptr<Operation>* started) {
  std::shared_ptr<Segment> segment;
  int error = find(key, &segment);
  if (error != 0) return error;
  if (segment->can_put_be_sent(from.size())) {
    *started = std::make_unique<Stored>(*this, segment, from);
    return 0;
  }
  const NodeLink& link = segment->data();
  const bool goes_on = segment->is_plain_put() && link.window->direct() == nullptr &&
                       from.size() <= segment->descriptor().size;
  if (!goes_on) {
    *started = std::make_unique<Done>(put(key, 0, from));
    return 0;
  }
  error = checked(key, segment->check_key());
  if (error != 0) return error;
  auto* flight = new Flight(from.size());
  bytes_moved += from.size();
  std::copy(from.begin(), from.end(), flight->buffer.begin());
  error = take_off(link.worker->put(*link.window, segment->data_offset(), flight->buffer, flight),
                   flight);
  *started = std::make_unique<Transfer>(*this, segment, flight, std::span<std::byte>(), true);
  return error;
}

}  // namespace iw::ddss
