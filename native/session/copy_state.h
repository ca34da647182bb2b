// What a client knows about its copy of one segment: the copy's version, the newest version, the
// times of both, and the diffs that have arrived and wait to be applied.
//
// Diffs come in version order (answers and pushes of one connection, FRAME-5) and wait in one
// queue. Each begins at the version at which the previous one ends, or is a complete copy. Guarded
// by the segment's mutex; time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "coherence/adaptation.h"
#include "coherence/freshness.h"
#include "protocol/notify.gen.h"
#include "session/byte_buffer.h"

namespace iw::session {

using protocol::version_stamp;

struct StagedDiff {
  version_stamp from;
  version_stamp now;
  ByteBuffer bytes;
  bool was_pushed = false;                      // its bytes are to be credited back [NOT-4]
  std::int64_t as_of_ns = coherence::never_ns;  // `now` was the newest at this moment
};

class CopyState {
 public:
  CopyState() = default;
  CopyState(CopyState&&) = default;
  CopyState& operator=(CopyState&&) = default;
  // With the diffs that wait. For simulations, which continue from one state in several ways.
  explicit CopyState(const CopyState& other);

  // ---- what is known ----
  [[nodiscard]] coherence::Knowledge knowledge(std::int64_t heard_ns,
                                               std::int64_t heartbeat_ns) const;
  [[nodiscard]] bool has_copy() const { return known_.has_copy; }
  [[nodiscard]] const version_stamp& have() const { return known_.copy; }
  [[nodiscard]] const version_stamp& newest() const { return known_.newest; }
  // The version that the program saw last, also if the copy is of no version any more.
  [[nodiscard]] const version_stamp& had() const { return had_; }
  // The version of the copy after its waiting diffs. Requests give this version as theirs.
  [[nodiscard]] version_stamp reach() const;
  // reach() after the diff that is coming. A question gives this version: its answer comes later.
  [[nodiscard]] version_stamp will_reach() const;
  // What a question says that the client has, and how many diffs the client had lost by then.
  struct Asked {
    version_stamp have;
    std::uint64_t lost = 0;
  };
  [[nodiscard]] Asked asked() const { return {will_reach(), lost_}; }
  // A diff that came after that question was lost, though the server counts the client as having
  // it.
  [[nodiscard]] bool has_lost_since(const Asked& asked) const { return lost_ != asked.lost; }
  // The client comes to that version, or to a later one of its incarnation.
  [[nodiscard]] bool reaches(const version_stamp& version) const;
  // The version at which an answer's diff begins. The diff gives only the number; the server made
  // it from the version that the request named, with its chain.
  [[nodiscard]] version_stamp base_of_update(std::uint64_t number, std::uint64_t incarnation) const;
  // The knowledge as it will be once the waiting diffs are applied.
  [[nodiscard]] coherence::Knowledge with_staged(coherence::Knowledge known) const;
  // The bound that the server watches; empty if it watches none.
  [[nodiscard]] const std::optional<coherence::Bound>& subscription() const {
    return subscription_;
  }

