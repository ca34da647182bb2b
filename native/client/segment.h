// One segment of this process: its copy, its locks among the process's threads, and its
// conversation with the server. Runtime makes one for a URL and forgets it when nobody has it open
// and nothing can come for it any more; the URL's handle stays (handle.h).
//
// The lock among threads (spec/coherence.md, PROC-*) is threads_ (thread_lock.h). Nearly everything
// is guarded by mutex_, which is held for moments only: never while talking to the server, never
// while bytes are translated. What requires it and talks gives it up meanwhile (MutexUnlock) and
// says so. The copy itself belongs to whoever is inside.
//
//   segment.cc           the lock among threads, requests
//   segment_opening.cc   opening, closing, lost connections, loss of the segment
//   segment_following.cc which server is asked: the URL's, or one to which it sends the segment on
//   segment_reader.cc    reader locks, asking, applying
//   segment_writer.cc    the writer lock, release, abort
//   segment_messages.cc  what the server says; renewals, credit, subscriptions
//   segment_blocks.cc    allocation, MIPs
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/agenda.h"
#include "client/handle.h"
#include "client/holds.h"
#include "client/server_link.h"
#include "client/thread_lock.h"
#include "client/waiting.h"
#include "coherence/freshness.h"
#include "copy/copy.h"
#include "interweave.h"
#include "platform/clock.h"
#include "platform/mutex.h"
#include "session/conversation.h"
#include "types/mip.h"

namespace iw::client {

using copy::CollectedDiff;
using copy::Copy;
using copy::Stray;

class Runtime;

struct OpenWish {
  bool create = true;
  bool read_only = false;
  protocol::durability durable = protocol::durability::SYNCED;
  std::uint64_t quota_bytes = 0;
  double timeout_s = 30;
};

// How long an acquire may wait for others, and whether it must ask.
struct Wish {
  std::int64_t deadline_ns = 0;
  bool may_wait = true;  // for other holders of the lock
  bool fresh = false;
};

// Memory that stays readable. The heap outlives its segment's closing for it.
struct Pin {
  std::shared_ptr<memory::Heap> heap;
  memory::Subsegment* subsegment = nullptr;
};

class Segment final : public Listener {
 public:
  // `url`: its first name; `home`: the link of that URL's server.
  Segment(Runtime& runtime, types::Url url, ServerLink& home);
  ~Segment();

