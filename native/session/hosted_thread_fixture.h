// What a thread of a hosted client does (hosted_client_fixture.h): it takes locks, writes, reads,
// closes the segment and opens it again, as client::Segment does for a thread of the program. Each
// function does one thing, and says whether anything was done.
#pragma once

#include "session/hosted_client_fixture.h"

namespace iw::session::model {

inline bool Client::work(Server& server, Thread& thread, std::int64_t now_ns, bool is_cut) {
  switch (thread.at) {
    case At::idle:
      return !thread.is_done() && begin_job(thread);
    case At::has_slot:
      return resume_kept(server, thread, now_ns) || return_late(thread);
    case At::asks:
      return ask_for_writer(server, thread, now_ns);
    case At::asked:
      return wait_for_writer(thread);
    case At::waits_to_write:
      if (!become_alone(thread)) return false;
      catch_up(thread);
      return true;
    case At::behind:
    case At::reads:
      return ask_for_reader(server, thread);
    case At::behind_asked:
      return wait_for_newest(thread);
    case At::writing:
      return write(server, thread);
    case At::releases:
      return try_release(server, thread, is_cut);
    case At::released:
      return wait_for_release(server, thread);
    case At::resolves:
      return resolve(server, thread);
    case At::resolved:
      return wait_for_resolution(server, thread);
    case At::aborting:
      return end_writing(thread);
    case At::read_asked:
      return wait_for_reader(thread);
    case At::has_answer:
    case At::waits_to_update:
      return update(thread);
    case At::updating:
      leave_alone(thread);
      thread.at = At::updated;
      return true;
    case At::updated:
      return begin_reading(thread);
    case At::reading:
      return stop_reading(thread);
    case At::returns_strict:
      lock_.leave(Role::strict_returner);
      return end_job(thread);
    case At::waits_to_close:
      return close(thread);
    case At::closing:
      leave_alone(thread);
      thread.at = At::opens;
      return true;
    case At::opens:
      return open(server, thread);
    case At::open_asked:
      return wait_for_opening(thread);
    case At::says:
      return end_job(thread);
  }
  return false;
}

inline bool Client::begin_job(Thread& thread) {
  switch (thread.job()) {
    case Job::write:
    case Job::write_and_abort:
      if (!lock_.may_enter(Role::writer)) return false;
      lock_.enter(Role::writer);
      thread.at = At::has_slot;
      return true;
    case Job::read:
    case Job::read_strict:
      if (!lock_.may_enter(Role::asker)) return false;
      lock_.enter(Role::asker);
      if (thread.is_strict()) talk_.asks_strict();
      thread.at = At::reads;
      return true;
    case Job::listen:
      talk_.listen(true);
      talk_.watch(thread.mine);
      thread.at = At::says;
      return true;
    case Job::be_deaf:
      talk_.listen(false);
      thread.at = At::says;
      return true;
    case Job::reopen:
      return begin_closing(thread);
  }
  return false;
}

inline bool Client::end_job(Thread& thread) {
  thread.at = At::idle;
  ++thread.done;
  return true;
}

inline bool Client::become_alone(Thread& thread) {
  if (!lock_.may_enter(Role::exclusive)) return false;
  lock_.end_waiting();
  lock_.enter(Role::exclusive);
  thread.is_alone = true;
  return true;
}

inline void Client::leave_alone(Thread& thread) {
  if (std::exchange(thread.is_alone, false)) lock_.leave(Role::exclusive);
}

inline void Client::apply() {
  while (const std::optional<StagedDiff> diff = talk_.state().take_staged()) {
    if (lock_.has_readers()) fail("the copy is changed under a reader");
    talk_.state().applied(*diff);
  }
}

// ---- the writer ----

inline void Client::leave_slot(Thread& thread) {
  leave_alone(thread);
  fence_ = 0;
  granted_on_ = 0;
  lock_.leave(Role::writer);
}

// A kept grant is good until the client hears otherwise.
inline bool Client::resume_kept(const Server& server, Thread& thread, std::int64_t now_ns) {
  if (!talk_.resume_kept(now_ns)) return false;
  ++resumed_;
  fence_ = talk_.grant().fence();
  granted_on_ = connection_;
  lock_.begin_waiting();
  thread.at = At::waits_to_write;
  check_lock(server);
  return true;
}

inline bool Client::return_late(Thread& thread) {
  thread.said = Said::sent;
  talk_.return_late(thread.mine);
  thread.at = At::asks;
  return true;
}

inline bool Client::ask_for_writer(Server& server, Thread& thread, std::int64_t now_ns) {
  const bool lacked_memory = std::exchange(thread.said, Said::sent) == Said::no_memory;
  if (talk_.has_late_grant()) {
    if (!lacked_memory) {
      thread.at = At::has_slot;
      return true;
    }
    leave_slot(thread);
    return end_job(thread);
  }
  if (!reach(server)) return false;
  ask(server, thread,
      {.type = message_type::ACQUIRE_WRITER,
       .value = talk_.writer_question(0).have.number,
       .sent_ns = now_ns},
      At::asked);
  return true;
}

inline bool Client::wait_for_writer(Thread& thread) {
  if (!thread.is_answered) {
    if (!is_answer_lost(thread)) return false;
    thread.at = At::asks;
    return true;
  }
  if (talk_.must_ask_again(thread.answer.code)) {
    thread.at = At::has_slot;
    return true;
  }
  if (thread.answer.code != error_code::OK) {
    if (thread.answer.code == error_code::WOULD_DEADLOCK) fail("it waits for itself");
    leave_slot(thread);
    return end_job(thread);
  }
  fence_ = talk_.granted().fence;
  granted_on_ = thread.asked_on;
  lock_.begin_waiting();
  thread.at = At::waits_to_write;
  return true;
}

inline bool Client::wait_for_newest(Thread& thread) {
  if (!thread.is_answered) {
    if (!is_answer_lost(thread)) return false;
    thread.at = At::behind;
    return true;
  }
  catch_up(thread);
  return true;
}

// Another answer may have come between the request for the lock and its grant [COH-9].
inline void Client::catch_up(Thread& thread) {
  apply();
  talk_.give_credit(thread.mine);
  if (talk_.is_on_newest(0)) {
    talk_.begin_writing();
    thread.at = At::writing;
  } else if (talk_.grant().is_lost()) {
    talk_.abort(thread.mine);
    thread.at = At::aborting;
  } else {
    thread.at = At::behind;
  }
}

// The server keeps the lock for this client, or the client will hear otherwise. What the server
// said after the grant's connection was lost, it said to nobody: the release is refused then.
inline void Client::check_lock(const Server& server) {
  const Server::Holder* const holder = server.holder();
  const bool has_lock = holder != nullptr && holder->peer == index_ && holder->fence == fence_;
  bool will_hear = false;
  for (const Down& down : server.peer(index_).out) {
    will_hear = will_hear || (down.type == message_type::WRITER_LOST && down.fence == fence_);
  }
  const bool may_be_lost = !is_connected_ || granted_on_ != connection_ || straggler_.has_value();
  if (!talk_.grant().is_lost() && !has_lock && !will_hear && !may_be_lost) {
    fail("the lock was lost without a word");
  }
}

inline bool Client::write(Server& server, Thread& thread) {
  check_lock(server);
  if (thread.job() == Job::write_and_abort) talk_.abort(thread.mine);
  const bool is_undone = thread.job() == Job::write_and_abort || talk_.grant().is_lost();
  thread.at = is_undone ? At::aborting : At::releases;
  return true;
}

inline bool Client::try_release(Server& server, Thread& thread, bool is_cut) {
  if (!talk_.release().has_sequence()) talk_.release().number(id_of(session_), ++sequence_, 0);
  if (!reach(server)) return false;
  switch (talk_.release().way(id_of(session_))) {
    case Release::Way::send:
      break;
    case Release::Way::resolve:
      thread.at = At::resolves;
      return true;
    case Release::Way::none:
      return end_release(Release::Next::rolled_back, server, thread);
  }
  if (talk_.release().session() != id_of(session_)) fail("another session repeats a release");
  if (is_cut) {
    lose(server, false);
    return true;
  }
  const protocol::release_writer message = talk_.release_message(1);
  talk_.release().sent(true);
  ask(server, thread,
      {.type = message_type::RELEASE_WRITER,
       .value = message.parts[0].fence,
       .session = session_,
       .sequence = message.sequence,
       .diff_bytes = 1},
      At::released);
  return true;
}

inline bool Client::wait_for_release(Server& server, Thread& thread) {
  if (!thread.is_answered && !is_answer_lost(thread)) return false;
  const Release::Next next =
      thread.is_answered
          ? talk_.release().after(Release::Attempt::answered, thread.answer.code, false)
          : talk_.release().after(Release::Attempt::send, error_code::UNREACHABLE, false);
  return end_release(next, server, thread);
}

inline bool Client::resolve(Server& server, Thread& thread) {
  if (!reach(server)) return false;
  ask(server, thread,
      {.type = message_type::RESOLVE_RELEASE,
       .session = session_of(talk_.release().session()),
       .sequence = talk_.release().sequence()},
      At::resolved);
  return true;
}

inline bool Client::wait_for_resolution(Server& server, Thread& thread) {
  if (!thread.is_answered) {
    if (!is_answer_lost(thread)) return false;
    thread.at = At::resolves;
    return true;
  }
  if (thread.answer.updated) talk_.resolved(stamp(thread.answer.number), 0);
  const error_code code = thread.answer.updated ? error_code::OK : error_code::ROLLED_BACK;
  return end_release(talk_.release().after(Release::Attempt::resolve, code, false), server, thread);
}

inline bool Client::end_release(Release::Next next, const Server& server, Thread& thread) {
  const bool is_committed =
      server.has_committed(session_of(talk_.release().session()), talk_.release().sequence());
  switch (next) {
    case Release::Next::again:
    case Release::Next::pause:
      thread.at = At::releases;
      return true;
    case Release::Next::committed:
      if (!is_committed) fail("a release counts as committed that is not");
      ++commits_;
      break;
    case Release::Next::rolled_back:
      if (is_committed) fail("a release was undone that is committed");
      break;
    default:
      fail("nobody knows what became of a release");
  }
  return end_writing(thread);
}

inline bool Client::end_writing(Thread& thread) {
  talk_.end_writing(thread.mine);
  leave_slot(thread);
  return end_job(thread);
}

// ---- readers ----

// Also by the writer that is behind.
inline bool Client::ask_for_reader(Server& server, Thread& thread) {
  if (!reach(server)) return false;
  const bool is_behind = thread.at == At::behind;
  thread.asked = talk_.state().asked();
  ask(server, thread,
      {.type = message_type::ACQUIRE_READER,
       .is_strict = !is_behind && thread.is_strict(),
       .value = talk_.question({}, is_behind, 0).have.number},
      is_behind ? At::behind_asked : At::read_asked);
  return true;
}

inline bool Client::wait_for_reader(Thread& thread) {
  if (!thread.is_answered) {
    if (!is_answer_lost(thread)) return false;
    thread.at = At::reads;
    return true;
  }
  if (thread.answer.code != error_code::OK) {
    lock_.leave(Role::asker);
    if (thread.is_strict()) unuse_strict();
    return end_job(thread);
  }
  const bool asks_again =
      talk_.must_ask_again({stamp(thread.answer.number), thread.answer.updated}, thread.asked);
  if (asks_again && !lock_.has(Role::exclusive)) {
    thread.at = At::reads;
    return true;
  }
  talk_.watch(thread.mine);
  thread.at = At::has_answer;
  return true;
}

inline bool Client::update(Thread& thread) {
  if (thread.at == At::has_answer) {
    thread.at = At::updated;
    if (!talk_.state().has_staged()) return true;
    lock_.begin_waiting();
    thread.at = At::waits_to_update;
    return true;
  }
  if (!become_alone(thread)) return false;
  apply();
  talk_.give_credit(thread.mine);
  thread.at = At::updating;
  return true;
}

// A writer of this process that came in meanwhile has a newer version: then it asks again.
inline bool Client::begin_reading(Thread& thread) {
  lock_.leave(Role::asker);
  thread.at = At::idle;
  if (!lock_.may_enter(Role::updated_reader)) return true;
  lock_.enter_reader(Role::updated_reader, thread.is_strict());
  thread.at = At::reading;
  const std::uint64_t number = talk_.state().have().number;
  if (number < newest_read_) fail("a reader sees an older version than before");
  newest_read_ = number;
  return true;
}

inline bool Client::stop_reading(Thread& thread) {
  const bool is_strict = thread.is_strict();
  if (lock_.leave_reader(is_strict).was_last_strict) unuse_strict();
  if (!talk_.has_unused_strict() || !lock_.may_enter(Role::strict_returner)) {
    return end_job(thread);
  }
  talk_.return_strict(lock_.has_strict_readers(), thread.mine);
  if (thread.mine.is_empty()) return end_job(thread);
  lock_.enter(Role::strict_returner);
  thread.at = At::returns_strict;
  return true;
}

// ---- closing and opening again ----

inline bool Client::begin_closing(Thread& thread) {
  switch (talk_.life().close()) {
    case Opening::Close::counted:
      thread.at = At::opens;
      return true;
    case Opening::Close::last:
      lock_.begin_waiting();
      thread.at = At::waits_to_close;
      return true;
    case Opening::Close::wait:
      return false;
    case Opening::Close::not_open:
      fail("it is closed more often than opened");
      return false;
  }
  return false;
}

inline bool Client::close(Thread& thread) {
  if (!become_alone(thread)) return false;
  switch (talk_.life().end()) {
    case Opening::Close::last:
      talk_.clear();
      talk_.close(thread.mine);
      thread.at = At::closing;
      return true;
    case Opening::Close::counted:
      leave_alone(thread);
      thread.at = At::opens;
      return true;
    default:
      leave_alone(thread);
      thread.at = At::idle;
      return true;
  }
}

inline bool Client::open(Server& server, Thread& thread) {
  connect(server);
  switch (talk_.life().open(connection_)) {
    case Opening::Step::ready:
      if (talk_.life().users() == 0) talk_.state().clear();  // the copy is a new one
      talk_.life().joined();
      return end_job(thread);
    case Opening::Step::send:
      ask(server, thread, {.type = message_type::OPEN_SEGMENT}, At::open_asked);
      return true;
    case Opening::Step::wait:
      return false;
    default:
      fail("it cannot be opened again");
      return false;
  }
}

inline bool Client::wait_for_opening(Thread& thread) {
  if (!thread.is_answered) {
    if (!is_answer_lost(thread)) return false;
    talk_.life().refused();
    thread.at = At::opens;
    return true;
  }
  opened(thread.asked_in, thread.asked_on, thread.answer.number);
  // The connection may have been lost before it heard of that.
  Effects effects;
  if (!is_connected_ || thread.asked_on != connection_) {
    talk_.connection_lost(thread.asked_on, effects);
  }
  thread.at = At::opens;
  return true;
}

}  // namespace iw::session::model
