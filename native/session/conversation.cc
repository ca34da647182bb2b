#include "session/conversation.h"

#include <algorithm>
#include <utility>

#include "protocol/error.gen.h"
#include "protocol/moving.gen.h"
#include "session/frame_writer.h"

namespace iw::session {

using coherence::Model;
using Kind = Effect::Kind;

namespace {

constexpr std::uint32_t most_serials_asked = 65536;

template <typename Body>
bool body_of(const Incoming& incoming, message_type type, Body& body) {
  return incoming.type() == type && decoded(incoming.message.body, body);
}

bool says_removed(const Incoming& answer) {
  protocol::error_reply error;
  return body_of(answer, message_type::ERROR, error) && error.code == error_code::REMOVED;
}

}  // namespace

Effect Conversation::message(Kind kind, std::uint64_t value) const {
  // While it is not open, nothing may follow CLOSE_SEGMENT.
  const bool may_go = life_.is_open() || kind == Kind::close_segment;
  const ConnectionNumber on = may_go ? life_.connection() : 0;
  return {.kind = kind, .on = on, .segment = number_, .value = value};
}

// Another thread may close the segment before the message is sent: close() waits for said().
void Conversation::send(const Effect& effect, Effects& effects) {
  ++unsaid_;
  effects.add(effect);
}

// ---- opening and closing ----

Conversation::Opened Conversation::opened(const OpenAnswer& answer, std::int64_t now_ns,
                                          Effects& effects) {
  if (life_.is_lost()) return Opened::lost;
  const bool is_ok = answer.code == error_code::OK;
  const bool is_gone = answer.code == error_code::NO_SEGMENT && has_content();
  const bool is_older = is_ok && has_content() && answer.opened.newest.number < state_.had().number;
  if (is_older) {  // and open there, until vanish() closes it
    number_ = answer.opened.segment;
    life_.opened(answer.on);
  }
  if (is_gone || is_older) {
    vanish(now_ns, effects);
    return is_gone ? Opened::gone : Opened::older;
  }
  if (!is_ok) {
    life_.refused();
    return Opened::refused;
  }
  number_ = answer.opened.segment;
  life_.opened(answer.on);
  forget_connection();
  // Another segment may have begun the new session, and this connection may have resumed that one.
  if (std::exchange(session_, answer.session) != answer.session) {
    lose_lock();
    locks_ended();
  }
  // Its CLOSE_SEGMENT ended the locks. One that was lost with its connection did not. A thread may
  // already be about to ask for the Strict lock of this opening.
  if (std::exchange(closed_on_, 0) == answer.on) locks_ended();
  state_.opened_at(answer.opened.newest, answer.sent_ns);
  effects.add(Kind::wake);
  return Opened::open;
}

void Conversation::opened_in_vain(ConnectionNumber on, std::uint32_t number, Effects& effects) {
  const bool is_to_be_closed = life_.opened_late(on);
  if (life_.connection() == on) number_ = number;
  if (!is_to_be_closed) return;
  must_close_ = true;
  effects.add(Kind::wake);
}

void Conversation::vanish(std::int64_t now_ns, Effects& effects) {
  if (life_.is_lost()) return;
  lose(now_ns, effects);
  close(effects);
}

// The server keeps the number until CLOSE_SEGMENT, to say REMOVED.
void Conversation::removed(const Incoming& incoming, const Moment& moment, Effects& effects) {
  if (!life_.is_open() || incoming.connection != life_.connection()) return;
  is_removed_ = true;
  lose(moment.now_ns, effects);
  must_close_ = life_.must_tell();
}

void Conversation::lose(std::int64_t now_ns, Effects& effects) {
  life_.vanished();
  lose_lock();
  state_.drop_staged();
  state_.unsubscribed();
  if (wants_.listens) change_due_ns_ = now_ns;
  effects.add(Kind::look_again);
  effects.add(Kind::wake);
}

void Conversation::close(Effects& effects) {
  // CLOSE_SEGMENT must not overtake a message. After the last one said() wakes the next tick.
  must_close_ = life_.must_tell() && unsaid_ > 0;
  if (must_close_) return;
  if (life_.must_tell()) return send(message(Kind::close_segment), effects);
  life_.ended();
  effects.add(Kind::look_again);
}

// For lack of memory others wait until a tick has sent it [OPEN-2].
void Conversation::close_said(const Effect& effect, Said outcome, Effects& effects) {
  if (outcome == Said::no_memory) {
    must_close_ = true;
    effects.add(Kind::wake);
    return;
  }
  if (outcome == Said::sent) closed_on_ = effect.on;
  life_.told(effect.on);
  close(effects);
}

// The server keeps no lock for the segment.
void Conversation::locks_ended() {
  late_fence_ = 0;
  aborting_fence_ = 0;
  has_unused_strict_ = false;
}

void Conversation::connection_lost(ConnectionNumber gone, Effects& effects) {
  if (!life_.connection_lost(gone)) return;
  forget_connection();
  effects.add(Kind::look_again);
  effects.add(Kind::wake);
}

// The connection stays, and the segment is open nowhere. The server waited for the end of all
// locks before the segment moved [SPACE-19].
void Conversation::moved(Effects& effects) {
  connection_lost(life_.connection(), effects);
  lose_lock();
  locks_ended();
}

void Conversation::heard_move(const Incoming& incoming, Effects& effects, Brought& brought) {
  protocol::segment_moved told;
  if (!is_from_here(incoming) || !body_of(incoming, message_type::SEGMENT_MOVED, told)) return;
  if (told.segment != number_) return;
  // The message does not say whether a server passes clients on to there [SPACE-48].
  if (!told.address.empty()) brought.moved_to = {{told.address, told.tls_name, true}};
  moved(effects);
}

void Conversation::clear() {
  wants_ = {};
  state_.clear();
  subscription_ = {};
  if (grant_.is_kept()) grant_.give_up();
  grant_.connection_lost();
  change_due_ns_ = never_due_ns;
}

// Promises and unanswered messages of an earlier connection do not count any more.
void Conversation::forget_connection() {
  state_.connection_lost();
  give_up_kept();
  grant_.connection_lost();
  subscription_.ended();
  // An ABORT_WRITER, a RELEASE_READER, or the answer that brought a Strict lock may be lost, too.
  late_fence_ = std::max(late_fence_, std::exchange(aborting_fence_, 0));
  aborts_ = 0;
  if (asked_strict_) has_unused_strict_ = true;
}

void Conversation::lose_lock() {
  if (grant_.is_held() || grant_.is_kept()) grant_.lost(grant_.fence());
}

// Nobody uses the kept grant any more.
void Conversation::give_up_kept() {
  if (!grant_.is_kept()) return;
  grant_.give_up();
  late_fence_ = std::max(late_fence_, grant_.fence());
}

// ---- messages ----

Conversation::Brought Conversation::heard(Incoming& incoming, bool is_late, const Moment& moment,
                                          Effects& effects) {
  Brought brought;
  if (is_from_here(incoming)) state_.ends(incoming.message.head.stream);
  if (incoming.tag == 0) {
    heard_notification(incoming, moment, effects, brought);
    if (is_subscription_unwanted()) effects.add(Kind::wake);
  } else {
    // SEGMENT_GONE may have come before the segment was listened for.
    if (says_removed(incoming)) removed(incoming, moment, effects);
    heard_answer(incoming, is_late, moment, effects, brought);
    const bool is_opening = incoming.asked == message_type::OPEN_SEGMENT;
    if (!is_opening && is_from_here(incoming) && is_redirected(incoming)) {
      protocol::redirect_field to;
      if (sends_on(incoming, to)) brought.moved_to = std::move(to);
      moved(effects);
    }
  }
  return brought;
}

void Conversation::begins(const Incoming& incoming) {
  if (incoming.connection != life_.connection()) return;
  const std::uint32_t stream = incoming.message.head.stream;
  protocol::push push;
  protocol::reader_acquired read;
  protocol::writer_acquired granted;
  if (body_of(incoming, message_type::PUSH, push)) {
    state_.begins({stream, push.from, push.now});
  } else if (body_of(incoming, message_type::READER_ACQUIRED, read)) {
    state_.begins({stream, std::nullopt, read.now});
  } else if (body_of(incoming, message_type::WRITER_ACQUIRED, granted)) {
    state_.begins({stream, std::nullopt, granted.now});
  }
}

void Conversation::heard_answer(Incoming& incoming, bool is_late, const Moment& moment,
                                Effects& effects, Brought& brought) {
  switch (incoming.asked) {
    case message_type::ACQUIRE_READER: {
      protocol::reader_acquired acquired;
      if (!body_of(incoming, message_type::READER_ACQUIRED, acquired)) return;
      stage_answer(incoming, acquired.now, acquired.updated, brought);
      if (is_late && asked_strict_) strict_unused(effects);
      return;
    }
    case message_type::ACQUIRE_WRITER:
      heard_grant(incoming, is_late, moment, effects, brought);
      return;
    case message_type::RENEW_WRITER:
      heard_renewal(incoming);
      return;
    case message_type::ABORT_WRITER:
      if (incoming.connection == life_.connection()) abort_ended();
      return;
    case message_type::RELEASE_WRITER:
      heard_release(incoming, moment);
      return;
    case message_type::SUBSCRIBE:
      heard_subscribed(incoming, effects);
      return;
    case message_type::OPEN_SEGMENT: {
      protocol::segment_opened opened;
      if (!is_late || !body_of(incoming, message_type::SEGMENT_OPENED, opened)) return;
      opened_in_vain(incoming.connection, opened.segment, effects);
      return;
    }
    default:
      return;
  }
}

void Conversation::heard_grant(Incoming& incoming, bool is_late, const Moment& moment,
                               Effects& effects, Brought& brought) {
  protocol::writer_acquired granted;
  if (!body_of(incoming, message_type::WRITER_ACQUIRED, granted)) return;
  stage_answer(incoming, granted.now, granted.updated, brought);
  if (is_late) {
    late_fence_ = std::max(late_fence_, granted.fence);  // the earlier one has ended
    effects.add(Kind::wake);
    return;
  }
  late_fence_ = aborting_fence_ = 0;  // there is one holder at a time: an earlier grant has ended
  granted_ = granted;
  grant_.granted(granted, incoming.sent_ns, moment.now_ns);
}

void Conversation::heard_release(const Incoming& incoming, const Moment& moment) {
  grant_.stays_not();
  protocol::writer_released released;
  protocol::writer_kept kept;
  if (body_of(incoming, message_type::WRITER_RELEASED, released) && !released.versions.empty()) {
    state_.released(released.versions.front(), as_of_release_ns(incoming.sent_ns));
    grant_.settled();
  }
  if (body_of(incoming, message_type::WRITER_KEPT, kept) && !kept.versions.empty()) {
    granted_.now = kept.versions.front();
    state_.released(granted_.now, as_of_release_ns(incoming.sent_ns));
    if (incoming.connection == life_.connection()) grant_.stays(incoming.sent_ns, moment.now_ns);
  }
}

// A section under way gives the lock back at its end. Otherwise the next owner of the writer slot
// does, or the library's thread.
void Conversation::heard_recall(const Incoming& incoming, Effects& effects) {
  protocol::recall_writer recalled;
  if (!body_of(incoming, message_type::RECALL_WRITER, recalled)) return;
  if (recalled.fence != grant_.fence() || incoming.connection != life_.connection()) return;
  if (grant_.is_kept()) {
    give_up_kept();
    effects.add(Kind::wake);
  } else {
    grant_.stays_not();
  }
}

void Conversation::heard_renewal(const Incoming& incoming) {
  if (incoming.connection != life_.connection()) return;
  protocol::writer_renewed renewed;
  if (body_of(incoming, message_type::WRITER_RENEWED, renewed)) {
    grant_.renewed(renewed.lease_ms, incoming.sent_ns);
  } else {
    grant_.renewal_refused();
  }
}

// An answer of a connection that is lost, or of an opening that was closed, promises nothing.
void Conversation::heard_subscribed(const Incoming& incoming, Effects& effects) {
  if (incoming.connection != life_.connection() || !subscription_.is_changing()) return;
  subscription_.settled();
  protocol::subscribed subscribed;
  const bool is_granted = body_of(incoming, message_type::SUBSCRIBED, subscribed);
  if (is_granted) {
    state_.subscribed(subscription_.asked().promise, subscribed.now, incoming.sent_ns);
  }
  // The model may have changed meanwhile. A refused request is not repeated at once.
  if (is_subscription_unwanted() || (is_granted && lacks_subscription())) effects.add(Kind::wake);
}

void Conversation::stage_answer(Incoming& incoming, const version_stamp& now, bool updated,
                                Brought& brought) {
  if (!updated) {
    state_.up_to_date(now, incoming.sent_ns);
    return;
  }
  std::uint64_t from = 0;
  if (!beginning_(incoming.message.bulk.bytes(), from)) return;
  StagedDiff diff;
  diff.from = state_.base_of_update(from, now.incarnation);
  diff.now = now;
  diff.bytes = std::move(incoming.message.bulk);
  diff.as_of_ns = incoming.sent_ns;
  brought = {true, from == 0, diff.bytes.size_bytes()};
  (void)state_.stage(std::move(diff));
}

void Conversation::heard_notification(Incoming& incoming, const Moment& moment, Effects& effects,
                                      Brought& brought) {
  switch (incoming.type()) {
    case message_type::PUSH:
      heard_push(incoming, moment, effects, brought);
      return;
    case message_type::NOT_RECENT: {
      protocol::not_recent told;
      if (!body_of(incoming, message_type::NOT_RECENT, told)) return;
      state_.adaptation.notified();
      state_.not_recent(told.now);
      if (told.now != called_for_) note_change(moment, effects);  // [CONN-2]
      return;
    }
    case message_type::WRITER_LOST: {
      protocol::writer_lost lost;
      if (body_of(incoming, message_type::WRITER_LOST, lost)) grant_.lost(lost.fence);
      return;
    }
    case message_type::RECALL_WRITER:
      heard_recall(incoming, effects);
      return;
    case message_type::SEGMENT_GONE:
      removed(incoming, moment, effects);
      return;
    case message_type::SEGMENT_MOVED:
      heard_move(incoming, effects, brought);
      return;
    default:
      return;
  }
}

void Conversation::heard_push(Incoming& incoming, const Moment& moment, Effects& effects,
                              Brought& brought) {
  protocol::push push;
  if (!body_of(incoming, message_type::PUSH, push)) return;
  StagedDiff diff;
  diff.from = push.from;
  diff.now = push.now;
  diff.bytes = std::move(incoming.message.bulk);
  diff.was_pushed = incoming.connection == life_.connection();
  diff.as_of_ns = state_.as_of_notified(push.now);
  brought = {true, false, diff.bytes.size_bytes()};
  state_.adaptation.notified();
  (void)state_.stage(std::move(diff));
  if (push.now != called_for_) note_change(moment, effects);
}

Conversation::Said Conversation::said_by(error_code sending) {
  switch (sending) {
    case error_code::OK:
      return Said::sent;
    case error_code::NO_MEMORY:
      return Said::no_memory;
    default:
      return Said::no_connection;
  }
}

void Conversation::said(const Effect& effect, Said outcome, Effects& effects) {
  const bool is_current = effect.on == life_.connection();
  if (effect.is_message() && --unsaid_ == 0 && must_close_) effects.add(Kind::wake);
  switch (effect.kind) {
    case Kind::subscribe:
    case Kind::unsubscribe:
      if (is_current) watch_said(effect, outcome, effects);
      return;
    case Kind::renew_writer:
      if (outcome == Said::no_memory) grant_.renewal_unsent();
      return;
    case Kind::abort_writer:
      return abort_said(effect, outcome);
    case Kind::release_reader:
      if (outcome != Said::sent) has_unused_strict_ = true;
      return;
    case Kind::credit:
      if (outcome == Said::no_memory && is_current) state_.keep_credit(effect.value);
      return;
    case Kind::close_segment:
      return close_said(effect, outcome, effects);
    case Kind::wake:
    case Kind::look_again:
      return;
  }
}

// For lack of memory the server watches as before: if nobody wants that, a tick says so.
void Conversation::watch_said(const Effect& effect, Said outcome, Effects& effects) {
  if (effect.kind == Kind::subscribe) {
    if (outcome != Said::sent) subscription_.settled();
    return;
  }
  if (outcome == Said::sent) {
    subscription_.ended();
  } else {
    subscription_.settled();
  }
  if (lacks_subscription()) effects.add(Kind::wake);
}

void Conversation::tick(const Moment& moment, Effects& effects) {
  if (!life_.is_open()) return;
  if (grant_.renewal_due_ns() <= moment.now_ns) {
    grant_.renewal_sent();
    send(message(Kind::renew_writer, grant_.fence()), effects);
  }
  if (grant_.is_idle(moment.now_ns)) {
    give_up_kept();
    effects.add(Kind::wake);
  }
  if (wants_.listens) watch(effects);
  follow_bound(effects);
}

bool Conversation::is_at_rest() const {
  const bool has_lock = grant_.is_held() || grant_.is_kept();
  return !wants_.listens && !must_close_ && !has_lock && late_fence_ == 0 && !has_unused_strict_ &&
         !is_subscription_unwanted();
}

// ---- wishes ----

void Conversation::set_bound(const coherence::Bound& bound, bool decides_itself,
                             const Moment& moment, Effects& effects) {
  wants_.bound = bound;
  wants_.decides_itself = decides_itself;
  // Whether and when the copy stops being recent enough depends on the bound.
  if (change_due_ns_ != never_due_ns) {
    change_due_ns_ = never_due_ns;
    note_change(moment, effects);
  }
  follow_bound(effects);
}

void Conversation::listen(bool listens) {
  wants_.listens = listens;
  change_due_ns_ = never_due_ns;
  called_for_ = {};
}

// When the copy stops being recent enough: at once, or, for Temporal, when its time is over.
void Conversation::note_change(const Moment& moment, Effects& effects) {
  if (!wants_.listens || change_due_ns_ != never_due_ns) return;
  change_due_ns_ = moment.now_ns;
  if (wants_.bound.model == Model::TEMPORAL && !wants_.decides_itself && state_.has_copy()) {
    const std::int64_t confirmed = coherence::confirmed_ns(knowledge(moment));
    if (confirmed != coherence::never_ns) {
      const auto patience_ns = static_cast<std::int64_t>(wants_.bound.x * 1e9);
      change_due_ns_ = std::max(moment.now_ns, confirmed + patience_ns);
    }
  }
  effects.add(Kind::wake);
}

std::uint64_t Conversation::take_change() {
  change_due_ns_ = never_due_ns;
  called_for_ = state_.newest();
  return called_for_.number;
}

// ---- subscriptions [POLL-1] ----

// Readers that are content with old copies would be sent diffs that they never use. And the first
// acquire asks for the first copy: pushed, too, it would come twice.
Watch Conversation::wanted_watch() const {
  const bool has_some = state_.reach() != version_stamp{};
  const Model model = wants_.bound.model;
  const bool uses_all = !wants_.decides_itself && (model == Model::FULL || model == Model::DELTA);
  return {coherence::promise_for(wants_.bound), has_some && uses_all};
}

// While the segment is open nowhere there is nobody to ask; the next opening looks again.
bool Conversation::lacks_subscription() const {
  if (!life_.is_open()) return false;
  const bool is_wanted = wants_.listens || (state_.adaptation.wants_subscription() &&
                                            coherence::can_subscribe(wants_.bound.model));
  return is_wanted && subscription_.lacks(wanted_watch(), state_.subscription());
}

bool Conversation::is_subscription_unwanted() const {
  if (!life_.is_open() || wants_.listens) return false;
  if (subscription_.is_changing() || !subscription_.may_be_watched()) return false;
  return !state_.adaptation.wants_subscription() || !coherence::can_subscribe(wants_.bound.model);
}

// Under a stricter promise than is needed the server would send every change; where there was no
// copy, it does not yet push.
void Conversation::follow_bound(Effects& effects) {
  if (is_subscription_unwanted()) {
    unwatch(effects);
  } else if (state_.subscription().has_value() && lacks_subscription()) {
    subscribe(effects);
  }
}

void Conversation::watch(Effects& effects) {
  if (lacks_subscription()) subscribe(effects);
}

void Conversation::subscribe(Effects& effects) {
  Effect asked = message(Kind::subscribe);
  asked.watch = wanted_watch();
  asked.have = state_.reach();
  subscription_.subscribing(asked.watch);
  // The server may act on the new promise before we hear so: the old one does not count any more.
  state_.unsubscribed();
  send(asked, effects);
}

void Conversation::unwatch(Effects& effects) {
  if (subscription_.is_changing() || !subscription_.may_be_watched()) return;
  // Another thread may want a subscription again before this is on the wire.
  subscription_.unsubscribing();
  state_.unsubscribed();
  send(message(Kind::unsubscribe), effects);
}

// ---- readers ----

protocol::acquire_reader Conversation::question(const coherence::Bound& bound, bool fresh,
                                                std::uint32_t deadline_ms) const {
  return {number_, state_.will_reach(), bound.model, bound.x, fresh, deadline_ms};
}

bool Conversation::must_ask_again(const protocol::reader_acquired& answer,
                                  const CopyState::Asked& asked) const {
  const bool lacks_named = asked.have.number > 0 && !state_.reaches(asked.have);
  const bool counts_on_diff = answer.updated || state_.has_lost_since(asked);
  return (!answer.updated && lacks_named) || (counts_on_diff && !state_.reaches(answer.now));
}

// A reader that is content with an old copy under Temporal: the server has said all that it will,
// but the copy's time ends [COH-5].
void Conversation::entered(const Moment& moment, Effects& effects) {
  if (!wants_.listens || wants_.bound.model != Model::TEMPORAL || wants_.decides_itself) return;
  if (state_.newest() != state_.have()) note_change(moment, effects);
}

void Conversation::strict_unused(Effects& effects) {
  has_unused_strict_ = true;
  effects.add(Kind::wake);
}

void Conversation::return_strict(bool has_strict_readers, Effects& effects) {
  if (!std::exchange(has_unused_strict_, false) || has_strict_readers) return;
  send(message(Kind::release_reader), effects);
}

void Conversation::give_credit(Effects& effects) {
  const std::uint64_t bytes = state_.take_credit(least_credit_bytes_);
  if (bytes > 0) send(message(Kind::credit, bytes), effects);
}

// ---- the writer ----

protocol::acquire_writer Conversation::writer_question(std::uint32_t deadline_ms) const {
  return {number_, state_.will_reach(), deadline_ms};
}

bool Conversation::resume_kept(std::int64_t now_ns) {
  if (!grant_.may_resume(now_ns)) {
    give_up_kept();
    return false;
  }
  grant_.resume(now_ns);
  return true;
}

void Conversation::return_late(Effects& effects) {
  if (has_late_grant()) give_back(std::exchange(late_fence_, 0), effects);
}

// Until its answer, or until another grant shows that this one has ended, the server may keep it.
void Conversation::give_back(std::uint64_t fence, Effects& effects) {
  aborting_fence_ = std::max(aborting_fence_, fence);
  ++aborts_;
  send(message(Kind::abort_writer, fence), effects);
}

// Not sent: it is a late grant, at once or when the loss of the connection is told. The thread that
// wants the lock next need not wait for that: the next connection's ACQUIRE_WRITER ends the grant.
void Conversation::abort_said(const Effect& effect, Said outcome) {
  const bool is_current = effect.on == life_.connection();
  if (outcome == Said::sent || (outcome == Said::no_connection && is_current)) return;
  late_fence_ = std::max(late_fence_, effect.value);
  if (is_current) abort_ended();
}

// One of the ABORT_WRITERs of this connection was answered, or was not sent.
void Conversation::abort_ended() {
  if (aborts_ > 0 && --aborts_ == 0) aborting_fence_ = 0;
}

bool Conversation::is_on_newest(std::int64_t now_ns) {
  if (!state_.has_copy() && granted_.now.number == 0) state_.up_to_date(granted_.now, now_ns);
  return state_.have() == granted_.now;
}

void Conversation::begin_writing() {
  serials_asked_ = granted_.serial_count;
  release_.begin();
}

void Conversation::abort(Effects& effects) {
  if (!grant_.is_owed() || grant_.may_stay()) return;
  grant_.settled();
  give_back(grant_.fence(), effects);
}

void Conversation::end_writing(Effects& effects) {
  if (grant_.may_stay()) return grant_.rest();
  if (grant_.is_owed()) late_fence_ = std::max(late_fence_, grant_.fence());
  grant_.given_back();
  if (late_fence_ != 0) effects.add(Kind::wake);
}

void Conversation::want_serials() {
  serials_asked_ = std::min(serials_asked_ * 2, most_serials_asked);
}

protocol::more_serials Conversation::serials_question() const {
  return {number_, grant_.fence(), serials_asked_};
}

protocol::release_writer Conversation::release_message(std::uint64_t diff_bytes) const {
  const protocol::release_part part{number_, grant_.fence(), state_.have(), diff_bytes};
  return {release_.sequence(), {part}};
}

protocol::resolve_release Conversation::resolve_question() const {
  return {number_, release_.session(), release_.sequence()};
}

}  // namespace iw::session
