// One-sided access. Memory that is mapped here as well is loaded and stored directly, without the
// worker; for the rest the transport's operations are used, which its other end may have to help
// with.
#include <atomic>
#include <cstring>

#include "fabric/memory_key.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"
#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

UcxWindow& of_this_room(Window& window) { return static_cast<UcxWindow&>(window); }

std::atomic_ref<std::uint64_t> word_at(const Window& window, std::size_t offset) {
  return std::atomic_ref<std::uint64_t>(
      *reinterpret_cast<std::uint64_t*>(window.direct() + offset));
}

// A few words are moved one by one: they may be words that others change by atomics meanwhile.
constexpr std::size_t words_bytes_max = 64;

bool is_words(std::size_t offset, std::size_t bytes) {
  return bytes <= words_bytes_max && (offset | bytes) % sizeof(std::uint64_t) == 0;
}

void store(const Window& to, std::size_t offset, Bytes from) {
  if (!is_words(offset, from.size())) {
    std::memcpy(to.direct() + offset, from.data(), from.size());
    return;
  }
  for (std::size_t at = 0; at < from.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, from.data() + at, sizeof word);
    word_at(to, offset + at).store(word, std::memory_order_relaxed);
  }
}

void load(const Window& from, std::size_t offset, std::span<std::byte> to) {
  if (!is_words(offset, to.size())) {
    std::memcpy(to.data(), from.direct() + offset, to.size());
    return;
  }
  for (std::size_t at = 0; at < to.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(from, offset + at).load(std::memory_order_relaxed);
    std::memcpy(to.data() + at, &word, sizeof word);
  }
}

ucp_request_param_t callback_param(Op* op, ucp_send_nbx_callback_t call) {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = call;
  param.user_data = op;
  return param;
}

}  // namespace

UcxWindow::~UcxWindow() {
  if (rkey != nullptr) ucp_rkey_destroy(rkey);
}

std::unique_ptr<Window> UcxWorker::open(PeerId peer, Bytes key, Status* status) {
  const Held held(lock_);
  Bytes transport_key;
  const auto parts = decode(key, &transport_key);
  Peer* owner = find(peer);
  *status = Status::bad_argument;
  if (!parts || owner == nullptr || owner->parts.process.nonce != parts->process_nonce) return {};
  *status = owner->why;
  if (owner->state == PeerState::dead) return {};
  auto window = std::make_unique<UcxWindow>(owner, peer, parts->size, parts->address);
  *status = to_status(ucp_ep_rkey_unpack(owner->endpoint, transport_key.data(), &window->rkey));
  if (*status != Status::ok) return {};
  void* direct = nullptr;
  if (ucp_rkey_ptr(window->rkey, parts->address, &direct) == UCS_OK) {
    window->set_direct(static_cast<std::byte*>(direct));
  }
  return window;
}

Status UcxWorker::check(const Window& window, std::size_t offset, std::size_t bytes,
                        bool is_word) const {
  if (offset > window.size() || bytes > window.size() - offset) return Status::bad_argument;
  if (is_word && offset % sizeof(std::uint64_t) != 0) return Status::bad_argument;
  return reach(window);
}

// What is posted asks this with the lock held: the endpoint goes with the peer.
Status UcxWorker::reach(const Window& window) {
  const Peer& peer = *static_cast<const UcxWindow&>(window).peer_state;
  return peer.state.load(std::memory_order_acquire) == PeerState::dead ? peer.why : Status::ok;
}

Status UcxWorker::put(Window& to, std::size_t offset, Bytes from, Completion* done) {
  const Status checked = check(to, offset, from.size(), false);
  if (checked != Status::ok || from.empty()) return checked;
  if (to.direct() != nullptr) {
    store(to, offset, from);
    std::atomic_thread_fence(std::memory_order_release);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(to); reached != Status::ok) return reached;
  auto& window = of_this_room(to);
  Op* op = take_op(done);
  const auto param = callback_param(op, &on_done);
  return settle(ucp_put_nbx(window.peer_state->endpoint, from.data(), from.size(),
                            window.remote_address + offset, window.rkey, &param),
                op);
}

Status UcxWorker::get(Window& from, std::size_t offset, std::span<std::byte> to, Completion* done) {
  const Status checked = check(from, offset, to.size(), false);
  if (checked != Status::ok || to.empty()) return checked;
  if (from.direct() != nullptr) {
    std::atomic_thread_fence(std::memory_order_acquire);
    load(from, offset, to);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(from); reached != Status::ok) return reached;
  auto& window = of_this_room(from);
  Op* op = take_op(done);
  const auto param = callback_param(op, &on_done);
  return settle(ucp_get_nbx(window.peer_state->endpoint, to.data(), to.size(),
                            window.remote_address + offset, window.rkey, &param),
                op);
}

// `before` is where the transport puts the old value; a swap takes the new one from there.
Status UcxWorker::post_atomic(ucp_atomic_op_t operation, Window& at, std::size_t offset,
                              std::uint64_t operand, std::uint64_t* before, Completion* done) {
  const Held held(lock_);
  if (const Status reached = reach(at); reached != Status::ok) return reached;
  auto& window = of_this_room(at);
  Op* op = take_op(done);
  auto param = callback_param(op, &on_done);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
  param.datatype = ucp_dt_make_contig(sizeof operand);
  param.reply_buffer = before;
  return settle(ucp_atomic_op_nbx(window.peer_state->endpoint, operation, &operand, 1,
                                  window.remote_address + offset, window.rkey, &param),
                op);
}

