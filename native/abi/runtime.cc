#include "abi/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "abi/log.h"
#include "abi/stray_report.h"
#include "abi/waiting.h"
#include "platform/clock.h"
#include "platform/invariant.h"
#include "platform/process.h"

namespace iw::abi {

using platform::now_ns;

namespace {

// Programs with an event loop wait for what the library's thread reads.
constexpr std::int64_t dispatched_quiet_ns = 1'000'000;
// For one attempt to reach a server that others wait for.
constexpr std::int64_t attempt_ns = 2'000'000'000;

struct Current {
  std::mutex mutex;
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

}  // namespace

// After fork the parent's mutex may be held for ever: the child's first call has a new one.
Runtime& Runtime::get() {
  static std::atomic<Runtime*> cached{nullptr};
  static std::atomic<unsigned> cached_fork{0};
  const unsigned fork_count = platform::fork_count();
  if (Runtime* const runtime = cached.load(std::memory_order_acquire);
      runtime != nullptr && cached_fork.load(std::memory_order_relaxed) == fork_count) {
    return *runtime;
  }
  static std::atomic<bool> is_making{false};
  static std::atomic<unsigned> making_fork{0};
  while (is_making.exchange(true, std::memory_order_acquire)) {
    // Another thread makes it; one that forked away with the flag set never will.
    if (making_fork.load() != fork_count) break;
    std::this_thread::yield();
  }
  making_fork.store(fork_count);
  Runtime* runtime = cached.load(std::memory_order_acquire);
  if (runtime == nullptr || cached_fork.load(std::memory_order_relaxed) != fork_count) {
    runtime = new Runtime;
    Current& now = current();
    const bool is_first = now.runtime == nullptr;
    now.runtime = runtime;
    now.fork_count = fork_count;
    cached_fork.store(fork_count, std::memory_order_relaxed);
    cached.store(runtime, std::memory_order_release);
    if (is_first) std::atexit(say_goodbye);
    std::thread([runtime] { runtime->serve(); }).detach();
  }
  is_making.store(false, std::memory_order_release);
  return *runtime;
}

Runtime::Runtime() {
  const bool has_wake_ups = platform::WakeUp::create(wake_).ok() &&
                            platform::WakeUp::create(events_).ok() &&
                            platform::WakeUp::create(callbacks_).ok();
  IW_INVARIANT(has_wake_ups, "no file descriptors are left to begin with");
  report_strays_at_once();
}

// The tables hold no null pointers, wherever memory ends: the library's thread follows them.
IW_segment& Runtime::segment_for(const types::Url& url, const std::string& token) {
  const std::lock_guard lock(mutex_);
  auto link = links_.find(url.server());
  if (link == links_.end()) {
    session::SessionIdentity identity;
    identity.token = token;
    identity.client = "libinterweave (C++)";
    auto made = std::make_unique<Link>(url, std::move(identity), wake_);
    link = links_.emplace(url.server(), std::move(made)).first;
  }
  const auto known = segments_.find(url.text());
  if (known != segments_.end() && !known->second->is_lost()) return *known->second;
  auto made = std::make_unique<IW_segment>(*this, url, *link->second);
  if (known == segments_.end()) {
    return *segments_.emplace(url.text(), std::move(made)).first->second;
  }
  lost_.push_back(std::move(known->second));  // [LOST-6]
  known->second = std::move(made);
  return *known->second;
}

IW_segment* Runtime::find_segment(const types::Url& url) {
  const std::lock_guard lock(mutex_);
  const auto found = segments_.find(url.text());
  return found == segments_.end() || found->second->is_lost() ? nullptr : found->second.get();
}

std::vector<IW_segment*> Runtime::segments() {
  const std::lock_guard lock(mutex_);
  std::vector<IW_segment*> all;
  for (const auto& [url, segment] : segments_) all.push_back(segment.get());
  for (const auto& segment : lost_) all.push_back(segment.get());
  return all;
}

std::vector<Link*> Runtime::links() {
  const std::lock_guard lock(mutex_);
  std::vector<Link*> all;
  for (const auto& [server, link] : links_) all.push_back(link.get());
  return all;
}

Result Runtime::describe(const types::Url& url, std::vector<std::uint64_t> serials,
                         std::int64_t deadline_ns) {
  IW_segment& segment = segment_for(url, {});
  Result result = segment.open_for_pointers(deadline_ns);
  if (result) result = segment.describe(std::move(serials), {}, deadline_ns);
  if (!result && log_choice().debug) {
    trace("pointers into " + url.text() + " become stubs: " + result.text);
  }
  return result;
}

// ---- the library's thread ----

void Runtime::serve() {
  while (true) {
    try {
      serve_once();
    } catch (const std::bad_alloc&) {
      sleep_for(scarcity_pause_ns);  // everything that is due stays due
    }
  }
}

void Runtime::serve_once() {
  const std::int64_t timers_ns = run_timers(now_ns());
  std::int64_t next_ns = next_change_ns();
  if (next_ns <= now_ns()) {
    tell_of_changes();
    next_ns = platform::never_ns;  // a later one wakes us
  }
  wait_and_read(std::min(timers_ns, next_ns));
}

void Runtime::tell_of_changes() {
  if (is_dispatched_) return events_.signal();
  if (!has_callback_thread_) {
    has_callback_thread_ = true;
    std::thread([this] { serve_callbacks(); }).detach();
  }
  callbacks_.signal();
}

void Runtime::serve_callbacks() {
  while (true) {
    try {
      platform::Interest due{callbacks_.fd()};
      (void)platform::wait_for({&due, 1}, platform::never_ns);
      callbacks_.drain();
      if (!is_dispatched_) run_callbacks();
    } catch (const std::bad_alloc&) {
      callbacks_.signal();
      sleep_for(scarcity_pause_ns);
    }
  }
}

// ---- lost connections [CONN-1] ----

bool Runtime::is_connection_wanted() {
  for (IW_segment* segment : segments()) {
    if (segment->wants_connection()) return true;
  }
  return false;
}

// By the library's thread. The other one is asleep until there is something to do.
void Runtime::keep_connected() {
  if (!is_connection_wanted()) return;
  const std::lock_guard lock(connections_mutex_);
  is_connecting_wanted_ = true;
  connections_.notify_one();
  if (has_connection_thread_) return;
  try {
    std::thread([this] { serve_connections(); }).detach();
    has_connection_thread_ = true;
  } catch (const std::system_error&) {
    report(protocol::error_code::NO_MEMORY,
           "no thread can be made to reconnect to a server; the next call reconnects");
  }
}

void Runtime::serve_connections() {
  std::map<const Link*, session::Reconnection> paces;
  std::unique_lock lock(connections_mutex_);
  while (true) {
    while (!is_connecting_wanted_) connections_.wait(lock);
    is_connecting_wanted_ = false;
    lock.unlock();
    std::int64_t next_ns = now_ns() + scarcity_pause_ns;
    try {
      next_ns = reconnect(paces);
    } catch (const std::bad_alloc&) {
      // Tried again after the pause.
    }
    lock.lock();
    if (next_ns == platform::never_ns) continue;
    // A pause is not cut short by others who want a connection.
    while (now_ns() < next_ns) wait_until(connections_, lock, next_ns);
    is_connecting_wanted_ = true;
  }
}

// Tries what is due. Returns when the next attempt is, or never.
std::int64_t Runtime::reconnect(std::map<const Link*, session::Reconnection>& paces) {
  std::int64_t next_ns = platform::never_ns;
  for (IW_segment* segment : segments()) {
    if (!segment->wants_connection()) continue;
    session::Reconnection& pace = paces[&segment->link()];
    if (pace.due_ns() <= now_ns()) {
      const Result tried = segment->reconnect(now_ns() + attempt_ns);
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
  keep_connected();
  std::int64_t next_ns = platform::never_ns;
  for (Link* link : links()) next_ns = std::min(next_ns, link->run_timers(now));
  for (IW_segment* segment : segments()) next_ns = std::min(next_ns, segment->run_timers(now));
  return next_ns;
}

std::int64_t Runtime::next_change_ns() {
  std::int64_t next_ns = platform::never_ns;
  for (IW_segment* segment : segments()) next_ns = std::min(next_ns, segment->change_due_ns());
  return next_ns;
}

void Runtime::run_callbacks() {
  for (IW_segment* segment : segments()) segment->call_due_change(now_ns());
}

void Runtime::wait_and_read(std::int64_t deadline_ns) {
  struct Watched {
    Link* link;
    std::shared_ptr<Live> live;
  };
  std::vector<Watched> watched;
  std::vector<platform::Interest> interests{{wake_.fd()}};
  const std::int64_t now = now_ns();
  for (Link* link : links()) {
    std::shared_ptr<Live> live = link->current();
    if (live == nullptr) continue;
    if (live->is_led()) {
      // It wakes us at its end, unless that comes soon.
      const std::int64_t soon_ns =
          is_dispatched_ ? now + dispatched_quiet_ns : live->led_from_ns() + quiet_ns;
      if (now < soon_ns) deadline_ns = std::min(deadline_ns, soon_ns);
      continue;
    }
    const std::int64_t quiet_until_ns = is_dispatched_ ? 0 : live->led_to_ns() + quiet_ns;
    if (now < quiet_until_ns) {
      deadline_ns = std::min(deadline_ns, quiet_until_ns);
      continue;
    }
    interests.push_back({live->fd()});
    watched.push_back({link, std::move(live)});
  }
  if (!platform::wait_for(interests, deadline_ns)) return;
  if (interests[0].readable) wake_.drain();
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (interests[i + 1].readable) watched[i].link->read_available(watched[i].live);
  }
}

int Runtime::event_fd() {
  is_dispatched_ = true;
  wake();
  return events_.fd();
}

void Runtime::dispatch() {
  events_.drain();
  try {
    run_callbacks();
  } catch (const std::bad_alloc&) {
    events_.signal();  // they are still due
    throw;
  }
}

void Runtime::goodbye() {
  for (Link* link : links()) link->goodbye();
}

memory::Heap* HeapResolver::find(const types::Url& url) {
  IW_segment* const segment = runtime_.find_segment(url);
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

}  // namespace iw::abi
