// The whole conversation of this process with the server about one segment.
//
// Pure: messages, ticks and the program's wishes go in; messages and other effects come out, into a
// buffer that the caller owns (effects.h). Time is an argument. The driver guards the object by a
// mutex, carries effects out without it, and answers each message with said(). Some questions have
// a thread that waits for the answer (OPEN_SEGMENT, ACQUIRE_READER, ACQUIRE_WRITER, RELEASE_WRITER,
// RESOLVE_RELEASE): the driver sends those itself. It gives every answer to heard() first, in the
// order of arrival, then to the thread. "Given up" means that no thread waits for the answer.
//
// THE TABLE. Opening and closing have their table in opening.h, a release in release.h, and the
// threads of the process in client/thread_lock.h. `-> x` is a state, CAPITALS are messages.
//
//  Writer lock: free, held, taken (the server took it away), kept (the server leaves its grant here
//  while no thread wants it). A lock is owed while the server may keep it for us. It stays from
//  WRITER_KEPT on. There may also be a late fence: an owed lock that no thread uses.
//    a thread wants it        kept          a third of the lease is not over: -> held
//                                           it is: -> free, late fence; as below
//                             late fence    while it is open: ABORT_WRITER of it, ACQUIRE_WRITER
//                             none          ACQUIRE_WRITER
//    WRITER_ACQUIRED          awaited       -> held, owed; a late fence has ended and is forgotten
//                             given up      -> late fence, the larger of two; wake
//    WOULD_DEADLOCK           late fence    as wanted anew: the grant has crossed the request
//                             none          the thread is told
//    the library's thread     late fence    ABORT_WRITER of it, if it is open and the slot is free
//    tick                     held, due     RENEW_WRITER; not again before its answer
//                             kept, unused  for a second: -> free, late fence; wake
//    RENEW_WRITER not sent    no memory     the next tick sends it
//    WRITER_RENEWED           its fence     the lease counts from the sending of RENEW_WRITER
//                             earlier       nothing: that lock has ended
//      or an error instead    its fence     -> taken; owed: the server may keep it for the lease
//                             earlier       nothing
//    WRITER_LOST              its fence     held -> taken, kept -> free; not owed
//    RECALL_WRITER            its fence     held: it stays not. kept -> free, late fence; wake
//    the segment is lost      held, kept    -> taken, free; not owed: CLOSE_SEGMENT ends it;
//      or removed                           without a connection, its lease does
//    a new session,           held, kept    -> taken, free; not owed; a late fence is forgotten
//      or the segment moved
//    WRITER_RELEASED          held          not owed; so after RESOLVE_RELEASE said: committed
//    WRITER_KEPT              held          it stays; the lease counts from sending RELEASE_WRITER
//      of another connection  held          it is owed, and stays not
//      or an error instead    held          it stays not
//    the thread aborts        owed          if it stays: nothing. Else: not owed; ABORT_WRITER
//    nothing was changed      held          if it stays and the lease is not over: nothing is sent
//    the thread is done       held, taken   -> free; wake if there is a late fence
//                             it stays      -> kept
//                             and owed      -> late fence: the server was not reached, or refused
//    ABORT_WRITER not sent    no memory     -> late fence: the next owner or a tick sends it
//                             connection    -> late fence when its loss is told
//      answered               DONE, error   the lock is forgotten
//      not answered           connection    -> late fence: it may be lost
//
//  Strict lock: none, used (by readers), unused. It is asked for once a thread begins to, also in
//  later openings: at most that costs a RELEASE_READER too many.
//    READER_ACQUIRED          given up      if it is asked for -> unused; wake
//    the last reader leaves   used          -> unused; wake
//    the reader gives up      any           -> unused; wake
//    the library's thread,    unused        -> none; RELEASE_READER if no strict reader is inside;
//      a reader that leaves                 both wait for the thread that asks
//    RELEASE_READER not sent  none          -> unused
//    the connection is lost   asked for     -> unused: an answer or RELEASE_READER may be lost
//    a new session,           any           -> none
//      or the segment moved
//
//  Watch (subscription): none, changing, watched. While the server may watch, it is to be told when
//  nobody wants that any more.
//    it is wanted             none, other   -> changing; SUBSCRIBE
//    it is not wanted         may watch     -> changing; UNSUBSCRIBE
//    SUBSCRIBED               changing      -> watched; wake if it is wanted otherwise by now
//      or an error instead    changing      -> none; the server watches as before, or not at all
//    SUBSCRIBE not sent       changing      -> none; the server may watch
//    UNSUBSCRIBE sent         changing      -> none; wake if it is wanted again by now
//      not sent               changing      -> none; the server may watch: a tick repeats it
//    a diff                   any           it is staged (copy_state.h)
//      its first frame        any           nothing is promised until it is complete [NOT-6]
//    PUSH, NOT_RECENT         listens       a change is due, perhaps later (Temporal); wake
//    pushed diffs were used   1 MiB         CREDIT; if there is no memory, with the next one
//
//  What may come between a message and its answer:
//    the connection is lost   changing, watched -> none; a renewal is forgotten, and credit, too;
//                             a lock that is held stays not; kept -> free, late fence
//    the segment moved        as if the connection were lost, for this segment alone; no lock
//                             outlives its server [SPACE-16]. SEGMENT_MOVED says so, or REDIRECTED
//                             as the answer to any request but OPEN_SEGMENT [SPACE-23]
//    an answer of another connection    changes neither watch nor lease, ends no ABORT_WRITER, and
//                             earns no credit; a grant and a diff count
//    the segment is closed    wishes, copy and watch as at the beginning; kept -> free, because
//                             CLOSE_SEGMENT ends the locks. It waits for said() of each message.
//                             The next opening forgets the locks if it is on the connection that
//                             took CLOSE_SEGMENT, or in another session. Runtime::done_with may end
//                             this object before: then the next opening knows of no lock, and one
//                             of a lost connection ends with its lease
//    the segment is lost      CLOSE_SEGMENT as above, which ends the locks and the watch. It is
//                             lost for good, so that no message follows
//    SEGMENT_GONE, or REMOVED as lost; the thread that reads may not send, so that a tick sends
//      as an answer           CLOSE_SEGMENT
//    SUBSCRIBED after that    nothing
//    the thread gives up      the answer counts as given up
//    a callback calls back    like any thread: each call here ends before its effects begin
//    fork                     the child's calls end (FORKED) before they come here
//
// conversation_orders_test.cc tries the orders, conversation_test.cc single rows, and
// many_clients_test.cc hosts many conversations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "coherence/freshness.h"
#include "protocol/field.gen.h"
#include "protocol/lock.gen.h"
#include "protocol/segment.gen.h"
#include "session/connection.h"
#include "session/copy_state.h"
#include "session/effects.h"
#include "session/opening.h"
#include "session/release.h"
#include "session/subscription.h"
#include "session/writer_grant.h"

