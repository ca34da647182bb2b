#include "client/server_link.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "client/encryption.h"
#include "client/log.h"
#include "client/waiting.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "session/patience.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;
using session::answer_grace_ns;

// Guarded by the link's mutex.
struct Waiter {
  ListenerRef segment;
  bool is_late = false;      // nobody waits (any more)
  bool is_arriving = false;  // the segment is taking the answer in: too late to be late or lost
  bool is_done = false;
  bool is_lost = false;
  session::Incoming answer;
  platform::Condition done;
};

namespace {

// Sent together before another thread's message may come between.
constexpr std::size_t send_budget_bytes = std::size_t{1} << 20;
// A connection that takes nothing for so long is broken.
constexpr std::int64_t send_patience_ns = 60'000'000'000;
constexpr std::int64_t most_spin_us = 1'000;

bool is_this_host(const std::string& host) { return host == "127.0.0.1" || host == "localhost"; }

// The system's words, unless the platform has better ones.
const char* words_of(const platform::Status& status) {
  const bool is_plain = std::strcmp(status.what, "connect") == 0;
  return is_plain ? platform::error_text(status.code) : status.what;
}

Result unreachable(const std::string& name, std::string_view why) {
  return Result::of(error_code::UNREACHABLE, [&] {
    return "the server " + name + " cannot be reached: " + std::string(why) +
           "; is it running (interweave serve) and is the address right?";
  });
}

// Of one host, which the caller names.
Result out_of_reach(std::string why) { return {error_code::UNREACHABLE, std::move(why)}; }

// No connection could be made: the server's fault, or for lack of something here.
Result not_connected(const std::string& name, const platform::Status& status) {
  if (!platform::is_shortage(status.code)) return out_of_reach(words_of(status));
  return {error_code::NO_MEMORY, "no connection to the server " + name +
                                     " can be made: " + platform::shortage_text(status.code) +
                                     " (" + status.what + ")"};
}

constexpr const char* without_memory = "there was no memory for a message from it";

// A request that nobody hears of again, unless it was sent.
class Announced {
 public:
  Announced(platform::Mutex& mutex, Live& live) : mutex_(mutex), live_(live) {}
  ~Announced() {
    if (stream_ == 0 || is_sent_) return;
    const MutexLock lock(mutex_);
    live_.withdraw(tag_, stream_);
  }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;

  void is(session::RequestTag tag, std::uint32_t stream) {
    tag_ = tag;
    stream_ = stream;
  }
  void sent() { is_sent_ = true; }

 private:
  platform::Mutex& mutex_;
  Live& live_;
  session::RequestTag tag_ = 0;
  std::uint32_t stream_ = 0;
  bool is_sent_ = false;
};

}  // namespace

ServerLink::ServerLink(types::Url any_segment, session::SessionIdentity identity,
                       const platform::WakeUp& library_thread, Credentials credentials,
                       SentOn sent_on)
    : name_(any_segment.server()),
      sent_on_(std::move(sent_on)),
      key_(key_of(name_, sent_on_)),
      credentials_(std::move(credentials)),
      library_thread_(library_thread),
      identity_(std::move(identity)) {
  for (types::Url& url : any_segment.of_each_host()) {
    std::string name = url.server();
    hosts_.push_back({std::move(url), std::move(name), false, {}, {}});
  }
  for (const types::Url& url : sent_on_.relays) {
    hosts_.push_back({url, name_ + " (passed on by " + url.server() + ")", true, {}, {}});
  }
}

std::vector<types::Url> ServerLink::hosts() const {
  std::vector<types::Url> urls;
  urls.reserve(hosts_.size());
  for (const Host& host : hosts_) urls.push_back(host.url);
  return urls;
}

