// A client process as tests host it: a Conversation and a ThreadLock, a few threads of the program
// and the library's thread, each of which does one thing at a time when the test says so. It does
// what client::Segment does with them, but for the copy, against the model of a server. Each step
// checks what must hold then; failure() says what did not. What a thread of the program does is in
// hosted_thread_fixture.h.
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

enum class Job : std::uint8_t {
  write,
  write_and_abort,
  read,
  read_strict,
  listen,
  be_deaf,
  reopen
};
// What one thread does, and what all threads of a client do.
using Jobs = std::vector<Job>;
using Program = std::vector<Jobs>;

enum class At : std::uint8_t {
  idle,
  has_slot,  // to give a late grant back first
  asks,      // for the writer lock
  asked,
  waits_to_write,  // for the readers of the process to leave
  behind,          // to ask for the version that was granted
  behind_asked,
  writing,
  releases,  // to send a release, or to ask what became of it
  released,
  resolves,
  resolved,
  aborting,
  reads,  // to ask for a reader lock
  read_asked,
  has_answer,
  waits_to_update,
  updating,
  updated,
  reading,
  returns_strict,
  waits_to_close,
  closing,
  opens,
  open_asked,
  says,  // the last messages of a job
};

// A thread of the program.
struct Thread {
  const Jobs* jobs = nullptr;
  std::size_t done = 0;  // jobs
  At at = At::idle;
  bool is_alone = false;  // has the role exclusive
  bool is_answered = false;
  Down answer{};
  ConnectionNumber asked_on = 0;
  std::uint64_t asked_in = 0;  // that session
  CopyState::Asked asked{};    // by its question for a reader
  Effects mine{};
  Said said = Said::sent;  // of its last message

  [[nodiscard]] Job job() const { return (*jobs)[done]; }
  [[nodiscard]] bool is_done() const { return at == At::idle && done == jobs->size(); }
  [[nodiscard]] bool is_waiting() const {
    return at == At::asked || at == At::behind_asked || at == At::released || at == At::resolved ||
           at == At::read_asked || at == At::open_asked;
  }
  [[nodiscard]] bool is_strict() const { return job() == Job::read_strict; }
};

