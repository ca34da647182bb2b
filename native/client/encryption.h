// What the environment says of TLS, and its troubles as errors of the library.
#pragma once

#include <string>

#include "platform/tls.h"
#include "types/result.h"

namespace iw::client {

// IW_CA, IW_CERT and IW_KEY as they are now: a connection made later may use renewed files.
platform::TlsFiles tls_files();

// `server` is the server's URL without a path.
types::Result result_of(const platform::TlsResult& tls, const std::string& server);

}  // namespace iw::client
