#include "client/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "client/callback_locks.h"
#include "client/library_thread.h"
#include "client/log.h"
#include "client/stray_report.h"
#include "client/waiting.h"
#include "platform/clock.h"
#include "platform/no_fork.h"
#include "platform/process.h"
#include "platform/tls.h"

namespace iw::client {

using platform::now_ns;

namespace {

// The calling thread reads what it will then call callbacks for.
thread_local constinit bool thread_is_dispatching = false;
// Programs with an event loop wait for what the library's thread reads.
constexpr std::int64_t dispatched_quiet_ns = 1'000'000;
// That one dispatch() reads of a connection, so that it does not take as long as a copy takes.
constexpr std::size_t dispatch_bytes = std::size_t{1} << 20;
// For one attempt to reach a server that others wait for.
constexpr std::int64_t connecting_ns = 2'000'000'000;
// Until a thread that could not be made is tried again.
constexpr std::int64_t shortage_pause_ns = 1'000'000'000;
// Until a segment that nobody needs, and somebody looked at, is looked at again.
constexpr std::int64_t forgetting_pause_ns = 100'000'000;

Result missing(const std::string& what, const platform::Status& status) {
  const std::string why = platform::shortage_text(status.code);
  if (!why.empty()) return {protocol::error_code::NO_MEMORY, what + ": " + why};
  return {protocol::error_code::INTERNAL,
          what + ": " + status.what + ": " + platform::error_text(status.code)};
}

struct Current {
  Runtime* runtime = nullptr;
  unsigned fork_count = 0;
};

Current& current() {
  static Current* const one = new Current;  // used until the process ends
  return *one;
}

void say_goodbye() {
  if (platform::other_threads_are_gone()) return;  // with locks that are needed here
  Current& now = current();
  if (now.runtime != nullptr && now.fork_count == platform::fork_count()) now.runtime->goodbye();
}

// One thread makes it; the others wait. A thread that forked away with the flag set never clears
// it.
class MakingTurn {
 public:
  explicit MakingTurn(unsigned fork_count) {
    while (is_making.exchange(true, std::memory_order_acquire)) {
      if (making_fork.load() != fork_count) break;
      std::this_thread::yield();
    }
    making_fork.store(fork_count);
  }
  ~MakingTurn() { is_making.store(false, std::memory_order_release); }
  MakingTurn(const MakingTurn&) = delete;
  MakingTurn& operator=(const MakingTurn&) = delete;

