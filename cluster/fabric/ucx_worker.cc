// A worker's birth and end, messages, progress and waiting. Peers are in peers.cc, one-sided access
// in onesided.cc.
#include "fabric/ucx_worker.h"

#include <algorithm>
#include <cstring>

#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds sleep_max{250};  // see service.cc
constexpr int polls_a_clock = 8;                     // reading the clock costs as much as a poll
constexpr int messages_a_turn = 256;                 // then deadlines are looked at
constexpr int looks_a_poll = 4;                      // so that polling is not mostly locking
constexpr std::chrono::seconds farewell_max{1};
static_assert(one_piece_bytes_max <= sizeof(Op::header));

}  // namespace

// A thread that waits: the service leaves the worker to it.
class Attendance {
 public:
  explicit Attendance(UcxWorker& worker) : worker_(worker) { worker_.attending_.fetch_add(1); }
  ~Attendance() {
    worker_.attending_.fetch_sub(1);
    worker_.fabric_.service().nudge_if_asleep();
  }

 private:
  UcxWorker& worker_;
};

UcxWorker::UcxWorker(UcxFabric& fabric, std::uint32_t number, ucp_worker_h worker)
    : fabric_(fabric), number_(number), worker_(worker), sleeper_(worker), spin_(fabric.spin()) {
  address_ = encode({fabric.name(), fabric.place(), number});
}

Status UcxWorker::start() {
  if (fabric_.transport() == Transport::verbs) {
    const Held held(lock_);
    const Status listening = listen();
    if (listening != Status::ok) return listening;
  } else {
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
    const ucs_status_t status = ucp_worker_query(worker_, &attributes);
    if (status != UCS_OK) return to_status(status);
    const auto* begin = reinterpret_cast<const std::byte*>(attributes.address);
    transport_address_.assign(begin, begin + attributes.address_length);
    ucp_worker_release_address(worker_, attributes.address);
  }
  if (transport_address_.size() > transport_address_bytes_max) return Status::failed;
  ucs_status_t status = sleeper_.open();
  if (status == UCS_OK) status = set_internal_handlers();
  return to_status(status);
}

UcxWorker::~UcxWorker() {
  fabric_.service().remove(this);
  {
    const Held held(lock_);
    say_goodbye_to_all();
    progress_until_closed();
    close_listener();
    for (Peer& peer : peers_) close_endpoint(peer, true);
    progress_until_closed();
    for (const Peer& peer : peers_) asker_.end_all(peer.id, Status::peer_dead);
  }
  // A worker with an endpoint that is still closing cannot be destroyed [UCX-11]. Endpoints within
  // this process close only when their messages are through, which a network that loses packets can
  // delay for longer than a program should wait.
  if (closing_ > 0) {
    fabric_.keep_context();
  } else {
    ucp_worker_destroy(worker_);
  }
}

void UcxWorker::progress_until_closed() {
  const Deadline deadline = Clock::now() + farewell_max;
  while (closing_ > 0 && Clock::now() < deadline) progress_held();
}

void UcxWorker::set_handler(MessageId id, Handler handler, void* context) {
  if (id >= message_ids) return;
  const Held held(lock_);
  handlers_[id] = {this, handler, context};
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                     UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.cb = &UcxWorker::on_message;
  param.arg = &handlers_[id];
  ucp_worker_set_am_recv_handler(worker_, &param);
}

ucs_status_t UcxWorker::on_message(void* slot_pointer, const void* header,
                                   std::size_t header_length, void* data, std::size_t length,
                                   const ucp_am_recv_param_t* param) {
  const auto& slot = *static_cast<HandlerSlot*>(slot_pointer);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
  Bytes begin(static_cast<const std::byte*>(header), header_length);
  Bytes payload(static_cast<const std::byte*>(data), length);
  const bool is_one_piece = header_length == 0;
  if (is_one_piece) std::swap(begin, payload);
  Prefix prefix;
  if (begin.size() < sizeof prefix) return UCS_OK;
  std::memcpy(&prefix, begin.data(), sizeof prefix);
  begin = begin.subspan(sizeof prefix);
  if (prefix.header_bytes > begin.size() || prefix.header_bytes > header_bytes_max) return UCS_OK;
  if (is_one_piece) payload = begin.subspan(prefix.header_bytes);
  begin = begin.first(prefix.header_bytes);
  UcxWorker& self = *slot.worker;
  self.lock_.assert_held();
  // What it sends to itself the library delivers inside the call that sends it.
  const bool must_wait = !self.is_progressing_ || self.is_handling_ || self.late_messages_ > 0;
  if (must_wait) {
    self.deliver_later(slot, {prefix.from, begin, payload, false});
  } else {
    self.deliver(slot, {prefix.from, begin, payload, self.is_service_});
  }
  return UCS_OK;
}

