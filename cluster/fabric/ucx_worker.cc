// A worker's birth and end, its peers, messages, progress and waiting. One-sided access is in
// onesided.cc.
#include "fabric/ucx_worker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds sleep_max{250};  // see service.cc
constexpr int polls_a_clock = 8;                     // reading the clock costs as much as a poll
constexpr int messages_a_turn = 256;                 // then deadlines are looked at
constexpr int looks_a_poll = 4;                      // so that polling is not mostly locking
constexpr std::chrono::seconds farewell_max{1};
constexpr std::chrono::milliseconds farewell_of_deaf_max{100};  // others wait for the lock
constexpr std::chrono::seconds welcome_patience{2};             // then the door is asked again
// Over shared memory only processes of the same user send, but for what UCX leaves open to the
// user's group [UCX-16]. A table for all numbers takes 1.5 MB and some milliseconds [UCX-17].
constexpr unsigned ids_of_this_user = 256;

Prefix prefix_to(const Peer& peer, std::size_t header_bytes) {
  return {peer.tag_there | std::uint64_t{header_bytes} << tag_gap_shift};
}

std::size_t header_bytes_in(const Prefix& prefix) {
  return (prefix.tag_and_header_bytes & tag_gap_mask) >> tag_gap_shift;
}

}  // namespace