 private:
  static inline std::atomic<bool> is_making{false};
  static inline std::atomic<unsigned> making_fork{0};
};

}  // namespace

// After fork the parent's mutex may be held for ever: the child's first call has a new one.
Result Runtime::get(Runtime*& out) {
  static std::atomic<Runtime*> cached{nullptr};
  static std::atomic<unsigned> cached_fork{0};
  const unsigned fork_count = platform::fork_count();
  const auto is_there = [&] {
    out = cached.load(std::memory_order_acquire);
    return out != nullptr && cached_fork.load(std::memory_order_relaxed) == fork_count;
  };
  if (is_there()) return {};
  const MakingTurn turn(fork_count);
  if (is_there()) return {};
  const platform::NoFork no_fork;
  std::unique_ptr<Runtime> made(new Runtime);
  Current& now = current();
  if (Result begun = made->begin(); !begun) return begun;
  out = made.release();
  const bool is_first = now.runtime == nullptr;
  now.runtime = out;
  now.fork_count = fork_count;
  cached_fork.store(fork_count, std::memory_order_relaxed);
  cached.store(out, std::memory_order_release);
  if (is_first) std::atexit(say_goodbye);
  return {};
}

// If the program has begun OpenSSL before, OpenSSL ends at exit(), in the reverse order of
// registering: then goodbye has to come before it, also if the runtime is older than OpenSSL.
void Runtime::leave_before_openssl() {
  static std::atomic<bool> is_registered{false};
  if (is_registered.load() || !platform::prepare_tls()) return;
  if (!is_registered.exchange(true)) (void)std::atexit(say_goodbye);
}

Result Runtime::begin() {
  if (const platform::Status made = platform::WakeUp::create(wake_); !made) {
    return missing("the library cannot begin", made);
  }
  report_strays_at_once();
  return begin_thread("serves the library", [this] { serve(); });
}

// ---- segments, their links and their handles ----

Result Runtime::open(const types::Url& url, const Credentials& credentials, const OpenWish& wish,
                     IW_segment*& out) {
  const Naming naming{credentials, true, nullptr, deadline_after(wish.timeout_s)};
  while (true) {
    std::shared_ptr<Segment> segment;
    if (Result bad = segment_for(url, naming, segment); !bad) return bad;
    const Result opened = types::or_no_memory([&] { return segment->open(wish); });
    if (opened) {
      try {
        out = &handle_for(*segment);
        return {};
      } catch (const std::bad_alloc&) {
        (void)segment->close();
        done_with(std::move(segment));
        throw;
      }
    }
    const bool is_replaced = segment->is_lost();
    done_with(std::move(segment));
    // It was found lost or removed just now: another takes its place [LOST-6, GONE-3].
    if (!is_replaced) return opened;
  }
}

Result Runtime::place_of(const types::Mip& mip, void*& out) {
  std::shared_ptr<Segment> segment;
  const Naming naming{{}, false, nullptr, deadline_after(OpenWish{}.timeout_s)};
  if (Result bad = segment_for(mip.url, naming, segment); !bad) return bad;
  Result result = types::or_no_memory([&] {
    Result opened = segment->open_for_pointers(segment->wish_for(-1).deadline_ns);
    return opened ? segment->place_of(mip, out) : opened;
  });
  if (!result) done_with(std::move(segment));
  return result;
}

// `idle`: these links had other credentials, and nobody needs them. BAD_ARGUMENT with `may_pass`:
// only segments that the program has closed have the link, and these are about to be forgotten.
Result Runtime::check_credentials(const types::Url& url, const Credentials& credentials,
                                  std::vector<std::shared_ptr<ServerLink>>& idle, bool& may_pass) {
  const auto server = servers_.find(url.server());
  if (server == servers_.end()) return {};
  const ServerLink& link = *server->second.link;
  Result same = link.credentials().check_same(credentials, link.name());
  const bool is_idle = server->second.segments == 0;
  // A server that a pointer led to was not shown the program's token.
  const bool shows_too_little = link.credentials().is_of_pointer() && !credentials.is_of_pointer();
  if (same && !(is_idle && shows_too_little)) return same;
  if (is_idle) {
    drop_idle(link.key(), idle);
    return {};
  }
  const auto is_needed = [&](const std::shared_ptr<Segment>& one) {
    return &one->home() == &link && one->need() == Need::some;
  };
  may_pass = std::none_of(segments_.begin(), segments_.end(),
                          [&](const auto& entry) { return is_needed(entry.second); }) &&
             std::none_of(lost_.begin(), lost_.end(), is_needed) &&
             !names_.any_through(link, [](const Segment& one) { return one.need() == Need::some; });
  return same;
}

// A link that no segment has, and those to which its segments were sent on.
void Runtime::drop_idle(const std::string& key, std::vector<std::shared_ptr<ServerLink>>& idle) {
  std::erase_if(servers_, [&](const auto& entry) {
    const ServerLink& link = *entry.second.link;
    const bool is_dropped = link.key() == key || link.sent_on().by == key;
    if (is_dropped) idle.push_back(entry.second.link);
    return is_dropped;
  });
}

Runtime::Server& Runtime::server_for(const types::Url& url, const Credentials& credentials) {
  const std::string name = url.server();
  if (const auto known = servers_.find(name); known != servers_.end()) return known->second;
  session::SessionIdentity identity;
  identity.token = credentials.token();
  identity.client = "libinterweave (C++)";
  Server made{std::make_shared<ServerLink>(url, std::move(identity), wake_, credentials)};
  return servers_.emplace(name, std::move(made)).first->second;
}

std::shared_ptr<ServerLink> Runtime::link_sent_on(ServerLink& home, const types::Url& server,
                                                  SentOn sent_on) {
  session::SessionIdentity identity = home.newcomer();
  const MutexLock lock(mutex_);
  const std::string key = ServerLink::key_of(server.server(), sent_on);
  auto known = servers_.find(key);
  if (known == servers_.end()) {
    Server made{std::make_shared<ServerLink>(server, std::move(identity), wake_, home.credentials(),
                                             std::move(sent_on))};
    known = servers_.emplace(key, std::move(made)).first;
  }
  ++known->second.segments;
  return known->second.link;
}

// Of a segment that is open.
IW_segment& Runtime::handle_for(Segment& segment) {
  const MutexLock lock(mutex_);
  if (IW_segment* const handle = segment.handle(); handle != nullptr) {
    handle->lead_to(segment);
    return *handle;
  }
  auto known = handles_.find(segment.name());
  if (known != handles_.end() && known->second->has_segment()) {
    lost_handles_.insert(handles_.extract(known));  // it leads to the one that was lost
    known = handles_.end();
  }
  if (known == handles_.end()) {
    auto made = std::make_unique<IW_segment>(*this, segment.name());
    const std::string_view name = made->name();
    known = handles_.emplace(name, std::move(made)).first;
  }
  IW_segment& handle = *known->second;
  handle.lead_to(segment);
  segment.set_handle(&handle);
  return handle;
}

void Runtime::closed(IW_segment& handle) noexcept {
  std::shared_ptr<Segment> segment;
  {
    const MutexLock lock(mutex_);
    for (const auto& lost : lost_) {
      if (lost->handle() == &handle) segment = lost;
    }
    const auto found = segments_.find(handle.name());
    if (found != segments_.end() && found->second->handle() == &handle) segment = found->second;
  }
  if (segment != nullptr) done_with(std::move(segment));
}

// By who shared it until now. What is still shared by others is looked at again by the library's
// thread.
void Runtime::done_with(std::shared_ptr<Segment> segment) noexcept {
  Forgotten forgotten;
  {
    const MutexLock lock(mutex_);
    const auto found = segments_.find(segment->name());
    const bool is_kept = found != segments_.end() && found->second == segment;
    segment.reset();
    const Need need = is_kept ? forget(found->second, forgotten) : Need::unknown;
    if (need == Need::none) segments_.erase(found);
    if (need != Need::unknown) return;
  }
  has_unused_ = true;
  wake();
}

// A segment of the link ends. Null: the link is still of use.
std::shared_ptr<ServerLink> Runtime::left(const ServerLink& link) noexcept {
  const auto server = servers_.find(link.key());
  if (--server->second.segments > 0 || link.current() != nullptr) return nullptr;
  std::shared_ptr<ServerLink> unused = std::move(server->second.link);
  servers_.erase(server);
  return unused;
}

// None: `kept`, the map's share, was the last one; it is to be erased.
Runtime::Need Runtime::forget(const std::shared_ptr<Segment>& kept, Forgotten& out) noexcept {
  const Need need = kept->need();
  if (need != Need::none) return need;
  IW_segment* const handle = kept->handle();
  if (kept.use_count() > 1 || (handle != nullptr && !handle->let_go())) return Need::unknown;
  // Calls that have ended since may have left something on its way.
  if (kept.use_count() > 1 || kept->need() != Need::none) {
    if (handle != nullptr) handle->lead_to(*kept);
    return Need::unknown;
  }
  const auto named = handles_.find(kept->name());
  if (kept->is_lost() && named != handles_.end() && named->second.get() == handle) {
    lost_handles_.insert(handles_.extract(named));
  }
  names_.leave(*kept);
  kept->see_others([this](const ServerLink& link) {
    mutex_.assert_held();
    (void)left(link);  // the segment has a share
  });
  out.link = left(kept->home());
  out.segment = kept;
  return Need::none;
}

// By the library's thread. Returns when to look again.
std::int64_t Runtime::forget_unused(std::int64_t now) {
  if (!has_unused_.exchange(false)) return platform::never_ns;
  std::vector<Forgotten> all;
  bool is_one_left = false;
  {
    const MutexLock lock(mutex_);
    all.reserve(segments_.size() + lost_.size());
    const auto is_forgotten = [&](const std::shared_ptr<Segment>& kept) {
      mutex_.assert_held();
      Forgotten one;
      const Need need = forget(kept, one);
      is_one_left = is_one_left || need == Need::unknown;
      if (need == Need::none) all.push_back(std::move(one));
      return need == Need::none;
    };
    std::erase_if(segments_, [&](const auto& entry) { return is_forgotten(entry.second); });
    std::erase_if(lost_, is_forgotten);
  }
  if (!is_one_left) return platform::never_ns;
  has_unused_ = true;
  return now + forgetting_pause_ns;
}

std::vector<std::shared_ptr<Segment>> Runtime::segments() {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Segment>> all;
  all.reserve(segments_.size() + lost_.size());
  for (const auto& [url, segment] : segments_) all.push_back(segment);
  all.insert(all.end(), lost_.begin(), lost_.end());
  return all;
}

std::vector<std::shared_ptr<ServerLink>> Runtime::links() {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ServerLink>> all;
  for (const auto& [name, server] : servers_) all.push_back(server.link);
  return all;
}

Result Runtime::describe(Segment& from, const types::Url& url, std::vector<std::uint64_t> serials,
                         std::int64_t deadline_ns) {
  std::shared_ptr<Segment> segment;
  const Naming naming{Credentials::of_a_pointer(), false, &from, deadline_ns};
  Result result = segment_for(url, naming, segment);
  if (result) result = segment->open_for_pointers(deadline_ns);
  // Memory or descriptors for a connection may be there later: such stubs are healed.
  if (result.code == protocol::error_code::NO_MEMORY) {
    result.code = protocol::error_code::UNREACHABLE;
  }
  if (result) result = segment->describe(std::move(serials), {}, deadline_ns);
  if (!result && log_choice().debug) {
    trace("pointers into " + url.text() + " become stubs: " + result.text);
  }
  if (!result && segment != nullptr) done_with(std::move(segment));
  return result;
}

// ---- the library's thread ----

void Runtime::serve() {
  while (true) {
    try {
      serve_once();
    } catch (const std::bad_alloc&) {
      has_unused_ = true;            // perhaps not all was looked at
      sleep_for(scarcity_pause_ns);  // everything else that is due stays due
    }
  }
}

void Runtime::serve_once() { wait_and_read(sleep_until(run_timers(now_ns()))); }

// Tells of callbacks that are due. An entry of an agenda that is made from now on wakes the
// library's thread, if it is due before the moment that is returned.
std::int64_t Runtime::sleep_until(std::int64_t due_ns) {
  bool are_calls_due = false;
  {
    const MutexLock lock(agenda_mutex_);
    are_calls_due = calls_.next_due_ns() <= now_ns();
    // The thread that calls them wakes us for later calls.
    if (!are_calls_due) due_ns = std::min(due_ns, calls_.next_due_ns());
    due_ns = std::min(due_ns, looks_.next_due_ns());
    asleep_until_ns_ = due_ns;
  }
  if (are_calls_due) tell_of_changes();
  return due_ns;
}

// ---- what is due for segments ----

// A segment is on an agenda only after this. If it throws std::bad_alloc, the segment ends.
void Runtime::join(Segment& segment) {
  const MutexLock lock(agenda_mutex_);
  looks_.join(segment.look());
  calls_.join(segment.call());
}

void Runtime::leave(Segment& segment) noexcept {
  const MutexLock lock(agenda_mutex_);
  looks_.leave(segment.look());
  calls_.leave(segment.call());
}

void Runtime::look_by(Segment& segment, std::int64_t due_ns) noexcept {
  const MutexLock lock(agenda_mutex_);
  looks_.put(segment.look(), due_ns);
  wake_by(due_ns);
}

void Runtime::call_by(Segment& segment, std::int64_t due_ns) noexcept {
  const MutexLock lock(agenda_mutex_);
  calls_.put(segment.call(), due_ns);
  wake_by(due_ns);
}

void Runtime::call_next(Segment& segment, std::int64_t due_ns) noexcept {
  const MutexLock lock(agenda_mutex_);
  calls_.put(segment.call(), due_ns);
}

void Runtime::wake_by(std::int64_t due_ns) noexcept {
  if (due_ns >= asleep_until_ns_) return;
  asleep_until_ns_ = due_ns;
  wake();
}

// Segments that end just now are left out.
std::shared_ptr<Segment> Runtime::take_due(Segment::Places& places, std::int64_t now) noexcept {
  while (Segment* const one = places.take(now)) {
    if (std::shared_ptr<Segment> kept = one->shared(); kept != nullptr) return kept;
  }
  return nullptr;
}

void Runtime::tell_of_changes() {
  if (is_dispatched_) return events_.signal();
  const MutexLock lock(callbacks_mutex_);
  are_callbacks_due_ = true;
  callbacks_.notify_one();
}

Result Runtime::prepare_callbacks() {
  const MutexLock lock(callbacks_mutex_);
  if (has_callback_thread_ || is_dispatched_) return {};
  Result begun = begin_thread("runs callbacks", [this] { serve_callbacks(); });
  has_callback_thread_ = begun.ok();
  return begun;
}

void Runtime::serve_callbacks() {
  const MutexLock lock(callbacks_mutex_);
  while (true) {
    while (!are_callbacks_due_) callbacks_.wait(callbacks_mutex_);
    are_callbacks_due_ = false;
    bool is_all_called = true;
    {
      const MutexUnlock calling(callbacks_mutex_);
      try {
        if (!is_dispatched_) run_callbacks();
      } catch (const std::bad_alloc&) {
        is_all_called = false;
        sleep_for(scarcity_pause_ns);
      }
    }
    if (!is_all_called) are_callbacks_due_ = true;
  }
}

// ---- lost connections [CONN-1] ----

// By the library's thread. The other one is asleep until there is something to do. Returns when to
// be called again.
std::int64_t Runtime::keep_connected(std::int64_t now) {
  const Result ready = prepare_connections();
  if (ready) return platform::never_ns;
  if (!std::exchange(has_reported_shortage_, true)) {
    report(ready.code, ready.text + "; it is tried again, and the next call reconnects");
  }
  return now + shortage_pause_ns;
}

Result Runtime::prepare_connections() {
  const MutexLock lock(connections_mutex_);
  is_connecting_wanted_ = true;
  connections_.notify_one();
  if (has_connection_thread_) return {};
  Result begun = begin_thread("reconnects to servers", [this] { serve_connections(); });
  has_connection_thread_ = begun.ok();
  return begun;
}

void Runtime::serve_connections() {
  std::map<std::string, session::Reconnection> paces;
  const MutexLock lock(connections_mutex_);
  while (true) {
    while (!is_connecting_wanted_) connections_.wait(connections_mutex_);
    is_connecting_wanted_ = false;
    std::int64_t next_ns = now_ns() + scarcity_pause_ns;
    {
      const MutexUnlock connecting(connections_mutex_);
      try {
        next_ns = reconnect(paces);
      } catch (const std::bad_alloc&) {
        // Tried again after the pause.
      }
    }
    if (next_ns == platform::never_ns) continue;
    // A pause is not cut short by others who want a connection.
    while (now_ns() < next_ns) wait_until(connections_, connections_mutex_, next_ns);
    is_connecting_wanted_ = true;
  }
}

// Tries what is due. Returns when the next attempt is, or never.
std::int64_t Runtime::reconnect(std::map<std::string, session::Reconnection>& paces) {
  std::int64_t next_ns = platform::never_ns;
  for (const auto& segment : segments()) {
    if (!segment->wants_connection()) continue;
    session::Reconnection& pace = paces[segment->tried_first()];
    if (pace.due_ns() <= now_ns()) {
      const Result tried = segment->reconnect(now_ns() + connecting_ns);
      if (tried) {
        pace.succeeded();
      } else {
        pace.failed(now_ns());
      }
      if (!segment->wants_connection()) continue;
    }
    next_ns = std::min(next_ns, pace.due_ns());
  }
  return next_ns;
}

std::int64_t Runtime::run_timers(std::int64_t now) {
  std::int64_t due_ns = forget_unused(now);
  for (const auto& link : links()) due_ns = std::min(due_ns, link->run_timers(now));
  look_at_due(now);
  return due_ns;
}

// Entries that are made meanwhile are due later than `now`, and so the loop ends.
void Runtime::look_at_due(std::int64_t now) {
  while (true) {
    std::shared_ptr<Segment> segment;
    {
      const MutexLock sharing(mutex_);
      const MutexLock lock(agenda_mutex_);
      asleep_until_ns_ = 0;
      segment = take_due(looks_, now);
    }
    if (segment == nullptr) return;
    try {
      look_at(*segment, now);
    } catch (const std::bad_alloc&) {
      look_by(*segment, now);  // it is still due
      throw;
    }
  }
}

void Runtime::look_at(Segment& segment, std::int64_t now) {
  std::int64_t due_ns = segment.run_timers(now);
  if (segment.wants_connection()) due_ns = std::min(due_ns, keep_connected(now));
  look_by(segment, due_ns);
}

// In the order in which they became due.
void Runtime::run_callbacks() {
  const std::int64_t began_ns = now_ns();
  while (true) {
    std::shared_ptr<Segment> segment;
    {
      const MutexLock sharing(mutex_);
      const MutexLock lock(agenda_mutex_);
      segment = take_due(calls_, began_ns);
      if (segment == nullptr) return wake_by(calls_.next_due_ns());
    }
    try {
      const LocksBefore locks;
      segment->call_due_change(now_ns());
      locks.restore(segment->name());
    } catch (const std::bad_alloc&) {
      call_next(*segment, began_ns);  // it is still due
      throw;
    }
  }
}

void Runtime::wait_and_read(std::int64_t deadline_ns) {
  struct Watched {
    std::shared_ptr<ServerLink> link;
    std::shared_ptr<Live> live;
  };
  std::vector<Watched> watched;
  std::vector<platform::Interest> interests{{wake_.fd()}};
  const std::int64_t now = now_ns();
  for (const auto& link : links()) {
    std::shared_ptr<Live> live = link->current();
    if (live == nullptr) continue;
    if (is_dispatched_ && !live->is_watched() && events_.watch(live->fd())) live->set_watched();
    if (live->is_led()) {
      // It wakes us at its end, unless that comes soon.
      const std::int64_t soon_ns =
          is_dispatched_ ? now + dispatched_quiet_ns : live->led_from_ns() + quiet_ns;
      if (now < soon_ns) deadline_ns = std::min(deadline_ns, soon_ns);
      continue;
    }
    const std::int64_t read_ns = is_dispatched_ ? live->dispatched_ns() : live->led_to_ns();
    const std::int64_t quiet_until_ns = read_ns + quiet_ns;
    if (now < quiet_until_ns) {
      deadline_ns = std::min(deadline_ns, quiet_until_ns);
      continue;
    }
    if (live->has_pending()) deadline_ns = now;
    interests.push_back({live->fd()});
    watched.push_back({link, std::move(live)});
  }
  if (!platform::wait_for(interests, deadline_ns)) return;
  if (interests[0].readable) wake_.drain();
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (interests[i + 1].readable || watched[i].live->has_pending())
      watched[i].link->read_available(watched[i].live);
  }
}

