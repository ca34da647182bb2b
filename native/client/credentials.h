// What a program's opening shows to a server, and whom it trusts there [CRED-1].
#pragma once

#include <optional>
#include <string>

#include "platform/tls.h"
#include "types/result.h"

namespace iw::client {

// The options token, ca, cert and key. What an opening does not give, the environment says.
class Credentials {
 public:
  Credentials() = default;
  Credentials(const char* token, const char* ca, const char* cert, const char* key);
  // Of a server that a pointer leads to: the program's token is not for it.
  static Credentials of_a_pointer();
  [[nodiscard]] bool is_of_pointer() const { return is_of_pointer_; }

  [[nodiscard]] std::string token() const;
  // As they are now: a connection made later may use renewed files.
  [[nodiscard]] platform::TlsFiles files() const;
  // BAD_ARGUMENT: a value that no server could be shown, or that is not a file's name.
  [[nodiscard]] types::Result check() const;
  // Whether servers are shown the same by both [SPACE-62].
  [[nodiscard]] bool shows_same(const Credentials& other) const;
  // BAD_ARGUMENT: `given` asks for something else than the connection to `server`, which has these.
  [[nodiscard]] types::Result check_same(const Credentials& given, const std::string& server) const;

 private:
  std::optional<std::string> token_;
  std::optional<std::string> ca_;
  std::optional<std::string> cert_;
  std::optional<std::string> key_;
  bool is_of_pointer_ = false;
};

}  // namespace iw::client