class Client {
 public:
  // All threads have the segment open.
  Client(std::size_t index, const Program& program, Server& server) : index_(index) {
    for (const Jobs& jobs : program) threads_.push_back({.jobs = &jobs});
    connect(server);
    server.open(index);
    (void)talk_.life().open(connection_);
    opened(session_, connection_, server.version());
    for (std::size_t i = 0; i < threads_.size(); ++i) talk_.life().joined();
  }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }
  [[nodiscard]] bool is_done() const {
    return std::all_of(threads_.begin(), threads_.end(),
                       [](const Thread& thread) { return thread.is_done(); });
  }
  [[nodiscard]] std::uint64_t commits() const { return commits_; }
  // It keeps a grant between its sections.
  [[nodiscard]] bool keeps_grant() const { return talk_.grant().is_kept(); }
  // Sections that began under a kept grant.
  [[nodiscard]] std::uint64_t resumed() const { return resumed_; }
  // The newest grant that it knows of. A grant whose message was lost ends with its lease.
  [[nodiscard]] std::uint64_t heard_fence() const { return heard_fence_; }

  // That thread of the program does the next thing. `is_cut`: the connection is lost while it sends
  // a release. False: it waits.
  bool step(Server& server, std::size_t thread, std::int64_t now_ns, bool is_cut = false);
  // So does the library's thread.
  bool tick(Server& server, std::int64_t now_ns);
  // The next message of the server is taken in.
  bool deliver(Server& server, std::int64_t now_ns);
  // The thread gives up what it waits for.
  bool time_out(Server& server, std::size_t thread);
  // The connection is lost. The message that was just being taken in still comes, at any time.
  void lose(Server& server, bool ends_session);
  bool hear_of_loss();
  bool take_straggler(std::int64_t now_ns);
  // From now on the next message is not sent for lack of memory.
  void lack_memory() { lacks_memory_ = true; }
  [[nodiscard]] bool has_effects() const {
    return !library_.is_empty() ||
           std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& thread) { return !thread.mine.is_empty(); });
  }
  // The client counts on a promise only while the server watches its copy [NOT-5].
  void check_promise(const Server& server);
  // Everything is over. Pushed bytes were credited or wait to be.
  void check_end(const Server& server);

  template <typename See>
  void describe(See&& see) const {
    talk_.describe(see);
    see(connection_, is_connected_, is_loss_untold_, is_listening_, fence_, granted_on_, returning_,
        session_, sequence_, lacks_memory_, newest_read_, heard_fence_, straggler_.has_value());
    if (straggler_) {
      see(straggler_->type, straggler_->number, straggler_->awaited, straggler_->thread);
    }
    for (const Thread& thread : threads_) {
      see(thread.done, thread.at, thread.is_alone, thread.is_answered, thread.answer.code,
          thread.answer.updated, thread.answer.number, thread.asked_on, thread.asked_in,
          thread.asked.have, talk_.state().has_lost_since(thread.asked), thread.said);
      thread.mine.describe(see);
    }
    library_.describe(see);
  }

 private:
  [[nodiscard]] bool is_answer_lost(const Thread& thread) const {
    const bool still_comes = straggler_ && is_awaited(*straggler_, thread);
    return !thread.is_answered && !still_comes &&
           (!is_connected_ || thread.asked_on != connection_);
  }
  [[nodiscard]] bool is_awaited(const Down& down, const Thread& thread) const {
    return down.awaited && &threads_[down.thread] == &thread;
  }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = "client " + std::to_string(index_) + ": " + what;
  }

  void opened(std::uint64_t session, ConnectionNumber on, std::uint64_t version);
  void connect(Server& server);
  bool reach(Server& server);
  void ask(Server& server, Thread& thread, Up up, At next);
  Said carry_one(Effects& effects, Server& server, std::int64_t now_ns);
  static Up up_of(const Effect& effect);
  void check_message(const Effect& effect, const Server& server);
  void take_in(const Down& down, ConnectionNumber on, std::int64_t now_ns,
               std::uint64_t diff_bytes);
  bool begin_tick(std::int64_t now_ns);
  void unuse_strict() {
    Effects woken;
    talk_.strict_unused(woken);
  }

  // hosted_thread_fixture.h
  bool work(Server& server, Thread& thread, std::int64_t now_ns, bool is_cut);
  bool begin_job(Thread& thread);
  bool end_job(Thread& thread);
  void leave_slot(Thread& thread);
  bool become_alone(Thread& thread);
  void leave_alone(Thread& thread);
  bool resume_kept(const Server& server, Thread& thread, std::int64_t now_ns);
  bool return_late(Thread& thread);
  bool ask_for_writer(Server& server, Thread& thread, std::int64_t now_ns);
  bool wait_for_writer(Thread& thread);
  bool wait_for_newest(Thread& thread);
  void catch_up(Thread& thread);
  void check_lock(const Server& server);
  bool write(Server& server, Thread& thread);
  bool try_release(Server& server, Thread& thread, bool is_cut);
  bool wait_for_release(Server& server, Thread& thread);
  bool end_release(Release::Next next, const Server& server, Thread& thread);
  bool resolve(Server& server, Thread& thread);
  bool wait_for_resolution(Server& server, Thread& thread);
  bool end_writing(Thread& thread);
  bool ask_for_reader(Server& server, Thread& thread);
  bool wait_for_reader(Thread& thread);
  bool update(Thread& thread);
  bool begin_reading(Thread& thread);
  bool stop_reading(Thread& thread);
  bool begin_closing(Thread& thread);
  bool close(Thread& thread);
  bool open(Server& server, Thread& thread);
  bool wait_for_opening(Thread& thread);
  void apply();

  std::size_t index_;
  std::vector<Thread> threads_;
  Conversation talk_{begins_at, 1};
  ThreadLock lock_;
  ConnectionNumber connection_ = 0;
  bool is_connected_ = false;
  bool is_loss_untold_ = false;
  bool is_listening_ = false;  // notifications about the segment are given to it
  ConnectionNumber lost_connection_ = 0;
  std::uint64_t fence_ = 0;          // of the thread that writes
  ConnectionNumber granted_on_ = 0;  // likewise: where it heard of its grant, or resumed it
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t resumed_ = 0;
  std::uint64_t newest_read_ = 0;
  std::uint64_t heard_fence_ = 0;
  bool lacks_memory_ = false;
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
inline std::uint64_t session_of(const protocol::session_id& id) { return id[0] + 256U * id[1]; }

inline void Client::opened(std::uint64_t session, ConnectionNumber on, std::uint64_t version) {
  is_listening_ = true;
  Conversation::OpenAnswer answer;
  answer.on = on;
  answer.opened.segment = 7;
  answer.opened.newest = stamp(version);
  answer.session = id_of(session);
  Effects effects;
  if (talk_.opened(answer, 0, effects) != Conversation::Opened::open) fail("it was not opened");
}

inline void Client::connect(Server& server) {
  if (is_connected_) return;
  (void)hear_of_loss();
  ++connection_;
  is_connected_ = true;
  server.connect(index_);
  const std::uint64_t session = server.peer(index_).session;
  if (session != session_) sequence_ = 0;
  session_ = session;
}

// Opens it again in one moment; opening_test.cc takes that apart. False: another thread opens or
// closes it.
inline bool Client::reach(Server& server) {
  connect(server);
  switch (talk_.life().use(connection_)) {
    case Opening::Step::ready:
      return true;
    case Opening::Step::send:
      server.open(index_);
      opened(session_, connection_, server.version());
      return true;
    case Opening::Step::wait:
      return false;
    default:
      fail("the segment is closed under a thread that has it open");
      return false;
  }
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
  const Queue<Down>& out = server.peer(index_).out;
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
  Queue<Down>& out = server.peer(index_).out;
  if (!is_connected_ || out.empty()) return false;
  const Down down = out.front();
  out.pop_front();
  take_in(down, connection_, now_ns, server.diff_bytes());
  return true;
}