Result Runtime::event_fd(int& out) {
  const MutexLock lock(callbacks_mutex_);
  if (!is_dispatched_) {
    if (const platform::Status made = platform::EventDescriptor::create(events_); !made) {
      return missing("no descriptor for events could be made", made);
    }
    is_dispatched_ = true;
    wake();
  }
  out = events_.fd();
  return {};
}

// Whoever waits for the event descriptor is woken by the socket itself, and reads it here. The
// library's thread keeps away from a connection that was read here just now.
void Runtime::read_dispatched() {
  const std::vector<std::shared_ptr<ServerLink>> all = links();
  thread_is_dispatching = true;
  for (const auto& link : all) {
    const std::shared_ptr<Live> live = link->current();
    if (live == nullptr || !live->is_watched()) continue;
    switch (link->read_all(live, dispatch_bytes)) {
      case ServerLink::Left::nothing:
        break;
      case ServerLink::Left::more:  // which makes no socket readable once more
        events_.signal();
        break;
      case ServerLink::Left::to_others:  // the library's thread reads what they leave
        wake();
        break;
    }
  }
  thread_is_dispatching = false;
}

bool Runtime::is_dispatching() const { return thread_is_dispatching; }

void Runtime::dispatch() {
  try {
    if (is_dispatched_) {
      events_.take();
      read_dispatched();
    }
    run_callbacks();
  } catch (const std::bad_alloc&) {
    if (is_dispatched_) events_.signal();  // they are still due
    throw;
  }
}

