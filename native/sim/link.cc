// The link to the server, as client::ServerLink has it, and the work of the library's thread.
#include <algorithm>
#include <utility>

#include "session/patience.h"
#include "sim/client.h"

namespace iw::sim {
namespace {

using session::reading_grace_ns;
using Kind = session::Effect::Kind;

// The library's thread begins so long after it was woken.
constexpr std::int64_t waking_ns = 20'000;
// A server that takes a connection and does not answer HELLO is given up.
constexpr std::int64_t greeting_patience_ns = 2'000'000'000;

}  // namespace

// ---- connections ----

void Client::begin_connection() {
  is_connecting_ = is_greeted_ = false;
  connection_.emplace(now_ns_);
  ++number_;
  heard_ns_ = look_due_ns_ = now_ns_;
  silent_since_ns_ = 0;
  const std::vector<std::uint8_t> body = session::encoded(connection_->hello(identity_));
  last_tag_ = 1;
  const std::uint32_t stream = connection_->begin_request(last_tag_, message_type::HELLO, now_ns_);
  write(message_type::HELLO, stream, body, {});
}

bool Client::wants_connection() const {
  if (action_.needs_connection) return true;
  return std::any_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.is_to_be_reopened(); });
}

void Client::look_for_connection() {
  if (connection_.has_value() || is_connecting_ || !wants_connection()) return;
  if (now_ns_ < reconnection_.due_ns()) return;
  is_connecting_ = true;
  add_event(IW_SIM_CONNECT, 0);
}

void Client::hang_up() {
  add_event(IW_SIM_HANG_UP, 0);
  lose();
}

void Client::lose() {
  connection_.reset();
  if (!std::exchange(is_greeted_, false)) reconnection_.failed(now_ns_);
  waiters_.clear();
  listeners_.clear();
  if (action_.tag != 0 && !action_.answer) action_.is_answer_lost = true;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    Effects effects;
    segments_[i].talk.connection_lost(number_, effects);
    carry_out(i, effects);
  }
}

void Client::greet(session::Incoming& answer) {
  const protocol::session_id before = identity_.id;
  if (!connection_->welcomed(answer, identity_)) return hang_up();
  if (identity_.id != before) sequence_ = 0;
  is_greeted_ = true;
  reconnection_.succeeded();
}

// ---- what comes ----

void Client::take_in(std::span<const std::uint8_t> bytes) {
  const session::ConnectionNumber number = number_;
  while (!bytes.empty() && connection_.has_value() && number == number_) {
    const platform::Space space = connection_->space();
    if (space.first.empty()) return hang_up();
    const std::size_t first = std::min(space.first.size(), bytes.size());
    const std::size_t rest = std::min(space.rest.size(), bytes.size() - first);
    const auto* const from = reinterpret_cast<const std::byte*>(bytes.data());
    std::copy_n(from, first, space.first.begin());
    std::copy_n(from + first, rest, space.rest.begin());
    bytes = bytes.subspan(first + rest);
    std::vector<session::Incoming> incoming;
    const types::Result understood = connection_->received(first + rest, now_ns_, incoming);
    for (session::Incoming& one : incoming) {
      if (!connection_.has_value()) return;
      one.connection = number_;
      is_greeted_ ? handle(one) : greet(one);
    }
    if (!connection_.has_value()) return;
    heard_ns_ = connection_->heard_ns();  // only now: a promise is kept up to here [FRESH-3]
    if (!understood) return hang_up();
  }
}

void Client::handle(session::Incoming& incoming) {
  if (incoming.tag == 0) {
    // Every notification about a segment begins with its number.
    xdr::Reader reader(incoming.message.body.data(), incoming.message.body.size());
    std::uint32_t number = 0;
    const bool has_number = !incoming.message.body.empty() && reader.u32(number);
    const auto found = has_number ? listeners_.find(number) : listeners_.end();
    if (found != listeners_.end()) absorb(found->second, incoming, false);
    return;
  }
  const auto found = waiters_.find(incoming.tag);
  if (found == waiters_.end()) return;
  const bool is_first = incoming.message.part == session::Part::first;
  const Waiter waiter = found->second;
  if (!is_first) waiters_.erase(found);
  const bool is_known =
      waiter.segment != no_segment && segments_[waiter.segment].life == waiter.life;
  if (is_known) absorb(waiter.segment, incoming, waiter.is_late);
  if (incoming.tag == action_.tag && !is_first) action_.answer = std::move(incoming);
}

