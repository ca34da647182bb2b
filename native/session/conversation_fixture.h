// A model of the server's part of a conversation, for tests that host conversations in one thread:
// one segment, its locks, its versions and its watchers [LOCK-1..16, COH-9, NOT-1..5]. Messages
// wait in a queue for each direction of each connection. Time is what set_now() says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "session/conversation.h"
#include "session/frame_writer.h"

namespace iw::session::model {

using protocol::error_code;
using protocol::message_type;

// A request as the model keeps it. `awaited`: that thread waits for the answer.
struct Up {
  message_type type{};
  bool awaited = false;
  std::uint8_t thread = 0;
  bool is_strict = false;        // of ACQUIRE_READER
  bool pushes = false;           // of SUBSCRIBE
  std::uint64_t value = 0;       // the fence, the version that the client has, credited bytes
  std::uint64_t session = 0;     // of RELEASE_WRITER, RESOLVE_RELEASE
  std::uint64_t sequence = 0;    // likewise
  std::uint64_t diff_bytes = 0;  // of RELEASE_WRITER
  std::int64_t sent_ns = 0;
};

struct Down {
  message_type type{};
  message_type asked{};
  bool awaited = false;
  std::uint8_t thread = 0;
  bool is_notification = false;
  error_code code = error_code::OK;
  std::uint64_t from = 0;
  std::uint64_t number = 0;  // the newest version
  bool updated = false;      // with a diff
  std::uint64_t fence = 0;
  std::int64_t sent_ns = 0;  // of the request, if it begins a lease
};

// Messages in one direction of a connection. A world has many, most of them empty.
template <typename Message>
class Queue : public std::vector<Message> {
 public:
  void pop_front() { this->erase(this->begin()); }
};

// How long a lock lasts without renewal, and with any number of renewals [LOCK-3].
inline constexpr std::uint32_t lease_ms = 30'000;
inline constexpr std::uint32_t longest_hold_ms = 60'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;

inline version_stamp stamp(std::uint64_t number) {
  return number == 0 ? version_stamp{1, 0, 0} : version_stamp{1, number, number * 31};
}

// A diff of the model: the version at which it begins, and filling.
inline bool begins_at(std::span<const std::byte> diff, std::uint64_t& from) {
  if (diff.size() < sizeof from) return false;
  std::memcpy(&from, diff.data(), sizeof from);
  return true;
}

// As the link would give it to the segment.
class Delivery {
 public:
  Delivery(const Down& down, ConnectionNumber on, std::uint64_t diff_bytes) {
    incoming_.message.head.type = static_cast<std::int32_t>(down.type);
    incoming_.tag = down.is_notification ? 0 : 1;
    incoming_.asked = down.asked;
    incoming_.sent_ns = down.sent_ns;
    incoming_.connection = on;
    incoming_.message.body = body_of(down);
    if (!down.updated) return;
    const std::span<std::byte> room = incoming_.message.bulk.room(diff_bytes);
    std::memset(room.data(), 0, room.size());
    std::memcpy(room.data(), &down.from, sizeof down.from);
    incoming_.message.bulk.filled(diff_bytes);
  }
  [[nodiscard]] Incoming& incoming() { return incoming_; }

 private:
  static std::vector<std::uint8_t> body_of(const Down& down) {
    const version_stamp now = stamp(down.number);
    switch (down.type) {
      case message_type::WRITER_ACQUIRED:
        return encoded(protocol::writer_acquired{now, down.updated, down.fence, lease_ms,
                                                 longest_hold_ms, 1, 8});
      case message_type::READER_ACQUIRED:
        return encoded(protocol::reader_acquired{now, down.updated});
      case message_type::WRITER_RELEASED:
        return encoded(protocol::writer_released{{now}});
      case message_type::WRITER_KEPT:
        return encoded(protocol::writer_kept{{now}});
      case message_type::RECALL_WRITER:
        return encoded(protocol::recall_writer{7, down.fence});
      case message_type::WRITER_RENEWED:
        return encoded(protocol::writer_renewed{lease_ms});
      case message_type::SUBSCRIBED:
        return encoded(protocol::subscribed{now});
      case message_type::PUSH:
        return encoded(protocol::push{7, stamp(down.from), now});
      case message_type::NOT_RECENT:
        return encoded(protocol::not_recent{7, now});
      case message_type::WRITER_LOST:
        return encoded(protocol::writer_lost{7, down.fence});
      default:
        return {};
    }
  }