std::vector<types::Url> ServerLink::hosts_behind(const std::string& name) const {
  std::vector<types::Url> urls;
  const auto at = std::find_if(hosts_.begin(), hosts_.end(),
                               [&](const Host& host) { return host.name == name; });
  if (at == hosts_.end()) return urls;
  for (auto next = at + 1; next != hosts_.end(); ++next) urls.push_back(next->url);
  for (auto next = hosts_.begin(); next != at; ++next) urls.push_back(next->url);
  return urls;
}

std::string ServerLink::key_of(const std::string& name, const SentOn& sent_on) {
  if (sent_on.by.empty()) return name;
  return sent_on.by + (sent_on.is_listed ? " | " : " > ") + name + " " + sent_on.tls_name;
}

session::SessionIdentity ServerLink::newcomer() {
  const MutexLock lock(mutex_);
  session::SessionIdentity identity = identity_;
  identity.id = {};
  return identity;
}

Expected& ServerLink::expected(Live& live) const { return live.expected_; }

Result ServerLink::why_lost(const Live& live) const {
  return not_reached(live.name(),
                     live.lacked_memory() ? without_memory : "the connection was lost");
}

std::shared_ptr<Live> ServerLink::current() const {
  const MutexLock lock(mutex_);
  return live_ != nullptr && !live_->is_lost() ? live_ : nullptr;
}

bool ServerLink::is_at(const std::string& server) const {
  if (!has_several_hosts()) return server == name_;
  const std::shared_ptr<Live> live = current();
  return live != nullptr && live->name() == server;
}

Result ServerLink::connected(std::int64_t deadline_ns, bool keep_trying,
                             std::shared_ptr<Live>& out) {
  out = current();
  if (out != nullptr) return {};
  if (!connecting_.take(deadline_ns)) {
    return unreachable(name_, "another thread of this process is still waiting for its answer");
  }
  const TakenTurn one_at_a_time(connecting_);
  for (Host& host : hosts_) host.trouble.clear();
  std::int64_t pause_ns = session::first_pause_ns;
  while (true) {
    out = current();
    if (out != nullptr) return {};
    const Result result = connect_round(deadline_ns, keep_trying, out);
    const bool is_shortage = result.code == error_code::NO_MEMORY;
    const bool may_pass = is_shortage || result.code == error_code::UNREACHABLE ||
                          result.code == error_code::STOPPING;
    if (result.ok() || !keep_trying || !may_pass) return result;
    const std::int64_t left_ns = deadline_ns - now_ns();
    if (left_ns <= 0) {
      return is_shortage ? Result{error_code::UNREACHABLE, result.text} : result;
    }
    sleep_for(std::min(pause_ns, left_ns));
    pause_ns = std::min(pause_ns * 2, session::longest_pause_ns);
  }
}

Result ServerLink::connected_in(const session::SpaceId& space, std::int64_t deadline_ns,
                                bool keep_trying, std::shared_ptr<Live>& out) {
  if (!space) return in_other_space(name_);
  {
    const MutexLock lock(mutex_);
    wanted_space_ = space;
  }
  if (Result result = connected(deadline_ns, keep_trying, out); !result) return result;
  if (out->space_id() == space) return {};
  out.reset();  // others have it from when its server was of their space
  return in_other_space(name_);
}

Result ServerLink::in_other_space(const std::string& name) const {
  if (sent_on_.is_listed) {
    return {error_code::UNREACHABLE, "the server " + name +
                                         " serves another space than the host that was used "
                                         "before; ask its operator"};
  }
  return {error_code::REDIRECTED, "this client was sent on to the server " + name +
                                      ", which serves another space; ask its operator"};
}

