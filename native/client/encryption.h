// What the environment says of TLS, and its troubles as errors of the library.
#pragma once

#include <string>

#include "platform/secure_socket.h"
#include "types/result.h"

namespace iw::client {

// IW_CA, IW_CERT and IW_KEY, as they are now.
platform::TlsFiles tls_files_of_environment();

// `server` is the server's URL without a path.
types::Result tls_result(const std::string& server, const platform::TlsFailure& failure);

}  // namespace iw::client
