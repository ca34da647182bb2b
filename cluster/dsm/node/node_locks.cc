// Locks and barriers of a node, as its threads see them.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "dsm/node/node.h"

namespace iw::dsm {

using fabric::Exclusion;
using fabric::Status;

// A rank that acquires and releases one lock over and over sends and waits for nothing, so that
// only the service would notice that others ask for the lock. It looks at its messages once in so
// many releases: a look costs as much as a release.
constexpr std::uint32_t releases_a_look = 16;

bool Node::is_mine(const LocalLock& local) const {
  return local.is_taken && local.holder == std::this_thread::get_id();
}

// This thread is the one of its rank that asks.
void Node::begin_turn(LockId lock, LocalLock& local, bool is_try) {
  local.is_taken = true;
  local.holder = std::this_thread::get_id();
  local.answer = Answer::none;
  // The listener may be told meanwhile.
  note("L", {lock});
  const Locks::Outcome now = is_try ? locks_.try_acquire(lock) : locks_.acquire(lock);
  if (now == Locks::Outcome::held) local.answer = Answer::granted;
  if (now == Locks::Outcome::busy) local.answer = Answer::refused;
  if (local.answer != Answer::none) return;
  stats_.lock_waits++;
}

void Node::end_turn(LocalLock& local) {
  local.answer = Answer::none;
  local.holder = {};
  if (local.queue.empty()) {
    local.is_taken = false;
    return;
  }
  local.queue.front()->is_turn = true;
  local.queue.pop_front();
  wake();
}

// Some stay, because most locks are taken again soon.
void Node::forget_if_free(LockId lock) {
  constexpr std::size_t kept = 1024;
  const auto found = local_locks_.find(lock);
  if (local_locks_.size() > kept && !found->second.is_taken) local_locks_.erase(found);
}

void Node::acquired(LockId lock) { local_locks_[lock].answer = Answer::granted; }
void Node::not_acquired(LockId lock) { local_locks_[lock].answer = Answer::refused; }

Result Node::wait_for_lock(LockId lock, LocalLock& local, bool is_queued, Ticket* ticket) {
  const Result result = wait([&] {
    if (is_queued) {
      if (!ticket->is_turn) return false;
      is_queued = false;
      begin_turn(lock, local, false);
    }
    return local.answer != Answer::none;
  });
  if (!is_queued && trace_ == nullptr) return result;
  const Exclusion exclusion(*worker_);
  if (!is_queued) {
    note(local.answer == Answer::granted ? "A" : "N", {lock});
    return result;
  }
  std::erase(local.queue, ticket);
  return result;
}

Result Node::lock(LockId lock) {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  Ticket ticket;
  bool is_queued = false;
  LocalLock* local = nullptr;
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    local = &local_locks_[lock];
    if (!has_begun() || is_mine(*local)) return {Status::bad_argument, me_};
    stats_.locks++;
    is_queued = local->is_taken;
    if (is_queued) {
      local->queue.push_back(&ticket);
    } else {
      begin_turn(lock, *local, false);
      if (local->answer == Answer::granted) return {};
    }
  }
  return wait_for_lock(lock, *local, is_queued, &ticket);
}

Result Node::try_lock(LockId lock, bool* got) {
  *got = false;
  if (worker_->in_handler()) return {Status::in_handler, me_};
  LocalLock* local = nullptr;
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    local = &local_locks_[lock];
    if (!has_begun() || is_mine(*local)) return {Status::bad_argument, me_};
    if (local->is_taken) return {};
    stats_.locks++;
    begin_turn(lock, *local, true);
  }
  const Result result = wait_for_lock(lock, *local, false, nullptr);
  const Exclusion exclusion(*worker_);
  *got = local->answer == Answer::granted;
  if (!*got && result.is_ok()) {
    end_turn(*local);
    forget_if_free(lock);
  }
  return result;
}

bool Node::has_lock(LockId lock) {
  const Exclusion exclusion(*worker_);
  const auto found = local_locks_.find(lock);
  return found != local_locks_.end() && is_mine(found->second) &&
         found->second.answer == Answer::granted;
}

Result Node::unlock(LockId lock) {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  bool is_full = false;
  bool looks = false;
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    const auto found = local_locks_.find(lock);
    const bool is_held = found != local_locks_.end() && is_mine(found->second) &&
                         found->second.answer == Answer::granted;
    if (!is_held || !locks_.release(lock)) return {Status::bad_argument, me_};
    note("R", {lock});
    end_turn(found->second);
    forget_if_free(lock);
    collect_if_grown();
    is_full = mail_.is_full();
    looks = ++releases_ % releases_a_look == 0;
  }
  if (looks) worker_->progress();
  return is_full ? wait_for_room() : Result{};
}

Result Node::barrier(BarrierId barrier) {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  std::uint64_t before = 0;
  bool is_full = false;
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    if (!has_begun() || is_at_barrier_) return {Status::bad_argument, me_};
    is_at_barrier_ = true;
    stats_.barriers++;
    before = barriers_passed_;
    come(Where::barrier);
    barriers_.arrive(barrier);
    note("B", {barrier});
    is_full = mail_.is_full();
  }
  const Result result = wait([&] { return barriers_passed_ > before; });
  note_clock();
  return result.is_ok() && is_full ? wait_for_room() : result;
}

// [DSM-BARRIER-4] Arrivals and, at rank 0, what a rank gives to a collective tell it already.
void Node::come(Where where) {
  const Whereabouts here{where, barriers_passed_, collectives_};
  mail_.be_at(here);
  attendance_.come(here);
  if (me_ == 0 || where == Where::barrier) return;
  const Rank parent = tree_.parent(me_);
  if (where == Where::end || parent != 0) mail_.tell_whereabouts(parent);
}

std::uint64_t Node::come_to_collective() {
  collectives_++;
  come(Where::collective);
  return barriers_passed_;
}

void Node::contradict(const Attendant& one, const Attendant& other) {
  if (failure_) return;
  static constexpr const char* places[] = {"at a barrier", "in a collective", "in dsm_finish"};
  std::fprintf(stderr,
               "interweave: rank %u is %s, and rank %u is %s. All ranks must come to the same "
               "barriers and collectives in the same order.\n",
               one.rank, places[static_cast<std::size_t>(one.where)], other.rank,
               places[static_cast<std::size_t>(other.where)]);
  // The rank that is further on is named: at the end, or in a collective.
  fail({Status::bad_argument, one.where > other.where ? one.rank : other.rank});
}

void Node::passed(const VectorTime& common) {
  is_at_barrier_ = false;
  barriers_passed_++;
  log_bytes_before_ = pages_.log().bytes();
  locks_.passed_barrier(common);
}

void Node::mismatch(Rank rank, BarrierId there, BarrierId here) {
  std::fprintf(stderr,
               "interweave: rank %u is at barrier %llu, and others are at barrier %llu. All ranks "
               "must come to the same barriers in the same order.\n",
               rank, static_cast<unsigned long long>(there), static_cast<unsigned long long>(here));
  fail({Status::bad_argument, rank});
}

void Node::arrived_twice(Rank rank, BarrierId) { fail({Status::failed, rank}); }

}  // namespace iw::dsm