  // ---- what the server says ----
  void newest_is(const version_stamp& newest, std::int64_t as_of_ns);
  // The segment was opened at a server, which may have gone back from what was heard before, though
  // not from the copy. Drops diffs that lead to a version that the server has lost [COH-11].
  void opened_at(const version_stamp& newest, std::int64_t as_of_ns);
  // An answer without a diff: the version that the client can reach is recent enough.
  void up_to_date(const version_stamp& newest, std::int64_t as_of_ns);
  // An answer or a push with a diff. False: the diff continues no version that is here, and was
  // dropped. If the call throws std::bad_alloc, the diff counts as not arrived, but the newest
  // version is noted.
  bool stage(StagedDiff diff);
  // The first frame of a message has come whose diff the server counts the client as having
  // [NOT-6]. An answer does not say yet at which version its diff begins.
  struct Coming {
    std::uint32_t stream = 0;
    std::optional<version_stamp> from;
    version_stamp now;
  };
  void begins(const Coming& coming) { coming_ = coming; }
  // The message on that stream is complete.
  void ends(std::uint32_t stream) {
    if (coming_ && coming_->stream == stream) coming_.reset();
  }
  // SUBSCRIBED: `newest` is what it says.
  void subscribed(const coherence::Bound& promise, const version_stamp& newest,
                  std::int64_t as_of_ns);
  // SUBSCRIBE with reach(), or UNSUBSCRIBE, is about to be sent.
  void unsubscribed() {
    subscription_.reset();
    is_overrated_ = false;
  }
  // NOT_RECENT: the server promises nothing more until the client has the newest version [NOT-1].
  void not_recent(const version_stamp& newest) {
    is_told_ = true;
    newest_is(newest, as_of_notified(newest));
  }
  // The moment as of which a notification confirms its version [FRESH-2].
  [[nodiscard]] std::int64_t as_of_notified(const version_stamp& newest) const;
  // The connection is lost, and with it the server's promise. Pushed bytes need no credit any more.
  void connection_lost();

  // ---- what the client does ----
  // Takes the next diff to apply, and drops diffs that lead nowhere. Empty: none waits.
  std::optional<StagedDiff> take_staged();
  [[nodiscard]] bool has_staged() const { return !staged_.empty(); }
  void applied(const StagedDiff& diff);
  // A diff that was taken could not be applied.
  void dropped(const StagedDiff& diff) { give_credit(diff); }
  // Drops all waiting diffs, because one could not be applied. The next request asks anew. The
  // server's silence means nothing until then [FRESH-3].
  void drop_staged();
  // The copy is not of any version any more: the next diff must be a complete one.
  void forget();
  // Returns to the initial state. Needs no memory.
  void clear();
  // A release of our own was committed.
  void released(const version_stamp& version, std::int64_t as_of_ns);
  // Takes the number of bytes of pushed diffs that were given up since the last call [NOT-4].
  // Returns 0 while there are fewer than `least_bytes`.
  std::uint64_t take_credit(std::uint64_t least_bytes);
  // Gives back a credit that could not be sent to the server.
  void keep_credit(std::uint64_t bytes);

  coherence::Adaptation adaptation;

  // Calls `see` with every field that makes a difference. For simulations, which know states again.
  template <typename See>
  void describe(See&& see) const {
    adaptation.describe(see);
    see(known_.has_copy, known_.copy, known_.newest, known_.newest_as_of_ns, known_.confirmed_ns);
    see(had_);
    see(subscription_.has_value(), is_told_, is_overrated_, is_unsure_, reach_as_of_ns_,
        credit_bytes_);
    if (subscription_) see(subscription_->model, subscription_->x);
    if (coming_) see(coming_->stream, coming_->from.value_or(version_stamp{}), coming_->now);
    for (const StagedDiff& diff : staged_) {
      see(diff.from, diff.now, diff.bytes.size_bytes(), diff.was_pushed, diff.as_of_ns);
    }
  }

 private:
  void give_credit(const StagedDiff& diff);
  void clear_staged();
  void lose_diffs();
  [[nodiscard]] bool is_promised() const;
  void reached_newest();

  coherence::Knowledge known_;  // but for what the subscription says
  version_stamp had_;
  std::optional<coherence::Bound> subscription_;
  // While one of these is true, the server's silence does not mean that reach() is recent enough.
  bool is_told_ = false;       // it has nothing more to say for now
  bool is_overrated_ = false;  // it counts the client as having more than reach()
  bool is_unsure_ = false;     // its first notification may be on its way [NOT-5]
  // So it is while a diff is coming. There is one at a time [FRAME-5].
  std::optional<Coming> coming_;
  std::deque<StagedDiff> staged_;
  std::int64_t reach_as_of_ns_ = coherence::never_ns;  // reach() was the newest at this moment
  std::uint64_t credit_bytes_ = 0;
  // So often a diff was lost. Only differences count, so describe() does not see it.
  std::uint64_t lost_ = 0;
};

}  // namespace iw::session
