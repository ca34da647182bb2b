// TLS 1.3 for a client's TCP connection [NET-5].
#pragma once

#include <cstdint>
#include <string>

#include "platform/socket.h"

namespace iw::platform {

// Paths of PEM files; empty: the system's authorities, and no certificate of this client.
struct TlsFiles {
  std::string authorities;
  std::string certificate;
  std::string key;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

enum class TlsTrouble {
  none,
  no_library,   // the system has no OpenSSL 3
  files,        // one of TlsFiles cannot be used
  not_trusted,  // the server's certificate, or its host name
  refused,      // the server refuses this client
  not_tls,      // the other side hangs up, or says something else
  timed_out,
  shortage,  // of memory or descriptors here
};

struct TlsResult {
  TlsTrouble trouble = TlsTrouble::none;
  std::string text;  // what was found

  explicit operator bool() const { return trouble == TlsTrouble::none; }
};

// Makes a connected socket secure. The certificate must name `host`, a name or an address. After a
// failure the socket is of no use.
TlsResult begin_tls(Socket& socket, const std::string& host, const TlsFiles& files,
                    std::int64_t deadline_ns);

// Loads OpenSSL, so that what is registered with atexit() afterwards runs before OpenSSL ends.
// False: it cannot be loaded now.
bool prepare_tls();

}  // namespace iw::platform
