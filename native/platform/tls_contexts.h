// Inside platform: OpenSSL's contexts, which hold what a client's files say (tls.h).
//
// Connections of a process with the same files share a context: the system's authorities take
// OpenSSL tens of milliseconds to read. A file that has changed is read anew.
#pragma once

#include <memory>

#include "platform/openssl.h"
#include "platform/tls.h"

namespace iw::platform {

// Sets `out`, which outlives no connection of it: a session keeps its context.
TlsResult context_for(const openssl::Functions& library, const TlsFiles& files,
                      std::shared_ptr<openssl::Context>& out) IW_REQUIRES_SHARED(openssl::inside);

// `error` of errno.
TlsResult shortage_of(int error);

// Lives for ever. Says what OpenSSL found wrong in this thread.
const char* reason_text(const openssl::Functions& library) IW_REQUIRES_SHARED(openssl::inside);

}  // namespace iw::platform