namespace iw::session {

using protocol::error_code;

class Conversation {
 public:
  static constexpr std::int64_t never_due_ns = std::numeric_limits<std::int64_t>::max();

  // Now, and what is known of the connection on which the segment is open.
  struct Moment {
    std::int64_t now_ns = 0;
    std::int64_t heard_ns = coherence::never_ns;
    std::int64_t heartbeat_ns = 0;
  };
  struct Wants {
    coherence::Bound bound;
    bool decides_itself = false;  // a function of the program's says what is recent enough
    bool listens = false;         // for changes
  };
  struct Brought {
    // For statistics:
    bool has_diff = false;
    bool is_complete = false;  // an answer's diff from nothing
    std::uint64_t diff_bytes = 0;
    // The segment moved, and the server that had it says where to.
    std::optional<protocol::redirect_field> moved_to{};
  };
  // The version at which a diff begins, from its head; false: it is not a diff.
  using Beginning = bool (*)(std::span<const std::byte> diff, std::uint64_t& from);

  // `least_credit_bytes`: pushed bytes are credited back when so many have been used, because one
  // message then serves many diffs.
  explicit Conversation(Beginning beginning, std::uint64_t least_credit_bytes = 1 << 20)
      : beginning_(beginning), least_credit_bytes_(least_credit_bytes) {}
  Conversation(Conversation&&) = default;
  Conversation& operator=(Conversation&&) = default;
  // For simulations, which continue from one state in several ways.
  explicit Conversation(const Conversation&) = default;
  // Calls `see` with every field that makes a difference. For simulations, which know states again.
  template <typename See>
  void describe(See&& see) const;

