// The troubles of TLS as errors of the library.
#pragma once

#include <string>

#include "platform/tls.h"
#include "types/result.h"

namespace iw::client {

// `server` is the server's URL without a path. UNREACHABLE says only why.
types::Result result_of(const platform::TlsResult& tls, const std::string& server);

}  // namespace iw::client