  Incoming incoming_;
};

class Server {
 public:
  // A client's session, and its connection if there is one.
  struct Peer {
    std::uint64_t session = 0;
    bool is_connected = false;
    bool has_open = false;
    bool reads_strictly = false;
    bool watches = false;
    bool pushes = false;
    bool is_told = false;
    std::uint64_t has = 0;  // as far as the watch knows
    std::uint64_t pushed_bytes = 0;
    std::uint64_t credited_bytes = 0;
    Queue<Up> in;
    Queue<Down> out;
  };
  struct Waiter {
    std::size_t peer = 0;
    bool is_strict = false;
    bool is_connected = true;
    bool awaited = true;
    std::uint8_t thread = 0;
    std::uint64_t has = 0;
    std::int64_t sent_ns = 0;
  };
  struct Holder {
    std::size_t peer = 0;
    std::uint64_t fence = 0;
    bool is_of_this_connection = true;
    bool is_kept = false;      // nobody knows whether a section has begun
    bool is_recalled = false;  // and the client was told
    std::int64_t lease_until_ns = 0;
    std::int64_t hold_until_ns = 0;
  };

  // `keeps_after`: so many grants in a row let a client keep the next; 0: none does.
  explicit Server(std::size_t peers, std::uint64_t diff_bytes, std::size_t keeps_after = 0)
      : peers_(peers), diff_bytes_(diff_bytes), keeps_after_(keeps_after) {}

  [[nodiscard]] Peer& peer(std::size_t i) { return peers_[i]; }
  [[nodiscard]] const Peer& peer(std::size_t i) const { return peers_[i]; }
  [[nodiscard]] const Holder* holder() const { return is_held_ ? &holder_ : nullptr; }
  [[nodiscard]] const std::vector<Waiter>& queue() const { return queue_; }
  // Nobody stands in the way of who asks next.
  [[nodiscard]] bool is_held_for_nobody() const {
    return is_held_ && !(holder_.is_kept && !holder_.is_of_this_connection);
  }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint64_t diff_bytes() const { return diff_bytes_; }
  [[nodiscard]] bool has_committed(std::uint64_t session, std::uint64_t sequence) const {
    return committed_.contains({session, sequence});
  }

  // What a client did that no client may do; empty: nothing.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // The session is resumed, if there is one.
  void connect(std::size_t i) {
    Peer& peer = peers_[i];
    if (peer.session == 0) peer.session = ++sessions_;
    peer.is_connected = true;
  }
  void open(std::size_t i) {
    if (peers_[i].has_open) failure_ = "OPEN_SEGMENT overtook CLOSE_SEGMENT";
    peers_[i].has_open = true;
  }

  void lose(std::size_t i, bool ends_session) {
    Peer& peer = peers_[i];
    peer.is_connected = false;
    forget_client(i);
    peer.in.clear();
    peer.out.clear();
    if (is_held_ && holder_.peer == i) holder_.is_of_this_connection = false;
    for (Waiter& waiter : queue_) {
      if (waiter.peer == i) waiter.is_connected = false;
    }
    if (!ends_session) return grant();
    peer.session = 0;
    end_locks(i);
  }

  void set_now(std::int64_t now_ns) {
    now_ns_ = now_ns;
    if (is_held_ && now_ns >= std::min(holder_.lease_until_ns, holder_.hold_until_ns)) expire();
  }

  // The lease or the hold time of the writer ends [LOCK-5].
  void expire() {
    if (!is_held_) return;
    is_held_ = false;
    const Down lost{
        .type = message_type::WRITER_LOST, .is_notification = true, .fence = holder_.fence};
    if (peers_[holder_.peer].is_connected) peers_[holder_.peer].out.push_back(lost);
    grant();
  }

  // That thread waits no more for its answer, wherever the answer is.
  void give_up(std::size_t i, std::uint8_t thread) {
    const auto stop = [thread](auto& one) { one.awaited = one.awaited && one.thread != thread; };
    for (Up& up : peers_[i].in) stop(up);
    for (Down& down : peers_[i].out) stop(down);
    for (Waiter& waiter : queue_) {
      if (waiter.peer == i) stop(waiter);
    }
  }

