// The writer lock as this process holds it: fence, lease and renewals [LOCK-2..5]; and its grant
// between writer sections, if the server leaves it here [LOCK-13..15]. Only the server decides
// whether the lock is still held. This object says when to renew, and knows what was lost. Guarded
// by the segment's mutex; time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "protocol/lock.gen.h"

namespace iw::session {

class WriterGrant {
 public:
  static constexpr std::int64_t never_due_ns = std::numeric_limits<std::int64_t>::max();

  // `sent_ns`: when the request was sent, from which the client counts.
  void granted(const protocol::writer_acquired& grant, std::int64_t sent_ns, std::int64_t now_ns) {
    held_ = true;
    lost_ = false;
    owed_ = true;
    stays_ = false;
    is_first_ = true;
    fence_ = grant.fence;
    lease_ns_ = grant.lease_ms * ns_per_ms;
    longest_hold_ns_ = grant.max_hold_ms * ns_per_ms;
    hold_ends_ns_ = now_ns + longest_hold_ns_;
    counted_from_ns_ = used_ns_ = sent_ns;
  }
  // WRITER_KEPT, for a release that was sent at that time: lease and hold time begin anew.
  void stays(std::int64_t sent_ns, std::int64_t now_ns) {
    stays_ = true;
    hold_ends_ns_ = now_ns + longest_hold_ns_;
    counted_from_ns_ = sent_ns;
  }
  // The server did not say that, or wants the lock back: it is given back at the section's end.
  void stays_not() { stays_ = false; }
  // Another section begins. REQUIRES: is_kept().
  void resume(std::int64_t now_ns) {
    held_ = true;
    is_first_ = false;
    used_ns_ = now_ns;
  }
  // The kept grant is given up. REQUIRES: is_kept().
  void give_up() { stays_ = owed_ = false; }
  // One renewal at a time, also if the lock is given back and granted anew before its answer.
  void renewal_sent() { renewing_fence_ = fence_; }
  void renewal_unsent() { renewing_fence_ = 0; }
  void renewed(std::uint32_t lease_ms, std::int64_t sent_ns) {
    const std::uint64_t fence = std::exchange(renewing_fence_, 0);
    if (fence == 0 || fence != fence_) return;  // of an earlier grant
    lease_ns_ = lease_ms * ns_per_ms;
    counted_from_ns_ = sent_ns;
  }
  // The server may keep the lock until the end of its lease.
  void renewal_refused() {
    if (held_ && std::exchange(renewing_fence_, 0) == fence_) lost_ = true;
    renewing_fence_ = 0;
  }
  // The server took the lock away.
  void lost(std::uint64_t fence) {
    if (fence != fence_) return;
    if (is_kept()) return give_up();
    if (!held_) return;
    lost_ = true;
    owed_ = stays_ = false;
  }
  // The lock was released, or ABORT_WRITER is about to be sent.
  void settled() { owed_ = stays_ = false; }
  // The connection is gone, and with it the answer to a renewal. REQUIRES: not is_kept().
  void connection_lost() {
    renewing_fence_ = 0;
    stays_ = false;
  }
  void given_back() { held_ = owed_ = stays_ = false; }
  // The section ends, and the grant is kept. REQUIRES: may_stay().
  void rest() { held_ = false; }

  [[nodiscard]] bool is_held() const { return held_; }
  [[nodiscard]] bool is_lost() const { return lost_; }
  // The server may keep the lock for us, and was not told that we give it back.
  [[nodiscard]] bool is_owed() const { return owed_; }
  [[nodiscard]] std::uint64_t fence() const { return fence_; }
  // The section under way may end without a word to the server.
  [[nodiscard]] bool may_stay() const { return held_ && owed_ && stays_ && !lost_; }
  // The grant is here, and no section is under way.
  [[nodiscard]] bool is_kept() const { return !held_ && stays_; }
  // Whether another section may begin: nothing renews a kept grant.
  [[nodiscard]] bool may_resume(std::int64_t now_ns) const {
    return is_kept() && now_ns < std::min(counted_from_ns_ + lease_ns_ / 3, hold_ends_ns_);
  }
  // The lease is not over, as the client counts it.
  [[nodiscard]] bool is_leased(std::int64_t now_ns) const {
    return now_ns < std::min(counted_from_ns_ + lease_ns_, hold_ends_ns_);
  }
  // The time at which a kept grant has been unused for so long that it is given back.
  [[nodiscard]] std::int64_t idle_due_ns() const {
    return is_kept() ? used_ns_ + longest_idle_ns : never_due_ns;
  }
  [[nodiscard]] bool is_idle(std::int64_t now_ns) const { return now_ns >= idle_due_ns(); }
  // It is the first section of the grant, which brings its serials.
  [[nodiscard]] bool is_first() const { return is_first_; }
  // A third of the lease after it was last counted from; never after the longest hold [LOCK-3].
  [[nodiscard]] std::int64_t renewal_due_ns() const {
    if (!held_ || lost_ || renewing_fence_ != 0) return never_due_ns;
    const std::int64_t due_ns = counted_from_ns_ + lease_ns_ / 3;
    return due_ns < hold_ends_ns_ ? due_ns : never_due_ns;
  }

  // Calls `see` with every field, for simulations.
  template <typename See>
  void describe(See&& see) const {
    see(held_, lost_, owed_, renewing_fence_, fence_, lease_ns_, counted_from_ns_, hold_ends_ns_);
    see(stays_, is_first_, used_ns_);
  }

 private:
  static constexpr std::int64_t ns_per_ms = 1'000'000;
  static constexpr std::int64_t longest_idle_ns = 1'000 * ns_per_ms;

  bool held_ = false;
  bool lost_ = false;
  bool owed_ = false;
  bool stays_ = false;    // the server left the grant here, and has not asked for it since
  bool is_first_ = true;  // section of the grant
  std::uint64_t fence_ = 0;
  std::uint64_t renewing_fence_ = 0;  // of the renewal that is unanswered; 0: none
  std::int64_t lease_ns_ = 0;
  std::int64_t counted_from_ns_ = 0;
  std::int64_t longest_hold_ns_ = 0;
  std::int64_t hold_ends_ns_ = 0;
  std::int64_t used_ns_ = 0;  // a section last began
};

}  // namespace iw::session
