// A client process as tests host it: a Conversation and a ThreadLock, one thread of the program and
// the library's thread, each of which does one thing at a time when the test says so. It does what
// client::Segment does with them, but for the copy, against the model of a server. Each step checks
// what must hold then; failure() says what did not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/thread_lock.h"
#include "session/conversation_fixture.h"

namespace iw::session::model {

using client::ThreadLock;
using Role = ThreadLock::Role;
using Kind = Effect::Kind;
using Said = Conversation::Said;

enum class Job : std::uint8_t { write, write_and_abort, read, read_strict, listen, be_deaf };

class Client {
 public:
  Client(std::size_t index, const std::vector<Job>& jobs, Server& server) : index_(index) {
    jobs_ = &jobs;
    (void)talk_.life().open(1);
    connection_ = 1;
    (void)server.connect(index);
    opened(server);
    talk_.life().joined();
  }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool is_done() const { return at_ == At::idle && job_ == jobs_->size(); }
  [[nodiscard]] bool is_writing() const { return at_ == At::writing; }
  [[nodiscard]] const Conversation& talk() const { return talk_; }
  [[nodiscard]] std::uint64_t commits() const { return commits_; }

  // The program's thread does the next thing. `is_cut`: the connection is lost while it sends a
  // release. False: it waits.
  bool step(Server& server, std::int64_t now_ns, bool is_cut = false);
  // So does the library's thread.
  bool tick(Server& server, std::int64_t now_ns);
  // The next message of the server is taken in.
  bool deliver(Server& server, std::int64_t now_ns);
  // The thread gives the answer up that it waits for.
  bool time_out(Server& server);
  // The connection is lost. The message that was just being taken in still comes, at any time.
  void lose(Server& server, bool ends_session);
  bool hear_of_loss();
  bool take_straggler(std::int64_t now_ns);
  // From now on the next message is not sent for lack of memory.
  void lack_memory() { lacks_memory_ = true; }
  [[nodiscard]] bool has_effects() const { return !mine_.is_empty() || !library_.is_empty(); }
  // The client counts on a promise only while the server watches its copy [NOT-5].
  void check_promise(const Server& server);
  // Everything is over. Pushed bytes were credited or wait to be.
  void check_end(const Server& server);

  template <typename See>
  void describe(See&& see) const {
    talk_.describe(see);
    see(connection_, is_connected_, is_loss_untold_, at_, job_, is_answered_, answer_, fence_,
        returning_, session_, sequence_, lacks_memory_, lock_.has_readers(),
        lock_.has(Role::writer), lock_.has(Role::asker), straggler_.has_value());
    if (straggler_) see(straggler_->type, straggler_->number, straggler_->awaited);
    mine_.describe(see);
    library_.describe(see);
  }

 private:
  enum class At : std::uint8_t {
    idle,
    has_slot,  // to give a late grant back first
    asks,      // for the writer lock
    asked,
    behind,  // to ask for the version that was granted
    behind_asked,
    writing,
    releases,  // to send a release, or to ask what became of it
    released,
    resolves,
    resolved,
    aborting,
    reads,  // to ask for a reader lock
    read_asked,
    reading,
    returns_strict,
    says,  // the last messages of a job
  };

  [[nodiscard]] Job job() const { return (*jobs_)[job_]; }
  [[nodiscard]] bool is_waiting() const {
    return at_ == At::asked || at_ == At::behind_asked || at_ == At::released ||
           at_ == At::resolved || at_ == At::read_asked;
  }
  [[nodiscard]] bool is_answer_lost() const {
    const bool still_comes = straggler_ && straggler_->awaited;
    return !is_answered_ && !still_comes && (!is_connected_ || asked_on_ != connection_);
  }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = "client " + std::to_string(index_) + ": " + what;
  }

  void opened(Server& server);
  void reach(Server& server);
  void ask(Server& server, Up up, At next);
  void carry_one(Effects& effects, Server& server, std::int64_t now_ns);
  Up up_of(const Effect& effect);
  void check_message(const Effect& effect, const Server& server);
  void take_in(const Down& down, ConnectionNumber on, std::int64_t now_ns,
               std::uint64_t diff_bytes);
  void begin_job();
  void end_job();
  void leave_slot();
  void apply();
  bool wait_for_writer();
  bool wait_for_newest();
  void catch_up();
  void write(Server& server);
  void try_release(Server& server, bool is_cut);
  bool wait_for_release(Server& server);
  void end_release(Release::Next next, const Server& server);
  bool wait_for_resolution(Server& server);
  bool wait_for_reader();
  void stop_reading();
  void unuse_strict() {
    Effects woken;
    talk_.strict_unused(woken);
  }

