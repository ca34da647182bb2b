// Client stream connections over TCP and Unix sockets, and waiting for several of them. Sockets are
// non-blocking; deadlines are moments of now_ns(). A broken connection is a Status, never a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "platform/file_descriptor.h"
#include "platform/status.h"

namespace iw::platform {

struct Slice {
  const void* data = nullptr;
  std::size_t size_bytes = 0;
};

// Where received bytes go: into `first`, and what is left over into `rest`, which may be empty.
struct Space {
  std::span<std::byte> first;
  std::span<std::byte> rest;

  // As if these bytes were received; returns how many there was room for.
  [[nodiscard]] std::size_t put(std::span<const std::byte> bytes) const;
};

class TlsStream;

class Socket {
 public:
  Socket() = default;
  explicit Socket(FileDescriptor fd) : fd_(static_cast<FileDescriptor&&>(fd)) {}

  [[nodiscard]] int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void close() { fd_.close(); }
  // From now on the socket sends and receives through TLS (tls.h).
  void set_secure(std::shared_ptr<TlsStream> stream) {
    tls_ = static_cast<std::shared_ptr<TlsStream>&&>(stream);
  }
  [[nodiscard]] bool is_secure() const { return tls_ != nullptr; }
  // Whether the connection's other end is 127.0.0.1.
  [[nodiscard]] bool is_to_loopback_v4() const;
  // Bytes have arrived of which wait_for() does not know, because TLS has decrypted them.
  [[nodiscard]] bool has_pending() const;
  // The process ends: OpenSSL is not called any more, and sending and receiving fail with EPIPE.
  void retire();

  // Sends as much as fits now and says how much that was (0 when the connection is full).
  Status send_some(std::span<const Slice> slices, std::size_t& sent_bytes);

  // Sends everything, waiting as needed; ETIMEDOUT at the deadline. After a failure the
  // connection is unusable: a part may have been sent.
  Status send(std::span<const Slice> slices, std::int64_t deadline_ns);

  // Receives the bytes that have arrived. EAGAIN: none have. Success with got_bytes = 0: the peer
  // has closed.
  Status receive(const Space& into, std::size_t& got_bytes);

 private:
  FileDescriptor fd_;
  std::shared_ptr<TlsStream> tls_;  // null: plain
};

// `host` is a name or an address, IPv6 with or without brackets; every address of a name is tried.
// ETIMEDOUT at the deadline, also while the name is being looked up.
Status connect_tcp(const std::string& host, std::uint16_t port, std::int64_t deadline_ns,
                   Socket& out);
// A path that begins with '@' is an abstract name (Linux).
Status connect_unix(const std::string& path, std::int64_t deadline_ns, Socket& out);

// Wakes a thread that waits. signal() may be called from any thread and from signal handlers.
class WakeUp {
 public:
  static Status create(WakeUp& out);
  void signal() const noexcept;
  void drain() const noexcept;
  [[nodiscard]] int fd() const { return read_end_.get(); }

 private:
  FileDescriptor read_end_;
  FileDescriptor write_end_;
};

struct Interest {
  int fd = -1;
  bool want_read = true;
  bool want_write = false;
  bool readable = false;  // results; a failed or closed peer is readable
  bool writable = false;
};

// Waits until one of them is ready or the deadline has passed (then success, with no result set).
// never_ns waits for ever; a deadline in the past only looks.
Status wait_for(std::span<Interest> interests, std::int64_t deadline_ns);

}  // namespace iw::platform
