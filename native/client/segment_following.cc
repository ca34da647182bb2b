// Which server is asked for the segment: the URL's, or the one to which a server of its space sends
// the segment on [SPACE-9..14]. The segment keeps its URL, its copy and its handle meanwhile.
//
// A lost segment is looked for where it was last open, or where it moved from there [SPACE-23], and
// then at the servers of its names [SPACE-63], which may send it on again. While another server may
// take the segment over, each attempt to connect is short, and a caller that keeps trying goes
// round until its deadline. So does an opening that is sent on to a server that is away [SPACE-55].
//
// The link of a URL with several hosts goes from host to host by itself, as long as no host
// welcomes the client [SPACE-46]. A host that welcomed it and then does not open the segment is
// passed over here [SPACE-67].
#include <algorithm>

#include "client/runtime.h"
#include "client/segment.h"
#include "client/waiting.h"
#include "session/fields.h"
#include "session/patience.h"

namespace iw::client {

using platform::now_ns;
using protocol::error_code;

namespace {

// Another server may have the segment, or this one later.
bool may_be_elsewhere(error_code code) {
  return code == error_code::UNREACHABLE || code == error_code::STOPPING ||
         code == error_code::DENIED || code == error_code::REDIRECTED;
}

bool may_pass(error_code code) {
  return code == error_code::UNREACHABLE || code == error_code::STOPPING ||
         code == error_code::NO_MEMORY;
}

// The server of a redirect is away, and another one may take the segment over.
bool may_be_taken_over(error_code code) {
  return code == error_code::UNREACHABLE || code == error_code::STOPPING;
}

// The error, which names the server.
std::string named(const std::string& server, const Result& why) {
  const bool is_named = why.text.find(server) != std::string::npos;
  return is_named ? why.text : server + ": " + why.text;
}

// `link`: the server that was asked; `first`: the one that was asked before all others.
Result not_reached(const Result& why, const ServerLink& link, const ServerLink& first) {
  if (&link == &first) return why;
  return Result::of(why.code, [&] {
    if (may_be_taken_over(why.code)) {
      return named(link.name(), why) + "; `interweave status " + first.name() +
             "` says whether it lives";
    }
    return why.text + " (the server " + first.name() + " was asked first, and sent this client on)";
  });
}

Result not_followed(const protocol::redirect_field& to, const std::string& by, const char* why) {
  return Result::of(error_code::REDIRECTED, [&] {
    return "the server " + by + " sent this client on to " + session::readable(to.address) + why;
  });
}

}  // namespace

Result Segment::live_and_open(std::int64_t deadline_ns, bool keep_trying,
                              std::shared_ptr<Live>& out) {
  return reach({Purpose::use, {}}, deadline_ns, keep_trying, out);
}

Result Segment::reach(const Caller& caller, std::int64_t deadline_ns, bool keep_trying,
                      std::shared_ptr<Live>& out) {
  int shortages = 0;
  std::int64_t pause_ns = session::first_pause_ns;
  Result away;  // why the last server to which it was sent on was not reached
  while (true) {
    Search search{caller, deadline_ns, keep_trying};
    const std::int64_t began_ns = now_ns();
    Result opened = try_places(search, out);
    if (opened) return opened;
    const bool is_asked_again = caller.purpose == Purpose::open && search.is_owner_away;
    // Shortly before the deadline an attempt ends too early to say much.
    const bool was_cut_short = now_ns() - began_ns >= (deadline_ns - began_ns) / 2;
    if (search.is_owner_asked) away = {};
    if (is_asked_again && (away.ok() || !was_cut_short)) away = opened;
    const bool was_lost = out != nullptr && out->is_lost();
    const bool is_short = out != nullptr && was_short(opened, *out, shortages);
    const std::int64_t left_ns = deadline_ns - now_ns();
    if (!is_lost() && left_ns > 0 && shortages < most_shortages) {
      if (was_lost && (keep_trying || search.may_be_dead)) continue;
      const bool is_kept_trying = keep_trying && search.was_elsewhere && may_pass(opened.code);
      if (is_kept_trying || is_asked_again) {
        sleep_for(std::min(pause_ns, left_ns));
        pause_ns = std::min(pause_ns * 2, session::longest_pause_ns);
        continue;
      }
    }
    if (!away.ok() && (is_asked_again || opened.code == error_code::TIMED_OUT)) return away;
    // As one whose server is away [ServerLink::connected].
    if (keep_trying && search.was_elsewhere && opened.code == error_code::NO_MEMORY) {
      opened.code = error_code::UNREACHABLE;
    }
    return is_short ? Result::no_memory() : opened;
  }
}

// [SPACE-14]
Result Segment::try_places(Search& search, std::shared_ptr<Live>& out) {
  const Place last = last_place();
  const std::vector<Place> named = named_places();
  if (last.link != &home_) {
    search.was_elsewhere = search.has_next = true;
    const Result opened = try_well(last, search, out);
    if (opened || !may_be_elsewhere(opened.code)) return opened;
  }
  search.has_next = false;
  if (named.size() == 1) return try_from(named[0], search, out);
  search.was_elsewhere = true;
  Result why;
  for (const Place& place : named) {
    if (place.link == last.link && place.link != &home_) continue;
    search.has_next = &place != &named.back();
    Result opened = try_well(place, search, out);
    if (opened || !may_be_elsewhere(opened.code)) return opened;
    if (why.ok()) why = std::move(opened);
  }
  return why;
}

// The connection there may have died unseen: then a new one is tried.
Result Segment::try_well(const Place& place, Search& search, std::shared_ptr<Live>& out) {
  while (true) {
    Result opened = try_from(place, search, out);
    const bool is_dead = search.may_be_dead && out != nullptr && out->is_lost();
    if (opened || !is_dead || is_lost() || now_ns() >= search.deadline_ns) return opened;
  }
}

// Opens it there, or where that server sends it on to [SPACE-10].
Result Segment::try_from(Place place, Search& search, std::shared_ptr<Live>& out) {
  const ServerLink& first = *place.link;
  for (int hops = 0;; ++hops) {
    const std::shared_ptr<Live> before = place.link->current();
    if (place.link == search.failed) {
      out.reset();
    } else if (Result connected = connect(place, search, out); !connected) {
      search.failed = place.link;
      search.why_failed = std::move(connected);
    }
    if (place.link == search.failed) {
      search.is_owner_away = hops > 0 && may_be_taken_over(search.why_failed.code);
      return not_reached(search.why_failed, *place.link, first);
    }
    search.may_be_dead = out == before;
    search.is_owner_asked = hops > 0;
    protocol::redirect_field to;
    Result opened = open_on(out, search.caller, search.deadline_ns, to);
    if (opened.code != error_code::REDIRECTED || to.address.empty()) {
      const bool is_stopping = opened.code == error_code::STOPPING;
      search.is_owner_away = hops > 0 && !opened.ok() && (is_stopping || out->is_lost());
      if (hops == 0 && is_passed_over(opened, *out, search)) {
        return try_other_hosts(*place.link, opened, search, out);
      }
      return search.is_owner_away ? not_reached(opened, *place.link, first) : opened;
    }
    search.was_elsewhere = true;
    if (hops == session::most_hops) {
      return not_followed(to, out->name(),
                          ", after it was sent on as often as a client follows; ask the operator");
    }
    if (Result followed = sent_on(*out, to, place); !followed) return followed;
  }
}

// A host whose connection was lost is asked first again while it may have locks of this segment.
bool Segment::is_passed_over(const Result& opened, const Live& live, const Search& search) {
  if (!live.link().has_several_hosts() || live.link().is_sent_on()) return false;
  if (opened.code == error_code::STOPPING) return true;
  const bool is_lost = opened.code == error_code::UNREACHABLE && live.is_lost();
  if (!is_lost || search.may_be_dead || live.lacked_memory()) return false;
  const MutexLock lock(mutex_);
  return talk_.life().users() == 0;
}

// `why`: of the host that `out` leads to. Its connection stays, because other segments may be open
// there. So each of the others is asked in a session of its own.
Result Segment::try_other_hosts(ServerLink& link, const Result& why, Search& search,
                                std::shared_ptr<Live>& out) {
  const std::string asked = out->name();
  const session::SpaceId space = out->space_id();
  bool is_stopping = why.code == error_code::STOPPING;  // all of them
  std::string what_happened = named(asked, why);
  search.was_elsewhere = true;
  for (const types::Url& host : link.hosts_behind(asked)) {
    ServerLink& next = other(host, {.by = home_.key(), .tls_name = {}, .is_listed = true});
    Result opened = try_well({&next, space}, search, out);
    if (opened || search.is_owner_away || !may_be_taken_over(opened.code)) return opened;
    is_stopping &= opened.code == error_code::STOPPING;
    what_happened += "; " + named(next.name(), opened);
  }
  return {is_stopping ? error_code::STOPPING : error_code::UNREACHABLE,
          "no server of the URL opens the segment: " + what_happened};
}

Result Segment::connect(const Place& place, const Search& search, std::shared_ptr<Live>& out) {
  std::int64_t deadline_ns = search.deadline_ns;
  ServerLink& link = *place.link;
  if (search.has_next || !place.is_named || (search.was_elsewhere && search.keep_trying)) {
    // Half of what is left stays for the server that is asked next.
    const std::int64_t now = now_ns();
    const auto ways = static_cast<std::int64_t>(1 + link.sent_on().relays.size());
    deadline_ns = std::min(now + session::attempt_ns * ways, now + (deadline_ns - now) / 2);
  }
  const bool is_of_url = link.sent_on().by.empty();
  if (!is_of_url) return link.connected_in(place.space, deadline_ns, false, out);
  const bool keeps_trying = search.keep_trying && !search.was_elsewhere;
  if (Result result = link.connected(deadline_ns, keeps_trying, out); !result) return result;
  if (!place.space || out->space_id() == place.space) return {};
  out.reset();  // other segments may use the connection
  if (place.is_named) {
    return {error_code::UNREACHABLE, "the server " + link.name() +
                                         " serves another space than the other names of the "
                                         "segment; ask its operator"};
  }
  return {error_code::REDIRECTED, "a server sent this client on to the server " + link.name() +
                                      ", which serves another space; ask its operator"};
}

// The place to which `by` sends it on. The URL's scheme says whether the connection there is secure
// [SPACE-11].
Result Segment::sent_on(const Live& by, const protocol::redirect_field& to, Place& out) {
  types::Url there;
  const std::string server = (url_.secure ? "iws://" : "iw://") + to.address;
  const bool is_url = types::parse_url(server + url_.path, there).ok();
  if (!is_url || there.path != url_.path || !there.others.empty()) {
    return not_followed(to, by.name(), ", which is not an address; ask its operator");
  }
  SentOn way{home_.key(), {}};
  if (url_.secure && to.tls_name != there.host) way.tls_name = to.tls_name;
  if (to.relay) {
    const bool is_named = by.link().sent_on().by.empty();
    way.relays = (is_named ? by.link() : home_).hosts();
    way.to = to;
  }
  for (const Place& named : named_places()) {
    if (!way.tls_name.empty() || !named.link->is_at(there.server())) continue;
    out = {named.link, by.space_id()};
    return {};
  }
  out = {&other(there, std::move(way)), by.space_id()};
  return {};
}

ServerLink& Segment::other(const types::Url& server, SentOn sent_on) {
  const std::string key = ServerLink::key_of(server.server(), sent_on);
  {
    const MutexLock lock(mutex_);
    for (const auto& known : others_) {
      if (known->key() == key) return *known;
    }
  }
  std::shared_ptr<ServerLink> link = runtime_.link_sent_on(home_, server, std::move(sent_on));
  const MutexLock lock(mutex_);
  others_.push_back(std::move(link));
  return *others_.back();
}

void Segment::also_at(std::shared_ptr<ServerLink> link, const session::SpaceId& space) {
  const MutexLock lock(mutex_);
  also_.reserve(also_.size() + 1);
  others_.push_back(std::move(link));
  also_.push_back(others_.back().get());
  if (!space_) space_ = space;
}

std::shared_ptr<Live> Segment::connected_in(const session::SpaceId& space,
                                            std::int64_t deadline_ns) {
  std::shared_ptr<Live> live;
  bool was_closed = false;
  {
    const MutexLock lock(mutex_);
    live = live_;
    was_closed = opening_ > 0 && !talk_.life().is_wanted();
  }
  const auto is_there = [&] { return space && live->space_id() == space; };
  if (live != nullptr && !is_there()) return nullptr;
  if (live != nullptr && !live->is_lost()) return live;
  // No connection is made for what is about to be forgotten.
  if (was_closed && (live = home_.current()) == nullptr) return nullptr;
  return home_.connected(deadline_ns, false, live) && is_there() ? live : nullptr;
}

Segment::Place Segment::named_place(ServerLink& link) const { return {&link, space_, true}; }

std::vector<Segment::Place> Segment::named_places() {
  const MutexLock lock(mutex_);
  std::vector<Place> all{named_place(home_)};
  for (ServerLink* const link : also_) all.push_back(named_place(*link));
  return all;
}

std::string Segment::tried_first() { return last_place().link->key(); }

Segment::Place Segment::last_place() {
  std::optional<Move> move;
  {
    const MutexLock lock(mutex_);
    move.swap(moved_);
    if (!move) return last_;
  }
  // If the address cannot be read, the server that named it is asked, and names it again.
  Place next;
  const Result followed = sent_on(*move->from, move->to, next);
  const MutexLock lock(mutex_);
  if (followed) last_ = next;
  return last_;
}

// Null: there are not so many.
ServerLink* Segment::link_at(std::size_t place) {
  if (place == 0) return &home_;
  const MutexLock lock(mutex_);
  return place <= others_.size() ? others_[place - 1].get() : nullptr;
}

// Null: it lives no more.
std::shared_ptr<Live> Segment::connection(session::ConnectionNumber number) {
  for (std::size_t place = 0; ServerLink* const link = link_at(place); ++place) {
    std::shared_ptr<Live> live = link->current();
    if (live != nullptr && live->number() == number) return live;
  }
  return nullptr;
}

}  // namespace iw::client
