// The actions of the program, as client::Segment does them for a thread. The function of a step
// does the part that can be done now, and returns whether it did anything.
#include <algorithm>
#include <limits>
#include <utility>

#include "session/patience.h"
#include "sim/client.h"

namespace iw::sim {

using coherence::Bound;
using coherence::Model;
using session::answer_grace_ns;

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

}  // namespace

// ---- the present action ----

void Client::go_on() {
  do {
    if (action_.at == At::nothing) begin_next();
    if (action_.at != At::nothing && now_ns_ >= patience_ns()) run_out();
  } while (step());
  look_for_connection();
}

// Begins the action that the program wants, or else reopens a segment that it listens to.
void Client::begin_next() {
  if (pending_.has_value()) {
    action_ = std::move(*pending_);
    pending_.reset();
    action_.began_ns = now_ns_ + 1;  // after all that was heard
    return;
  }
  if (!is_live()) return;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!segments_[i].is_to_be_reopened() || now_ns_ < segments_[i].reopening.due_ns()) continue;
    action_ = {};
    action_.wanted.kind = library_work;
    action_.wanted.segment = static_cast<std::uint32_t>(i);
    action_.wanted.deadline_ns = never_due_ns;
    action_.at = At::begins;
    return;
  }
}

bool Client::step() {
  switch (action_.at) {
    case At::nothing:
      return false;
    case At::closes:
      return step_closing();
    case At::opens:
      return step_opening();
    case At::begins:
      return step_beginning();
    case At::reads:
      return step_reading();
    case At::read_asked:
      return step_read_asked();
    case At::has_slot:
      return step_slot();
    case At::write_asks:
      return step_write_asks();
    case At::write_asked:
      return step_write_asked();
    case At::behind:
      return step_behind();
    case At::behind_asked:
      return step_behind_asked();
    case At::serials_asked:
      return step_serials();
    case At::releases:
    case At::released:
    case At::resolved:
    case At::pauses:
      return step_releasing();
  }
  return false;
}

Event& Client::done(error_code code) {
  const Action ended = std::exchange(action_, {});
  if (ended.wanted.kind == library_work) {
    session::Reconnection& pace = segments_[ended.wanted.segment].reopening;
    code == error_code::OK ? pace.succeeded() : pace.failed(now_ns_);
    nobody_.said = {};
    return nobody_;
  }
  Event& event = add_event(IW_SIM_DONE, ended.wanted.segment);
  event.said.action = ended.wanted.kind;
  event.said.code = static_cast<std::int32_t>(code);
  event.said.is_asked = ended.is_asked ? 1 : 0;
  event.said.is_resumed = ended.is_resumed ? 1 : 0;
  event.said.version = version_of(segments_[ended.wanted.segment].talk.state().have());
  return event;
}

// The action fails, wherever it stands.
bool Client::fail(error_code code) {
  const At at = action_.at == At::opens ? action_.then : action_.at;
  switch (at) {
    case At::behind:
    case At::behind_asked: {
      Effects effects;
      segment().talk.abort(effects);
      segment().talk.end_writing(effects);
      carry_out(action_.wanted.segment, effects);
      break;
    }
    case At::releases:
    case At::resolved:
      action_.at = At::releases;
      return after(at == At::resolved ? session::Release::Attempt::resolve
                                      : session::Release::Attempt::reach,
                   code);
    default:
      if (action_.is_strict) {
        Effects effects;
        segment().talk.strict_unused(effects);
        carry_out(action_.wanted.segment, effects);
      }
      break;
  }
  const bool is_lost = segment().talk.life().is_lost();
  done(is_lost && code != error_code::TIMED_OUT ? why_lost() : code);
  return true;
}

error_code Client::why_lost() const {
  return segment().talk.is_removed() ? error_code::REMOVED : error_code::SEGMENT_LOST;
}

// ---- deadlines ----

