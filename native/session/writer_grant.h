// The writer lock as this process holds it: fence, lease and renewals [LOCK-2..5]. Only the server
// decides whether the lock is still held. This object says when to renew, and knows what was lost.
// Guarded by the segment's mutex; time is an argument.
#pragma once

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
    fence_ = grant.fence;
    lease_ns_ = grant.lease_ms * ns_per_ms;
    hold_ends_ns_ = now_ns + grant.max_hold_ms * ns_per_ms;
    counted_from_ns_ = sent_ns;
  }
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
    if (!held_ || fence != fence_) return;
    lost_ = true;
    owed_ = false;
  }
  // The lock was released, or ABORT_WRITER is about to be sent.
  void settled() { owed_ = false; }
  // The connection is gone, and with it the answer to a renewal.
  void connection_lost() { renewing_fence_ = 0; }
  void given_back() { held_ = owed_ = false; }

  [[nodiscard]] bool is_held() const { return held_; }
  [[nodiscard]] bool is_lost() const { return lost_; }
  // The server may keep the lock for us, and was not told that we give it back.
  [[nodiscard]] bool is_owed() const { return owed_; }
  [[nodiscard]] std::uint64_t fence() const { return fence_; }
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
  }

 private:
  static constexpr std::int64_t ns_per_ms = 1'000'000;

  bool held_ = false;
  bool lost_ = false;
  bool owed_ = false;
  std::uint64_t fence_ = 0;
  std::uint64_t renewing_fence_ = 0;  // of the renewal that is unanswered; 0: none
  std::int64_t lease_ns_ = 0;
  std::int64_t counted_from_ns_ = 0;
  std::int64_t hold_ends_ns_ = 0;
};

}  // namespace iw::session
