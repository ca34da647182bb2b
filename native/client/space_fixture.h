// Servers of a space whose answers a test chooses, and a client of theirs (spec/space.md).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "client/runtime.h"
#include "client/scripted_server_fixture.h"
#include "client/segment.h"
#include "protocol/field.gen.h"
#include "protocol/lock.gen.h"
#include "protocol/moving.gen.h"
#include "protocol/session.gen.h"

namespace iw::client {

using protocol::error_code;
using protocol::field_key;
using Answer = ScriptedServer::Answer;
using Scripts = std::map<message_type, ScriptedServer::Script>;

// The deadline of calls that are to fail at it, in seconds: long for what they do before.
#ifdef IW_EMULATED
inline constexpr double brief_s = 4;
#else
inline constexpr double brief_s = 1;
#endif

template <typename Value>
protocol::header_field field(field_key key, const Value& value) {
  return {static_cast<std::uint32_t>(key), session::encoded(value)};
}

// Of the server whose sessions begin with that number, in that space; 0: it names none.
inline Answer welcome(std::uint8_t session, std::uint8_t space) {
  protocol::welcome body;
  body.version = protocol::PROTOCOL_VERSION_MAX;
  body.session[0] = session;
  body.heartbeat_ms = body.session_lease_ms = 60'000;
  body.max_diff_bytes = std::uint64_t{1} << 40;
  if (space != 0) {
    body.fields.push_back(field(field_key::FIELD_SPACE_ID, protocol::id_field{{space}}));
  }
  return {message_type::WELCOME, session::encoded(body)};
}

inline Answer redirected(const std::string& address, bool relay = false) {
  protocol::error_reply body{error_code::REDIRECTED, "it is elsewhere", {}};
  body.fields.push_back(
      field(field_key::FIELD_REDIRECT, protocol::redirect_field{address, "", relay}));
  return {message_type::ERROR, session::encoded(body)};
}

inline Answer up_to_date() {
  return {message_type::READER_ACQUIRED, session::encoded(protocol::reader_acquired{})};
}

inline Answer granted() {
  protocol::writer_acquired body;
  body.fence = 1;
  body.lease_ms = body.max_hold_ms = 60'000;
  body.first_serial = 1;
  body.serial_count = 100;
  return {message_type::WRITER_ACQUIRED, session::encoded(body)};
}

// One server of a space.
class Member {
 public:
  explicit Member(Scripts scripts = {}, std::uint8_t space = 1) : session_(++members) {
    scripts.emplace(message_type::HELLO,
                    [number = session_, space] { return welcome(number, space); });
    scripts.emplace(message_type::ACQUIRE_READER, [this] { return read(); });
    scripts.emplace(message_type::OPEN_SEGMENT, [this] { return open(); });
    scripts.emplace(message_type::LIST_MEMBERS, [this] { return list(); });
    server_ = std::make_unique<ScriptedServer>(std::move(scripts), ScriptedServer::At::address);
  }
  ScriptedServer* operator->() { return server_.get(); }
  [[nodiscard]] std::uint8_t session() const { return session_; }

  // From now on it shares its store with these, as far as it knows.
  void shares_with(std::initializer_list<std::reference_wrapper<Member>> others) {
    std::map<std::uint64_t, std::string> seen{{number_, server_->address()}};
    for (Member& other : others) seen[other.number_] = other->address();
    const platform::MutexLock lock(mutex_);
    seen_ = std::move(seen);
  }
  // From now on it sends clients on; at first only so many times.
  void send_to(Member& other, int times = 1 << 30) {
    const platform::MutexLock lock(mutex_);
    owner_ = other->address();
    times_ = times;
  }
  void send_to_address(std::string address, int times = 1 << 30) {
    const platform::MutexLock lock(mutex_);
    owner_ = std::move(address);
    times_ = times;
  }

  // It sends the next openings on, and says that it passes clients on to there. It answers for the
  // server there itself.
  void relay_to(std::string address, int times = 1) {
    const platform::MutexLock lock(mutex_);
    owner_ = std::move(address);
    times_ = times;
    relays_ = true;
  }

