// The token of a server that this user runs [OWN-3].
#pragma once

#include <string>

#include "types/mip.h"

namespace iw::client {

// Returns the token that is shown to that server over a plain TCP connection. `is_to_loopback_v4`:
// the connection's other end is 127.0.0.1. "": the server is not on this host, or there is no file
// that may be used.
std::string own_token(const types::Url& server, bool is_to_loopback_v4);

}  // namespace iw::client
