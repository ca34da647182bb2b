#include "platform/secure_socket.h"

namespace iw::platform {

TlsFailure encrypt(Socket&, const std::string&, const TlsFiles&, std::int64_t,
                   std::shared_ptr<const TlsEnd>&) {
  return {TlsTrouble::no_library, "on Windows this library has no TLS yet"};
}

}  // namespace iw::platform
