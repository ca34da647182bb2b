#include "client/encryption.h"

namespace iw::client {

using platform::TlsTrouble;
using protocol::error_code;
using types::Result;

Result result_of(const platform::TlsResult& tls, const std::string& server) {
  switch (tls.trouble) {
    case TlsTrouble::none:
      return {};
    case TlsTrouble::no_library:
      return {error_code::UNIMPLEMENTED, server +
                                             " asks for TLS, and this client needs OpenSSL 3 "
                                             "for it (libssl.so.3): " +
                                             tls.text + "; install OpenSSL 3, or use iw://"};
    case TlsTrouble::files:
      return {error_code::DENIED, "no secure connection to " + server + ": " + tls.text};
    case TlsTrouble::not_trusted:
      return {error_code::DENIED, "the certificate of " + server + " is not trusted: " + tls.text +
                                      "; name the file of its authority in IW_CA or the option ca, "
                                      "and a host that is in the "
                                      "certificate in the URL"};
    case TlsTrouble::refused:
      return {
          error_code::DENIED,
          server + " refuses this client: " + tls.text +
              "; name a certificate that the server takes in IW_CERT and its key in IW_KEY, or in "
              "the options cert and key"};
    case TlsTrouble::not_tls:
      return {error_code::UNREACHABLE, "it does not answer with TLS: " + tls.text +
                                           " (use iw://, or start the server with --tls-cert)"};
    case TlsTrouble::shortage:
      return {error_code::NO_MEMORY,
              "no secure connection to " + server + " can be made: " + tls.text};
    case TlsTrouble::timed_out:
      break;
  }
  return {error_code::UNREACHABLE, tls.text};
}

}  // namespace iw::client
