// One-sided access. Memory that is mapped here as well is loaded and stored directly, without the
// worker; adapters put and get by themselves; for the rest the memory's process is asked
// (asking.h).
#include <algorithm>
#include <cstring>

#include "fabric/buffered.h"
#include "fabric/memory_key.h"
#include "fabric/packed.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"
#include "fabric/ucx_worker.h"
#include "fabric/words.h"

namespace iw::fabric {
namespace {

const UcxWindow& of_this_room(const Window& window) {
  return static_cast<const UcxWindow&>(window);
}

}  // namespace

UcxWindow::~UcxWindow() {
  const Held held(lock_);
  peer_state->windows--;
  if (rkey != nullptr) ucp_rkey_destroy(rkey);
}

std::unique_ptr<Window> UcxWorker::open(PeerId peer, Bytes key, Status* status) {
  const Held held(lock_);
  Bytes own_key;
  const auto parts = decode(key, &own_key);
  Peer* owner = table_.find(peer);
  *status = owner == nullptr ? table_.why_unknown(peer) : Status::bad_argument;
  if (!parts || owner == nullptr || owner->parts.process.nonce != parts->process_nonce) return {};
  *status = owner->why;
  if (owner->state == PeerState::dead) return {};
  auto window = std::make_unique<UcxWindow>(lock_, owner, *parts);
  if (owner->parts.process == fabric_.name()) window->own_regions = &fabric_.regions();
  *status = reach_without_asking(own_key, window.get());
  if (*status != Status::ok) return {};
  return window;
}

// On this machine by mapping the memory here, by adapters with the transport's key. What cannot be
// mapped here is asked for; whoever is asked knows whether it is gone.
Status UcxWorker::reach_without_asking(Bytes own_key, UcxWindow* window) {
  if (own_key.empty()) return Status::ok;
  const Peer& owner = *window->peer_state;
  if (fabric_.transport() == Transport::verbs) {
    if (!is_packed_key(own_key)) return Status::bad_argument;
    return to_status(ucp_ep_rkey_unpack(owner.endpoint, framed_key(own_key).data(), &window->rkey));
  }
  if (owner.parts.process.host != fabric_.name().host) return Status::ok;
  int id = 0;
  if (own_key.size() != sizeof id) return Status::bad_argument;
  std::memcpy(&id, own_key.data(), sizeof id);
  window->map(SharedSegment::attach(id, window->size()));
  return Status::ok;
}

Status UcxWorker::check(const Window& window, std::size_t offset, std::size_t bytes,
                        bool is_word) const {
  if (offset > window.size() || bytes > window.size() - offset) return Status::bad_argument;
  const auto begin = reinterpret_cast<std::uintptr_t>(window.direct());
  if (is_word && (begin + offset) % sizeof(std::uint64_t) != 0) return Status::bad_argument;
  return reach(window);
}

// What is posted asks this with the lock held: the endpoint goes with the peer.
Status UcxWorker::reach(const Window& window) {
  const Peer& peer = *static_cast<const UcxWindow&>(window).peer_state;
  const PeerState state = peer.state.load(std::memory_order_acquire);
  if (state == PeerState::connected) return Status::ok;
  return state == PeerState::dead ? peer.why : Status::bad_argument;
}

// Operations that the transport would only emulate [UCX-8].
bool UcxWorker::is_reached_by_messages(const Window& window, Operation operation) const {
  return !is_onesided(operation, window);
}

Status UcxWorker::put(Window& to, std::size_t offset, Bytes from, Completion* done) {
  return post_put(to, offset, from, false, done);
}

Status UcxWorker::post_put(const Window& to, std::size_t offset, Bytes from, bool is_told,
                           Completion* done) {
  const Status checked = check(to, offset, from.size(), false);
  if (checked != Status::ok) return checked;
  if (from.empty()) return is_told ? flush(to.peer(), done) : Status::ok;
  if (to.direct() != nullptr) {
    store(to.direct() + offset, from);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(to); reached != Status::ok) return reached;
  const auto& window = of_this_room(to);
  if (is_reached_by_messages(to, Operation::put)) {
    return asker_.put(window, offset, from, is_told, done);
  }
  Op* op = messenger_.take_op(done);
  const auto param = Messenger::param_for(op);
  return messenger_.settle(ucp_put_nbx(window.peer_state->endpoint, from.data(), from.size(),
                                       window.remote_address + offset, window.rkey, &param),
                           op);
}

Status UcxWorker::get(Window& from, std::size_t offset, std::span<std::byte> to, Completion* done) {
  const Status checked = check(from, offset, to.size(), false);
  if (checked != Status::ok || to.empty()) return checked;
  if (from.direct() != nullptr) {
    load(from.direct() + offset, to);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(from); reached != Status::ok) return reached;
  const auto& window = of_this_room(from);
  if (is_reached_by_messages(from, Operation::get)) return asker_.get(window, offset, to, done);
  Op* op = messenger_.take_op(done);
  const auto param = Messenger::param_for(op);
  return messenger_.settle(ucp_get_nbx(window.peer_state->endpoint, to.data(), to.size(),
                                       window.remote_address + offset, window.rkey, &param),
                           op);
}

Status UcxWorker::fetch_add(Window& at, std::size_t offset, std::uint64_t add,
                            std::uint64_t* before, Completion* done) {
  const Status checked = check(at, offset, sizeof add, true);
  if (checked != Status::ok) return checked;
  if (at.direct() != nullptr) {
    *before = word_at(at.direct() + offset).fetch_add(add);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(at); reached != Status::ok) return reached;
  return asker_.fetch_add(of_this_room(at), offset, add, before, done);
}

Status UcxWorker::compare_swap(Window& at, std::size_t offset, std::uint64_t expected,
                               std::uint64_t desired, std::uint64_t* before, Completion* done) {
  const Status checked = check(at, offset, sizeof expected, true);
  if (checked != Status::ok) return checked;
  if (at.direct() != nullptr) {
    *before = expected;
    word_at(at.direct() + offset).compare_exchange_strong(*before, desired);
    return Status::ok;
  }
  const Held held(lock_);
  if (const Status reached = reach(at); reached != Status::ok) return reached;
  return asker_.compare_swap(of_this_room(at), offset, expected, desired, before, done);
}

Status UcxWorker::flush(PeerId peer, Completion* done) {
  const Held held(lock_);
  Status why;
  const Peer* found = table_.find_connected(peer, &why);
  if (found == nullptr) return why;
  if (fabric_.transport() != Transport::verbs) return asker_.flush(peer, done);
  const bool is_asked_for = found->asked.puts != found->asked.puts_settled;
  return is_asked_for ? flush_both_ways(peer, done) : messenger_.flush(found->endpoint, done);
}

// What the adapter puts, then what was asked for: not at once, since the transport may be
// dispatching what waits for this endpoint (see Peers::introduce()).
Status UcxWorker::flush_both_ways(PeerId peer, Completion* done) {
  struct First : Completion {
    UcxWorker* worker;
    PeerId peer;
    Completion* whose;
  };
  auto* first = new First{{}, this, peer, done};
  first->done = [](Completion& self, Status status) {
    const std::unique_ptr<First> its(static_cast<First*>(&self));
    its->worker->lock_.assert_held();
    its->worker->messenger_.after_poll(
        [worker = its->worker, peer = its->peer, whose = its->whose, status] {
          worker->lock_.assert_held();
          worker->flush_what_was_asked(peer, status, whose);
        });
  };
  const Status flushed = messenger_.flush(table_.find(peer)->endpoint, first);
  if (flushed != Status::pending) delete first;
  return flushed == Status::ok ? asker_.flush(peer, done) : flushed;
}

// `status` is the adapter's.
void UcxWorker::flush_what_was_asked(PeerId peer, Status status, Completion* done) {
  Status why;
  if (table_.find_connected(peer, &why) == nullptr) status = Status::peer_dead;
  if (status == Status::ok) status = asker_.flush(peer, done);
  if (status != Status::pending && done != nullptr) done->done(*done, status);
}

bool UcxWorker::is_onesided(Operation operation, const Window& window) const {
  if (operation == Operation::message) return false;
  if (window.direct() != nullptr) return true;
  // An adapter puts and gets by itself; the library has no atomics of its own on soft RoCE.
  const bool is_by_adapter = of_this_room(window).rkey != nullptr;
  return is_by_adapter && (operation == Operation::put || operation == Operation::get);
}

bool UcxWorker::is_onesided(Operation operation, PeerId peer) const {
  const Held held(lock_);
  const Peer* found = table_.find(peer);
  if (found == nullptr || operation == Operation::message) return false;
  const auto transport = fabric_.transport();
  if (transport == Transport::verbs)
    return operation == Operation::put || operation == Operation::get;
  return transport != Transport::tcp && found->parts.process.host == fabric_.name().host;
}

// Posts, and waits. If the result is timed_out, `waited` is no longer the caller's; else it is.
template <typename Post>
Status UcxWorker::await(Buffered* waited, Deadline deadline, Post post) {
  if (lock_.is_mine()) return Status::in_handler;
  const Status posted = post();
  if (posted != Status::pending) return posted;
  const Status status = wait([&] { return waited->is_over(); }, deadline);
  const Held held(lock_);
  if (waited->is_over()) return waited->result;
  if (asker_.forget(waited)) {
    delete waited;
  } else {
    waited->is_abandoned = true;
  }
  return status;
}

Status UcxWorker::put(Window& to, std::size_t offset, Bytes from, Deadline deadline) {
  if (to.direct() != nullptr) return put(to, offset, from, nullptr);
  auto* waited = new Buffered(from);
  const bool is_told = is_reached_by_messages(to, Operation::put);
  const Status status = await(
      waited, deadline, [&] { return post_put(to, offset, waited->buffer, is_told, waited); });
  if (status == Status::timed_out) return status;
  delete waited;
  return status == Status::ok && !is_told ? flush(to.peer(), deadline) : status;
}

// What was only asked for can be forgotten, and needs no buffer of its own.
Status UcxWorker::get(Window& from, std::size_t offset, std::span<std::byte> to,
                      Deadline deadline) {
  if (from.direct() != nullptr) return get(from, offset, to, nullptr);
  const bool is_asked_for = is_reached_by_messages(from, Operation::get);
  auto* waited = new Buffered(is_asked_for ? 0 : to.size());
  const Status status = await(waited, deadline, [&] {
    return get(from, offset, is_asked_for ? to : waited->buffer, waited);
  });
  if (status == Status::timed_out) return status;
  if (status == Status::ok) std::copy(waited->buffer.begin(), waited->buffer.end(), to.begin());
  delete waited;
  return status;
}

Status UcxWorker::fetch_add(Window& at, std::size_t offset, std::uint64_t add,
                            std::uint64_t* before, Deadline deadline) {
  if (at.direct() != nullptr) return fetch_add(at, offset, add, before, nullptr);
  auto* waited = new Buffered;
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
  auto* waited = new Buffered;
  const Status status = await(waited, deadline, [&] {
    return compare_swap(at, offset, expected, desired, &waited->word, waited);
  });
  if (status == Status::timed_out) return status;
  *before = waited->word;
  delete waited;
  return status;
}

Status UcxWorker::flush(PeerId peer, Deadline deadline) {
  auto* waited = new Buffered;
  const Status status = await(waited, deadline, [&] { return flush(peer, waited); });
  if (status != Status::timed_out) delete waited;
  return status;
}

}  // namespace iw::fabric