  // ---- opening and closing (opening.h) ----
  [[nodiscard]] Opening& life() { return life_; }
  [[nodiscard]] const Opening& life() const { return life_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }  // on life().connection()
  // The program saw something that a server could lack, also if the copy is to be fetched anew.
  [[nodiscard]] bool has_content() const { return state_.had().number > 0; }

  enum class Opened : std::uint8_t { open, refused, gone, older, lost };
  struct OpenAnswer {
    ConnectionNumber on = 0;
    error_code code = error_code::OK;
    protocol::segment_opened opened;
    std::int64_t sent_ns = 0;
    protocol::session_id session{};  // of the connection
  };
  // By the thread that sent OPEN_SEGMENT. Gone, older: the copy is lost by this answer [LOST-1].
  // Lost: another thread found it lost meanwhile.
  Opened opened(const OpenAnswer& answer, std::int64_t now_ns, Effects& effects);
  // Granted, and nobody wants it any more: close() is called by a tick.
  void opened_in_vain(ConnectionNumber on, std::uint32_t number, Effects& effects);
  // It is lost. CLOSE_SEGMENT where the server has it open, as by close().
  void vanish(std::int64_t now_ns, Effects& effects);
  // CLOSE_SEGMENT as long as life() must tell; then it is shut. By the thread that closes it.
  void close(Effects& effects);
  // A tick has to call close().
  [[nodiscard]] bool must_close() const { return must_close_; }
  void connection_lost(ConnectionNumber gone, Effects& effects);
  // It is lost because it was removed [GONE-1].
  [[nodiscard]] bool is_removed() const { return is_removed_; }
  // The copy is new, or was given up. Takes no memory.
  void clear();

  // ---- the program's wishes ----
  [[nodiscard]] const Wants& wants() const { return wants_; }
  void set_bound(const coherence::Bound& bound, bool decides_itself, const Moment& moment,
                 Effects& effects);
  void listen(bool listens);

  // ---- what comes by itself ----
  // A message about the segment, with its diff moved out. Effects are wake and look_again only,
  // because the thread that reads may not send. Throws std::bad_alloc: the message is lost.
  Brought heard(Incoming& incoming, bool is_late, const Moment& moment, Effects& effects);
  // The first frame of a message about the segment. heard() is called when the rest is here.
  void begins(const Incoming& incoming);
  // Renewals, subscriptions, and a kept grant that nobody uses.
  void tick(const Moment& moment, Effects& effects);
  // The time at which a tick next has something to do if nothing happens before it.
  [[nodiscard]] std::int64_t due_ns() const {
    return std::min(grant_.renewal_due_ns(), grant_.idle_due_ns());
  }
  // Ticks have nothing to do until a message comes or the program calls. If it is not at rest, a
  // later tick may try something again.
  [[nodiscard]] bool is_at_rest() const;
  // There is a subscription to ask for, or to end, and a tick could not say so.
  [[nodiscard]] bool has_unsaid() const {
    return wants_.listens ? lacks_subscription() : is_subscription_unwanted();
  }

  // No_memory: the message is sent another time.
  enum class Said : std::uint8_t { sent, no_memory, no_connection };
  [[nodiscard]] static Said said_by(error_code sending);
  // What came of sending a message.
  void said(const Effect& effect, Said outcome, Effects& effects);