  std::size_t index_;
  const std::vector<Job>* jobs_;
  std::size_t job_ = 0;
  Conversation talk_{begins_at, 1};
  ThreadLock lock_;
  ConnectionNumber connection_ = 0;
  bool is_connected_ = false;
  bool is_loss_untold_ = false;
  ConnectionNumber lost_connection_ = 0;
  At at_ = At::idle;
  bool is_answered_ = false;
  Down answer_down_;
  error_code answer_ = error_code::OK;
  ConnectionNumber asked_on_ = 0;
  std::uint64_t fence_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t commits_ = 0;
  bool lacks_memory_ = false;
  Effects mine_;
  Effects library_;
  enum class Returning : std::uint8_t { nothing, late_grant, strict } returning_{};
  std::optional<Down> straggler_;
  std::string failure_;
};

inline protocol::session_id id_of(std::uint64_t session) {
  protocol::session_id id{};
  id[0] = static_cast<std::uint8_t>(session);
  id[1] = static_cast<std::uint8_t>(session >> 8U);
  return id;
}

inline void Client::opened(Server& server) {
  is_connected_ = true;
  const std::uint64_t session = server.peer(index_).session;
  if (session != session_) sequence_ = 0;
  session_ = session;
  Conversation::OpenAnswer answer;
  answer.on = connection_;
  answer.opened.segment = 7;
  answer.opened.newest = stamp(server.version());
  answer.session = id_of(session_);
  Effects effects;
  if (talk_.opened(answer, 0, effects) != Conversation::Opened::open) fail("it was not opened");
}

// In one moment; opening_test.cc takes it apart.
inline void Client::reach(Server& server) {
  if (is_connected_) return;
  (void)hear_of_loss();
  ++connection_;
  (void)server.connect(index_);
  if (talk_.life().use(connection_) != Opening::Step::send) fail("it does not open itself again");
  opened(server);
}

inline bool Client::hear_of_loss() {
  if (!is_loss_untold_) return false;
  is_loss_untold_ = false;
  Effects effects;
  talk_.connection_lost(lost_connection_, effects);
  return true;
}

inline void Client::lose(Server& server, bool ends_session) {
  if (!is_connected_) return;
  const std::deque<Down>& out = server.peer(index_).out;
  straggler_ = out.empty() ? std::nullopt : std::optional<Down>(out.front());
  is_connected_ = false;
  is_loss_untold_ = true;
  lost_connection_ = connection_;
  server.lose(index_, ends_session);
}

inline bool Client::take_straggler(std::int64_t now_ns) {
  if (!straggler_) return false;
  const Down down = *straggler_;
  straggler_.reset();
  take_in(down, lost_connection_, now_ns, 8);
  return true;
}

inline bool Client::deliver(Server& server, std::int64_t now_ns) {
  std::deque<Down>& out = server.peer(index_).out;
  if (!is_connected_ || out.empty()) return false;
  const Down down = out.front();
  out.pop_front();
  take_in(down, connection_, now_ns, server.diff_bytes());
  return true;
}

inline void Client::take_in(const Down& down, ConnectionNumber on, std::int64_t now_ns,
                            std::uint64_t diff_bytes) {
  Delivery delivery(down, on, diff_bytes);
  Effects effects;
  (void)talk_.heard(delivery.incoming(), !down.awaited, {.now_ns = now_ns}, effects);
  Effect effect;
  while (effects.take(effect)) {
    if (effect.is_message()) fail("the thread that reads is to send a message");
  }
  if (!down.awaited || !is_waiting()) return;
  is_answered_ = true;
  answer_ = down.code;
  answer_down_ = down;
}

inline bool Client::time_out(Server& server) {
  const bool may_give_up = at_ == At::asked || at_ == At::read_asked;
  if (!may_give_up || is_answered_ || is_answer_lost()) return false;
  if (straggler_ && straggler_->awaited) return false;  // it is just being taken in
  server.give_up(index_);
  server.peer(index_).in.push_back({.type = message_type::CANCEL});
  if (at_ == At::asked) {
    leave_slot();
  } else {
    if (job() == Job::read_strict) unuse_strict();
    lock_.leave(Role::asker);
  }
  end_job();
  return true;
}

