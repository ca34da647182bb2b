// A client that a simulator hosts (face.h): a program of one thread, which takes one action after
// the other, with the link to its server and the work of the library's thread. It does what
// client::ServerLink, client::Segment and client::Runtime do, in the same order, but it waits for
// nothing: each call goes as far as it can. Where client::Segment calls and waits, an action here
// has a step (At). The protocol's decisions are the session room's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/segment.gen.h"
#include "session/connection.h"
#include "session/conversation.h"
#include "session/reconnection.h"
#include "sim/face.h"

namespace iw::sim {

using protocol::error_code;
using protocol::message_type;
using session::Conversation;
using session::Effects;

inline constexpr std::int64_t never_due_ns = Conversation::never_due_ns;

// Pushed bytes are credited back in pieces that a simulated segment reaches.
inline constexpr std::uint64_t least_credit_bytes = 512;
// The kind of an action that the library's thread does by itself.
inline constexpr std::uint32_t library_work = 0;

[[nodiscard]] iw_sim_version version_of(const protocol::version_stamp& stamp);

struct Event {
  iw_sim_event said{};
  std::vector<std::uint8_t> bytes;
};

struct Segment {
  Segment(std::string segment_path, protocol::durability how);

  std::string path;
  protocol::durability durable{};
  Conversation talk;
  // Tells answers to an earlier conversation, which are dropped, from those to this one.
  std::uint64_t life = 0;
  bool reads_strictly = false;
  std::int64_t again_ns = never_due_ns;  // unsent messages are tried again then
  session::Reconnection reopening;       // by the library's thread

  // Another conversation takes the place of one that is lost.
  void begin_anew();
  // The program listens, so that the library's thread opens the segment on the next connection.
  [[nodiscard]] bool is_to_be_reopened() const {
    return talk.wants().listens && talk.life().stage() == session::Opening::Stage::away;
  }
};

// Where an action stands.
enum class At : std::uint8_t {
  nothing,  // no action
  opens,    // OPEN_SEGMENT was sent; it continues at Action::then
  begins,
  reads,         // looks whether the copy is recent enough
  read_asked,    // ACQUIRE_READER was sent
  has_slot,      // wants the writer lock
  write_asks,    // is to send ACQUIRE_WRITER
  write_asked,   // was sent
  behind,        // has the lock; the copy must become the newest
  behind_asked,  // ACQUIRE_READER was sent for that
  releases,      // is to send RELEASE_WRITER, or RESOLVE_RELEASE
  released,      // RELEASE_WRITER was sent
  resolved,      // RESOLVE_RELEASE was sent
  pauses,        // until Action::again_ns, then it releases
  serials_asked,
  closes,
};

struct Action {
  iw_sim_action wanted{};
  std::vector<std::uint8_t> diff;
  At at = At::nothing;
  At then = At::nothing;
  std::int64_t began_ns = 0;
  std::int64_t again_ns = 0;
  session::RequestTag tag = 0;      // of the request whose answer is awaited
  session::CopyState::Asked asked;  // by the question for a reader
  std::optional<session::Incoming> answer;
  bool is_answer_lost = false;  // with its connection
  bool is_asked = false;        // for a reader
  bool must_ask = false;        // it is not looked whether the copy is recent enough
  bool is_strict = false;
  bool is_resumed = false;
  bool is_given_up = false;
  bool needs_connection = false;
  int questions = 0;
};

class Client {
 public:
  void add_segment(std::string path, protocol::durability durable);

  void connected(std::int64_t now_ns);
  void disconnected(std::int64_t now_ns);
  void received(std::int64_t now_ns, std::span<const std::uint8_t> bytes);
  void tick(std::int64_t now_ns);
  [[nodiscard]] std::int64_t due_ns() const;

  bool begin(std::int64_t now_ns, const iw_sim_action& wanted);
  void give_up(std::int64_t now_ns);
  void lack_memory(std::uint32_t messages) { unsendable_ = messages; }
  void fail_apply(bool damages) { fails_apply_ = damages ? Failing::damages : Failing::drops; }

  bool next(iw_sim_event& out);
  void know(std::uint32_t segment, iw_sim_knowledge& out) const;
  [[nodiscard]] std::uint64_t hash() const;

 private:
  // The request of an answer.
  struct Waiter {
    std::size_t segment = no_segment;
    std::uint64_t life = 0;
    bool is_late = false;
  };
  static constexpr std::size_t no_segment = SIZE_MAX;