  // ---- readers ----
  [[nodiscard]] coherence::Knowledge knowledge(const Moment& moment) const {
    return state_.knowledge(moment.heard_ns, moment.heartbeat_ns);
  }
  [[nodiscard]] protocol::acquire_reader question(const coherence::Bound& bound, bool fresh,
                                                  std::uint32_t deadline_ms) const;
  // After the answer to that question: its diff fits nothing, because another thread's answer came
  // between. Or the copy does not come to the version that was named, because another thread could
  // not apply a diff. Or a diff was lost on which the answer counts [FRESH-2].
  [[nodiscard]] bool must_ask_again(const protocol::reader_acquired& answer,
                                    const CopyState::Asked& asked) const;
  // A subscription is asked for if there should be one.
  void watch(Effects& effects);
  // A reader went in.
  void entered(const Moment& moment, Effects& effects);
  void asks_strict() { asked_strict_ = true; }
  void strict_unused(Effects& effects);
  [[nodiscard]] bool has_unused_strict() const { return has_unused_strict_; }
  // By a thread with the role strict_returner.
  void return_strict(bool has_strict_readers, Effects& effects);
  // Pushed diffs were used [NOT-4].
  void give_credit(Effects& effects);
  [[nodiscard]] CopyState& state() { return state_; }
  [[nodiscard]] const CopyState& state() const { return state_; }

  // ---- the writer ----
  [[nodiscard]] const WriterGrant& grant() const { return grant_; }
  [[nodiscard]] const protocol::writer_acquired& granted() const { return granted_; }
  // By the owner of the writer slot: the kept grant serves another section, without a message.
  // False: the lock is to be asked for.
  bool resume_kept(std::int64_t now_ns);
  // The section under way changed nothing, and the server need not hear of that [LOCK-14].
  [[nodiscard]] bool may_end_unsaid(std::int64_t now_ns) const {
    return grant_.may_stay() && grant_.is_leased(now_ns);
  }
  // A late grant that can be given back now.
  [[nodiscard]] bool has_late_grant() const { return late_fence_ != 0 && life_.is_open(); }
  // By the owner of the writer slot, or by a thread with the role returner.
  void return_late(Effects& effects);
  [[nodiscard]] protocol::acquire_writer writer_question(std::uint32_t deadline_ms) const;
  [[nodiscard]] bool must_ask_again(error_code answer) const {
    return answer == error_code::WOULD_DEADLOCK && late_fence_ != 0;
  }
  // Whether the copy is the version that was granted [COH-9].
  [[nodiscard]] bool is_on_newest(std::int64_t now_ns);
  void begin_writing();
  // The lock is given back unused, or with its changes undone.
  void abort(Effects& effects);
  void end_writing(Effects& effects);
  // A further range of serials is to be asked for, twice as large as the last [LOCK-6].
  void want_serials();
  [[nodiscard]] protocol::more_serials serials_question() const;

  [[nodiscard]] Release& release() { return release_; }
  [[nodiscard]] const Release& release() const { return release_; }
  [[nodiscard]] protocol::release_writer release_message(std::uint64_t diff_bytes) const;
  [[nodiscard]] protocol::resolve_release resolve_question() const;
  // RESOLVE_RELEASE was answered: committed.
  void resolved(const protocol::version_stamp& version, std::int64_t sent_ns) {
    state_.released(version, as_of_release_ns(sent_ns));
    grant_.settled();
  }

  // ---- the program's callback for changes ----
  [[nodiscard]] std::int64_t change_due_ns() const { return change_due_ns_; }
  // It is called now, for the version that is returned.
  std::uint64_t take_change();