bool Client::waits_for_others() const {
  return action_.at == At::write_asked || (action_.at == At::read_asked && action_.is_strict);
}

std::int64_t Client::patience_ns() const {
  if (action_.is_given_up) return now_ns_;
  // A release waits for its answer in any case. The next attempt looks at the deadline.
  const bool waits_anyhow =
      action_.at == At::released || action_.at == At::pauses || action_.at == At::closes;
  const std::int64_t deadline_ns = action_.wanted.deadline_ns;
  if (waits_anyhow || deadline_ns > never_due_ns - answer_grace_ns) return never_due_ns;
  return waits_for_others() ? deadline_ns + answer_grace_ns : deadline_ns;
}

// It needs a connection before it is begun.
bool Client::begins_slowly() const {
  const std::uint32_t kind = action_.wanted.kind;
  return kind == IW_SIM_SERIALS || kind == IW_SIM_LISTEN || kind == IW_SIM_IGNORE;
}

void Client::run_out() {
  action_.is_given_up = false;
  action_.wanted.deadline_ns = std::min(action_.wanted.deadline_ns, now_ns_);
  if (action_.answer.has_value()) return;
  switch (action_.at) {
    case At::nothing:
      return;
    case At::begins:
      if (!begins_slowly()) return;
      break;
    case At::released:
    case At::pauses:
    case At::closes:
      return;
    case At::opens:
      give_up_request(false);
      segment().talk.life().refused();
      break;
    default:
      if (action_.tag != 0) give_up_request(waits_for_others());
      break;
  }
  const bool is_unreachable = action_.needs_connection && !is_live();
  fail(is_unreachable ? error_code::UNREACHABLE : error_code::TIMED_OUT);
}

std::uint32_t Client::deadline_ms() const {
  const std::int64_t left_ns = action_.wanted.deadline_ns - now_ns_;
  const std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ns / ns_per_ms, 0, most));
}

// ---- questions ----

// There is a connection, and the segment is open on it.
Client::Reached Client::reach() {
  Segment& wanted = segment();
  session::Opening& life = wanted.talk.life();
  if (life.is_lost() && life.users() > 0) {
    fail(why_lost());
    return Reached::moved;
  }
  action_.needs_connection = !is_live();
  if (!is_live()) return Reached::waits;
  switch (life.users() > 0 ? life.use(number_) : life.open(number_)) {
    case session::Opening::Step::ready:
      if (life.users() == 0) {
        wanted.talk.state().clear();
        life.joined();
      }
      return Reached::ready;
    case session::Opening::Step::wait:
      return Reached::waits;
    case session::Opening::Step::send:
      open();
      return Reached::moved;
    case session::Opening::Step::not_open:
      fail(error_code::NOT_OPEN);
      return Reached::moved;
    case session::Opening::Step::lost:
      fail(why_lost());
      return Reached::moved;
  }
  return Reached::waits;
}

void Client::open() {
  protocol::open_segment wanted;
  wanted.path = segment().path;
  // A segment that is made now would lack the blocks of the copy [LOST-1].
  wanted.create = !segment().talk.has_content();
  wanted.durable = segment().durable;
  action_.then = action_.at;
  ask(message_type::OPEN_SEGMENT, session::encoded(wanted), At::opens);
}

void Client::ask(message_type type, std::span<const std::uint8_t> body, At next) {
  action_.answer.reset();
  action_.is_answer_lost = false;
  const bool has_diff = type == message_type::RELEASE_WRITER;
  const std::span<const std::uint8_t> diff = action_.diff;
  action_.tag =
      post(type, body, diff.first(has_diff ? diff.size() : 0), action_.wanted.segment, true);
  action_.at = next;
}

// Takes the answer. Empty: it has not come; if its connection is lost, the action stands at
// `again`.
std::optional<session::Incoming> Client::take_answer(At again) {
  if (action_.answer.has_value()) {
    action_.tag = 0;
    return std::exchange(action_.answer, std::nullopt);
  }
  if (std::exchange(action_.is_answer_lost, false)) {
    action_.tag = 0;
    action_.at = again;
  }
  return std::nullopt;
}