// A thread that waits: the service leaves the worker to it.
class UcxWorker::Attendance {
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
    : fabric_(fabric),
      number_(number),
      address_(encode({fabric.name(), fabric.place(), number})),
      spin_(fabric.spin()),
      messenger_(fabric.service(), worker),
      peers_(address_, fabric, messenger_, table_, passes_, callbacks_of_peers()),
      asker_(table_, messenger_, peers_),
      answerer_(table_, messenger_, fabric.regions()) {}

Peers::Callbacks UcxWorker::callbacks_of_peers() {
  Peers::Callbacks callbacks;
  callbacks.connected = [this](PeerId peer) {
    if (on_connect_) on_connect_(peer);
  };
  callbacks.lost = [this](PeerId peer, Status why) {
    lock_.assert_held();
    asker_.end_all(peer, why);
    if (on_death_) on_death_(peer);
  };
  return callbacks;
}

Status UcxWorker::start() {
  const Held held(lock_);
  return open_transport();
}

Status UcxWorker::open_transport() {
  const bool is_users_only = fabric_.transport() == Transport::shm;
  ucs_status_t status = Messenger::drop_all(messenger_.transport(),
                                            is_users_only ? ids_of_this_user : ids_of_transport);
  if (status != UCS_OK) return to_status(status);
  const Status started = peers_.start();
  if (started != Status::ok) return started;
  status = messenger_.set_handler(request_id, &on_request, this);
  if (status == UCS_OK) status = messenger_.set_handler(answer_id, &on_answer, this);
  if (status == UCS_OK) status = messenger_.set_handler(hearing_id, &on_hearing, this);
  for (std::size_t id = 0; status == UCS_OK && id < handlers_.size(); id++) {
    if (handlers_[id].worker == nullptr) continue;
    status = messenger_.set_handler(static_cast<unsigned>(id), &on_message, &handlers_[id]);
  }
  if (status == UCS_OK) status = sleeper_.open(messenger_.transport());
  if (status != UCS_OK) return to_status(status);
  const platform::MutexLock changing(address_mutex_);
  transport_address_ = peers_.transport_address();
  return Status::ok;
}

UcxWorker::~UcxWorker() {
  fabric_.service().remove(this);
  const Held held(lock_);
  hearing_.reset();
  peers_.say_goodbye_to_all();
  progress_until_closed();
  peers_.close_all();
  progress_until_closed();
  for (const Peer& peer : table_.all()) asker_.end_all(peer.id, Status::peer_dead);
  // A worker with an endpoint that is still closing cannot be destroyed [UCX-11]. Endpoints within
  // this process close only when their messages are through, which a network that loses packets can
  // delay for longer than a program should wait.
  if (peers_.is_closing()) {
    fabric_.keep_context();
  } else {
    ucp_worker_destroy(messenger_.transport());
    for (const ucp_worker_h each : deaf_) ucp_worker_destroy(each);
  }
}

void UcxWorker::progress_until_closed() {
  const Deadline deadline = Clock::now() + farewell_max;
  while (peers_.is_closing() && Clock::now() < deadline) {
    for (const ucp_worker_h each : deaf_) ucp_worker_progress(each);
    progress_held();
  }
}

const Address& UcxWorker::peer_address(PeerId peer) const {
  const Held held(lock_);
  static const Address none;
  const Peer* found = table_.find(peer);
  return found == nullptr ? none : found->address;
}

bool UcxWorker::is_alive(PeerId peer) const {
  const Held held(lock_);
  const Peer* found = table_.find(peer);
  return found != nullptr && found->state != PeerState::dead;
}

bool UcxWorker::was_left(PeerId peer) const {
  const Held held(lock_);
  const Peer* found = table_.find(peer);
  return found != nullptr && found->was_left;
}

Status UcxWorker::connect(const Address& address, Deadline deadline, PeerId* peer) {
  if (lock_.is_mine()) return Status::in_handler;
  const auto parts = decode(address);
  if (!parts) return Status::bad_argument;
  const PeerKey key = key_of(*parts);
  bool must_ask = false, again = false;
  const auto is_asked_for = [&] {
    lock_.assert_held();
    must_ask = table_.begin_to_ask_for(key, again);
    return must_ask || table_.find(key) != nullptr;
  };
  // A worker that does not answer may have another transport address by now [HELLO-12].
  for (;; again = true) {
    Status status = wait(is_asked_for, deadline);
    if (status == Status::ok && must_ask) status = ask_for(*parts, deadline);
    if (status != Status::ok) return status;
    status = await_welcome(key, std::min(deadline, Clock::now() + welcome_patience), peer);
    if (status != Status::pending) return status;
    if (Clock::now() >= deadline) return Status::timed_out;
  }
}

// pending: the peer is still connecting, or is not in the table.
Status UcxWorker::await_welcome(const PeerKey& key, Deadline deadline, PeerId* peer) {
  Status result = Status::pending;
  const auto is_settled = [&] {
    lock_.assert_held();
    const Peer* found = table_.find(key);
    if (found == nullptr) return true;
    *peer = found->id;
    if (found->state == PeerState::connecting) return false;
    result = found->state == PeerState::connected ? Status::ok : found->why;
    return true;
  };
  wait(is_settled, deadline);
  return result;
}

// Leaves the peer in the table, or fails.
Status UcxWorker::ask_for(const AddressParts& parts, Deadline deadline) {
  Admission admission;
  Status status = fabric_.door().ask(parts, number_, deadline, &admission);
  {
    const Held held(lock_);
    table_.end_to_ask_for(key_of(parts));
    if (status == Status::ok) status = peers_.introduce(parts, admission);
  }
  wake();
  return status;
}

void UcxWorker::set_handler(MessageId id, Handler handler, void* context) {
  if (id >= message_ids) return;
  const Held held(lock_);
  handlers_[id] = {this, handler, context};
  messenger_.set_handler(id, &UcxWorker::on_message, &handlers_[id]);
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
  const std::size_t header_bytes = header_bytes_in(prefix);
  if (header_bytes > begin.size() || header_bytes > header_bytes_max) return UCS_OK;
  if (is_one_piece) payload = begin.subspan(header_bytes);
  begin = begin.first(header_bytes);
  UcxWorker& self = *slot.worker;
  self.lock_.assert_held();
  const Peer* from = self.table_.find_by_tag(prefix.tag_and_header_bytes);
  if (from == nullptr || from->state != PeerState::connected) return UCS_OK;
  // What it sends to itself the library delivers inside the call that sends it.
  const bool must_wait =
      !self.messenger_.is_polling() || self.is_handling_ || self.late_messages_ > 0;
  const Message message{from->id, begin, payload, self.is_service_};
  if (must_wait) {
    self.deliver_later(slot, message);
  } else {
    self.hand_over(slot, message);
  }
  return UCS_OK;
}

void UcxWorker::deliver_later(const HandlerSlot& slot, const Message& message) {
  const auto copy = [](Bytes bytes) { return std::vector(bytes.begin(), bytes.end()); };
  late_messages_++;
  messenger_.later([this, &slot, from = message.from, header = copy(message.header),
                    payload = copy(message.payload)] {
    lock_.assert_held();
    late_messages_--;
    deliver_late(slot, {from, header, payload, is_service_});
  });
}

// The peer may have died in between.
void UcxWorker::deliver_late(const HandlerSlot& slot, const Message& message) {
  const Peer* peer = table_.find(message.from);
  if (peer != nullptr && peer->state == PeerState::connected) hand_over(slot, message);
}

Status UcxWorker::send(PeerId to, MessageId id, Bytes header, Bytes payload, Completion* done) {
  if (id >= message_ids || header.size() > header_bytes_max || payload.size() > payload_bytes_max) {
    return Status::bad_argument;
  }
  const Held held(lock_);
  Status why;
  const Peer* peer = table_.find_connected(to, &why);
  if (peer == nullptr) return why;
  Op* op = messenger_.take_op(done);
  const Prefix prefix = prefix_to(*peer, header.size());
  std::byte* at = op->header.data();
  std::memcpy(at, &prefix, sizeof prefix);
  at += sizeof prefix;
  if (!header.empty()) std::memcpy(at, header.data(), header.size());
  return messenger_.send_begun(peer->endpoint, id, op, sizeof prefix + header.size(), payload);
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
  const Peer* peer = table_.find_connected(to, &why);
  if (peer == nullptr) return why;
  const Prefix prefix = prefix_to(*peer, header_bytes);
  std::memcpy(piece.data(), &prefix, sizeof prefix);
  return messenger_.send_piece(peer->endpoint, id, piece, done);
}

bool UcxWorker::may_be_deafened_by(const std::vector<ProcessName>& dead) {
  const Transport transport = fabric_.transport();
  if (transport != Transport::shm && transport != Transport::automatic) return false;
  return std::ranges::any_of(dead, [this](const ProcessName& each) {
    lock_.assert_held();
    return peers_.may_have_written(each);
  });
}

void UcxWorker::bury_the_dead(unsigned handled) {
  const auto dead = deaths_.take();
  if (!dead.empty()) {
    peers_.bury(dead);  // and hears their goodbyes
    must_listen_again_ |= may_be_deafened_by(dead);
  }
  if (hearing_ == nullptr) {
    if (std::exchange(must_listen_again_, false)) listen();
    return;
  }
  const Hearing::Verdict verdict = hearing_->look(handled, Clock::now());
  if (verdict == Hearing::Verdict::deaf) {
    messenger_.after_poll([this] {
      lock_.assert_held();
      take_new_transport();
    });
  }
  if (verdict != Hearing::Verdict::open) hearing_.reset();
  if (hearing_ != nullptr || must_listen_again_) deaths_.look_again();
}

// One of those who died may have left a hole in this worker's queue.
void UcxWorker::listen() {
  hearing_ = Hearing::begin(peers_.transport_address());
  if (hearing_ != nullptr) deaths_.look_again();
}

ucs_status_t UcxWorker::on_hearing(void* worker, const void*, std::size_t, void* data,
                                   std::size_t length, const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxWorker*>(worker);
  self.lock_.assert_held();
  if (self.hearing_ != nullptr) self.hearing_->hear({static_cast<const std::byte*>(data), length});
  return UCS_OK;
}

// Without another transport the worker stays as it is until somebody else dies.
void UcxWorker::take_new_transport() {
  const ucp_worker_h deaf = messenger_.transport();
  ucp_worker_h made = nullptr;
  if (fabric_.make_transport(&made) != Status::ok) return;
  if (!change_transport(made)) return ucp_worker_destroy(made);
  must_listen_again_ = false;
  deaf_.push_back(deaf);
  // Messages that the deaf worker still gets come from peers that are about to be lost.
  Messenger::drop_all(deaf, ids_of_this_user);
  const auto let_out = [&] {
    lock_.assert_held();
    const Deadline deadline = Clock::now() + farewell_of_deaf_max;
    while (peers_.is_closing() && Clock::now() < deadline) ucp_worker_progress(deaf);
  };
  peers_.say_goodbye_before_move();
  let_out();
  peers_.lose_all();
  let_out();
}

bool UcxWorker::change_transport(ucp_worker_h made) {
  const ucp_worker_h before = messenger_.change_transport(made);
  if (open_transport() == Status::ok) return true;
  messenger_.change_transport(before);
  peers_.start();  // finds the address of before
  return false;
}

bool UcxWorker::arm_held() {
  return !messenger_.has_later() && !deaths_.is_any() &&
         ucp_worker_arm(messenger_.transport()) == UCS_OK;
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
    wait_polls_.store(wait_polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
  // By reference: a function that holds as much would take memory.
  sleeper_.sleep(std::min(deadline, Clock::now() + sleep_max), std::ref(look), std::ref(arm));
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
  peers_.close_late(Clock::now());
  const bool is_armed = arm_to_sleep();
  is_service_ = false;
  lock_.unlock();
  if (handled > 0 || !is_armed) sleeper_.tell();
  return is_armed ? Served::armed : Served::busy;
}

}  // namespace iw::fabric
