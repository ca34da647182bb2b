// The process's one connection to one server, shared by all its segments (design, decision 11).
// Segments that a server of a space sends on to another one share a connection there, too. A URL
// with several hosts is one server here: the link is connected to one of them at a time [SPACE-46].
//
// A thread that waits for its answer reads the socket itself, so that an answer costs one wake-up.
// When no thread waits, the library's thread reads (Runtime); or, in a program with an event loop,
// the thread that dispatches does. The thread that reads handles all messages in their order: first
// the segment takes the message in (Listener::absorb), then the thread that asked is woken.
//
// A Live is one connection of the link; it is replaced by a new one after a loss, never repaired.
// Locks: mutex_ and a segment's mutex are never held together. No lock is held across a system
// call, save the lock of sending.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/credentials.h"
#include "client/own_token.h"
#include "client/waiting.h"
#include "platform/briskness.h"
#include "platform/mutex.h"
#include "platform/socket.h"
#include "session/connection.h"
#include "session/frame_writer.h"
#include "types/mip.h"
#include "types/result.h"

namespace iw::client {

using protocol::message_type;
using types::Result;

// A segment, as its link sees it. Whatever may still come for it keeps it; in a test it may be an
// object that nobody shares, and then ends after its link.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // Every message about the segment, in order, on the reading thread; may not call the link.
  // Takes the diff out of the message. `is_late`: nobody waits for this answer any more; otherwise
  // the thread that asked is given it, even if the deadline passes or the connection is lost
  // meanwhile. Throws std::bad_alloc: the message is lost, and so is the connection.
  virtual void absorb(session::Incoming& incoming, bool is_late) = 0;
  // The first frame of a message that absorb() is given when the rest is here. In order with those,
  // on the reading thread; may not call the link.
  virtual void begins(const session::Incoming& incoming) = 0;
  // Also of a connection that the segment has left since.
  virtual void connection_lost(session::ConnectionNumber gone) noexcept = 0;

 protected:
  ~Listener() = default;
};

// Keeps the listener, if somebody shares it.
struct ListenerRef {
  Listener* listener = nullptr;
  std::shared_ptr<Listener> kept;

  ListenerRef() = default;
  explicit ListenerRef(Listener* one) : listener(one) {
    if (one != nullptr) kept = one->weak_from_this().lock();
  }
};

class Live;
struct Waiter;

// The waiting threads and the segments that are told of what comes on a connection. Guarded by the
// link's mutex.
struct Expected {
  std::uint64_t next_tag = 1;
  std::unordered_map<session::RequestTag, std::shared_ptr<Waiter>> waiters;
  std::unordered_map<std::uint32_t, ListenerRef> segments;
};

// A connection that the program's own threads have just read is theirs for a while: otherwise every
// answer would wake two threads. A thread that reads longer than this wakes the library's thread
// when it stops.
inline constexpr std::int64_t quiet_ns = 10'000'000;

// How long a thread looks for its answer before it sleeps, at most: $IW_SPIN_US, which is 0 by
// default.
std::int64_t spin_ns();

// One request on its way. Made by the thread that waits for the answer.
struct Request {
  Listener* segment = nullptr;  // null: about the session
  message_type type{};
  std::vector<std::uint8_t> body;
  std::span<const platform::Slice> bulk;
  bool waits_for_others = false;  // the server may let it wait: give it up with CANCEL
  // Results:
  session::Incoming answer;
  std::uint64_t frame_bytes = 0;
  bool was_sent = false;  // whole; what was not, the server cannot have acted on
};

// How a link differs from that of a URL, if a server sent segments on to it [SPACE-11].
struct SentOn {
  std::string by;        // the key of the link of the segments' URLs; "": this is such a link
  std::string tls_name;  // the name that the certificate must have; "": the host
  // The hosts that pass the client on to there, if it cannot reach it, and what they are told
  // [SPACE-48].
  std::vector<types::Url> relays{};
  protocol::redirect_field to{};
  // Nobody sent them: it is a host of the URL, and another one does not open them [SPACE-67].
  bool is_listed = false;
};

class ServerLink {
 public:
  // `library_thread` is woken when it has to read again.
  ServerLink(types::Url any_segment, session::SessionIdentity identity,
             const platform::WakeUp& library_thread, Credentials credentials = {},
             SentOn sent_on = {});

  // The live connection. Without one, it is made: by trying once (`keep_trying` false) or until the
  // deadline. Several hosts are each tried once before a pause. UNREACHABLE with the addresses
  // otherwise; or NO_MEMORY, if descriptors, memory or a
  // thread are missing here. A caller that keeps trying has lost a connection, and is told
  // UNREACHABLE then, too, because it waits for one as for a server that is away.
  Result connected(std::int64_t deadline_ns, bool keep_trying, std::shared_ptr<Live>& out);
  // As connected(). The server must serve this space [SPACE-12]: REDIRECTED otherwise, and a new
  // connection is closed.
  Result connected_in(const session::SpaceId& space, std::int64_t deadline_ns, bool keep_trying,
                      std::shared_ptr<Live>& out);
  // Null while no connection lives.
  [[nodiscard]] std::shared_ptr<Live> current() const;
  // UNREACHABLE. REQUIRES: the connection is lost.
  [[nodiscard]] Result why_lost(const Live& live) const;

