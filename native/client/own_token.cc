#include "client/own_token.h"

#include <cstdlib>
#include <vector>

#include "platform/private_file.h"

namespace iw::client {

namespace {

constexpr std::size_t most_bytes = 4096;

bool is_for_host(const std::string& host) { return host == "127.0.0.1" || host == "localhost"; }

// All that there are, in the order in which they are shown.
std::vector<OwnToken> tokens_of(const types::Url& server, bool is_to_loopback_v4) {
  std::vector<OwnToken> found;
  if (server.is_unix() || !is_for_host(server.host)) return found;
  // At another address of loopback another user's server may have the port.
  if (!is_to_loopback_v4) return found;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string user = std::to_string(platform::user_number());
  const std::array<std::string, 3> folders = {
      runtime == nullptr || *runtime == '\0' ? "" : std::string(runtime) + "/interweave",
      "/run/user/" + user + "/interweave",
      "/tmp/interweave-" + user,
  };
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string& folder = folders[i];
    if (folder.empty() || (i > 0 && folder == folders[0])) continue;
    std::string file = folder + "/" + std::to_string(server.port) + ".token";
    if (!platform::is_private_folder(folder)) continue;
    const std::string text = platform::read_private_file(file, most_bytes);
    OwnToken token{text.substr(0, text.find('\n')), std::move(file), i};
    if (token) found.push_back(std::move(token));
  }
  return found;
}

}  // namespace

OwnToken OwnTokens::find(const types::Url& server, bool is_to_loopback_v4) const {
  for (OwnToken& token : tokens_of(server, is_to_loopback_v4)) {
    if (token.text != refused_[token.folder]) return std::move(token);
  }
  return {};
}

std::string OwnTokens::advice(const types::Url& server, bool is_to_loopback_v4) const {
  std::string files;
  for (const OwnToken& token : tokens_of(server, is_to_loopback_v4)) {
    if (token.text != refused_[token.folder]) continue;
    files += (files.empty() ? "" : " and ") + token.file;
  }
  if (files.empty()) return {};
  return "; the token of " + files +
         ", which a server of this user wrote, is not valid here: remove the file if its server "
         "has ended";
}

}  // namespace iw::client