// Tries each host once. The last that welcomed the client comes first: it has the session, with its
// writer locks [SPACE-46].
Result ServerLink::connect_round(std::int64_t deadline_ns, bool keep_trying,
                                 std::shared_ptr<Live>& out) {
  std::string what_happened;
  bool is_stopping = true;  // all of them
  Result tried;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const std::size_t at = (first_host_ + i) % hosts_.size();
    Host& host = hosts_[at];
    const bool is_last = i + 1 == hosts_.size();
    const std::int64_t until_ns = patience_with_one(deadline_ns, is_last && !keep_trying);
    tried = connect_once(host, until_ns, out);
    if (tried) first_host_ = at;
    const bool may_be_another =
        tried.code == error_code::UNREACHABLE || tried.code == error_code::STOPPING;
    if (!may_be_another) return tried;
    if (!has_several_hosts()) break;
    is_stopping &= tried.code == error_code::STOPPING;
    // Shortly before the caller's deadline an attempt ends too early to say much.
    const bool was_cut_short = now_ns() >= until_ns;
    if (!was_cut_short || host.trouble.empty()) host.trouble = std::move(tried.text);
    what_happened += (i == 0 ? "" : "; ") + host.name + ": " + host.trouble;
  }
  if (has_several_hosts()) return none_reached(is_stopping, what_happened);
  if (tried.code == error_code::UNREACHABLE) return not_reached(name_, tried.text);
  if (tried.code == error_code::STOPPING && is_owners()) {
    return {tried.code, not_reached(name_, tried.text).text};
  }
  return tried;
}

Result ServerLink::none_reached(bool is_stopping, const std::string& what_happened) const {
  const error_code code = is_stopping ? error_code::STOPPING : error_code::UNREACHABLE;
  if (is_owners()) return {code, not_reached(name_, what_happened).text};
  return {code, "no server of the URL can be reached: " + what_happened +
                    "; is one of them running (interweave serve), and are "
                    "the addresses right?"};
}

Result ServerLink::not_reached(const std::string& name, std::string_view why) const {
  if (!is_owners()) return unreachable(name, why);
  return Result::of(error_code::UNREACHABLE, [&] {
    return "the server " + name +
           ", to which this client was sent on, cannot be reached: " + std::string(why);
  });
}

// Half of the remaining time stays for the hosts that are tried next.
std::int64_t ServerLink::patience_with_one(std::int64_t deadline_ns, bool is_last) const {
  if (!has_several_hosts() || is_last) return deadline_ns;
  const std::int64_t now = now_ns();
  return std::min(now + session::attempt_ns, now + (deadline_ns - now) / 2);
}

Result ServerLink::open_socket(const Host& host, std::int64_t deadline_ns, platform::Socket& out,
                               bool& is_unix) const {
  const types::Url& url = host.url;
  is_unix = true;
  if (url.is_unix()) {
    const platform::Status status = platform::connect_unix(url.socket_file, deadline_ns, out);
    return status ? Result{} : not_connected(host.name, status);
  }
  // [NET-1]: on one host the server's Unix socket, whose name is its TCP port.
  if (!url.secure && is_this_host(url.host)) {
    const std::string local = "@interweave-" + std::to_string(url.port);
    if (platform::connect_unix(local, deadline_ns, out)) return {};
  }
  is_unix = false;
  const platform::Status status = platform::connect_tcp(url.host, url.port, deadline_ns, out);
  if (!status) return not_connected(host.name, status);
  if (!url.secure) return {};
  const bool is_named = !host.is_relay && !sent_on_.tls_name.empty();
  const std::string& certified = is_named ? sent_on_.tls_name : url.host;
  return result_of(platform::begin_tls(out, certified, credentials_.files(), deadline_ns),
                   host.name);
}

// Until the server takes what the client shows, or refuses all of it [OWN-6].
Result ServerLink::connect_once(Host& host, std::int64_t deadline_ns, std::shared_ptr<Live>& out) {
  while (true) {
    OwnToken shown;
    Result tried = try_to_connect(host, deadline_ns, shown, out);
    if (tried.code != error_code::DENIED || !shown) return tried;
    host.own_tokens.refused(shown);
  }
}