inline void Client::take_in(const Down& down, ConnectionNumber on, std::int64_t now_ns,
                            std::uint64_t diff_bytes) {
  if (down.is_notification && !is_listening_) return;
  heard_fence_ = std::max(heard_fence_, down.fence);
  Delivery delivery(down, on, diff_bytes);
  Effects effects;
  (void)talk_.heard(delivery.incoming(), !down.awaited, {.now_ns = now_ns}, effects);
  Effect effect;
  while (effects.take(effect)) {
    if (effect.is_message()) fail("the thread that reads is to send a message");
  }
  if (!down.awaited) return;
  Thread& thread = threads_[down.thread];
  if (!thread.is_waiting()) return;
  thread.is_answered = true;
  thread.answer = down;
}

inline bool Client::time_out(Server& server, std::size_t number) {
  Thread& thread = threads_[number];
  if (thread.at == At::waits_to_write) {  // it has the lock, and another thread reads on
    lock_.end_waiting();
    talk_.abort(thread.mine);
    thread.at = At::aborting;
    return true;
  }
  const bool may_give_up = thread.at == At::asked || thread.at == At::read_asked;
  if (!may_give_up || thread.is_answered || is_answer_lost(thread)) return false;
  if (straggler_ && is_awaited(*straggler_, thread)) return false;  // it is just being taken in
  server.give_up(index_, static_cast<std::uint8_t>(number));
  server.peer(index_).in.push_back({.type = message_type::CANCEL});
  if (thread.at == At::asked) {
    leave_slot(thread);
  } else {
    if (thread.is_strict()) unuse_strict();
    lock_.leave(Role::asker);
  }
  (void)end_job(thread);
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
  for (const Thread& thread : threads_) {
    const bool has_lock = thread.at == At::writing || thread.at == At::releases;
    if (has_lock && effect.value == fence_) fail("the lock is given back under its writer");
  }
}

// The first of the effects.
inline Said Client::carry_one(Effects& effects, Server& server, std::int64_t now_ns) {
  Effect effect;
  if (!effects.take(effect) || !effect.is_message()) return Said::sent;
  Said outcome = Said::no_connection;
  const bool closes = effect.kind == Kind::close_segment;
  if (is_connected_ && effect.on == connection_) {
    if (closes) is_listening_ = false;
    outcome = std::exchange(lacks_memory_, false) ? Said::no_memory : Said::sent;
  }
  if (outcome == Said::sent) {
    check_message(effect, server);
    Up up = up_of(effect);
    up.sent_ns = now_ns;
    server.peer(index_).in.push_back(up);
  }
  talk_.said(effect, outcome, effects);
  return outcome;
}

inline void Client::ask(Server& server, Thread& thread, Up up, At next) {
  up.awaited = true;
  up.thread = static_cast<std::uint8_t>(&thread - threads_.data());
  server.peer(index_).in.push_back(up);
  thread.asked_on = connection_;
  thread.asked_in = session_;
  thread.is_answered = false;
  thread.at = next;
}

inline bool Client::step(Server& server, std::size_t number, std::int64_t now_ns, bool is_cut) {
  Thread& thread = threads_[number];
  if (thread.mine.is_empty()) return work(server, thread, now_ns, is_cut);
  thread.said = carry_one(thread.mine, server, now_ns);
  return true;
}

inline bool Client::tick(Server& server, std::int64_t now_ns) {
  if (!library_.is_empty()) {
    (void)carry_one(library_, server, now_ns);
    if (!library_.is_empty()) return true;
    if (returning_ == Returning::late_grant) lock_.leave(Role::returner);
    if (returning_ == Returning::strict) lock_.leave(Role::strict_returner);
    returning_ = Returning::nothing;
    return true;
  }
  if (talk_.must_close()) {
    talk_.close(library_);
    return !talk_.must_close();
  }
  return is_connected_ && talk_.life().is_open() && begin_tick(now_ns);
}

inline bool Client::begin_tick(std::int64_t now_ns) {
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
  if (!is_done()) fail("a thread of the program waits for ever");
  if (talk_.has_late_grant() && is_connected_) fail("a late grant was not given back");
  if (keeps_grant() && is_connected_) fail("an unused grant was not given back");
  if (talk_.has_unused_strict() && is_connected_) fail("a Strict lock was not given back");
  if (talk_.must_close()) fail("it was not closed");
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
  if (!server.failure().empty()) return server.failure();
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
  if (server.is_held_for_nobody()) return "the server keeps a writer lock for nobody";
  return commits == server.version() ? "" : "the server counts other commits";
}

}  // namespace iw::session::model

#include "session/hosted_thread_fixture.h"