bool Client::step_opening() {
  std::optional<session::Incoming> answer = take_answer(action_.then);
  if (!answer.has_value()) {
    if (action_.at == At::opens) return false;
    if (segment().talk.life().stage() == session::Opening::Stage::opening) {
      segment().talk.life().refused();
    }
    return true;
  }
  opened(*answer);
  return true;
}

void Client::opened(const session::Incoming& answer) {
  const std::size_t number = action_.wanted.segment;
  Conversation& talk = segment().talk;
  Conversation::OpenAnswer about;
  about.on = answer.connection;
  about.sent_ns = answer.sent_ns;
  about.session = identity_.id;
  const types::Result read =
      session::decode_answer(answer, message_type::SEGMENT_OPENED, about.opened);
  about.code = read.code;
  const bool is_current = is_live() && answer.connection == number_;
  if (read && is_current) listeners_[about.opened.segment] = number;
  Effects effects;
  const Conversation::Opened outcome = talk.opened(about, now_ns_, effects);
  carry_out(number, effects);
  if (!is_current) {
    talk.connection_lost(answer.connection, effects);
    carry_out(number, effects);
  }
  if (talk.life().is_lost()) listeners_.erase(about.opened.segment);
  if (outcome == Conversation::Opened::open) {
    action_.at = action_.then;
  } else {
    fail(outcome == Conversation::Opened::refused ? about.code : why_lost());
  }
}

bool Client::step_beginning() {
  switch (action_.wanted.kind) {
    case IW_SIM_READ:
      set_bound();
      action_.at = At::reads;
      return true;
    case IW_SIM_END_READ:
      end_reading();
      return true;
    case IW_SIM_WRITE:
      action_.at = At::has_slot;
      return true;
    case IW_SIM_RELEASE:
      begin_releasing();
      return true;
    case IW_SIM_ABORT:
      abort();
      return true;
    case IW_SIM_CLOSE:
      begin_closing();
      return true;
    default:
      break;
  }
  const Reached reached = reach();
  if (reached != Reached::ready) return reached == Reached::moved;
  Conversation& talk = segment().talk;
  if (action_.wanted.kind == IW_SIM_SERIALS) {
    talk.want_serials();
    ask(message_type::MORE_SERIALS, session::encoded(talk.serials_question()), At::serials_asked);
    return true;
  }
  if (action_.wanted.kind != library_work) listen(action_.wanted.kind == IW_SIM_LISTEN);
  done(error_code::OK);
  return true;
}

// ---- readers ----

void Client::set_bound() {
  const Bound bound{static_cast<Model>(action_.wanted.model), action_.wanted.x};
  if (segment().talk.wants().bound == bound) return;
  Effects effects;
  segment().talk.set_bound(bound, false, moment(), effects);
  carry_out(action_.wanted.segment, effects);
}

bool Client::step_reading() {
  Conversation& talk = segment().talk;
  session::CopyState& state = talk.state();
  const Bound bound = talk.wants().bound;
  if (talk.life().is_lost()) return fail(why_lost());
  const bool is_fresh = action_.wanted.fresh != 0;
  const coherence::Knowledge known = talk.knowledge(moment());
  const bool must_ask = is_fresh || action_.must_ask;  // also after it was opened for that
  if (!must_ask && coherence::is_recent(bound, known, action_.began_ns, now_ns_)) {
    enter_reader();
    return true;
  }
  const bool is_staged_enough =
      !must_ask && state.has_staged() &&
      coherence::is_recent(bound, state.with_staged(known), action_.began_ns, now_ns_);
  if (is_staged_enough) {
    if (const error_code code = apply_staged(); code != error_code::OK) return fail(code);
    enter_reader();
    return true;
  }
  action_.must_ask = true;
  if (bound.model == Model::STRICT) {
    action_.is_strict = true;
    talk.asks_strict();
  }
  const Reached reached = reach();
  if (reached != Reached::ready) return reached == Reached::moved;
  const protocol::acquire_reader question = talk.question(bound, is_fresh, deadline_ms());
  action_.asked = state.asked();
  ask(message_type::ACQUIRE_READER, session::encoded(question), At::read_asked);
  return true;
}