void UcxWorker::deliver_later(const HandlerSlot& slot, const Message& message) {
  const auto copy = [](Bytes bytes) { return std::vector(bytes.begin(), bytes.end()); };
  late_messages_++;
  after_progress_.emplace_back([this, &slot, from = message.from, header = copy(message.header),
                                payload = copy(message.payload)] {
    lock_.assert_held();
    late_messages_--;
    deliver(slot, {from, header, payload, is_service_});
  });
  fabric_.service().nudge_if_asleep();
}

void UcxWorker::deliver(const HandlerSlot& slot, const Message& message) {
  const Peer* peer = find(message.from);
  if (peer == nullptr || peer->state == PeerState::dead) return;
  is_handling_ = true;
  slot.handler(slot.context, message);
  is_handling_ = false;
}

Op* UcxWorker::take_op(Completion* done) {
  if (free_ops_.empty()) {
    free_ops_.push_back(&ops_.emplace_back());
    free_ops_.back()->worker = this;
  }
  Op* op = free_ops_.back();
  free_ops_.pop_back();
  op->done = done;
  return op;
}

// What the library answered to the posting of an operation.
Status UcxWorker::settle(ucs_status_ptr_t posted, Op* op) {
  if (UCS_PTR_IS_PTR(posted)) {
    fabric_.service().nudge_if_asleep();
    return Status::pending;
  }
  free_ops_.push_back(op);
  return to_status(UCS_PTR_STATUS(posted));
}

void UcxWorker::on_done(void* request, ucs_status_t status, void* op_pointer) {
  auto* op = static_cast<Op*>(op_pointer);
  ucp_request_free(request);
  Completion* done = op->done;
  op->worker->lock_.assert_held();
  op->worker->free_ops_.push_back(op);
  if (done != nullptr) done->done(*done, to_status(status));
}

Status UcxWorker::send(PeerId to, MessageId id, Bytes header, Bytes payload, Completion* done) {
  if (id >= message_ids || header.size() > header_bytes_max || payload.size() > payload_bytes_max) {
    return Status::bad_argument;
  }
  const Held held(lock_);
  Status why;
  const Peer* peer = find_connected(to, &why);
  if (peer == nullptr) return why;
  Op* op = take_op(done);
  const Prefix prefix{peer->own_index_there, static_cast<std::uint32_t>(header.size())};
  std::byte* at = op->header.data();
  std::memcpy(at, &prefix, sizeof prefix);
  at += sizeof prefix;
  if (!header.empty()) std::memcpy(at, header.data(), header.size());
  return send_begun(peer->endpoint, id, op, sizeof prefix + header.size(), payload);
}

// With the payload after what the op's header begins with: in one piece if it is small.
Status UcxWorker::send_begun(ucp_ep_h endpoint, MessageId id, Op* op, std::size_t begin_bytes,
                             Bytes payload) {
  const Bytes all(op->header);
  const std::size_t bytes = begin_bytes + payload.size();
  if (bytes > one_piece_bytes_max) {
    return send_on(endpoint, id, all.first(begin_bytes), payload, op);
  }
  if (!payload.empty()) {
    std::memcpy(op->header.data() + begin_bytes, payload.data(), payload.size());
  }
  return send_on(endpoint, id, {}, all.first(bytes), op);
}

Peer* UcxWorker::find_connected(PeerId id, Status* why) const {
  Peer* peer = find(id);
  if (peer != nullptr && peer->state == PeerState::connected) return peer;
  *why = peer == nullptr                  ? why_unknown(id)
         : peer->state == PeerState::dead ? peer->why
                                          : Status::bad_argument;
  return nullptr;
}

void UcxWorker::on_sent(void* request, ucs_status_t status, void* completion) {
  ucp_request_free(request);
  auto* done = static_cast<Completion*>(completion);
  done->done(*done, to_status(status));
}

Status UcxWorker::send_in_place(PeerId to, MessageId id, std::span<std::byte> piece,
                                std::size_t header_bytes, Completion* done) {
  const std::size_t begin_bytes = message_room_bytes + header_bytes;
  const bool is_sound = id < message_ids && header_bytes <= header_bytes_max &&
                        begin_bytes <= piece.size() &&
                        piece.size() - begin_bytes <= payload_bytes_max;
  if (!is_sound) return Status::bad_argument;
  const Held held(lock_);
  Status why;
  const Peer* peer = find_connected(to, &why);
  if (peer == nullptr) return why;
  const Prefix prefix{peer->own_index_there, static_cast<std::uint32_t>(header_bytes)};
  std::memcpy(piece.data(), &prefix, sizeof prefix);
  ucp_request_param_t param;
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &UcxWorker::on_sent;
  param.user_data = done;
  const auto posted =
      ucp_am_send_nbx(peer->endpoint, id, nullptr, 0, piece.data(), piece.size(), &param);
  if (posted == nullptr) return Status::ok;
  if (!UCS_PTR_IS_PTR(posted)) return to_status(UCS_PTR_STATUS(posted));
  fabric_.service().nudge_if_asleep();
  return Status::pending;
}

