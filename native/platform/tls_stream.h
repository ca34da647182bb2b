// Inside platform: what a secure socket (tls.h) sends and receives.
//
// OpenSSL reads the socket itself, but writes into memory, from where flush() sends. So OpenSSL
// never waits for a full connection, never holds half a record, and no write raises SIGPIPE. The
// mutex is held across system calls, which do not wait: the socket is non-blocking. Inside of it, a
// thread that calls OpenSSL keeps forks off (openssl::Visit).
//
// A stream says no close_notify: GOODBYE ends a session, so a forked child has nothing to say.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "platform/mutex.h"
#include "platform/openssl.h"
#include "platform/socket.h"
#include "platform/tls.h"

namespace iw::platform {

class TlsStream {
 public:
  TlsStream(const openssl::Functions& library, int fd) : library_(library), fd_(fd) {}
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  TlsResult connect(const std::string& host, const TlsFiles& files, std::int64_t deadline_ns);

  // As those of Socket. EACCES: the server refuses this client's certificate.
  Status send_some(std::span<const Slice> slices, std::size_t& sent_bytes);
  Status receive(const Space& into, std::size_t& got_bytes);
  // Sends what send_some has taken; `is_empty`: nothing is left of it.
  Status flush(bool& is_empty);
  // Bytes are decrypted that nobody has received: poll() does not know of them.
  [[nodiscard]] bool has_pending() const { return has_pending_.load(std::memory_order_relaxed); }
  // From now on OpenSSL is not called.
  void retire();

 private:
  TlsResult prepare(const std::string& host, const TlsFiles& files);
  // Success: the other side has to say more first.
  TlsResult why_not_connected(int said) IW_REQUIRES(mutex_) IW_REQUIRES_SHARED(openssl::inside);
  Status flush_some() IW_REQUIRES(mutex_);
  [[nodiscard]] bool is_flushed() const IW_REQUIRES(mutex_) { return out_begin_ == out_end_; }
  // The bytes that are encrypted next.
  std::span<const std::byte> burst_of(std::span<const Slice> slices) IW_REQUIRES(mutex_);
  Status read_some(std::span<std::byte> into, std::size_t& got_bytes) IW_REQUIRES(mutex_)
      IW_REQUIRES_SHARED(openssl::inside);

  const openssl::Functions& library_ IW_GUARDED_BY(openssl::inside);
  const int fd_;
  Mutex mutex_;
  openssl::Session* session_ IW_GUARDED_BY(mutex_) = nullptr;
  openssl::Bio* written_ IW_GUARDED_BY(mutex_) = nullptr;  // the session's
  std::vector<std::byte> gathered_ IW_GUARDED_BY(mutex_);
  std::vector<std::byte> out_ IW_GUARDED_BY(mutex_);  // encrypted; [out_begin_, out_end_) is unsent
  std::size_t out_begin_ IW_GUARDED_BY(mutex_) = 0;
  std::size_t out_end_ IW_GUARDED_BY(mutex_) = 0;
  bool is_retired_ IW_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_pending_{false};
};

}  // namespace iw::platform