inline Up Client::up_of(const Effect& effect) {
  Up up{.type = type_of(effect.kind), .value = effect.value};
  if (effect.kind == Kind::subscribe) {
    up.pushes = effect.watch.push;
    up.value = effect.have.number;
  }
  return up;
}

inline void Client::check_message(const Effect& effect, const Server& server) {
  const Server::Peer& peer = server.peer(index_);
  const auto is_under_way = [&peer](message_type asked) {
    for (const Up& up : peer.in) {
      if (up.type == asked) return true;
    }
    for (const Down& down : peer.out) {
      if (down.asked == asked) return true;
    }
    return false;
  };
  if (effect.segment != 7) fail("a message about another segment");
  const bool watches = effect.kind == Kind::subscribe || effect.kind == Kind::unsubscribe;
  if (watches && is_under_way(message_type::SUBSCRIBE)) {
    fail("a subscription is changed before an earlier change is answered");
  }
  if (effect.kind == Kind::renew_writer && is_under_way(message_type::RENEW_WRITER)) {
    fail("a lease is renewed twice at a time");
  }
  if (effect.kind != Kind::abort_writer) return;
  if (effect.value == fence_ && (at_ == At::writing || at_ == At::releases)) {
    fail("the lock is given back under its writer");
  }
}

// The first of the effects.
inline void Client::carry_one(Effects& effects, Server& server, std::int64_t now_ns) {
  Effect effect;
  if (!effects.take(effect) || !effect.is_message()) return;
  Said outcome = Said::no_connection;
  if (is_connected_ && effect.on == connection_) {
    outcome = std::exchange(lacks_memory_, false) ? Said::no_memory : Said::sent;
  }
  if (outcome == Said::sent) {
    check_message(effect, server);
    Up up = up_of(effect);
    up.sent_ns = now_ns;
    server.peer(index_).in.push_back(up);
  }
  talk_.said(effect, outcome, effects);
}

inline void Client::ask(Server& server, Up up, At next) {
  up.awaited = true;
  server.peer(index_).in.push_back(up);
  asked_on_ = connection_;
  is_answered_ = false;
  at_ = next;
}

inline void Client::begin_job() {
  switch (job()) {
    case Job::write:
    case Job::write_and_abort:
      if (!lock_.may_enter(Role::writer)) return;
      lock_.enter(Role::writer);
      at_ = At::has_slot;
      return;
    case Job::read:
    case Job::read_strict:
      if (!lock_.may_enter(Role::asker)) return;
      lock_.enter(Role::asker);
      if (job() == Job::read_strict) talk_.asks_strict();
      at_ = At::reads;
      return;
    case Job::listen:
      talk_.listen(true);
      talk_.watch(mine_);
      at_ = At::says;
      return;
    case Job::be_deaf:
      talk_.listen(false);
      at_ = At::says;
      return;
  }
}

inline void Client::end_job() {
  at_ = At::idle;
  ++job_;
}

inline void Client::leave_slot() {
  fence_ = 0;
  lock_.leave(Role::writer);
}

inline bool Client::step(Server& server, std::int64_t now_ns, bool is_cut) {
  if (!mine_.is_empty()) {
    carry_one(mine_, server, now_ns);
    return true;
  }
  switch (at_) {
    case At::idle: {
      if (is_done()) return false;
      begin_job();
      return at_ != At::idle;
    }
    case At::has_slot:
      talk_.return_late(mine_);
      at_ = At::asks;
      return true;
    case At::asks:
      reach(server);
      ask(server,
          {.type = message_type::ACQUIRE_WRITER,
           .value = talk_.writer_question(0).have.number,
           .sent_ns = now_ns},
          At::asked);
      return true;
    case At::asked:
      return wait_for_writer();
    case At::behind:
      reach(server);
      ask(server,
          {.type = message_type::ACQUIRE_READER, .value = talk_.question({}, true, 0).have.number},
          At::behind_asked);
      return true;
    case At::behind_asked:
      return wait_for_newest();
    case At::writing:
      write(server);
      return true;
    case At::releases:
      try_release(server, is_cut);
      return true;
    case At::released:
      return wait_for_release(server);
    case At::resolves:
      reach(server);
      ask(server,
          {.type = message_type::RESOLVE_RELEASE,
           .session = talk_.release().session()[0] + 256U * talk_.release().session()[1],
           .sequence = talk_.release().sequence()},
          At::resolved);
      return true;
    case At::resolved:
      return wait_for_resolution(server);
    case At::aborting:
      talk_.end_writing(mine_);
      leave_slot();
      end_job();
      return true;
    case At::reads:
      reach(server);
      ask(server,
          {.type = message_type::ACQUIRE_READER,
           .is_strict = job() == Job::read_strict,
           .value = talk_.question({}, false, 0).have.number},
          At::read_asked);
      return true;
    case At::read_asked:
      return wait_for_reader();
    case At::reading:
      stop_reading();
      return true;
    case At::returns_strict:
      lock_.leave(Role::strict_returner);
      end_job();
      return true;
    case At::says:
      end_job();
      return true;
  }
  return false;
}

