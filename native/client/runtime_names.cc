// Which segment of the process a URL names. Two URLs may name one segment [SPACE-60..65]; a URL
// that the process does not know is compared with the segments that have its path, before anything
// is opened for it.
#include <algorithm>
#include <new>
#include <utility>

#include "client/one_store.h"
#include "client/runtime.h"
#include "client/waiting.h"
#include "platform/clock.h"
#include "session/patience.h"

namespace iw::client {

using platform::now_ns;

namespace {

// For an opening that needs segments to be forgotten.
constexpr std::int64_t forgetting_patience_ns = 2'000'000'000;
constexpr std::int64_t forgetting_look_ns = 1'000'000;

bool has(const std::vector<std::shared_ptr<Segment>>& all, const Segment& one) {
  return std::any_of(all.begin(), all.end(),
                     [&one](const std::shared_ptr<Segment>& each) { return each.get() == &one; });
}

// `link`: of the URL's server. `space`: that of both; none: they share no store, or one of them
// does not say so in time.
Result compare_servers(ServerLink& link, Segment& with, std::int64_t deadline_ns,
                       session::SpaceId& space) {
  const std::int64_t started_ns = now_ns();
  for (bool may_be_dead : {true, false}) {
    std::shared_ptr<Live> here;
    if (Result failed = link.connected(deadline_ns, false, here); !failed) return failed;
    const std::int64_t until_ns = std::min(deadline_ns, started_ns + session::attempt_ns);
    const std::shared_ptr<Live> there = with.connected_in(here->space_id(), until_ns);
    if (there == nullptr) return {};
    bool are_one = false;
    if (share_store(here, there, until_ns, are_one)) {
      if (are_one) space = here->space_id();
      return {};
    }
    // A connection that was there before may have died unseen.
    if (!may_be_dead || !(here->is_lost() || there->is_lost())) return {};
  }
  return {};
}

}  // namespace

Result Runtime::segment_for(const types::Url& url, const Naming& naming,
                            std::shared_ptr<Segment>& out) {
  if (url.secure) leave_before_openssl();
  const std::int64_t patient_until_ns = now_ns() + forgetting_patience_ns;
  std::vector<std::shared_ptr<Segment>> others;
  while (true) {
    std::vector<std::shared_ptr<ServerLink>> idle;
    bool may_pass = false;
    std::shared_ptr<ServerLink> link;
    std::shared_ptr<Segment> alike;
    Result agreed;
    {
      const MutexLock lock(mutex_);
      agreed = check_credentials(url, naming.credentials, idle, may_pass);
      if (agreed && (out = known(url, naming)) == nullptr) {
        alike = alike_to(url, naming, others);
        if (alike != nullptr) {
          link = server_for(url, naming.credentials).link;
        } else {
          out = make_segment(url, naming.credentials);
        }
      }
    }
    for (const auto& one : idle) one->leave();
    if (out != nullptr) return {};
    if (alike != nullptr) {
      Result compared = compare(url, naming, link, alike, others);
      if (!compared) return compared;
    } else {
      if (!may_pass || now_ns() >= patient_until_ns) return agreed;
      wake();
      sleep_for(forgetting_look_ns);
    }
  }
}

// Null: none. One that was lost is put aside [LOST-6, GONE-3].
std::shared_ptr<Segment> Runtime::known(const types::Url& url, const Naming& naming) {
  const std::string name = url.text();
  if (const auto first = segments_.find(name); first != segments_.end()) {
    if (!first->second->is_lost()) return first->second;
    put_aside(*first->second);
    return nullptr;
  }
  const Names::Other* const other = names_.find(name);
  if (other == nullptr) return nullptr;
  if (other->segment->is_lost()) {
    put_aside(*other->segment);
    return nullptr;
  }
  const bool is_of_data = other->link == nullptr;
  return naming.is_opened && is_of_data ? nullptr : other->segment->shared();
}

void Runtime::put_aside(Segment& lost) {
  const auto kept = segments_.find(lost.name());
  lost_.push_back(kept->second);
  names_.leave(lost);
  segments_.erase(kept);
}

// One that may be the URL's segment; or the one whose pointer has the URL, if its server may be one
// with the URL's. Null: nothing but `others`, which have been compared.
std::shared_ptr<Segment> Runtime::alike_to(const types::Url& url, const Naming& naming,
                                           const std::vector<std::shared_ptr<Segment>>& others) {
  for (Segment* const one : names_.with_path(url.path)) {
    if (one->is_lost() || one->url().secure != url.secure || has(others, *one)) continue;
    if (naming.is_opened) {  // [SPACE-62]
      const Credentials& shown = server_for(url, naming.credentials).link->credentials();
      if (!one->home().credentials().shows_same(shown)) continue;
    }
    return one->shared();
  }
  Segment* const from = naming.pointed_from;
  if (from == nullptr || has(others, *from) || from->url().secure != url.secure) return nullptr;
  return from->url().server() == url.server() ? nullptr : from->shared();
}

// An error: the URL's server cannot be reached.
Result Runtime::compare(const types::Url& url, const Naming& naming,
                        const std::shared_ptr<ServerLink>& link,
                        const std::shared_ptr<Segment>& alike,
                        std::vector<std::shared_ptr<Segment>>& others) {
  session::SpaceId space;
  if (Result failed = compare_servers(*link, *alike, naming.deadline_ns, space); !failed) {
    forget_idle(*link);
    return failed;
  }
  if (!space) {
    others.push_back(alike);
    return {};
  }
  if (alike->url().path == url.path) {
    add_name(url, naming, {link, space}, alike);
    return {};
  }
  types::Url at_home = alike->url();  // [SPACE-64]
  at_home.path = url.path;
  std::shared_ptr<Segment> segment;
  if (Result bad = segment_for(at_home, naming, segment); !bad) return bad;
  add_name(url, naming, {link, space}, segment);
  return {};
}

// Unless another thread did so, or something has changed: then the name is looked for once more.
void Runtime::add_name(const types::Url& url, const Naming& naming, const NamedServer& at,
                       const std::shared_ptr<Segment>& segment) {
  const std::string name = url.text();
  {
    const MutexLock lock(mutex_);
    const auto kept = segments_.find(segment->name());
    if (kept == segments_.end() || kept->second != segment || segments_.contains(name)) return;
    const Names::Other* const before = names_.find(name);
    if (before != nullptr && (before->link != nullptr || !naming.is_opened)) return;
    if (!naming.is_opened) return names_.add(name, {segment.get(), nullptr});
    const auto server = servers_.find(at.link->key());
    if (server == servers_.end() || server->second.link != at.link) return;
    names_.add(name, {segment.get(), at.link.get()});
    ++server->second.segments;
  }
  try {
    segment->also_at(at.link, at.space);
  } catch (const std::bad_alloc&) {
    const MutexLock lock(mutex_);
    names_.drop(name);
    (void)left(*at.link);
    throw;
  }
}

std::shared_ptr<Segment> Runtime::make_segment(const types::Url& url,
                                               const Credentials& credentials) {
  Server& server = server_for(url, credentials);
  auto segment = std::make_shared<Segment>(*this, url, *server.link);
  join(*segment);
  names_.drop(segment->name());
  const auto kept = segments_.emplace(segment->name(), segment).first;
  try {
    names_.join(*segment);
  } catch (const std::bad_alloc&) {
    segments_.erase(kept);
    throw;
  }
  ++server.segments;
  return segment;
}

std::shared_ptr<Segment> Runtime::find_segment(const types::Url& url) {
  const std::string name = url.text();
  const MutexLock lock(mutex_);
  const auto first = segments_.find(name);
  if (first != segments_.end()) return first->second->is_lost() ? nullptr : first->second;
  const Names::Other* const other = names_.find(name);
  return other == nullptr || other->segment->is_lost() ? nullptr : other->segment->shared();
}

// A link that was made for a comparison, and has never been connected.
void Runtime::forget_idle(const ServerLink& link) {
  const MutexLock lock(mutex_);
  const auto server = servers_.find(link.key());
  if (server == servers_.end() || server->second.link.get() != &link) return;
  if (server->second.segments == 0 && link.current() == nullptr) servers_.erase(server);
}

}  // namespace iw::client