// `shown`: the token of a file that the answer to HELLO is about.
Result ServerLink::try_to_connect(Host& host, std::int64_t deadline_ns, OwnToken& shown,
                                  std::shared_ptr<Live>& out) {
  platform::Socket socket;
  bool is_unix = false;
  if (Result opened = open_socket(host, deadline_ns, socket, is_unix); !opened) return opened;
  static std::atomic<session::ConnectionNumber> connections{0};
  auto live = std::make_shared<Live>(*this, host.name, ++connections, std::move(socket), now_ns());
  const bool is_to_loopback_v4 = !is_unix && live->socket_.is_to_loopback_v4();
  if (Result greeted = greet(host, *live, is_to_loopback_v4, deadline_ns, shown); !greeted) {
    if (greeted.code == error_code::DENIED && !shown) {
      greeted.text += host.own_tokens.advice(host.url, is_to_loopback_v4);
    }
    if (greeted.code != error_code::TIMED_OUT) return greeted;
    return out_of_reach("it does not answer");
  }
  const bool is_resumed = live->connection_.welcome().resumed;
  say_if_possible([&] {
    if (!log_choice().debug) return;
    trace("connected to " + live->name() + (is_resumed ? ", session resumed" : ", new session"));
  });
  const MutexLock lock(mutex_);
  live_ = live;
  out = std::move(live);
  return {};
}

std::int64_t spin_ns() {
  static const std::int64_t chosen_ns = [] {
    const char* const text = std::getenv("IW_SPIN_US");
    const std::string_view digits = text == nullptr ? "" : text;
    std::int64_t us = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), us);
    if (read.ec == std::errc::result_out_of_range && digits[0] != '-') return most_spin_us * 1000;
    const bool is_number = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    return is_number ? std::clamp<std::int64_t>(us, 0, most_spin_us) * 1000 : 0;
  }();
  return chosen_ns;
}

// HELLO and WELCOME, before anyone else sees the connection.
Result ServerLink::greet(const Host& host, Live& live, bool is_to_loopback_v4,
                         std::int64_t deadline_ns, OwnToken& shown) {
  session::SessionIdentity identity;
  {
    const MutexLock lock(mutex_);
    identity = identity_;
  }
  // A server that began anew has another token.
  const bool has_token = !identity.token.empty();
  OwnToken own = has_token ? OwnToken{} : host.own_tokens.find(host.url, is_to_loopback_v4);
  if (own) identity.token = own.text;
  identity.origin = {platform::program_name(), platform::host_name(),
                     static_cast<std::uint64_t>(platform::process_id())};
  const protocol::redirect_field* const relay = host.is_relay ? &sent_on_.to : nullptr;
  const std::vector<std::uint8_t> body = session::encoded(live.connection_.hello(identity, relay));
  const std::uint32_t stream = live.connection_.begin_request(1, message_type::HELLO, now_ns());
  session::FrameWriter frames(message_type::HELLO, stream, body, {});
  const platform::Status sent = live.socket_.send(frames.next(send_budget_bytes), deadline_ns);
  // A server that refuses a secure client has said so before it hung up.
  if (!sent && !live.socket_.is_secure()) {
    return out_of_reach(platform::error_text(sent.code));
  }
  std::vector<session::Incoming> incoming;
  while (incoming.empty()) {
    std::size_t got = 0;
    const platform::Status status = live.socket_.receive(live.connection_.space(), got);
    if (status.code == EAGAIN) {
      platform::Interest interest{live.fd()};
      if (platform::Status bad = platform::wait_for({&interest, 1}, deadline_ns); !bad) {
        return out_of_reach(platform::error_text(bad.code));
      }
      if (!interest.readable) return {error_code::TIMED_OUT, "the server does not answer"};
      continue;
    }
    if (live.socket_.is_secure() && status.code == EACCES) {
      return result_of({platform::TlsTrouble::refused, status.what}, host.name);
    }
    if (!status) return out_of_reach(platform::error_text(status.code));
    if (got == 0) return out_of_reach("it closed the connection at once");
    if (Result bad = live.connection_.received(got, now_ns(), incoming); !bad) return bad;
  }
  if (Result welcomed = live.connection_.welcomed(incoming.front(), identity); !welcomed) {
    shown = std::move(own);
    return welcomed;
  }
  live.heard_ns_ = live.connection_.heard_ns();
  live.heartbeat_ns_ = live.connection_.heartbeat_ns();
  live.session_ = identity.id;
  const MutexLock lock(mutex_);
  if (Result same = check_space(host, live.space_id()); !same) return same;
  expected(live).next_tag = 2;
  if (identity_.id != identity.id) sequence_ = 0;
  identity_.id = identity.id;
  return {};
}

