#include "client/credentials.h"

#include <cstdlib>
#include <utility>

#include "protocol/session.gen.h"

namespace iw::client {

using protocol::error_code;
using types::Result;

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<std::string> given(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

Credentials::Credentials(const char* token, const char* ca, const char* cert, const char* key)
    : token_(given(token)), ca_(given(ca)), cert_(given(cert)), key_(given(key)) {}

Credentials Credentials::of_a_pointer() {
  Credentials made;
  made.token_ = "";
  made.is_of_pointer_ = true;
  return made;
}

std::string Credentials::token() const { return token_ ? *token_ : variable("IW_TOKEN"); }

// A certificate and its key are one thing: one of the program's does not go with one of the
// environment's.
platform::TlsFiles Credentials::files() const {
  const bool has_own = cert_ || key_;
  return {ca_ ? *ca_ : variable("IW_CA"), has_own ? cert_.value_or("") : variable("IW_CERT"),
          has_own ? key_.value_or("") : variable("IW_KEY")};
}

Result Credentials::check() const {
  if (token().size() > protocol::MAX_TOKEN) {
    return {error_code::BAD_ARGUMENT, "the token (IW_TOKEN, or the option token) is longer than " +
                                          std::to_string(protocol::MAX_TOKEN) + " bytes"};
  }
  const platform::TlsFiles named = files();
  const std::pair<const char*, const std::string&> all[] = {
      {"ca", named.authorities}, {"cert", named.certificate}, {"key", named.key}};
  for (const auto& [option, file] : all) {
    // Not shown: it may be a private key.
    if (file.find("-----BEGIN") == std::string::npos) continue;
    return {error_code::BAD_ARGUMENT, "the option " + std::string(option) +
                                          " (or its variable) takes the name of a PEM file, and "
                                          "was given the text of one"};
  }
  return {};
}

bool Credentials::shows_same(const Credentials& other) const {
  return token() == other.token() && files() == other.files();
}

Result Credentials::check_same(const Credentials& given, const std::string& server) const {
  if (is_of_pointer_ || given.is_of_pointer_) return {};
  const platform::TlsFiles has = files();
  const char* other = nullptr;
  if (given.key_ && *given.key_ != has.key) other = "key";
  if (given.cert_ && *given.cert_ != has.certificate) other = "cert";
  if (given.ca_ && *given.ca_ != has.authorities) other = "ca";
  if (given.token_ && *given.token_ != token()) other = "token";
  if (other == nullptr) return {};
  return {error_code::BAD_ARGUMENT, "the option " + std::string(other) +
                                        " is another than that of this process's "
                                        "connection to " +
                                        server +
                                        ", which all its segments of the server share; close them "
                                        "first, or use another process"};
}

}  // namespace iw::client