void Client::absorb(std::size_t segment, session::Incoming& incoming, bool is_late) {
  Conversation& talk = segments_[segment].talk;
  if (incoming.message.part == session::Part::first) return talk.begins(incoming);
  Effects effects;
  (void)talk.heard(incoming, is_late, moment(), effects);
  carry_out(segment, effects);
}

Conversation::Moment Client::moment() const {
  if (!is_live()) return {.now_ns = now_ns_};
  return {now_ns_, heard_ns_, connection_->heartbeat_ns()};
}

// ---- what is sent ----

session::RequestTag Client::post(message_type type, std::span<const std::uint8_t> body,
                                 std::span<const std::uint8_t> bulk, std::size_t segment,
                                 bool is_awaited) {
  const session::RequestTag tag = ++last_tag_;
  const std::uint64_t life = segment == no_segment ? 0 : segments_[segment].life;
  waiters_[tag] = {segment, life, !is_awaited};
  write(type, connection_->begin_request(tag, type, now_ns_), body, bulk);
  return tag;
}

void Client::write(message_type type, std::uint32_t stream, std::span<const std::uint8_t> body,
                   std::span<const std::uint8_t> bulk) {
  const session::Slice slice{bulk.data(), bulk.size()};
  session::FrameWriter frames(type, stream, body, {&slice, bulk.empty() ? 0U : 1U});
  Event& event = add_event(IW_SIM_SEND, 0);
  while (true) {
    const std::span<const session::Slice> slices = frames.next(SIZE_MAX);
    if (slices.empty()) return;
    for (const session::Slice& one : slices) {
      const auto* const bytes = static_cast<const std::uint8_t*>(one.data);
      event.bytes.insert(event.bytes.end(), bytes, bytes + one.size_bytes);
    }
  }
}

// The answer to the request is late. If it waits for others, the server hears of that.
void Client::give_up_request(bool waits_for_others) {
  const auto found = waiters_.find(action_.tag);
  if (found == waiters_.end()) return;
  found->second.is_late = true;
  const std::uint32_t stream = connection_->stream_of(action_.tag);
  if (!waits_for_others || stream == 0) return;
  connection_->said(now_ns_);
  write(message_type::CANCEL, 0, session::encoded(protocol::cancel{stream}), {});
}

void Client::carry_out(std::size_t segment, Effects& effects) {
  session::Effect effect;
  while (effects.take(effect)) {
    if (effect.kind == Kind::wake) {
      wake();
    } else if (effect.is_message()) {
      const Conversation::Said outcome = say(segment, effect);
      segments_[segment].talk.said(effect, outcome, effects);
    }
  }
}

void Client::wake() { woken_ns_ = std::min(woken_ns_, now_ns_ + waking_ns); }

Conversation::Said Client::say(std::size_t segment, const session::Effect& effect) {
  if (!is_live() || number_ != effect.on) return Conversation::Said::no_connection;
  const bool closes = effect.kind == Kind::close_segment;
  if (closes) listeners_.erase(effect.segment);
  if (lacks_memory()) return Conversation::Said::no_memory;
  const message_type type = session::type_of(effect.kind);
  const std::vector<std::uint8_t> body = session::body_of(effect);
  if (effect.kind == Kind::credit) {
    connection_->said(now_ns_);
    write(type, 0, body, {});
  } else {
    post(type, body, {}, closes ? no_segment : segment, false);
  }
  return Conversation::Said::sent;
}

bool Client::lacks_memory() {
  if (unsendable_ == 0) return false;
  --unsendable_;
  return true;
}

// ---- the library's thread ----

