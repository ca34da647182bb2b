// Encrypted connections: TLS 1.3 over a connected socket [NET-5].
//
// OpenSSL works on a thread of the connection's own, which carries the bytes between the network
// and one end of a pair of local sockets. The other end is the socket that the link uses. So the
// link waits, spins, forks and closes as with any socket, and no thread that holds a lock ever
// encrypts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/mutex.h"
#include "platform/socket.h"

namespace iw::platform {

// PEM files. No authorities: those of the system are trusted. No certificate: the client has none.
struct TlsFiles {
  std::string authorities;
  std::string certificate;
  std::string key;
};

enum class TlsTrouble : std::uint8_t {
  none,
  no_library,   // the system has no OpenSSL 3
  no_resource,  // for a thread or a descriptor
  files,        // a file of TlsFiles is not sound
  not_trusted,  // the server's certificate
  refused,      // the server does not take this client's certificate, or wants one
  not_tls,      // the other end does not speak TLS
  lost,
  timed_out,
};

struct TlsFailure {
  TlsTrouble trouble = TlsTrouble::none;
  std::string text;  // for people: what was found

  [[nodiscard]] bool ok() const { return trouble == TlsTrouble::none; }
};

// How an encrypted connection ended. A server tells only after the handshake that it does not take
// the client's certificate. Thread-safe.
class TlsEnd {
 public:
  void note(TlsFailure failure) {
    const MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = std::move(failure);
  }
  // Before the link's socket says that the peer has closed, it is known why.
  [[nodiscard]] TlsFailure failure() const {
    const MutexLock lock(mutex_);
    return failure_;
  }

 private:
  mutable Mutex mutex_;
  TlsFailure failure_ IW_GUARDED_BY(mutex_);
};

// Shakes hands with the server, whose certificate must be for that host (a name, or an address
// without brackets). On success the socket is one that carries the same bytes decrypted.
// REQUIRES: the socket is connected, and nothing was sent on it.
// May throw std::bad_alloc.
TlsFailure encrypt(Socket& socket, const std::string& host, const TlsFiles& files,
                   std::int64_t deadline_ns, std::shared_ptr<const TlsEnd>& end);

}  // namespace iw::platform