// [SPACE-12] [SPACE-47]
Result ServerLink::check_space(const Host& host, const session::SpaceId& space) {
  if (!has_several_hosts() || is_sent_on()) {
    const bool is_wanted = !wanted_space_ || space == wanted_space_;
    return is_wanted ? Result{} : in_other_space(host.name);
  }
  if (!space) return out_of_reach("it does not say which space it serves; ask its operator");
  if (!wanted_space_) wanted_space_ = space;
  if (space == wanted_space_) return {};
  return out_of_reach(
      "it serves another space than the host that was used before; ask its operator");
}

Result ServerLink::send(const std::shared_ptr<Live>& live, Request& request,
                        const std::shared_ptr<Waiter>& waiter) {
  waiter->segment = ListenerRef(request.segment);
  Announced announced(mutex_, *live);
  std::uint32_t stream = 0;
  {
    const MutexLock lock(mutex_);
    if (live->is_lost()) return why_lost(*live);
    const session::RequestTag tag = expected(*live).next_tag++;
    stream = live->connection_.begin_request(tag, request.type, now_ns());
    if (stream == 0) return {error_code::NO_MEMORY, "too many requests wait for their answers"};
    announced.is(tag, stream);
    expected(*live).waiters[tag] = waiter;
  }
  session::FrameWriter frames(request.type, stream, request.body, request.bulk);
  announced.sent();
  request.frame_bytes = frames.frame_bytes();
  Result sent = send_frames(live, frames);
  request.was_sent = sent.ok();
  return sent;
}

// Nothing throws here: a part may be on the wire.
Result ServerLink::send_frames(const std::shared_ptr<Live>& live, session::FrameWriter& frames) {
  while (true) {
    const MutexLock lock(live->sending_);
    const std::span<const platform::Slice> slices = frames.next(send_budget_bytes);
    if (slices.empty()) return {};
    platform::Status sent;
    try {
      sent = live->socket_.send(slices, now_ns() + send_patience_ns);
    } catch (const std::bad_alloc&) {
      live->lacked_memory_.store(true, std::memory_order_relaxed);
      sent = {ENOMEM, "send"};
    }
    if (!sent) {
      lose(live, platform::error_text(sent.code));
      return why_lost(*live);
    }
  }
}

Result ServerLink::call(const std::shared_ptr<Live>& live, Request& request,
                        std::int64_t deadline_ns) {
  const auto waiter = std::make_shared<Waiter>();
  if (Result sent = send(live, request, waiter); !sent) return sent;
  const std::int64_t patience_ns =
      request.waits_for_others && deadline_ns < platform::never_ns - answer_grace_ns
          ? deadline_ns + answer_grace_ns
          : deadline_ns;
  const MutexLock lock(mutex_);
  while (!waiter->is_done) {
    if (waiter->is_arriving) {
      waiter->done.wait(mutex_);
    } else if (now_ns() >= patience_ns) {
      return give_up(live, request, waiter);
    } else if (live->is_reading_) {
      wait_until(waiter->done, mutex_, patience_ns);
    } else {
      lead(live, *waiter, patience_ns);
    }
  }
  if (waiter->is_lost) return why_lost(*live);
  request.answer = std::move(waiter->answer);
  return {};
}

