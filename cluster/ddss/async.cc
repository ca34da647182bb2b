// Gets and puts that continue while the application does something else.
//
// Access to mapped memory, and access that needs a lock, is done when it is started, because
// nothing of it could continue alone. A put to a node whose processor must help anyway is one
// message. The transport does all other access.
#include <cstring>
#include <utility>

#include "ddss/node.h"
#include "fabric/buffered.h"
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

// The error of what the fabric answered. A flight that is not pending is over.
int note_posted(Status posted, fabric::Buffered* flight) {
  if (posted == Status::pending) return 0;
  flight->result = posted;
  return error_of(posted);
}

}  // namespace

// An operation that was started. It ends with its node at the latest.
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
  // The node calls this when it is closed.
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
  Transfer(Node& node, std::shared_ptr<Segment> segment, fabric::Buffered* flight,
           std::span<std::byte> to, bool is_put)
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

  // Deletes the flight. An unfinished flight deletes itself when it is over.
  Status land(fabric::Deadline until) {
    fabric::Buffered* flight = std::exchange(flight_, nullptr);
    fabric::Worker& worker = *segment_->data().worker;
    const Status waited = worker.wait([&] { return flight->is_over(); }, until);
    if (waited != Status::ok) {
      const fabric::Exclusion held(worker);
      flight->is_abandoned = !flight->is_over();
      if (flight->is_abandoned) return waited;
    }
    const Status result = flight->result;
    if (result == Status::ok && !is_put_) {
      const std::byte* block = flight->buffer.data();
      std::memcpy(&key_, block + offsetof(BlockHeader, key), sizeof key_);
      std::copy_n(block + sizeof(BlockHeader), to_.size(), to_.begin());
    }
    delete flight;
    return result;
  }

  fabric::Buffered* flight_;
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
  auto* flight = new fabric::Buffered(sizeof(BlockHeader) + to.size());
  bytes_moved += flight->buffer.size();
  const std::uint64_t at = segment->descriptor().data_offset;
  error = note_posted(link.worker->get(*link.window, at, flight->buffer, flight), flight);
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
  auto* flight = new fabric::Buffered(from);
  bytes_moved += from.size();
  error = note_posted(
      link.worker->put(*link.window, segment->data_offset(), flight->buffer, flight), flight);
  *started = std::make_unique<Transfer>(*this, segment, flight, std::span<std::byte>(), true);
  return error;
}

}  // namespace iw::ddss
