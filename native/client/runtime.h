// A process has one Runtime: its segments by name, its links by server, and the library's thread,
// which renews leases, and reads the messages that no thread waits for. Callbacks run, holding no
// lock, on a thread of their own, made when the program first asks for them: they may take as long
// as they like. A program with an event loop runs them itself, in dispatch(). Its event descriptor
// has the sockets, so that a message wakes the program's thread, and not the library's in between.
// Reconnecting for programs that listen [CONN-1] has a thread, too, made at the first lost
// connection.
//
// Segments and links are kept while somebody needs them; handles are kept for ever (handle.h).
// Whoever works with a segment shares it, or is inside a call on its handle; the maps' own share is
// dropped only when no other is left, and shares are taken under mutex_ only. That mutex is taken
// with a copy's mutex held, and so never held while a segment's is waited for.
//
// The library's thread looks at segments that have something to do, and at no others. A segment
// puts itself on an agenda, and is on it until it is looked at (agenda.h).
//
// Never destroyed once it has begun: threads may use it until the process ends. A forked child
// makes a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/agenda.h"
#include "client/credentials.h"
#include "client/handle.h"
#include "client/names.h"
#include "client/segment.h"
#include "client/server_link.h"
#include "platform/event_descriptor.h"
#include "platform/mutex.h"
#include "platform/socket.h"
#include "session/reconnection.h"
#include "swizzle/swizzler.h"

namespace iw::client {

class Runtime {
 public:
  // Begins it, if need be. NO_MEMORY: a descriptor or a thread is missing; nothing is left of the
  // attempt, and the next call makes another.
  static Result get(Runtime*& out);

  // Opens the segment for the program. BAD_ARGUMENT: the server's link, which other segments have,
  // has other credentials [CRED-1].
  Result open(const types::Url& url, const Credentials& credentials, const OpenWish& wish,
              IW_segment*& out);
  // After a close, outside of the call on the handle.
  void closed(IW_segment& handle) noexcept;
  // Where the MIP leads; its segment is opened for pointers.
  Result place_of(const types::Mip& mip, void*& out);
  // Null: never heard of, lost, or forgotten.
  std::shared_ptr<Segment> find_segment(const types::Url& url);

  // Makes blocks of another segment known, if that is possible by then; for pointers in `from`.
  Result describe(Segment& from, const types::Url& url, std::vector<std::uint64_t> serials,
                  std::int64_t deadline_ns);

  // The link to a server to which the segment of `home` is sent on. The caller is counted among its
  // segments.
  std::shared_ptr<ServerLink> link_sent_on(ServerLink& home, const types::Url& server,
                                           SentOn sent_on);

  // The library's thread has something new to do.
  void wake() const { wake_.signal(); }

  // ---- what is due for segments. Any thread, also with the segment's mutex ----
  // A segment ends.
  void leave(Segment& segment) noexcept;
  // The library's thread looks at it then; or its callback may be due then.
  void look_by(Segment& segment, std::int64_t due_ns) noexcept;
  void call_by(Segment& segment, std::int64_t due_ns) noexcept;
  // As call_by(), by a thread in dispatch() that will call callbacks next: nobody is woken.
  void call_next(Segment& segment, std::int64_t due_ns) noexcept;

  // There is a thread for callbacks, or the program runs them itself. NO_MEMORY otherwise.
  Result prepare_callbacks();
  // From now on the program runs them.
  Result event_fd(int& out);
  void dispatch();
  // Whether the calling thread is in dispatch() before its callbacks.
  [[nodiscard]] bool is_dispatching() const;
  void goodbye();

 private:
  struct Server {
    std::shared_ptr<ServerLink> link;
    std::size_t segments = 0;  // that have the link
  };
  using Servers = std::map<std::string, Server>;  // by the keys of their links
  using Need = Segment::Need;
  // Taken out under the mutex, to end without it.
  struct Forgotten {
    std::shared_ptr<Segment> segment;
    std::shared_ptr<ServerLink> link;
  };

  // How a segment is named by its URL.
  struct Naming {
    Credentials credentials;
    bool is_opened = false;  // the program opens it; otherwise a MIP or a pointer leads there
    Segment* pointed_from = nullptr;  // whose pointer it is
    std::int64_t deadline_ns = 0;     // of asking servers whether they share a store
  };

  // The server of a URL, and the space that it shares with another.
  struct NamedServer {
    std::shared_ptr<ServerLink> link;
    session::SpaceId space;
  };

  Runtime() = default;
  static void leave_before_openssl();
  Result begin();
  void serve();
  void serve_once();
  std::int64_t run_timers(std::int64_t now_ns);
  void join(Segment& segment);
  void look_at_due(std::int64_t now_ns);
  void look_at(Segment& segment, std::int64_t now_ns);
  std::shared_ptr<Segment> take_due(Segment::Places& places, std::int64_t now_ns) noexcept
      IW_REQUIRES(mutex_, agenda_mutex_);
  void wake_by(std::int64_t due_ns) noexcept IW_REQUIRES(agenda_mutex_);
  std::int64_t sleep_until(std::int64_t due_ns);
  void tell_of_changes();
  void run_callbacks();
  void read_dispatched();
  void serve_callbacks();
  std::int64_t keep_connected(std::int64_t now_ns);
  Result prepare_connections();
  void serve_connections();
  std::int64_t reconnect(std::map<std::string, session::Reconnection>& paces);
  void wait_and_read(std::int64_t deadline_ns);
  std::vector<std::shared_ptr<Segment>> segments();
  std::vector<std::shared_ptr<ServerLink>> links();