Status UcxWorker::fetch_add(Window& at, std::size_t offset, std::uint64_t add,
                            std::uint64_t* before, Completion* done) {
  const Status checked = check(at, offset, sizeof add, true);
  if (checked != Status::ok) return checked;
  if (at.direct() != nullptr) {
    *before = word_at(at, offset).fetch_add(add);
    return Status::ok;
  }
  return post_atomic(UCP_ATOMIC_OP_ADD, at, offset, add, before, done);
}

Status UcxWorker::compare_swap(Window& at, std::size_t offset, std::uint64_t expected,
                               std::uint64_t desired, std::uint64_t* before, Completion* done) {
  const Status checked = check(at, offset, sizeof expected, true);
  if (checked != Status::ok) return checked;
  if (at.direct() != nullptr) {
    *before = expected;
    word_at(at, offset).compare_exchange_strong(*before, desired);
    return Status::ok;
  }
  *before = desired;
  return post_atomic(UCP_ATOMIC_OP_CSWAP, at, offset, expected, before, done);
}

Status UcxWorker::flush(PeerId peer, Completion* done) {
  const Held held(lock_);
  Peer* found = find(peer);
  if (found == nullptr) return Status::bad_argument;
  if (found->state == PeerState::dead) return found->why;
  Op* op = take_op(done);
  const auto param = callback_param(op, &on_done);
  return settle(ucp_ep_flush_nbx(found->endpoint, &param), op);
}

bool UcxWorker::is_onesided(Operation operation, const Window& window) const {
  if (operation == Operation::message) return false;
  if (window.direct() != nullptr) return true;
  // The adapter puts and gets by itself; the library has no atomics of its own on soft RoCE.
  return fabric_.transport() == Transport::verbs &&
         (operation == Operation::put || operation == Operation::get);
}

bool UcxWorker::is_onesided(Operation operation, PeerId peer) const {
  const Held held(lock_);
  const Peer* found = find(peer);
  if (found == nullptr || operation == Operation::message) return false;
  const auto transport = fabric_.transport();
  if (transport == Transport::verbs)
    return operation == Operation::put || operation == Operation::get;
  return transport != Transport::tcp && found->parts.process.host == fabric_.name().host;
}

// An operation that a thread waits for. One that timed out is still the transport's: it keeps its
// own buffer and goes when it is done.
struct UcxWorker::Waited : Completion {
  explicit Waited(std::size_t bytes = 0) : buffer(bytes) {
    done = [](Completion& self, Status status) {
      auto& waited = static_cast<Waited&>(self);
      waited.result = status;
      if (waited.is_abandoned) delete &waited;
    };
  }
  Status result = Status::pending;  // with the worker's lock held
  bool is_abandoned = false;
  std::vector<std::byte> buffer;
  std::uint64_t word = 0;
};

// Posts, and waits. If the result is timed_out, `waited` is no longer the caller's; else it is.
template <typename Post>
Status UcxWorker::await(Waited* waited, Deadline deadline, Post post) {
  if (lock_.is_mine()) return Status::in_handler;
  const Status posted = post();
  if (posted != Status::pending) return posted;
  const Status status = wait([&] { return waited->result != Status::pending; }, deadline);
  const Held held(lock_);
  if (waited->result != Status::pending) return waited->result;
  waited->is_abandoned = true;
  return status;
}

Status UcxWorker::put(Window& to, std::size_t offset, Bytes from, Deadline deadline) {
  if (to.direct() != nullptr) return put(to, offset, from, nullptr);
  auto* waited = new Waited(from.size());
  std::memcpy(waited->buffer.data(), from.data(), from.size());
  const Status status =
      await(waited, deadline, [&] { return put(to, offset, waited->buffer, waited); });
  if (status == Status::timed_out) return status;
  delete waited;
  return status == Status::ok ? flush(to.peer(), deadline) : status;
}

Status UcxWorker::get(Window& from, std::size_t offset, std::span<std::byte> to,
                      Deadline deadline) {
  if (from.direct() != nullptr) return get(from, offset, to, nullptr);
  auto* waited = new Waited(to.size());
  const Status status =
      await(waited, deadline, [&] { return get(from, offset, waited->buffer, waited); });
  if (status == Status::timed_out) return status;
  if (status == Status::ok) std::memcpy(to.data(), waited->buffer.data(), to.size());
  delete waited;
  return status;
}

Status UcxWorker::fetch_add(Window& at, std::size_t offset, std::uint64_t add,
                            std::uint64_t* before, Deadline deadline) {
  if (at.direct() != nullptr) return fetch_add(at, offset, add, before, nullptr);
  auto* waited = new Waited;
  const Status status =
      await(waited, deadline, [&] { return fetch_add(at, offset, add, &waited->word, waited); });
  if (status == Status::timed_out) return status;
  *before = waited->word;
  delete waited;
  return status;
}

Status UcxWorker::compare_swap(Window& at, std::size_t offset, std::uint64_t expected,
                               std::uint64_t desired, std::uint64_t* before, Deadline deadline) {
  if (at.direct() != nullptr) return compare_swap(at, offset, expected, desired, before, nullptr);
  auto* waited = new Waited;
  const Status status = await(waited, deadline, [&] {
    return compare_swap(at, offset, expected, desired, &waited->word, waited);
  });
  if (status == Status::timed_out) return status;
  *before = waited->word;
  delete waited;
  return status;
}

Status UcxWorker::flush(PeerId peer, Deadline deadline) {
  auto* waited = new Waited;
  const Status status = await(waited, deadline, [&] { return flush(peer, waited); });
  if (status != Status::timed_out) delete waited;
  return status;
}

}  // namespace iw::fabric
