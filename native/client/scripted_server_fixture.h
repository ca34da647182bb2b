// A server whose answers a test chooses. It serves one connection after the other, on a Unix
// socket, or at an address of this host.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "client/waiting.h"
#include "platform/clock.h"
#include "platform/mutex.h"
#include "platform/process.h"
#include "platform/socket.h"
#include "protocol/segment.gen.h"
#include "session/connection.h"
#include "types/mip.h"

namespace iw::client {

using protocol::message_type;

class ScriptedServer {
 public:
  struct Answer {
    message_type type{};
    std::vector<std::uint8_t> body;
  };
  using Script = std::function<Answer()>;
  static constexpr std::uint32_t segment = 1;

  enum class At : std::uint8_t { unix_socket, address };

  // Requests without a script are answered DONE.
  explicit ScriptedServer(std::map<message_type, Script> scripts = {}, At at = At::unix_socket)
      : listening_(socket(at == At::address ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        scripts_(std::move(scripts)) {
    scripts_.emplace(message_type::HELLO, [] { return welcome(); });
    scripts_.emplace(message_type::OPEN_SEGMENT, [] { return opened(); });
    scripts_.emplace(message_type::PING, [] { return Answer{message_type::PONG, {}}; });
    if (at == At::address) {
      take_address();
    } else {
      take_path();
    }
    EXPECT_EQ(listen(listening_.get(), 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    end();
    thread_.join();
    std::vector<std::thread> connections;
    {
      const platform::MutexLock lock(mutex_);
      connections.swap(connections_);
    }
    hang_up();  // one may have come meanwhile
    for (std::thread& each : connections) each.join();
    if (port_ == 0) unlink(path_.c_str());
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] types::Url url() const {
    types::Url url;
    if (port_ == 0) {
      url.socket_file = path_;
    } else {
      url.host = "127.0.0.1";
      url.port = port_;
    }
    url.path = "/scripted";
    return url;
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // The client sees its connection end, and gets no other.
  void end() {
    shutdown(listening_.get(), SHUT_RDWR);
    hang_up();
  }
  // The client sees its connection end.
  void hang_up() {
    const platform::MutexLock lock(mutex_);
    for (const auto& each : sockets_) shutdown(each->fd(), SHUT_RDWR);
  }
  // Waits until a client has ended its connection, but not for ever.
  bool is_left() {
    const platform::MutexLock lock(mutex_);
    const std::int64_t deadline_ns = platform::now_ns() + patience_ns;
    while (ends_ == 0 && platform::now_ns() < deadline_ns) {
      wait_until(asked_more_, mutex_, deadline_ns);
    }
    return ends_ > 0;
  }
  // Of the last request of that type.
  template <typename Body>
  Body last(message_type type) {
    Body body;
    const platform::MutexLock lock(mutex_);
    EXPECT_TRUE(session::decoded(last_[type], body)) << "it was not asked so";
    return body;
  }
  int asked(message_type type) {
    const platform::MutexLock lock(mutex_);
    return asked_[type];
  }
  // Waits for such a request, but not for ever.
  bool is_asked(message_type type) {
    const platform::MutexLock lock(mutex_);
    const std::int64_t deadline_ns = platform::now_ns() + patience_ns;
    while (asked_[type] == 0 && platform::now_ns() < deadline_ns) {
      wait_until(asked_more_, mutex_, deadline_ns);
    }
    return asked_[type] > 0;
  }
  // A notification, or an answer to the request of that stream, on the newest connection.
  // REQUIRES: a client has connected.
  void say(const Answer& answer, std::uint32_t stream, std::span<const platform::Slice> bulk = {}) {
    const platform::MutexLock lock(mutex_);
    say_on(*sockets_.back(), answer, stream, bulk);
  }

  static Answer welcome() {
    protocol::welcome body;
    body.version = protocol::PROTOCOL_VERSION_MAX;
    body.session[0] = 1;
    body.heartbeat_ms = body.session_lease_ms = 60'000;
    body.max_diff_bytes = std::uint64_t{1} << 40;
    return {message_type::WELCOME, session::encoded(body)};
  }
  static Answer opened() {
    protocol::segment_opened body;
    body.segment = segment;
    return {message_type::SEGMENT_OPENED, session::encoded(body)};
  }

 private:
  static constexpr std::int64_t patience_ns = 20'000'000'000;

  void take_path() {
    unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void take_address() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listening_.get(), generic, size), 0);
    EXPECT_EQ(getsockname(listening_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }

  void serve() {
    while (true) {
      platform::FileDescriptor next(accept(listening_.get(), nullptr, nullptr));
      if (!next) return;
      auto socket = std::make_shared<platform::Socket>(std::move(next));
      const platform::MutexLock lock(mutex_);
      sockets_.push_back(socket);
      connections_.emplace_back([this, socket] {
        serve_one(*socket);
        const platform::MutexLock ending(mutex_);
        ++ends_;
        asked_more_.notify_all();
      });
    }
  }

  void serve_one(platform::Socket& socket) {
    session::FrameReader frames;
    std::vector<session::Message> messages;
    while (true) {
      platform::Interest interest{.fd = socket.fd()};
      if (!platform::wait_for({&interest, 1}, platform::never_ns)) return;
      std::size_t got = 0;
      if (!socket.receive(frames.space(), got) || got == 0) return;
      if (!frames.received(got, messages)) return;
      for (const session::Message& message : messages) {
        if (message.part != session::Part::first) answer(socket, message);
      }
      messages.clear();
    }
  }

  void say_on(platform::Socket& socket, const Answer& answer, std::uint32_t stream,
              std::span<const platform::Slice> bulk) IW_REQUIRES(mutex_) {
    session::FrameWriter frames(answer.type, stream, answer.body, bulk);
    for (auto some = frames.next(SIZE_MAX); !some.empty(); some = frames.next(SIZE_MAX)) {
      if (!socket.send(some, platform::now_ns() + patience_ns)) return;  // the client has gone
    }
  }

  void answer(platform::Socket& socket, const session::Message& message) {
    const auto type = static_cast<message_type>(message.head.type);
    {
      const platform::MutexLock lock(mutex_);
      ++asked_[type];
      last_[type] = message.body;
      asked_more_.notify_all();
    }
    if (message.head.stream == 0) return;
    const auto script = scripts_.find(type);
    const Answer said =
        script == scripts_.end() ? Answer{message_type::DONE, {}} : script->second();
    const platform::MutexLock lock(mutex_);
    say_on(socket, said, message.head.stream, {});
  }

  const std::string path_ =
      "/tmp/interweave-scripted-server-" + std::to_string(platform::process_id());
  std::uint16_t port_ = 0;  // 0: it is at the path
  platform::FileDescriptor listening_;
  std::map<message_type, Script> scripts_;
  platform::Mutex mutex_;
  std::vector<std::shared_ptr<platform::Socket>> sockets_ IW_GUARDED_BY(mutex_);
  std::vector<std::thread> connections_ IW_GUARDED_BY(mutex_);
  platform::Condition asked_more_;
  std::map<message_type, int> asked_ IW_GUARDED_BY(mutex_);
  std::map<message_type, std::vector<std::uint8_t>> last_ IW_GUARDED_BY(mutex_);
  int ends_ IW_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace iw::client