// Reads until the answer is there. The wait is cut in pieces, since a connection that is taken for
// lost wakes no thread that waits for its socket.
void ServerLink::lead(const std::shared_ptr<Live>& live, const Waiter& waiter,
                      std::int64_t deadline_ns) {
  const std::int64_t from_ns = now_ns();
  live->is_reading_ = true;
  live->led_from_ns_.store(from_ns, std::memory_order_relaxed);
  std::int64_t to_ns = from_ns;
  while (!waiter.is_done && to_ns < deadline_ns) {
    const MutexUnlock reading(mutex_);
    read_some(live, std::min(deadline_ns, to_ns + live->heartbeat_ns()));
    to_ns = now_ns();
  }
  live->led_to_ns_.store(to_ns, std::memory_order_relaxed);
  stop_reading(*live);
  if (to_ns - from_ns >= quiet_ns) library_thread_.signal();
}

Result ServerLink::give_up(const std::shared_ptr<Live>& live, Request& request,
                           const std::shared_ptr<Waiter>& waiter) {
  waiter->is_late = true;
  std::uint32_t stream = 0;
  for (const auto& [tag, other] : expected(*live).waiters) {
    if (other == waiter) stream = live->connection_.stream_of(tag);
  }
  const MutexUnlock telling(mutex_);
  if (request.waits_for_others && stream != 0) {
    // Without memory for it the server answers late, which is as good as an answer before CANCEL.
    (void)types::or_no_memory([&] {
      return tell(live, message_type::CANCEL, session::encoded(protocol::cancel{stream}));
    });
  }
  return Result::of(error_code::TIMED_OUT, [&request] {
    return std::string("the server did not answer ") + name_of(request.type) +
           " before the deadline";
  });
}

Result ServerLink::post(const std::shared_ptr<Live>& live, Request& request) {
  const auto waiter = std::make_shared<Waiter>();
  waiter->is_late = true;
  return send(live, request, waiter);
}

Result ServerLink::tell(const std::shared_ptr<Live>& live, message_type type,
                        std::span<const std::uint8_t> body) {
  session::FrameWriter frames(type, 0, body, {});
  {
    const MutexLock lock(mutex_);
    if (live->is_lost()) return why_lost(*live);
    live->connection_.said(now_ns());
  }
  return send_frames(live, frames);
}

void ServerLink::listen(const std::shared_ptr<Live>& live, std::uint32_t number,
                        Listener& segment) {
  const MutexLock lock(mutex_);
  if (live->is_lost()) return;  // who listens looks for that afterwards
  expected(*live).segments[number] = ListenerRef(&segment);
}

void ServerLink::unlisten(const std::shared_ptr<Live>& live, std::uint32_t number,
                          const Listener& segment) {
  const MutexLock lock(mutex_);
  auto& segments = expected(*live).segments;
  const auto found = segments.find(number);
  if (found == segments.end() || found->second.listener != &segment) return;
  segments.erase(found);
}

void ServerLink::read_available(const std::shared_ptr<Live>& live) {
  {
    const MutexLock lock(mutex_);
    if (live->is_reading_ || live->is_lost()) return;
    live->is_reading_ = true;
  }
  read_some(live, 0);
  const MutexLock lock(mutex_);
  stop_reading(*live);
}

