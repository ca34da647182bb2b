// The tokens of servers that this user runs [OWN-3], and those that were refused [OWN-6].
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "types/mip.h"

namespace iw::client {

struct OwnToken {
  std::string text;
  std::string file;
  std::size_t folder = 0;

  explicit operator bool() const { return !text.empty(); }
};

// Of one server. Not synchronised: one thread at a time connects.
class OwnTokens {
 public:
  // The token that is shown to the server next; none: no file has one that was not refused.
  // `is_to_loopback_v4`: the connection's other end is 127.0.0.1.
  [[nodiscard]] OwnToken find(const types::Url& server, bool is_to_loopback_v4) const;
  // The server does not take it. It is shown again once its file holds another one.
  void refused(const OwnToken& token) { refused_[token.folder] = token.text; }
  // The text about token files for a client that was refused without a token; "" if no server has
  // refused a file's token.
  [[nodiscard]] std::string advice(const types::Url& server, bool is_to_loopback_v4) const;

 private:
  static constexpr std::size_t folders = 3;

  std::array<std::string, folders> refused_;
};

}  // namespace iw::client
