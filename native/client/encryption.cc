#include "client/encryption.h"

#include <cstdlib>

namespace iw::client {

using platform::TlsTrouble;
using protocol::error_code;
using types::Result;

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

platform::TlsFiles tls_files_of_environment() {
  return {variable("IW_CA"), variable("IW_CERT"), variable("IW_KEY")};
}

Result tls_result(const std::string& server, const platform::TlsFailure& failure) {
  const std::string& found = failure.text;
  switch (failure.trouble) {
    case TlsTrouble::none:
      return {};
    case TlsTrouble::no_library:
      return {error_code::UNIMPLEMENTED,
              server + " asks for TLS, for which OpenSSL 3 is needed (libssl.so.3): " + found +
                  "; install it (libssl3), or use iw:// through a tunnel"};
    case TlsTrouble::no_resource:
      return {error_code::NO_MEMORY, "no encrypted connection to " + server + " can be made" +
                                         (found.empty() ? "" : ": " + found)};
    case TlsTrouble::files:
      return {error_code::DENIED, "no encrypted connection to " + server + ": " + found};
    case TlsTrouble::not_trusted:
      return {error_code::DENIED, "the certificate of " + server + " is not trusted: " + found +
                                      "; name the file of its authority in IW_CA"};
    case TlsTrouble::refused:
      return {error_code::DENIED,
              server + " refused this client's certificate, or wants one: " + found +
                  "; name one of an authority that the server trusts in IW_CERT, and its key in "
                  "IW_KEY"};
    case TlsTrouble::not_tls:
      return {error_code::UNREACHABLE, server + " does not answer with TLS (" + found +
                                           "); use iw://, or start the server with --tls-cert"};
    case TlsTrouble::lost:
    case TlsTrouble::timed_out:
      return {error_code::UNREACHABLE, "the server " + server + " cannot be reached: " + found};
  }
  return {};
}

}  // namespace iw::client