ServerLink::Left ServerLink::read_all(const std::shared_ptr<Live>& live, std::size_t most_bytes) {
  {
    const MutexLock lock(mutex_);
    if (live->is_lost()) return Left::nothing;
    if (live->is_reading_) {
      live->dispatched_ns_.store(0, std::memory_order_relaxed);
      return Left::to_others;
    }
    live->is_reading_ = true;
  }
  std::size_t read_bytes = 0;
  Received received;
  do {
    received = read_some(live, 0);
    read_bytes += received.bytes;
  } while (received.may_have_more && read_bytes < most_bytes);
  if (read_bytes > 0) live->dispatched_ns_.store(now_ns(), std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  stop_reading(*live);
  return received.may_have_more ? Left::more : Left::nothing;
}

// The next of those who wait reads on; if nobody does, the library's thread.
void ServerLink::stop_reading(Live& live) {
  live.is_reading_ = false;
  // Poll knows nothing of what TLS has decrypted, and the library's thread may be in it.
  if (live.socket_.has_pending()) library_thread_.signal();
  for (const auto& [tag, waiter] : expected(live).waiters) {
    if (waiter->is_late || waiter->is_done) continue;
    waiter->done.notify_one();
    return;
  }
}

// By the one thread that has set is_reading_. What comes for others cannot be read again: without
// memory for it the connection is lost, and everybody recovers as from any lost connection.
ServerLink::Received ServerLink::read_some(const std::shared_ptr<Live>& live,
                                           std::int64_t deadline_ns) noexcept {
  try {
    return read_messages(live, deadline_ns);
  } catch (const std::bad_alloc&) {
    live->lacked_memory_.store(true, std::memory_order_relaxed);
    lose(live, without_memory);
    return {};
  }
}

// Where answers come soon, it looks for a moment before it sleeps. EAGAIN at the deadline.
platform::Status ServerLink::await_bytes(Live& live, const platform::Space& space,
                                         std::int64_t deadline_ns, std::size_t& got) {
  platform::Status status{EAGAIN, "nothing has come"};
  platform::Briskness& briskness = live.briskness_;
  if (briskness.may_poll()) {
    std::int64_t now = now_ns();
    const std::int64_t until_ns = std::min(deadline_ns, briskness.begin(now));
    while (status.code == EAGAIN && now < until_ns) {
      std::this_thread::yield();
      status = live.socket_.receive(space, got);
      now = now_ns();
      briskness.look(now);
    }
  }
  if (status.code == EAGAIN) {
    platform::Interest interest{live.fd()};
    const platform::Status waited = platform::wait_for({&interest, 1}, deadline_ns);
    if (!waited) return waited;
    if (interest.readable) status = live.socket_.receive(space, got);
  }
  if (briskness.may_poll()) briskness.end(now_ns(), status.code != EAGAIN);
  return status;
}

ServerLink::Received ServerLink::read_messages(const std::shared_ptr<Live>& live,
                                               std::int64_t deadline_ns) {
  std::vector<session::Incoming> incoming;
  std::size_t got = 0;
  const platform::Space space = live->connection_.space();
  if (space.first.empty()) throw std::bad_alloc();
  platform::Status status = live->socket_.receive(space, got);
  if (status.code == EAGAIN && deadline_ns > 0)
    status = await_bytes(*live, space, deadline_ns, got);
  if (status.code == EAGAIN) return {};
  if (!status || got == 0) {
    lose(live, status ? "the server closed it" : platform::error_text(status.code));
    return {};
  }
  Result understood;
  {
    const MutexLock lock(mutex_);
    const std::int64_t heard_ns = now_ns();
    understood = live->connection_.received(got, heard_ns, incoming);
  }
  for (session::Incoming& one : incoming) {
    one.connection = live->number();
    handle(live, one);
  }
  // Only now: a promise is kept up to here [FRESH-3].
  live->heard_ns_.store(live->connection_.heard_ns(), std::memory_order_relaxed);
  if (!understood) {
    lose(live, understood.text.c_str());
    return {};
  }
  // A plain socket fills the space if it can. TLS gives one record at a time.
  const bool is_full = got == space.first.size() + space.rest.size();
  return {got, is_full || live->socket_.is_secure()};
}

void ServerLink::handle(const std::shared_ptr<Live>& live, session::Incoming& incoming) {
  ListenerRef segment;
  std::uint32_t number = 0;
  std::shared_ptr<Waiter> waiter;
  bool is_late = false;
  const bool is_first = incoming.message.part == session::Part::first;
  {
    const MutexLock lock(mutex_);
    if (live->is_lost()) return;
    if (incoming.tag == 0) {
      // Every notification about a segment begins with its number.
      xdr::Reader reader(incoming.message.body.data(), incoming.message.body.size());
      const bool has_number = !incoming.message.body.empty() && reader.u32(number);
      const auto& segments = expected(*live).segments;
      const auto found = has_number ? segments.find(number) : segments.end();
      if (found != segments.end()) segment = found->second;
    } else {
      const auto& waiters = expected(*live).waiters;
      const auto found = waiters.find(incoming.tag);
      if (found == waiters.end()) return;
      segment = found->second->segment;
      if (!is_first) {
        waiter = found->second;
        is_late = waiter->is_late;
        waiter->is_arriving = true;
      }
    }
  }
  if (is_first) {
    if (segment.listener != nullptr) segment.listener->begins(incoming);
    return;
  }
  try {
    if (segment.listener != nullptr) segment.listener->absorb(incoming, is_late);
  } catch (const std::bad_alloc&) {
    const MutexLock lock(mutex_);
    if (waiter != nullptr) waiter->is_arriving = false;  // it is lost, with the others
    throw;
  }
  const bool has_moved = incoming.type() == message_type::SEGMENT_MOVED;  // [SPACE-23]
  if (has_moved && segment.listener != nullptr) unlisten(live, number, *segment.listener);
  if (waiter == nullptr) return;
  const MutexLock lock(mutex_);
  expected(*live).waiters.erase(incoming.tag);
  waiter->answer = std::move(incoming);
  waiter->is_done = true;
  waiter->done.notify_one();
}

void ServerLink::lose(const std::shared_ptr<Live>& live, const char* why) noexcept {
  std::unordered_map<std::uint32_t, ListenerRef> segments;
  {
    const MutexLock lock(mutex_);
    if (live->is_lost_.exchange(true)) return;
    Expected& gone = expected(*live);
    for (const auto& [tag, waiter] : gone.waiters) {
      if (waiter->is_arriving) continue;  // has its answer in a moment
      waiter->is_lost = true;
      waiter->is_done = true;
      waiter->done.notify_one();
    }
    gone.waiters.clear();
    segments.swap(gone.segments);
  }
  say_if_possible([&] {
    if (log_choice().debug) trace("connection to " + live->name() + " lost: " + why);
  });
  for (const auto& [number, segment] : segments) {
    segment.listener->connection_lost(live->number());
  }
}

std::int64_t ServerLink::run_timers(std::int64_t now) {
  const std::shared_ptr<Live> live = current();
  if (live == nullptr) return platform::never_ns;
  std::int64_t ping_due_ns = 0;
  bool is_silent = false;
  {
    const MutexLock lock(mutex_);
    ping_due_ns = live->connection_.ping_due_ns();
    is_silent = live->connection_.is_silent(now);
    if (!is_silent) live->silent_since_ns_ = 0;
    if (is_silent && live->silent_since_ns_ == 0) live->silent_since_ns_ = now;
  }
  if (is_silent) {
    // This process may have been stopped: what came meanwhile must be read first.
    const std::int64_t verdict_ns = live->silent_since_ns_ + session::reading_grace_ns;
    if (now < verdict_ns) return verdict_ns;
    lose(live, "the server is silent");
    return platform::never_ns;
  }
  if (now < ping_due_ns) return std::min(ping_due_ns, now + live->heartbeat_ns());
  Request ping;
  ping.type = message_type::PING;
  (void)post(live, ping);
  return now + live->heartbeat_ns();
}

std::uint64_t ServerLink::next_sequence(protocol::session_id& session) {
  const MutexLock lock(mutex_);
  session = identity_.id;
  return ++sequence_;
}

void ServerLink::leave() {
  const std::shared_ptr<Live> live = current();
  if (live != nullptr) (void)tell(live, message_type::GOODBYE, {});
}

void ServerLink::goodbye() {
  const std::shared_ptr<Live> live = current();
  if (live == nullptr) return;
  (void)tell(live, message_type::GOODBYE, {});
  live->socket_.retire();
}

}  // namespace iw::client