  // For what follows: nothing was sent if it throws std::bad_alloc, or says NO_MEMORY because too
  // many requests wait for their answers.
  //
  // Sends and waits for the answer, whatever it is. TIMED_OUT at the deadline (what comes later
  // goes to absorb); UNREACHABLE when the connection was lost before the answer came.
  Result call(const std::shared_ptr<Live>& live, Request& request, std::int64_t deadline_ns);
  // Sends; the answer goes to absorb only.
  Result post(const std::shared_ptr<Live>& live, Request& request);
  // Sends what has no answer (CREDIT, CANCEL, GOODBYE).
  Result tell(const std::shared_ptr<Live>& live, message_type type,
              std::span<const std::uint8_t> body);

  // Reads what is there without waiting, unless another thread is reading.
  void read_available(const std::shared_ptr<Live>& live);
  // Reads what is there for a program's thread that runs callbacks next: everything, or the first
  // `most_bytes` and the rest of one receive, because a fast server always has more.
  enum class Left {
    nothing,
    more,      // perhaps: the bound was reached
    to_others  // another thread is reading, and may leave something
  };
  [[nodiscard]] Left read_all(const std::shared_ptr<Live>& live, std::size_t most_bytes);
  // PING, silence. Returns when to be called again.
  std::int64_t run_timers(std::int64_t now_ns);

  // From now on messages of this number on this connection are the segment's.
  void listen(const std::shared_ptr<Live>& live, std::uint32_t number, Listener& segment);
  // They are nobody's, if they were the segment's.
  void unlisten(const std::shared_ptr<Live>& live, std::uint32_t number, const Listener& segment);

  [[nodiscard]] const std::string& name() const { return name_; }
  // It is the link's server, or that of its several hosts to which it is connected now.
  [[nodiscard]] bool is_at(const std::string& server) const;
  // The name, and for a link that segments are sent on to how they came there. Links of two URLs
  // share none: one path on one connection is one segment, and each URL has its own.
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] static std::string key_of(const std::string& name, const SentOn& sent_on);
  [[nodiscard]] const SentOn& sent_on() const { return sent_on_; }
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  // Its hosts, as the URL has them.
  [[nodiscard]] std::vector<types::Url> hosts() const;
  // The others, in the order in which they come after the one of that name.
  [[nodiscard]] std::vector<types::Url> hosts_behind(const std::string& name) const;
  [[nodiscard]] bool has_several_hosts() const { return hosts_.size() > 1; }
  // It is not that of a URL.
  [[nodiscard]] bool is_sent_on() const { return !sent_on_.by.empty(); }
  // For a link that shows a server the same.
  [[nodiscard]] session::SessionIdentity newcomer();
  // The session, and the number of its next release.
  std::uint64_t next_sequence(protocol::session_id& session);
  void goodbye();
  // Ends the session of a link that is not used any more.
  void leave();

 private:
  // One of the URL's hosts; or a way to the server to which segments were sent on [SPACE-49].
  struct Host {
    types::Url url;    // path unused
    std::string name;  // as ServerLink::name()
    bool is_relay = false;
    OwnTokens own_tokens;
    std::string trouble;  // why the present caller was not connected to it
  };

  Result connect_round(std::int64_t deadline_ns, bool keep_trying, std::shared_ptr<Live>& out);
  [[nodiscard]] std::int64_t patience_with_one(std::int64_t deadline_ns, bool is_last) const;
  Result connect_once(Host& host, std::int64_t deadline_ns, std::shared_ptr<Live>& out);
  Result try_to_connect(Host& host, std::int64_t deadline_ns, OwnToken& shown,
                        std::shared_ptr<Live>& out);
  Result open_socket(const Host& host, std::int64_t deadline_ns, platform::Socket& out,
                     bool& is_unix) const;
  Result greet(const Host& host, Live& live, bool is_to_loopback_v4, std::int64_t deadline_ns,
               OwnToken& shown);
  Result check_space(const Host& host, const session::SpaceId& space) IW_REQUIRES(mutex_);
  // Servers sent segments there.
  [[nodiscard]] bool is_owners() const { return is_sent_on() && !sent_on_.is_listed; }
  [[nodiscard]] Result in_other_space(const std::string& name) const;
  [[nodiscard]] Result none_reached(bool is_stopping, const std::string& what_happened) const;
  [[nodiscard]] Result not_reached(const std::string& name, std::string_view why) const;
  Result send(const std::shared_ptr<Live>& live, Request& request,
              const std::shared_ptr<Waiter>& waiter);
  void lead(const std::shared_ptr<Live>& live, const Waiter& waiter, std::int64_t deadline_ns)
      IW_REQUIRES(mutex_);
  Result send_frames(const std::shared_ptr<Live>& live, session::FrameWriter& frames);
  struct Received {
    std::size_t bytes = 0;  // 0: nothing has come, or the connection is lost
    bool may_have_more = false;
  };
  Received read_some(const std::shared_ptr<Live>& live, std::int64_t deadline_ns) noexcept;
  Received read_messages(const std::shared_ptr<Live>& live, std::int64_t deadline_ns);
  static platform::Status await_bytes(Live& live, const platform::Space& space,
                                      std::int64_t deadline_ns, std::size_t& got);
  void handle(const std::shared_ptr<Live>& live, session::Incoming& incoming);
  void lose(const std::shared_ptr<Live>& live, const char* why) noexcept;
  void stop_reading(Live& live) IW_REQUIRES(mutex_);
  Result give_up(const std::shared_ptr<Live>& live, Request& request,
                 const std::shared_ptr<Waiter>& waiter) IW_REQUIRES(mutex_);
  // Only with the mutex: by no other way does the link reach what it guards of a connection.
  [[nodiscard]] Expected& expected(Live& live) const IW_REQUIRES(mutex_);

  const std::string name_;
  const SentOn sent_on_;
  const std::string key_;
  const Credentials credentials_;
  const platform::WakeUp& library_thread_;
  Turn connecting_;             // of making a connection
  std::vector<Host> hosts_;     // as the URL has them; the thread with that turn has their tokens
  std::size_t first_host_ = 0;  // is tried first; the thread with that turn has it
  mutable platform::Mutex mutex_;
  session::SessionIdentity identity_ IW_GUARDED_BY(mutex_);
  std::uint64_t sequence_ IW_GUARDED_BY(mutex_) = 0;
  // None: any. That of a server which sent segments here, or of the first of several hosts.
  session::SpaceId wanted_space_ IW_GUARDED_BY(mutex_);
  std::shared_ptr<Live> live_ IW_GUARDED_BY(mutex_);
};