  // The next request of the client.
  void serve(std::size_t i) {
    const Up up = peers_[i].in.front();
    peers_[i].in.pop_front();
    const bool needs_no_segment =
        up.type == message_type::OPEN_SEGMENT || up.type == message_type::CANCEL;
    if (!needs_no_segment && !peers_[i].has_open) {
      failure_ = "client " + std::to_string(i) + ": CLOSE_SEGMENT overtook a message of type " +
                 std::to_string(static_cast<int>(up.type));
    }
    switch (up.type) {
      case message_type::OPEN_SEGMENT:
        open(i);
        peers_[i].out.push_back({.type = message_type::SEGMENT_OPENED,
                                 .asked = message_type::OPEN_SEGMENT,
                                 .awaited = up.awaited,
                                 .thread = up.thread,
                                 .number = version_});
        return;
      case message_type::CLOSE_SEGMENT:
        peers_[i].has_open = false;
        forget_client(i);
        return end_locks(i);
      case message_type::ACQUIRE_WRITER:
        return acquire_writer(i, up);
      case message_type::ACQUIRE_READER:
        if (up.is_strict) return wait(i, up);
        return answer_reader(i, up.awaited, up.thread, up.value);
      case message_type::CANCEL:
        return cancel(i);
      case message_type::ABORT_WRITER:
        if (holds(i, up.value)) is_held_ = false;
        peers_[i].out.push_back({.type = message_type::DONE, .asked = message_type::ABORT_WRITER});
        return grant();
      case message_type::RELEASE_READER:
        peers_[i].reads_strictly = false;
        return grant();
      case message_type::RENEW_WRITER:
        return renew(i, up);
      case message_type::RELEASE_WRITER:
        return release(i, up);
      case message_type::RESOLVE_RELEASE:
        return resolve(i, up);
      case message_type::SUBSCRIBE:
        return subscribe(i, up);
      case message_type::UNSUBSCRIBE:
        peers_[i].watches = false;
        return;
      case message_type::CREDIT:
        peers_[i].credited_bytes += up.value;
        return;
      default:
        return;
    }
  }

  template <typename See>
  void describe(See&& see) const {
    see(version_, last_fence_, is_held_, committed_.size(), sessions_);
    if (keeps_after_ > 0) see(last_writer_, std::min(in_row_, keeps_after_));
    if (is_held_) {
      see(holder_.peer, holder_.fence, holder_.is_of_this_connection, holder_.is_kept,
          holder_.is_recalled);
    }
    for (const Waiter& w : queue_)
      see(w.peer, w.is_strict, w.is_connected, w.awaited, w.thread, w.has);
    for (const auto& [release, version] : committed_) see(release.first, release.second, version);
    for (const Peer& p : peers_) {
      see(p.session, p.is_connected, p.has_open, p.reads_strictly, p.watches, p.pushes, p.is_told,
          p.has, p.pushed_bytes, p.credited_bytes, p.in.size(), p.out.size());
      for (const Up& u : p.in) {
        see(u.type, u.awaited, u.thread, u.is_strict, u.pushes, u.value, u.session, u.sequence,
            u.diff_bytes);
      }
      for (const Down& d : p.out) {
        see(d.type, d.asked, d.awaited, d.thread, d.is_notification, d.code, d.from, d.number,
            d.updated, d.fence);
      }
    }
  }

 private:
  [[nodiscard]] bool holds(std::size_t i, std::uint64_t fence) const {
    return is_held_ && holder_.peer == i && holder_.fence == fence;
  }

  template <typename Request>
  void refuse(std::size_t i, message_type asked, const Request& request, error_code code) {
    peers_[i].out.push_back({.type = message_type::ERROR,
                             .asked = asked,
                             .awaited = request.awaited,
                             .thread = request.thread,
                             .code = code});
  }

  // On a connection that is lost, or that the segment is closed on.
  void forget_client(std::size_t i) {
    Peer& peer = peers_[i];
    peer.has_open = peer.watches = peer.pushes = peer.is_told = false;
    peer.has = peer.pushed_bytes = peer.credited_bytes = 0;
  }