// Never by rendezvous: an eager message cannot overtake another.
Status UcxWorker::send_on(ucp_ep_h endpoint, MessageId id, Bytes header, Bytes payload, Op* op,
                          unsigned flags) {
  ucp_request_param_t param;
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER | flags;
  param.cb.send = &UcxWorker::on_done;
  param.user_data = op;
  return settle(ucp_am_send_nbx(endpoint, id, header.data(), header.size(), payload.data(),
                                payload.size(), &param),
                op);
}

unsigned UcxWorker::run_after_progress() {
  const auto calls = std::move(after_progress_);
  after_progress_.clear();
  for (const auto& call : calls) call();
  return static_cast<unsigned>(calls.size());
}

bool UcxWorker::arm_held() {
  return after_progress_.empty() && !has_dead_ && ucp_worker_arm(worker_) == UCS_OK;
}

// For a thread that is about to sleep. UCX's adapters tell of what arrived before the arming as
// well; soft RoCE tells only of what arrives after it.
bool UcxWorker::arm_to_sleep() {
  return arm_held() && (fabric_.transport() != Transport::verbs || progress_held() == 0);
}

unsigned UcxWorker::progress() {
  if (lock_.is_mine() || !lock_.try_lock()) return 0;
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  unsigned handled = 0;
  for (int look = 0; look < looks_a_poll && handled == 0; look++) handled = progress_held();
  lock_.unlock();
  if (handled > 0) sleeper_.tell();
  lock_.let_others_in();
  return handled;
}

Status UcxWorker::wait(const std::function<bool()>& is_done, Deadline deadline) {
  if (lock_.is_mine()) return Status::in_handler;
  const Attendance attendance(*this);
  const auto spin = spin_.load();
  Deadline spin_until = Clock::now() + spin;
  for (int turn = 1;; turn++) {
    lock_.lock();
    const bool was_done = is_done();
    const unsigned handled = was_done ? 0 : progress_held();
    const bool is_over = was_done || (handled > 0 && is_done());
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    lock_.unlock();
    if (handled > 0) sleeper_.tell();
    if (is_over) return Status::ok;
    lock_.let_others_in();
    const bool is_polling = spin > spin.zero();  // else it sleeps at once
    if (is_polling && turn % polls_a_clock != 0) continue;
    const auto now = Clock::now();
    if (now >= deadline) return Status::timed_out;
    if (now < spin_until) continue;
    if (block(is_done, deadline)) return Status::ok;
    spin_until = Clock::now() + spin;
  }
}

// True if what the thread waits for is done; else it has slept.
bool UcxWorker::block(const std::function<bool()>& is_done, Deadline deadline) {
  bool is_over = false;
  const auto look = [&] {
    const Held held(lock_);
    return is_over = is_done();
  };
  const auto arm = [&] { return arm_as_leader(is_done, &is_over); };
  sleeper_.sleep(std::min(deadline, Clock::now() + sleep_max), look, arm);
  return is_over;
}

// False: it need not sleep.
bool UcxWorker::arm_as_leader(const std::function<bool()>& is_done, bool* is_over) {
  lock_.lock();
  unsigned handled = 1, all_handled = 0;
  for (int i = 0; i < messages_a_turn && handled > 0 && !*is_over; i++) {
    handled = progress_held();
    all_handled += handled;
    *is_over = is_done();
  }
  const bool is_armed = !*is_over && arm_to_sleep();
  lock_.unlock();
  if (all_handled > 0) sleeper_.tell_followers();
  return is_armed;
}

bool UcxWorker::arm() {
  const Held held(lock_);
  return arm_held();
}

UcxWorker::Served UcxWorker::serve() {
  if (!lock_.try_lock()) return Served::in_use;
  is_service_ = true;
  unsigned handled = 0;
  for (int i = 0; i < messages_a_turn; i++) {
    const unsigned now = progress_held();
    if (now == 0) break;
    handled += now;
  }
  const bool is_armed = arm_to_sleep();
  is_service_ = false;
  lock_.unlock();
  if (handled > 0 || !is_armed) sleeper_.tell();
  return is_armed ? Served::armed : Served::busy;
}

}  // namespace iw::fabric