void Client::run_link_timers() {
  if (!connection_.has_value()) return;
  if (!is_greeted_) {
    if (now_ns_ >= heard_ns_ + greeting_patience_ns) hang_up();
    return;
  }
  look_due_ns_ = now_ns_ + connection_->heartbeat_ns();
  if (!connection_->is_silent(now_ns_)) {
    silent_since_ns_ = 0;
  } else if (silent_since_ns_ == 0) {
    // This process may have been stopped: bytes that came meanwhile must be read first.
    silent_since_ns_ = now_ns_;
  }
  if (silent_since_ns_ != 0) {
    if (now_ns_ >= silent_since_ns_ + reading_grace_ns) return hang_up();
    look_due_ns_ = silent_since_ns_ + reading_grace_ns;
    return;
  }
  if (now_ns_ >= connection_->ping_due_ns()) post(message_type::PING, {}, {}, no_segment, false);
}

std::int64_t Client::link_due_ns() const {
  if (is_connecting_) return never_due_ns;
  if (!connection_.has_value()) {
    return wants_connection() ? std::max(reconnection_.due_ns(), now_ns_) : never_due_ns;
  }
  if (!is_greeted_) return heard_ns_ + greeting_patience_ns;
  return silent_since_ns_ != 0 ? look_due_ns_ : std::min(look_due_ns_, connection_->ping_due_ns());
}

// Messages that could not be sent for lack of memory are sent after a pause.
void Client::run_timers(std::size_t number) {
  Segment& segment = segments_[number];
  Conversation& talk = segment.talk;
  Effects effects;
  if (talk.must_close()) {
    talk.close(effects);
    carry_out(number, effects);
  }
  if (talk.life().is_open() && is_live()) {
    if (talk.has_late_grant() && !has_slot(number)) {
      talk.return_late(effects);
      carry_out(number, effects);
    }
    return_strict(number);
    talk.tick(moment(), effects);
    carry_out(number, effects);
  }
  if (talk.wants().listens && talk.change_due_ns() <= now_ns_) {
    (void)talk.take_change();
    add_event(IW_SIM_CHANGED, number);
  }
  const bool is_live_there = talk.life().is_open() && is_live();
  segment.again_ns = talk.must_close() || (is_live_there && has_unsaid(number))
                         ? now_ns_ + session::scarcity_pause_ns
                         : never_due_ns;
}

bool Client::has_unsaid(std::size_t number) const {
  const Conversation& talk = segments_[number].talk;
  const bool is_late_kept = talk.has_late_grant() && !has_slot(number);
  const bool is_strict_kept = talk.has_unused_strict() && !is_asking(number);
  return is_late_kept || is_strict_kept || talk.has_unsaid();
}

// The Strict lock is given back, unless a reader takes it over.
void Client::return_strict(std::size_t number) {
  Segment& segment = segments_[number];
  if (!segment.talk.has_unused_strict() || is_asking(number)) return;
  Effects effects;
  segment.talk.return_strict(segment.reads_strictly, effects);
  carry_out(number, effects);
}

bool Client::has_slot(std::size_t number) const {
  const bool asks = action_.at != At::nothing && action_.wanted.kind == IW_SIM_WRITE &&
                    action_.wanted.segment == number;
  return asks || writing_ == number;
}

bool Client::is_asking(std::size_t number) const {
  return action_.at != At::nothing && action_.wanted.kind == IW_SIM_READ &&
         action_.wanted.segment == number;
}

std::int64_t Client::due_of(const Segment& segment) const {
  const Conversation& talk = segment.talk;
  std::int64_t due_ns = segment.again_ns;
  if (segment.is_to_be_reopened() && is_live() && action_.at == At::nothing) {
    due_ns = std::min(due_ns, segment.reopening.due_ns());
  }
  if (talk.wants().listens) due_ns = std::min(due_ns, talk.change_due_ns());
  if (talk.life().is_open()) due_ns = std::min(due_ns, talk.due_ns());
  return due_ns;
}

}  // namespace iw::sim