  // Requests that wait for a lock are cancelled.
  void end_locks(std::size_t i) {
    peers_[i].reads_strictly = false;
    if (is_held_ && holder_.peer == i) is_held_ = false;
    for (const Waiter& waiter : queue_) {
      if (waiter.peer == i && waiter.is_connected) refuse_waiter(waiter);
    }
    std::erase_if(queue_, [i](const Waiter& waiter) { return waiter.peer == i; });
    grant();
  }

  void refuse_waiter(const Waiter& waiter) {
    const auto asked =
        waiter.is_strict ? message_type::ACQUIRE_READER : message_type::ACQUIRE_WRITER;
    refuse(waiter.peer, asked, waiter, error_code::CANCELLED);
  }

  void acquire_writer(std::size_t i, const Up& up) {
    if (is_held_ && holder_.peer == i) {
      if (holder_.is_of_this_connection) {
        return refuse(i, message_type::ACQUIRE_WRITER, up, error_code::WOULD_DEADLOCK);
      }
      is_held_ = false;  // of a connection that was lost [SES-2]
    }
    wait(i, up);
  }

  void wait(std::size_t i, const Up& up) {
    const bool is_strict = up.type == message_type::ACQUIRE_READER;
    const Waiter waiter{i, is_strict, true, up.awaited, up.thread, up.value, up.sent_ns};
    bool is_kept = false;
    for (Waiter& w : queue_) {
      if (is_kept || w.peer != i || w.is_strict != is_strict || w.is_connected) continue;
      w = waiter;
      is_kept = true;
    }
    if (!is_kept) queue_.push_back(waiter);
    grant();
  }

  void cancel(std::size_t i) {
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const Waiter waiter = queue_[at];
      if (waiter.peer != i || waiter.awaited || !waiter.is_connected) continue;
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
      refuse_waiter(waiter);
      return grant();
    }
  }

  // A grant that is kept over a lost connection stands in nobody's way [LOCK-16]. Its grace is over
  // at once here. What a client can do in the grace, it does here where nobody waits.
  void grant() {
    while (true) {
      const auto next = next_in_turn();
      if (next == queue_.end()) return;
      if (is_held_ && holder_.is_kept && !holder_.is_of_this_connection) is_held_ = false;
      if (is_held_) return recall();
      const Waiter waiter = *next;
      if (!waiter.is_strict && someone_reads_strictly()) return;
      queue_.erase(next);
      if (waiter.is_strict) {
        peers_[waiter.peer].reads_strictly = true;
        if (last_writer_ != waiter.peer) in_row_ = 0;
        answer_reader(waiter.peer, waiter.awaited, waiter.thread, waiter.has);
      } else {
        is_held_ = true;
        in_row_ = last_writer_ == waiter.peer ? in_row_ + 1 : 1;
        last_writer_ = waiter.peer;
        holder_ = {.peer = waiter.peer, .fence = ++last_fence_};
        begin_hold();
        peers_[waiter.peer].out.push_back({.type = message_type::WRITER_ACQUIRED,
                                           .asked = message_type::ACQUIRE_WRITER,
                                           .awaited = waiter.awaited,
                                           .thread = waiter.thread,
                                           .from = waiter.has,
                                           .number = version_,
                                           .updated = waiter.has != version_,
                                           .fence = last_fence_,
                                           .sent_ns = waiter.sent_ns});
        note_has(waiter.peer);
      }
    }
  }

  void begin_hold() {
    holder_.lease_until_ns = now_ns_ + lease_ms * ns_per_ms;
    holder_.hold_until_ns = now_ns_ + longest_hold_ms * ns_per_ms;
  }

  // Somebody waits for the grant that is kept [LOCK-15].
  void recall() {
    if (!holder_.is_kept || holder_.is_recalled) return;
    holder_.is_recalled = true;
    peers_[holder_.peer].out.push_back(
        {.type = message_type::RECALL_WRITER, .is_notification = true, .fence = holder_.fence});
  }

  [[nodiscard]] bool may_keep() const {
    return keeps_after_ > 0 && in_row_ >= keeps_after_ && queue_.empty() &&
           holder_.is_of_this_connection;
  }

  [[nodiscard]] std::vector<Waiter>::iterator next_in_turn() {
    const auto again = std::find_if(queue_.begin(), queue_.end(), [this](const Waiter& w) {
      return w.is_connected && w.is_strict && peers_[w.peer].reads_strictly;
    });
    if (again != queue_.end()) return again;
    return std::find_if(queue_.begin(), queue_.end(),
                        [](const Waiter& w) { return w.is_connected; });
  }