  // ---- link.cc ----
  [[nodiscard]] bool is_live() const { return connection_.has_value() && is_greeted_; }
  void begin_connection();
  [[nodiscard]] bool wants_connection() const;
  void look_for_connection();
  void hang_up();
  void lose();
  void greet(session::Incoming& answer);
  void take_in(std::span<const std::uint8_t> bytes);
  void handle(session::Incoming& incoming);
  void absorb(std::size_t segment, session::Incoming& incoming, bool is_late);
  session::RequestTag post(message_type type, std::span<const std::uint8_t> body,
                           std::span<const std::uint8_t> bulk, std::size_t segment,
                           bool is_awaited);
  void write(message_type type, std::uint32_t stream, std::span<const std::uint8_t> body,
             std::span<const std::uint8_t> bulk);
  void give_up_request(bool waits_for_others);
  void carry_out(std::size_t segment, Effects& effects);
  Conversation::Said say(std::size_t segment, const session::Effect& effect);
  [[nodiscard]] bool lacks_memory();
  void wake();
  void run_link_timers();
  [[nodiscard]] std::int64_t link_due_ns() const;
  void run_timers(std::size_t number);
  void return_strict(std::size_t number);
  [[nodiscard]] std::int64_t due_of(const Segment& segment) const;
  [[nodiscard]] bool has_unsaid(std::size_t number) const;
  // The slot of the writer, and the turn to ask, as client::ThreadLock keeps them.
  [[nodiscard]] bool has_slot(std::size_t number) const;
  [[nodiscard]] bool is_asking(std::size_t number) const;
  [[nodiscard]] Conversation::Moment moment() const;
  Event& add_event(std::uint32_t kind, std::size_t segment);

  // ---- actions.cc ----
  enum class Reached : std::uint8_t {
    ready,
    waits,  // nothing can be done now
    moved   // the action stands elsewhere, or has failed
  };
  void go_on();
  void begin_next();
  bool step();
  Event& done(error_code code);
  bool fail(error_code code);
  [[nodiscard]] error_code why_lost() const;
  [[nodiscard]] bool waits_for_others() const;
  [[nodiscard]] std::int64_t patience_ns() const;
  [[nodiscard]] bool begins_slowly() const;
  void run_out();
  [[nodiscard]] std::uint32_t deadline_ms() const;
  Reached reach();
  void open();
  void ask(message_type type, std::span<const std::uint8_t> body, At next);
  std::optional<session::Incoming> take_answer(At again);
  bool step_opening();
  void opened(const session::Incoming& answer);
  bool step_beginning();
  void set_bound();
  bool step_reading();
  bool step_read_asked();
  void enter_reader();
  void end_reading();
  error_code apply_staged();
  bool step_slot();
  bool step_write_asks();
  bool step_write_asked();
  bool step_behind();
  bool step_behind_asked();
  void begin_writing();
  bool step_serials();
  void abort();
  void end_writing();
  void listen(bool listens);
  void begin_closing();
  bool step_closing();
  Segment& segment() { return segments_[action_.wanted.segment]; }
  [[nodiscard]] const Segment& segment() const { return segments_[action_.wanted.segment]; }

  // ---- release_action.cc ----
  void begin_releasing();
  bool step_releasing();
  bool step_release();
  bool step_released();
  bool step_resolved();
  bool after(session::Release::Attempt attempt, error_code code);
  void end_release(std::uint32_t outcome, error_code code);

  std::vector<Segment> segments_;
  std::deque<Event> events_;
  std::vector<std::uint8_t> given_;  // the bytes of the last event
  std::int64_t now_ns_ = 0;
  std::int64_t woken_ns_ = never_due_ns;  // the library's thread is due then

  session::SessionIdentity identity_;
  std::uint64_t sequence_ = 0;
  session::ConnectionNumber number_ = 0;
  std::optional<session::Connection> connection_;
  bool is_greeted_ = false;
  bool is_connecting_ = false;  // the caller was asked for a connection
  std::int64_t heard_ns_ = 0;
  std::int64_t silent_since_ns_ = 0;  // 0: it was heard
  std::int64_t look_due_ns_ = 0;      // the library's thread looks at the connection then
  session::Reconnection reconnection_;
  session::RequestTag last_tag_ = 0;
  std::map<session::RequestTag, Waiter> waiters_;
  std::map<std::uint32_t, std::size_t> listeners_;  // by the number on the connection

  Action action_;
  std::optional<Action> pending_;       // begins after the work of the library's thread
  Event nobody_;                        // of work of the library's thread: it is told to nobody
  std::optional<std::size_t> writing_;  // the segment whose writer lock the program has
  std::uint32_t unsendable_ = 0;
  enum class Failing : std::uint8_t { not_at_all, drops, damages } fails_apply_{};
};

}  // namespace iw::sim