bool Client::step_read_asked() {
  const std::optional<session::Incoming> answer = take_answer(At::reads);
  if (!answer.has_value()) return action_.at == At::reads;
  protocol::reader_acquired acquired;
  const types::Result read =
      session::decode_answer(*answer, message_type::READER_ACQUIRED, acquired);
  if (!read) return fail(read.code);
  Conversation& talk = segment().talk;
  talk.state().adaptation.asked(!acquired.updated);
  action_.is_asked = true;
  if (talk.must_ask_again(acquired, action_.asked)) {
    action_.at = At::reads;
    return true;
  }
  Effects effects;
  talk.watch(effects);
  carry_out(action_.wanted.segment, effects);
  if (const error_code code = apply_staged(); code != error_code::OK) return fail(code);
  enter_reader();
  return true;
}

void Client::enter_reader() {
  const std::size_t number = action_.wanted.segment;
  Segment& entered = segment();
  entered.reads_strictly = action_.is_strict;
  entered.talk.state().adaptation.acquired();
  if (entered.talk.wants().listens) {
    Effects effects;
    entered.talk.entered(moment(), effects);
    carry_out(number, effects);
  }
  done(error_code::OK).said.is_promised = entered.talk.knowledge(moment()).promised ? 1 : 0;
}

void Client::end_reading() {
  const std::size_t number = action_.wanted.segment;
  const bool was_strict = std::exchange(segment().reads_strictly, false);
  done(error_code::OK);
  if (!was_strict) return;
  Effects effects;
  segments_[number].talk.strict_unused(effects);
  return_strict(number);
  if (segments_[number].talk.has_unused_strict()) carry_out(number, effects);
}

error_code Client::apply_staged() {
  const std::size_t number = action_.wanted.segment;
  session::CopyState& state = segment().talk.state();
  error_code code = error_code::OK;
  while (code == error_code::OK) {
    const std::optional<session::StagedDiff> diff = state.take_staged();
    if (!diff.has_value()) break;
    const Failing failing = std::exchange(fails_apply_, Failing::not_at_all);
    if (failing == Failing::not_at_all) {
      Event& event = add_event(IW_SIM_APPLY, number);
      const std::span<const std::byte> bytes = diff->bytes.bytes();
      const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
      event.bytes.assign(first, first + bytes.size());
      event.said.version = version_of(diff->now);
      state.applied(*diff);
      continue;
    }
    code = error_code::NO_MEMORY;
    if (failing == Failing::damages) {
      state.forget();
    } else {
      state.dropped(*diff);
      state.drop_staged();
    }
  }
  Effects effects;
  segment().talk.give_credit(effects);
  carry_out(number, effects);
  return code;
}

// ---- the writer lock ----

bool Client::step_slot() {
  Conversation& talk = segment().talk;
  if (talk.life().is_lost()) return fail(why_lost());
  if (talk.resume_kept(now_ns_)) {
    action_.is_resumed = true;
    action_.at = At::behind;
    return true;
  }
  Effects effects;
  talk.return_late(effects);
  carry_out(action_.wanted.segment, effects);
  if (talk.has_late_grant()) return fail(error_code::NO_MEMORY);
  action_.at = At::write_asks;
  return true;
}

bool Client::step_write_asks() {
  const Reached reached = reach();
  if (reached != Reached::ready) return reached == Reached::moved;
  ask(message_type::ACQUIRE_WRITER, session::encoded(segment().talk.writer_question(deadline_ms())),
      At::write_asked);
  return true;
}