// One connection. Fields are guarded by the link's mutex unless they say otherwise.
class Live {
 public:
  Live(ServerLink& link, std::string name, session::ConnectionNumber number,
       platform::Socket socket, std::int64_t now_ns)
      : link_(link),
        name_(std::move(name)),
        number_(number),
        connection_(now_ns),
        heard_ns_(now_ns),
        socket_(std::move(socket)) {}

  // Whose connection it is. Whoever uses it keeps the link.
  [[nodiscard]] ServerLink& link() const { return link_; }
  // The link's name; of several hosts, that of the one to which it leads.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Of all links of the process no two connections have one number.
  [[nodiscard]] session::ConnectionNumber number() const { return number_; }

  [[nodiscard]] int fd() const { return socket_.fd(); }
  // There is something to read of which poll knows nothing. Any thread, any time.
  [[nodiscard]] bool has_pending() const { return socket_.has_pending(); }
  // Any thread, any time.
  [[nodiscard]] std::int64_t heard_ns() const { return heard_ns_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t heartbeat_ns() const { return heartbeat_ns_; }  // fixed once greeted
  [[nodiscard]] const protocol::session_id& session() const { return session_; }  // likewise
  [[nodiscard]] const session::SpaceId& space_id() const {
    return connection_.space_id();
  }  // likewise
  [[nodiscard]] bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  // Given up because there was no memory for what came.
  [[nodiscard]] bool lacked_memory() const {
    return lacked_memory_.load(std::memory_order_relaxed);
  }
  // When a thread that waits for its answer last began and ended reading; never: 0.
  [[nodiscard]] std::int64_t led_from_ns() const {
    return led_from_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t led_to_ns() const {
    return led_to_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_led() const { return is_reading_.load(std::memory_order_relaxed); }
  // When a thread that runs callbacks last read something; 0: never, or it could not.
  [[nodiscard]] std::int64_t dispatched_ns() const {
    return dispatched_ns_.load(std::memory_order_relaxed);
  }
  // The program's event descriptor has the socket.
  [[nodiscard]] bool is_watched() const { return is_watched_.load(std::memory_order_relaxed); }
  void set_watched() { is_watched_.store(true, std::memory_order_relaxed); }

  // With the link's mutex: a request that was not sent.
  void withdraw(session::RequestTag tag, std::uint32_t stream) {
    connection_.forget_request(stream);
    expected_.waiters.erase(tag);
  }

 private:
  friend class ServerLink;
  ServerLink& link_;
  const std::string name_;
  const session::ConnectionNumber number_;
  session::Connection connection_;  // frames_ of it: the reading thread's
  std::atomic<std::int64_t> heard_ns_;
  std::atomic<std::int64_t> led_from_ns_{0};
  std::atomic<std::int64_t> led_to_ns_{0};
  std::atomic<std::int64_t> dispatched_ns_{0};
  std::atomic<bool> is_watched_{false};
  std::atomic<bool> is_lost_{false};
  std::atomic<bool> lacked_memory_{false};
  std::atomic<bool> is_reading_{false};  // written under the mutex
  std::int64_t heartbeat_ns_ = 0;
  protocol::session_id session_{};
  std::int64_t silent_since_ns_ = 0;  // the library's thread's; 0: it was heard
  platform::Socket socket_;
  platform::Briskness briskness_{spin_ns()};  // the reading thread's
  platform::Mutex sending_;
  Expected expected_;
};

}  // namespace iw::client