inline void Client::apply() {
  while (const std::optional<StagedDiff> diff = talk_.state().take_staged()) {
    talk_.state().applied(*diff);
  }
}

inline bool Client::wait_for_writer() {
  if (!is_answered_) {
    if (!is_answer_lost()) return false;
    at_ = At::asks;
    return true;
  }
  if (talk_.must_ask_again(answer_)) {
    at_ = At::has_slot;
    return true;
  }
  if (answer_ != error_code::OK) {
    if (answer_ == error_code::WOULD_DEADLOCK) fail("it waits for itself");
    leave_slot();
    end_job();
    return true;
  }
  fence_ = talk_.granted().fence;
  catch_up();
  return true;
}

inline bool Client::wait_for_newest() {
  if (!is_answered_) {
    if (!is_answer_lost()) return false;
    at_ = At::behind;
    return true;
  }
  catch_up();
  return true;
}

// Another answer may have come between the request for the lock and its grant [COH-9].
inline void Client::catch_up() {
  apply();
  talk_.give_credit(mine_);
  if (talk_.is_on_newest(0)) {
    talk_.begin_writing();
    at_ = At::writing;
  } else if (talk_.grant().is_lost()) {
    at_ = At::aborting;
  } else {
    at_ = At::behind;
  }
}

inline void Client::write(Server& server) {
  const Server::Holder* const holder = server.holder();
  const bool has_lock = holder != nullptr && holder->peer == index_ && holder->fence == fence_;
  bool will_hear = false;
  for (const Down& down : server.peer(index_).out) {
    will_hear = will_hear || (down.type == message_type::WRITER_LOST && down.fence == fence_);
  }
  const bool may_be_lost = !is_connected_ || asked_on_ != connection_ || straggler_.has_value();
  if (!talk_.grant().is_lost() && !has_lock && !will_hear && !may_be_lost) {
    fail("the lock was lost without a word");
  }
  if (job() == Job::write_and_abort || talk_.grant().is_lost()) {
    if (!talk_.grant().is_lost()) talk_.abort(mine_);
    at_ = At::aborting;
    return;
  }
  at_ = At::releases;
}

inline void Client::try_release(Server& server, bool is_cut) {
  if (!talk_.release().has_sequence()) talk_.release().number(id_of(session_), ++sequence_);
  reach(server);
  switch (talk_.release().way(id_of(session_))) {
    case Release::Way::send:
      break;
    case Release::Way::resolve:
      at_ = At::resolves;
      return;
    case Release::Way::none:
      if (server.has_committed(0, 0)) fail("never");
      return end_release(Release::Next::rolled_back, server);
  }
  if (talk_.release().session() != id_of(session_)) fail("another session repeats a release");
  if (is_cut) {
    lose(server, false);
    return;
  }
  const protocol::release_writer message = talk_.release_message(1);
  talk_.release().sent(true);
  ask(server,
      {.type = message_type::RELEASE_WRITER,
       .value = message.parts[0].fence,
       .session = session_,
       .sequence = message.sequence,
       .diff_bytes = 1},
      At::released);
}

inline bool Client::wait_for_release(Server& server) {
  if (!is_answered_ && !is_answer_lost()) return false;
  const Release::Next next =
      is_answered_ ? talk_.release().after(Release::Attempt::answered, answer_, false)
                   : talk_.release().after(Release::Attempt::send, error_code::UNREACHABLE, false);
  end_release(next, server);
  return true;
}

inline bool Client::wait_for_resolution(Server& server) {
  if (!is_answered_) {
    if (!is_answer_lost()) return false;
    at_ = At::resolves;
    return true;
  }
  if (answer_down_.updated) talk_.resolved(stamp(answer_down_.number), 0);
  const error_code code = answer_down_.updated ? error_code::OK : error_code::ROLLED_BACK;
  end_release(talk_.release().after(Release::Attempt::resolve, code, false), server);
  return true;
}