  // Its number at this server. REQUIRES: it was opened here.
  std::uint32_t number_of(const std::string& path) {
    const platform::MutexLock lock(mutex_);
    return numbers_.at(path);
  }
  // From now on another server has the segment. The client is not told.
  void give(const std::string& path, Member& other) {
    const platform::MutexLock lock(mutex_);
    moved_[path] = other->address();
  }
  void take_back(const std::string& path) {
    const platform::MutexLock lock(mutex_);
    moved_.erase(path);
  }
  // The segment moves to the other server [SPACE-23].
  void move(const std::string& path, Member& other) {
    give(path, other);
    const protocol::segment_moved told{number_of(path), other->address(), ""};
    server_->say({message_type::SEGMENT_MOVED, session::encoded(told)}, a_notification);
  }
  // Where a segment of that number went.
  Answer to_next_owner(std::uint32_t number) {
    const platform::MutexLock lock(mutex_);
    for (const auto& [path, known] : numbers_) {
      if (known == number) return redirected(moved_.at(path));
    }
    return {};
  }

 private:
  static constexpr std::uint32_t a_notification = 0x80000001U;

  Answer open() {
    const auto path = server_->last<protocol::open_segment>(message_type::OPEN_SEGMENT).path;
    const platform::MutexLock lock(mutex_);
    if (times_-- > 0) return redirected(owner_, relays_);
    if (const auto moved = moved_.find(path); moved != moved_.end()) {
      return redirected(moved->second);
    }
    protocol::segment_opened body;
    body.segment = numbers_[path] = ++last_number_;
    return {message_type::SEGMENT_OPENED, session::encoded(body)};
  }
  Answer list() {
    const auto after = server_->last<protocol::list_members>(message_type::LIST_MEMBERS).after;
    protocol::member_list body;
    const platform::MutexLock lock(mutex_);
    body.shares_store = !seen_.empty();
    for (auto next = seen_.upper_bound(after); next != seen_.end(); ++next) {
      body.more = body.members.size() == 1;  // so that a client has to ask again
      if (body.more) break;
      protocol::member_info row;
      row.number = next->first;
      row.address = next->second;
      row.is_asked = row.number == number_;
      body.members.push_back(std::move(row));
    }
    return {message_type::MEMBER_LIST, session::encoded(body)};
  }
  Answer read() {
    const auto asked = server_->last<protocol::acquire_reader>(message_type::ACQUIRE_READER);
    const platform::MutexLock lock(mutex_);
    for (const auto& [path, address] : moved_) {
      if (numbers_[path] == asked.segment) return redirected(address);
    }
    return up_to_date();
  }

  static inline std::uint8_t members = 0;
  const std::uint8_t session_;
  static inline std::uint64_t numbers = 0;
  const std::uint64_t number_ = ++numbers;  // as a member of its space
  platform::Mutex mutex_;
  // Addresses of the members that it lists, by number; none: it has its store alone.
  std::map<std::uint64_t, std::string> seen_ IW_GUARDED_BY(mutex_);
  std::string owner_ IW_GUARDED_BY(mutex_);
  int times_ IW_GUARDED_BY(mutex_) = 0;
  bool relays_ IW_GUARDED_BY(mutex_) = false;
  std::uint32_t last_number_ IW_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::uint32_t> numbers_ IW_GUARDED_BY(mutex_);  // by path
  std::map<std::string, std::string> moved_ IW_GUARDED_BY(mutex_);      // addresses, by path
  std::unique_ptr<ScriptedServer> server_;
};

class SpaceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Runtime::get(runtime_).ok()); }

  static types::Url url(Member& server, const std::string& path = "/scripted") {
    types::Url url = server->url();
    url.path = path;
    return url;
  }
  Result open(const types::Url& url, IW_segment*& handle, double timeout_s = 20) {
    OpenWish wish;
    wish.timeout_s = timeout_s;
    return runtime_->open(url, Credentials("the token", nullptr, nullptr, nullptr), wish, handle);
  }
  // With the hosts in that order.
  static types::Url url_of(std::initializer_list<std::reference_wrapper<Member>> members) {
    types::Url all;
    for (Member& member : members) {
      const types::Url one = url(member);
      if (all.host.empty()) {
        all = one;
      } else {
        all.others.push_back({one.host, one.port});
      }
    }
    return all;
  }
  // Null, and a failure: it does not open.
  std::shared_ptr<Segment> opened(const types::Url& url) {
    IW_segment* handle = nullptr;
    const Result result = open(url, handle);
    EXPECT_TRUE(result.ok()) << result.text;
    return runtime_->find_segment(url);
  }
  // Asks the server that has it.
  static Result read(Segment& segment) {
    if (Result acquired = segment.acquire_reader(segment.wish_for(20, true)); !acquired) {
      return acquired;
    }
    return segment.release_reader();
  }

  Runtime* runtime_ = nullptr;
};

}  // namespace iw::client