 private:
  void heard_answer(Incoming& incoming, bool is_late, const Moment& moment, Effects& effects,
                    Brought& brought);
  void heard_grant(Incoming& incoming, bool is_late, const Moment& moment, Effects& effects,
                   Brought& brought);
  void heard_release(const Incoming& incoming, const Moment& moment);
  [[nodiscard]] std::int64_t as_of_release_ns(std::int64_t sent_ns) const {
    return std::min(sent_ns, release_.since_ns());
  }
  void heard_renewal(const Incoming& incoming);
  void heard_recall(const Incoming& incoming, Effects& effects);
  void heard_subscribed(const Incoming& incoming, Effects& effects);
  void heard_notification(Incoming& incoming, const Moment& moment, Effects& effects,
                          Brought& brought);
  void heard_push(Incoming& incoming, const Moment& moment, Effects& effects, Brought& brought);
  void stage_answer(Incoming& incoming, const version_stamp& now, bool updated, Brought& brought);
  void removed(const Incoming& incoming, const Moment& moment, Effects& effects);
  // It came on the connection on which the segment is open.
  [[nodiscard]] bool is_from_here(const Incoming& incoming) const {
    return incoming.connection == life_.connection();
  }
  void heard_move(const Incoming& incoming, Effects& effects, Brought& brought);
  void moved(Effects& effects);
  void lose(std::int64_t now_ns, Effects& effects);
  void lose_lock();
  void give_up_kept();
  void give_back(std::uint64_t fence, Effects& effects);
  void watch_said(const Effect& effect, Said outcome, Effects& effects);
  void abort_said(const Effect& effect, Said outcome);
  void abort_ended();
  void locks_ended();
  void forget_connection();
  void note_change(const Moment& moment, Effects& effects);
  [[nodiscard]] Effect message(Effect::Kind kind, std::uint64_t value = 0) const;
  void send(const Effect& effect, Effects& effects);
  void close_said(const Effect& effect, Said outcome, Effects& effects);
  [[nodiscard]] Watch wanted_watch() const;
  [[nodiscard]] bool lacks_subscription() const;
  [[nodiscard]] bool is_subscription_unwanted() const;
  void follow_bound(Effects& effects);
  void subscribe(Effects& effects);
  void unwatch(Effects& effects);

  Beginning beginning_;
  std::uint64_t least_credit_bytes_;
  Opening life_;
  std::uint32_t number_ = 0;
  protocol::session_id session_{};  // in which it was last open: the session of its locks
  bool must_close_ = false;
  ConnectionNumber closed_on_ = 0;  // CLOSE_SEGMENT was last sent there
  bool is_removed_ = false;
  std::uint32_t unsaid_ = 0;  // messages that were taken to be sent, and that said() has not ended

  CopyState state_;
  Wants wants_;
  Subscription subscription_;
  std::int64_t change_due_ns_ = never_due_ns;
  version_stamp called_for_;  // the newest version that the program was called for

  WriterGrant grant_;
  protocol::writer_acquired granted_;
  std::uint64_t late_fence_ = 0;      // of a grant to be given back; 0: none
  std::uint64_t aborting_fence_ = 0;  // the largest of ABORT_WRITERs without an answer; 0: none
  std::uint32_t aborts_ = 0;          // so many are not answered on this connection
  std::uint32_t serials_asked_ = 0;   // the last range's, in this writer section
  Release release_;

  bool has_unused_strict_ = false;
  bool asked_strict_ = false;  // ever: a given-up answer may bring the Strict lock
};

template <typename See>
void Conversation::describe(See&& see) const {
  see(life_.stage(), life_.connection(), life_.users(), life_.is_wanted(), number_, must_close_,
      closed_on_, is_removed_, unsaid_, session_);
  state_.describe(see);
  see(wants_.bound.model, wants_.bound.x, wants_.decides_itself, wants_.listens, change_due_ns_,
      called_for_);
  subscription_.describe(see);
  grant_.describe(see);
  see(granted_.now, granted_.fence, late_fence_, aborting_fence_, aborts_, serials_asked_,
      has_unused_strict_, asked_strict_);
  see(release_.sequence(), release_.session(), release_.since_ns(), release_.was_sent());
}

}  // namespace iw::session