void Runtime::goodbye() {
  if (has_left_.exchange(true)) return;
  for (const auto& link : links()) link->goodbye();
}

memory::Heap* HeapResolver::find(const types::Url& url) {
  const std::shared_ptr<Segment> segment = runtime_.find_segment(url);
  if (segment == nullptr) return nullptr;
  std::shared_ptr<memory::Heap> heap = segment->heap();
  if (heap == nullptr) return nullptr;
  kept_.push_back(std::move(heap));
  return kept_.back().get();
}

swizzle::StubReason HeapResolver::why_missing(const types::Url& url) {
  const auto known = reasons_.find(url.text());
  return known == reasons_.end() ? swizzle::StubReason::not_mapped : known->second;
}

void HeapResolver::asked(const types::Url& url, const Result& result) {
  using protocol::error_code;
  using swizzle::StubReason;
  StubReason reason = StubReason::not_mapped;
  switch (result.code) {
    case error_code::OK:
      reason = StubReason::no_block;
      break;
    case error_code::UNREACHABLE:
    case error_code::TIMED_OUT:
    case error_code::STOPPING:
      reason = StubReason::unreachable;
      break;
    case error_code::NO_SEGMENT:
    case error_code::REMOVED:
    case error_code::DENIED:
      reason = StubReason::no_segment;
      break;
    case error_code::NO_MEMORY:
      reason = StubReason::no_address_space;
      break;
    default:
      break;
  }
  reasons_[url.text()] = reason;
}

}  // namespace iw::client