  [[nodiscard]] bool someone_reads_strictly() const {
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const Peer& p) { return p.reads_strictly; });
  }

  // Whatever is sent after this is newer.
  void note_has(std::size_t i) {
    peers_[i].has = version_;
    peers_[i].is_told = false;
  }

  void answer_reader(std::size_t i, bool awaited, std::uint8_t thread, std::uint64_t has) {
    peers_[i].out.push_back({.type = message_type::READER_ACQUIRED,
                             .asked = message_type::ACQUIRE_READER,
                             .awaited = awaited,
                             .thread = thread,
                             .from = has,
                             .number = version_,
                             .updated = has != version_});
    note_has(i);
  }

  void renew(std::size_t i, const Up& up) {
    if (!holds(i, up.value)) {
      return refuse(i, message_type::RENEW_WRITER, up, error_code::FENCED);
    }
    if (!holder_.is_of_this_connection) holder_.is_kept = false;  // a section is under way
    holder_.lease_until_ns = now_ns_ + lease_ms * ns_per_ms;
    peers_[i].out.push_back({.type = message_type::WRITER_RENEWED,
                             .asked = message_type::RENEW_WRITER,
                             .sent_ns = up.sent_ns});
  }

  void release(std::size_t i, const Up& up) {
    const bool is_repeated = has_committed(up.session, up.sequence);
    if (!is_repeated && !holds(i, up.value)) {
      return refuse(i, message_type::RELEASE_WRITER, up, error_code::FENCED);
    }
    const bool keeps = !is_repeated && may_keep();
    if (holds(i, up.value)) is_held_ = keeps;
    if (keeps) {
      holder_.is_kept = true;
      holder_.is_recalled = false;
      begin_hold();
    }
    if (!is_repeated) {
      ++version_;
      committed_[{up.session, up.sequence}] = version_;
      peers_[i].has = version_;
    }
    peers_[i].out.push_back(
        {.type = keeps ? message_type::WRITER_KEPT : message_type::WRITER_RELEASED,
         .asked = message_type::RELEASE_WRITER,
         .awaited = up.awaited,
         .thread = up.thread,
         .number = committed_[{up.session, up.sequence}]});
    if (!is_repeated) tell_watchers();
    grant();
  }

  // What was not committed never will be: its connection is closed, and so is its lock.
  void resolve(std::size_t i, const Up& up) {
    const bool is_committed = has_committed(up.session, up.sequence);
    peers_[i].out.push_back({.type = message_type::RELEASE_RESOLVED,
                             .asked = message_type::RESOLVE_RELEASE,
                             .awaited = up.awaited,
                             .thread = up.thread,
                             .number = is_committed ? committed_[{up.session, up.sequence}] : 0,
                             .updated = is_committed});
  }

  void subscribe(std::size_t i, const Up& up) {
    Peer& peer = peers_[i];
    peer.watches = true;
    peer.pushes = up.pushes;
    peer.is_told = false;
    peer.has = up.value;
    peer.out.push_back(
        {.type = message_type::SUBSCRIBED, .asked = message_type::SUBSCRIBE, .number = version_});
    tell_watchers();
  }

  void tell_watchers() {
    for (Peer& peer : peers_) {
      if (!peer.is_connected || !peer.watches || peer.has == version_ || peer.is_told) continue;
      const auto type = peer.pushes ? message_type::PUSH : message_type::NOT_RECENT;
      peer.out.push_back({.type = type,
                          .is_notification = true,
                          .from = peer.has,
                          .number = version_,
                          .updated = peer.pushes});
      if (peer.pushes) {
        peer.has = version_;
        peer.pushed_bytes += diff_bytes_;
      } else {
        peer.is_told = true;
      }
    }
  }

  std::vector<Peer> peers_;
  std::uint64_t diff_bytes_;
  std::int64_t now_ns_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t last_fence_ = 0;
  std::uint64_t sessions_ = 0;
  std::size_t keeps_after_;
  std::size_t last_writer_ = 0;
  std::size_t in_row_ = 0;  // grants of the last writer
  std::string failure_;
  bool is_held_ = false;
  Holder holder_;
  std::vector<Waiter> queue_;
  // The version, by session and sequence.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> committed_;
};

}  // namespace iw::session::model
