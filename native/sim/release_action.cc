// The release of the writer lock with changes, as client::Segment does it. session/release.h says
// what follows from each attempt.
#include <utility>

#include "session/patience.h"
#include "sim/client.h"

namespace iw::sim {

using session::Release;
using Attempt = Release::Attempt;

void Client::begin_releasing() {
  Conversation& talk = segment().talk;
  if (talk.life().is_lost()) return end_release(IW_SIM_ROLLED_BACK, why_lost());
  if (talk.grant().is_lost()) return end_release(IW_SIM_ROLLED_BACK, error_code::FENCED);
  if (action_.diff.empty() && talk.may_end_unsaid(now_ns_)) {
    return end_release(IW_SIM_UNSAID, error_code::OK);
  }
  action_.at = At::releases;
}

bool Client::step_releasing() {
  switch (action_.at) {
    case At::pauses:
      if (now_ns_ < action_.again_ns) return false;
      action_.at = At::releases;
      return true;
    case At::released:
      return step_released();
    case At::resolved:
      return step_resolved();
    default:
      return step_release();
  }
}

// One attempt.
bool Client::step_release() {
  Release& release = segment().talk.release();
  if (!release.has_sequence()) release.number(identity_.id, ++sequence_, now_ns_);
  const Reached reached = reach();
  if (reached != Reached::ready) return reached == Reached::moved;
  switch (release.way(identity_.id)) {
    case Release::Way::send:
      if (lacks_memory()) return after(Attempt::send, error_code::NO_MEMORY);
      ask(message_type::RELEASE_WRITER,
          session::encoded(segment().talk.release_message(action_.diff.size())), At::released);
      release.sent(true);
      return true;
    case Release::Way::resolve:
      ask(message_type::RESOLVE_RELEASE, session::encoded(segment().talk.resolve_question()),
          At::resolved);
      return true;
    case Release::Way::none:
      break;
  }
  return after(Attempt::resolve, error_code::ROLLED_BACK);
}

bool Client::step_released() {
  const std::optional<session::Incoming> answer = take_answer(At::releases);
  if (!answer.has_value()) {
    if (action_.at == At::released) return false;
    return after(Attempt::send, error_code::UNREACHABLE);
  }
  if (answer->type() == message_type::WRITER_KEPT) return after(Attempt::answered, error_code::OK);
  const types::Result read = session::check_answer(*answer, message_type::WRITER_RELEASED);
  return after(Attempt::answered, read.code);
}

// [LOCK-9]
bool Client::step_resolved() {
  const std::optional<session::Incoming> answer = take_answer(At::releases);
  if (!answer.has_value()) return action_.at == At::releases;
  protocol::release_resolved resolved;
  const types::Result read =
      session::decode_answer(*answer, message_type::RELEASE_RESOLVED, resolved);
  if (!read) return after(Attempt::resolve, read.code);
  if (!resolved.committed) return after(Attempt::resolve, error_code::ROLLED_BACK);
  segment().talk.resolved(resolved.version, answer->sent_ns);
  return after(Attempt::resolve, error_code::OK);
}

bool Client::after(Attempt attempt, error_code code) {
  const bool is_over = now_ns_ >= action_.wanted.deadline_ns;
  switch (segment().talk.release().after(attempt, code, is_over)) {
    case Release::Next::again:
      action_.at = At::releases;
      return true;
    case Release::Next::pause:
      action_.at = At::pauses;
      action_.again_ns = now_ns_ + session::scarcity_pause_ns;
      return true;
    case Release::Next::committed:
      end_release(IW_SIM_COMMITTED, error_code::OK);
      return true;
    case Release::Next::held:
      end_release(IW_SIM_HELD, code);
      return true;
    case Release::Next::unsent:
      end_release(IW_SIM_UNSENT, code);
      return true;
    case Release::Next::rolled_back:
      end_release(IW_SIM_ROLLED_BACK, code);
      return true;
    case Release::Next::unknown:
      end_release(IW_SIM_UNKNOWN, code);
      return true;
  }
  return false;
}

void Client::end_release(std::uint32_t outcome, error_code code) {
  const bool is_held = outcome == IW_SIM_HELD || outcome == IW_SIM_UNSENT;
  if (outcome == IW_SIM_UNKNOWN) segment().talk.state().forget();
  if (!is_held) end_writing();
  done(code).said.outcome = outcome;
}

}  // namespace iw::sim