  [[nodiscard]] const types::Url& url() const { return url_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // ---- opening ----
  Result open(const OpenWish& wish);
  // The program opened it by the name of another server, too [SPACE-63].
  void also_at(std::shared_ptr<ServerLink> link, const session::SpaceId& space);
  // A connection to a server of its own, where it is open if possible. Null: none by then, or the
  // last such server was of another space, or of none.
  std::shared_ptr<Live> connected_in(const session::SpaceId& space, std::int64_t deadline_ns);
  // For pointers and MIPs that lead here: opened without being asked for, never closed.
  Result open_for_pointers(std::int64_t deadline_ns);
  Result close();
  // Its server came back without it, or it was removed: this segment is of no use any more, and
  // another takes its place.
  [[nodiscard]] bool is_lost() const { return is_lost_.load(std::memory_order_relaxed); }
  // NOT_OPEN, FORKED or nothing.
  [[nodiscard]] Result check_usable() const;
  // None: nobody has it open, pointers do not lead here, and the server has been told so. Unknown:
  // it is just being closed, or another thread looks at it, which is not waited for.
  enum class Need : std::uint8_t { none, some, unknown };
  [[nodiscard]] Need need() const;
  // The program's handle, for its callbacks; null: the program has none.
  void set_handle(IW_segment* handle) { handle_ = handle; }
  [[nodiscard]] IW_segment* handle() const { return handle_; }
  // `seconds` from now; a negative number: the segment's own timeout; 0: no waiting for others.
  [[nodiscard]] Wish wish_for(double seconds, bool fresh = false) const;

  // ---- locks ----
  Result acquire_reader(const Wish& wish);
  Result release_reader();
  Result acquire_writer(const Wish& wish);
  Result release_writer();
  Result abort_writer();
  // The program has forgotten to release the lock. Reports that to the log.
  Result drop_writer();
  Result refresh();
  void thread_ended(const Hold& hold) noexcept;

  // ---- coherence ----
  void set_bound(const coherence::Bound& bound);
  void set_recent_fn(IW_recent_fn function, void* arg);
  void set_change_fn(IW_change_fn function, void* arg);
  void set_connection_fn(IW_connection_fn function, void* arg);
  Result staleness(double& seconds);
  std::uint64_t version();
  void fill_stats(IW_stats_t& out);

  // ---- blocks ----
  Result allocate(IW_type_t type, std::size_t count, const char* name, void*& out);
  Result find(const char* name, void*& out);
  Result find_or_allocate(IW_type_t type, std::size_t count, const char* name, void*& out);
  Result free_block(void* block);
  Result assign(void* field, const void* source, std::size_t count);
  Result next_block(const void* after, void*& out);
  Result describe_block(const void* place, IW_block_t& out);
  Result pin(const void* place, Pin& out);
  // Where the place is; its space is reserved, if need be by asking the server.
  Result place_of(const types::Mip& mip, void*& out);
  // Makes blocks known here; those that do not exist stay unknown.
  Result describe(std::vector<std::uint64_t> serials, std::vector<std::string> names,
                  std::int64_t deadline_ns);
  // Kept alive; null: nothing is known of the segment.
  [[nodiscard]] std::shared_ptr<memory::Heap> heap();

  // A share that keeps the segment. Null: the last share has gone.
  [[nodiscard]] std::shared_ptr<Segment> shared();

  // ---- the library's thread ----
  using Places = Agenda<Segment>;
  // When it is to be looked at, and when a callback may be due. Runtime guards them.
  [[nodiscard]] Places::Entry& look() { return look_; }
  [[nodiscard]] Places::Entry& call() { return call_; }
  // Renewals, late grants, subscriptions. Returns when to be called again.
  std::int64_t run_timers(std::int64_t now_ns);
  // Calls the callback if it is due, on this thread.
  void call_due_change(std::int64_t now_ns);

  // ---- the thread that reconnects ----
  // Somebody listens, and it is open on no connection [CONN-1].
  [[nodiscard]] bool wants_connection();
  Result reconnect(std::int64_t deadline_ns);
  // The link that is tried first.
  [[nodiscard]] std::string tried_first();
  [[nodiscard]] const ServerLink& home() const { return home_; }
  // Calls `see` with each link to which servers have sent it on. REQUIRES: nobody shares it.
  template <typename See>
  void see_others(See&& see) const noexcept {
    if (!mutex_.try_lock()) return;
    const MutexLock lock(mutex_, std::adopt_lock);
    for (const auto& link : others_) see(*link);
  }

  void absorb(session::Incoming& incoming, bool is_late) override;
  void begins(const session::Incoming& incoming) override;
  void connection_lost(session::ConnectionNumber gone) noexcept override;

 private:
  using Role = ThreadLock::Role;
  using Said = session::Conversation::Said;

  // A request's body, made with the mutex held, once the segment is open on a connection.
  using Body = std::function<std::vector<std::uint8_t>()>;

  enum class Purpose { open, pointers, use };
  struct Caller {
    Purpose purpose = Purpose::use;
    OpenWish wish;
  };

  // segment_following.cc
  struct Place {
    ServerLink* link = nullptr;  // kept as long as the segment
    session::SpaceId space;      // of the server that sent the segment there; none: any
    bool is_named = false;       // by a name of the segment: nobody sent it there
  };
  // The server of that connection said that the segment moved [SPACE-23].
  struct Move {
    std::shared_ptr<Live> from;
    protocol::redirect_field to;
  };
  // One attempt of a caller to have it open somewhere.
  struct Search {
    const Caller& caller;
    std::int64_t deadline_ns = 0;
    bool keep_trying = false;
    bool may_be_dead = false;    // the last connection was there before, and may have died unseen
    bool was_elsewhere = false;  // a server other than the URL's was asked, or is to be
    bool has_next = false;       // if it fails, a server that the segment is named by is asked next
    bool is_owner_away = false;  // the server that it was sent on to last [SPACE-55]
    bool is_owner_asked = false;  // a connection to that server was made
    // To which no connection could be made, and why. It is not tried twice.
    const ServerLink* failed = nullptr;
    Result why_failed{};
  };

  // A connection on which it is open: for a caller that has it open.
  Result live_and_open(std::int64_t deadline_ns, bool keep_trying, std::shared_ptr<Live>& out)
      IW_EXCLUDES(mutex_);
  Result reach(const Caller& caller, std::int64_t deadline_ns, bool keep_trying,
               std::shared_ptr<Live>& out) IW_EXCLUDES(mutex_);
  Result try_places(Search& search, std::shared_ptr<Live>& out) IW_EXCLUDES(mutex_);
  Result try_well(const Place& place, Search& search, std::shared_ptr<Live>& out)
      IW_EXCLUDES(mutex_);
  Result try_from(Place place, Search& search, std::shared_ptr<Live>& out) IW_EXCLUDES(mutex_);
  [[nodiscard]] bool is_passed_over(const Result& opened, const Live& live, const Search& search)
      IW_EXCLUDES(mutex_);
  Result try_other_hosts(ServerLink& link, const Result& why, Search& search,
                         std::shared_ptr<Live>& out) IW_EXCLUDES(mutex_);
  Result connect(const Place& place, const Search& search, std::shared_ptr<Live>& out);
  Result sent_on(const Live& by, const protocol::redirect_field& to, Place& out)
      IW_EXCLUDES(mutex_);
  ServerLink& other(const types::Url& server, SentOn sent_on) IW_EXCLUDES(mutex_);
  Place last_place() IW_EXCLUDES(mutex_);
  std::vector<Place> named_places() IW_EXCLUDES(mutex_);
  [[nodiscard]] Place named_place(ServerLink& link) const IW_REQUIRES(mutex_);
  ServerLink* link_at(std::size_t place) IW_EXCLUDES(mutex_);
  std::shared_ptr<Live> connection(session::ConnectionNumber number) IW_EXCLUDES(mutex_);

  // segment_opening.cc
  // `live`: another one, if it is open there. `to`: where the server sends it on.
  Result open_on(std::shared_ptr<Live>& live, const Caller& caller, std::int64_t deadline_ns,
                 protocol::redirect_field& to) IW_EXCLUDES(mutex_);
  [[nodiscard]] bool is_first_to_say_how(const Caller& caller) const IW_REQUIRES(mutex_);
  void adopt(const OpenWish& wish) IW_REQUIRES(mutex_);
  Result take_part(const Caller& caller) IW_REQUIRES(mutex_);
  Result make_copy() IW_REQUIRES(mutex_);
  Result open_on_server(const std::shared_ptr<Live>& live, std::int64_t deadline_ns,
                        protocol::redirect_field& to) IW_REQUIRES(mutex_);
  Result opened_on(const std::shared_ptr<Live>& live,
                   const session::Conversation::OpenAnswer& answer) IW_REQUIRES(mutex_);
  void look_for_lost_connection() IW_REQUIRES(mutex_);
  template <typename MakeText>
  void note_loss(MakeText&& make_text) IW_REQUIRES(mutex_);
  [[nodiscard]] Result lost() const IW_REQUIRES(mutex_);
  void give_up_lost(std::string why) IW_REQUIRES(mutex_);
  static Result why_not_closed(const Result& alone);
  void give_up_holds() IW_REQUIRES(mutex_);
  void drop_copy() IW_REQUIRES(mutex_);
  void tell_closed() IW_REQUIRES(mutex_);

  // segment.cc
  // An answer that memory does not suffice for costs its connection, and will cost the next one. A
  // single such loss can be due to what came for others.
  static constexpr int most_shortages = 2;

  // Whether a call failed because its connection lacked memory. `shortages` counts such calls.
  static bool was_short(const Result& called, const Live& live, int& shortages);

  // Sends and waits for the answer. Lost connections: `keep_trying` until the deadline, or until
  // `most_shortages` were lost for lack of memory.
  Result converse(Request& request, const Body& body, std::int64_t deadline_ns, bool keep_trying)
      IW_EXCLUDES(mutex_);
  // Carries out the effects in their order. The mutex is given up while a message is sent.
  // Throws nothing. Returns what came of the last message; sent, if there was none.
  Said carry_out(session::Effects& effects) IW_REQUIRES(mutex_);
  Said say(const session::Effect& effect) IW_EXCLUDES(mutex_);
  Result post(const std::shared_ptr<Live>& live, const session::Effect& effect) IW_EXCLUDES(mutex_);
  [[nodiscard]] session::Conversation::Moment moment() const IW_REQUIRES(mutex_);
  bool wait(const Wish& wish) IW_REQUIRES(mutex_);
  Result enter_exclusive(const Wish& wish) IW_REQUIRES(mutex_);
  void leave_exclusive() IW_REQUIRES(mutex_);
  void show_access(track::Access access) IW_REQUIRES(mutex_);

  // segment_reader.cc
  [[nodiscard]] coherence::Knowledge knowledge() const IW_REQUIRES(mutex_);
  bool is_recent(const coherence::Knowledge& known, std::int64_t began_ns, std::int64_t now_ns)
      IW_REQUIRES(mutex_);
  Result acquire_reader_slowly(const Wish& wish, std::int64_t began_ns) IW_REQUIRES(mutex_);
  Result update(const Wish& wish, std::int64_t began_ns, bool& is_strict) IW_REQUIRES(mutex_);
  Result ask(const Wish& wish, coherence::Bound bound, bool fresh) IW_REQUIRES(mutex_);
  Result apply_staged(std::int64_t deadline_ns) IW_REQUIRES(mutex_);
  Result apply(session::StagedDiff& diff, bool must_hold_blocks, std::int64_t deadline_ns,
               bool& damaged) IW_EXCLUDES(mutex_);
  void enter_reader(Role role, bool is_strict) IW_REQUIRES(mutex_);
  void strict_unused() IW_REQUIRES(mutex_);
  void give_back_strict() IW_REQUIRES(mutex_);
  void look_for_strays() IW_REQUIRES(mutex_);
  void undo_strays() IW_EXCLUDES(mutex_);
  void report_stray(const Stray& stray) const;
  [[nodiscard]] bool may_heal(std::int64_t now_ns) const IW_REQUIRES(mutex_);
  void heal_stubs() IW_REQUIRES(mutex_);

  // segment_writer.cc
  Result ask_for_writer(const Wish& wish) IW_EXCLUDES(mutex_);
  Said give_back_late() IW_REQUIRES(mutex_);
  Result begin_writing(const Wish& wish) IW_REQUIRES(mutex_);
  Result write_on_newest(const Wish& wish) IW_REQUIRES(mutex_);
  Result become_newest(const Wish& wish) IW_REQUIRES(mutex_);
  Result collect_release(CollectedDiff& diff);
  bool ends_unsaid();
  Result keep_lock(Result why);
  Result send_release(const CollectedDiff& diff, session::Release::Next& next);
  Result try_release(std::span<const platform::Slice> slices, std::int64_t deadline_ns,
                     session::Release::Attempt& attempt);
  void number_release();
  Result send_release_on(const std::shared_ptr<Live>& live, std::span<const platform::Slice> slices,
                         session::Release::Attempt& attempt);
  Result resolve_release(std::int64_t deadline_ns);
  Result ask_for_serials();
  Result release_unknown(Result why);
  void forget_copy();
  Result end_release(Result answer, session::Release::Next next, CollectedDiff& diff);
  Result roll_back(Result why);
  void leave_writing();

  // segment_messages.cc
  void look_by(std::int64_t due_ns) noexcept IW_REQUIRES(mutex_);
  void look_now() noexcept IW_REQUIRES(mutex_);
  [[nodiscard]] std::int64_t call_due_ns() const IW_REQUIRES(mutex_);
  [[nodiscard]] IW_connection_t connection_state() const IW_REQUIRES(mutex_);
  [[nodiscard]] bool is_connection_news() const IW_REQUIRES(mutex_);
  template <typename Callback>
  void call_program(const Callback& callback) IW_REQUIRES(mutex_);
  void wait_for_callback() IW_REQUIRES(mutex_);
  [[nodiscard]] bool has_unsaid() const IW_REQUIRES(mutex_);

  Runtime& runtime_;
  std::atomic<IW_segment*> handle_{nullptr};
  const types::Url url_;
  const std::string name_;  // url_ as text
  ServerLink& home_;
  const unsigned fork_count_;
  Places::Entry look_{*this};
  Places::Entry call_{*this};

  mutable platform::Mutex mutex_;
  platform::Condition changed_;  // of threads_, and of whether it is open
  ThreadLock threads_ IW_GUARDED_BY(mutex_);

  std::atomic<bool> is_usable_{false};
  // As talk_ says, once CLOSE_SEGMENT is on its way: then another segment may take its place.
  std::atomic<bool> is_lost_{false};
  session::Conversation talk_ IW_GUARDED_BY(mutex_);
  std::string lost_why_ IW_GUARDED_BY(mutex_);
  std::uint64_t opening_ IW_GUARDED_BY(mutex_) = 0;  // counts first openings
  OpenWish wish_ IW_GUARDED_BY(mutex_);
  std::atomic<double> timeout_s_{OpenWish{}.timeout_s};  // as wish_ says; read without the mutex
  // The connection on which it is open, perhaps lost.
  std::shared_ptr<Live> live_ IW_GUARDED_BY(mutex_);
  // To which servers have sent it on, or by which it is named. None is dropped: whoever works with
  // the segment uses them.
  std::vector<std::shared_ptr<ServerLink>> others_ IW_GUARDED_BY(mutex_);
  // Those of others_ that belong to its other names, as the program opened them.
  std::vector<ServerLink*> also_ IW_GUARDED_BY(mutex_);
  session::SpaceId space_ IW_GUARDED_BY(mutex_);  // of all names, once there are several
  Place last_ IW_GUARDED_BY(mutex_);  // where it was last open; the URL's server at first
  std::optional<Move> moved_ IW_GUARDED_BY(mutex_);  // since then, and nobody has asked there yet
  // As the server said when it was opened; read without the mutex by the writer.
  std::atomic<std::uint64_t> quota_bytes_{0};

  // Replaced with the mutex by the thread that is exclusive; used by the threads inside.
  std::shared_ptr<Copy> copy_;

  IW_recent_fn recent_fn_ IW_GUARDED_BY(mutex_) = nullptr;
  void* recent_arg_ IW_GUARDED_BY(mutex_) = nullptr;

  IW_change_fn change_fn_ IW_GUARDED_BY(mutex_) = nullptr;
  void* change_arg_ IW_GUARDED_BY(mutex_) = nullptr;
  IW_connection_fn connection_fn_ IW_GUARDED_BY(mutex_) = nullptr;
  void* connection_arg_ IW_GUARDED_BY(mutex_) = nullptr;
  IW_connection_t connection_told_ IW_GUARDED_BY(mutex_) = IW_CONNECTED;
  std::thread::id calling_ IW_GUARDED_BY(mutex_);  // a callback runs there now

  std::int64_t strays_due_ns_ IW_GUARDED_BY(mutex_) = 0;  // when an acquire looks for them again
  bool has_unreachable_ IW_GUARDED_BY(mutex_) = false;    // as the copy says
  // When an acquire asks for what is unreachable again.
  std::int64_t heal_due_ns_ IW_GUARDED_BY(mutex_) = 0;

  IW_stats_t stats_ IW_GUARDED_BY(mutex_){};
};

}  // namespace iw::client