bool Client::step_write_asked() {
  const std::optional<session::Incoming> answer = take_answer(At::write_asks);
  if (!answer.has_value()) return action_.at == At::write_asks;
  const types::Result read = session::check_answer(*answer, message_type::WRITER_ACQUIRED);
  if (segment().talk.must_ask_again(read.code)) {
    action_.at = At::has_slot;
    return true;
  }
  if (!read) return fail(read.code);
  action_.at = At::behind;
  return true;
}

// A writer works on the newest version [COH-9].
bool Client::step_behind() {
  Conversation& talk = segment().talk;
  if (const error_code code = apply_staged(); code != error_code::OK) return fail(code);
  if (talk.is_on_newest(now_ns_)) {
    begin_writing();
    return true;
  }
  if (talk.grant().is_lost()) return fail(error_code::FENCED);
  const Reached reached = reach();
  if (reached != Reached::ready) return reached == Reached::moved;
  if (++action_.questions > session::most_questions) return fail(error_code::MALFORMED);
  ask(message_type::ACQUIRE_READER, session::encoded(talk.question({}, true, deadline_ms())),
      At::behind_asked);
  return true;
}

bool Client::step_behind_asked() {
  const std::optional<session::Incoming> answer = take_answer(At::behind);
  if (!answer.has_value()) return action_.at == At::behind;
  protocol::reader_acquired acquired;
  const types::Result read =
      session::decode_answer(*answer, message_type::READER_ACQUIRED, acquired);
  if (!read) return fail(read.code);
  segment().talk.state().adaptation.asked(!acquired.updated);
  action_.at = At::behind;
  return true;
}

void Client::begin_writing() {
  Conversation& talk = segment().talk;
  talk.begin_writing();
  writing_ = action_.wanted.segment;
  wake();
  Event& event = done(error_code::OK);
  event.said.fence = talk.grant().fence();
  if (!talk.grant().is_first()) return;
  event.said.first_serial = talk.granted().first_serial;
  event.said.serials = talk.granted().serial_count;
}

bool Client::step_serials() {
  const std::optional<session::Incoming> answer = take_answer(At::begins);
  if (!answer.has_value()) return action_.at == At::begins;
  protocol::serials_granted granted;
  const types::Result read =
      session::decode_answer(*answer, message_type::SERIALS_GRANTED, granted);
  if (!read) return fail(read.code);
  Event& event = done(error_code::OK);
  event.said.first_serial = granted.first_serial;
  event.said.serials = granted.serial_count;
  return true;
}

void Client::abort() {
  Effects effects;
  segment().talk.abort(effects);
  carry_out(action_.wanted.segment, effects);
  end_writing();
  done(error_code::OK);
}

void Client::end_writing() {
  Effects effects;
  segment().talk.end_writing(effects);
  writing_.reset();
  carry_out(action_.wanted.segment, effects);
}

// ---- listening, closing ----

void Client::listen(bool listens) {
  Effects effects;
  segment().talk.listen(listens);
  segment().talk.watch(effects);
  carry_out(action_.wanted.segment, effects);
  wake();
}

void Client::begin_closing() {
  Conversation& talk = segment().talk;
  if (talk.life().close() != session::Opening::Close::last) {
    done(error_code::NOT_OPEN);
    return;
  }
  (void)talk.life().end();
  segment().reads_strictly = false;
  talk.clear();
  Effects effects;
  talk.close(effects);
  carry_out(action_.wanted.segment, effects);
  action_.at = At::closes;
}

bool Client::step_closing() {
  Conversation& talk = segment().talk;
  if (talk.must_close() || talk.life().must_tell()) {
    wake();
    return false;
  }
  // Another segment takes the place of one that is lost [LOST-4].
  if (talk.life().is_lost()) segment().begin_anew();
  done(error_code::OK);
  return true;
}

}  // namespace iw::sim