  // runtime_names.cc
  // Made at the first call for a URL of a segment that has no other name here; not yet opened.
  Result segment_for(const types::Url& url, const Naming& naming, std::shared_ptr<Segment>& out);
  std::shared_ptr<Segment> known(const types::Url& url, const Naming& naming) IW_REQUIRES(mutex_);
  std::shared_ptr<Segment> alike_to(const types::Url& url, const Naming& naming,
                                    const std::vector<std::shared_ptr<Segment>>& others)
      IW_REQUIRES(mutex_);
  std::shared_ptr<Segment> make_segment(const types::Url& url, const Credentials& credentials)
      IW_REQUIRES(mutex_);
  void put_aside(Segment& lost) IW_REQUIRES(mutex_);
  Result compare(const types::Url& url, const Naming& naming,
                 const std::shared_ptr<ServerLink>& link, const std::shared_ptr<Segment>& alike,
                 std::vector<std::shared_ptr<Segment>>& others);
  void add_name(const types::Url& url, const Naming& naming, const NamedServer& at,
                const std::shared_ptr<Segment>& segment);
  void forget_idle(const ServerLink& link);

  // runtime.cc
  Result check_credentials(const types::Url& url, const Credentials& credentials,
                           std::vector<std::shared_ptr<ServerLink>>& idle, bool& may_pass)
      IW_REQUIRES(mutex_);
  void drop_idle(const std::string& key, std::vector<std::shared_ptr<ServerLink>>& idle)
      IW_REQUIRES(mutex_);
  Server& server_for(const types::Url& url, const Credentials& credentials) IW_REQUIRES(mutex_);
  IW_segment& handle_for(Segment& segment);
  void done_with(std::shared_ptr<Segment> segment) noexcept;
  std::shared_ptr<ServerLink> left(const ServerLink& link) noexcept IW_REQUIRES(mutex_);
  Need forget(const std::shared_ptr<Segment>& kept, Forgotten& out) noexcept IW_REQUIRES(mutex_);
  std::int64_t forget_unused(std::int64_t now_ns);

  platform::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Segment>> segments_
      IW_GUARDED_BY(mutex_);  // by their first names
  Names names_ IW_GUARDED_BY(mutex_);
  // Of which some handles may still be open.
  std::vector<std::shared_ptr<Segment>> lost_ IW_GUARDED_BY(mutex_);
  Servers servers_ IW_GUARDED_BY(mutex_);
  using Handles = std::map<std::string_view, std::unique_ptr<IW_segment>>;
  Handles handles_ IW_GUARDED_BY(mutex_);  // by their own names
  std::multimap<std::string_view, std::unique_ptr<IW_segment>> lost_handles_ IW_GUARDED_BY(mutex_);
  std::atomic<bool> has_unused_{false};  // a segment to forget, that was still looked at

  // Taken with a segment's mutex or mutex_ held; no other is taken with it held.
  platform::Mutex agenda_mutex_;
  Segment::Places looks_ IW_GUARDED_BY(agenda_mutex_);
  Segment::Places calls_ IW_GUARDED_BY(agenda_mutex_);
  // The library's thread sleeps until then at most; while it is awake, it looks again before.
  std::int64_t asleep_until_ns_ IW_GUARDED_BY(agenda_mutex_) = 0;

  platform::WakeUp wake_;
  platform::EventDescriptor events_;        // readable when dispatch() has something to do
  std::atomic<bool> is_dispatched_{false};  // callbacks run in dispatch(); events_ is made
  platform::Mutex callbacks_mutex_;
  platform::Condition callbacks_;
  bool are_callbacks_due_ IW_GUARDED_BY(callbacks_mutex_) = false;
  bool has_callback_thread_ IW_GUARDED_BY(callbacks_mutex_) = false;
  platform::Mutex connections_mutex_;
  platform::Condition connections_;
  bool is_connecting_wanted_ IW_GUARDED_BY(connections_mutex_) = false;
  // The library's thread makes it.
  bool has_connection_thread_ IW_GUARDED_BY(connections_mutex_) = false;
  std::atomic<bool> has_left_{false};
  bool has_reported_shortage_ = false;  // the library's thread's
};

// The heaps of this process, for one translation: they stay while it lives.
class HeapResolver final : public swizzle::Resolver {
 public:
  explicit HeapResolver(Runtime& runtime) : runtime_(runtime) {}
  memory::Heap* find(const types::Url& url) override;
  swizzle::StubReason why_missing(const types::Url& url) override;
  // Blocks of the segment were asked for, with this result.
  void asked(const types::Url& url, const Result& result);

 private:
  Runtime& runtime_;
  std::vector<std::shared_ptr<memory::Heap>> kept_;
  std::map<std::string, swizzle::StubReason> reasons_;
};

}  // namespace iw::client
