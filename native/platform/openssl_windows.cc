// See openssl.h.
#include "platform/openssl.h"

namespace iw::platform::openssl {

Visit::Visit() noexcept {}

const Functions* functions(std::string& why) {
  why = "this library does not use libssl.so.3 or its like on Windows";
  return nullptr;
}

}  // namespace iw::platform::openssl