inline void Client::end_release(Release::Next next, const Server& server) {
  const protocol::session_id& id = talk_.release().session();
  const bool is_committed = server.has_committed(id[0] + 256U * id[1], talk_.release().sequence());
  switch (next) {
    case Release::Next::again:
    case Release::Next::pause:
      at_ = At::releases;
      return;
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
  talk_.end_writing(mine_);
  leave_slot();
  end_job();
}

inline bool Client::wait_for_reader() {
  if (!is_answered_) {
    if (!is_answer_lost()) return false;
    at_ = At::reads;
    return true;
  }
  const bool is_strict = job() == Job::read_strict;
  lock_.leave(Role::asker);
  if (answer_ != error_code::OK) {
    if (is_strict) unuse_strict();
    end_job();
    return true;
  }
  talk_.watch(mine_);
  apply();
  talk_.give_credit(mine_);
  lock_.enter_reader(Role::updated_reader, is_strict);
  at_ = At::reading;
  return true;
}

inline void Client::stop_reading() {
  const bool is_strict = job() == Job::read_strict;
  if (lock_.leave_reader(is_strict).was_last_strict) unuse_strict();
  if (!talk_.has_unused_strict() || !lock_.may_enter(Role::strict_returner)) return end_job();
  talk_.return_strict(lock_.has_strict_readers(), mine_);
  if (mine_.is_empty()) return end_job();
  lock_.enter(Role::strict_returner);
  at_ = At::returns_strict;
}

inline bool Client::tick(Server& server, std::int64_t now_ns) {
  if (!library_.is_empty()) {
    carry_one(library_, server, now_ns);
    if (!library_.is_empty()) return true;
    if (returning_ == Returning::late_grant) lock_.leave(Role::returner);
    if (returning_ == Returning::strict) lock_.leave(Role::strict_returner);
    returning_ = Returning::nothing;
    return true;
  }
  if (!is_connected_ || !talk_.life().is_open()) return false;
  if (talk_.has_late_grant() && lock_.may_enter(Role::returner)) {
    lock_.enter(Role::returner);
    returning_ = Returning::late_grant;
    talk_.return_late(library_);
    return true;
  }
  if (talk_.has_unused_strict() && lock_.may_enter(Role::strict_returner)) {
    talk_.return_strict(lock_.has_strict_readers(), library_);
    if (library_.is_empty()) return true;
    lock_.enter(Role::strict_returner);
    returning_ = Returning::strict;
    return true;
  }
  talk_.tick({.now_ns = now_ns}, library_);
  return !library_.is_empty();
}

inline void Client::check_promise(const Server& server) {
  if (!talk_.state().subscription().has_value() || is_loss_untold_) return;
  if (!is_connected_ || !server.peer(index_).watches) fail("it counts on a promise of nobody");
}

inline void Client::check_end(const Server& server) {
  if (!is_done()) fail("the program's thread waits for ever");
  if (talk_.has_late_grant() && is_connected_) fail("a late grant was not given back");
  if (talk_.has_unused_strict() && is_connected_) fail("a Strict lock was not given back");
  if (!is_connected_) return;
  if (server.peer(index_).watches && !talk_.state().subscription().has_value()) {
    fail("the server watches a copy that counts as unwatched");
  }
  apply();
  Effects effects;
  Effect credit;
  talk_.give_credit(effects);
  const std::uint64_t due_bytes = effects.take(credit) ? credit.value : 0;
  const Server::Peer& peer = server.peer(index_);
  if (peer.pushed_bytes != peer.credited_bytes + due_bytes) {
    fail("credited " + std::to_string(peer.credited_bytes) + " + " + std::to_string(due_bytes) +
         " of " + std::to_string(peer.pushed_bytes) + " pushed bytes");
  }
}

// The end of a run, in which nothing happens by itself any more: nobody waits, the server keeps no
// lock for anybody, and both sides count the same versions. Says what is wrong.
inline std::string check_ends(const Server& server, std::vector<Client>& clients) {
  std::uint64_t commits = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].check_end(server);
    if (!clients[i].failure().empty()) return clients[i].failure();
    commits += clients[i].commits();
    const Server::Peer& peer = server.peer(i);
    if (peer.is_connected && peer.reads_strictly) {
      return "the server keeps a Strict lock for nobody";
    }
  }
  if (server.holder() != nullptr) return "the server keeps a writer lock for nobody";
  return commits == server.version() ? "" : "the server counts other commits";
}

}  // namespace iw::session::model
