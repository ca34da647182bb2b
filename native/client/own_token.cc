#include "client/own_token.h"

#include <array>
#include <cstdlib>

#include "platform/private_file.h"

namespace iw::client {

namespace {

constexpr std::size_t most_bytes = 4096;

bool is_for_host(const std::string& host) { return host == "127.0.0.1" || host == "localhost"; }

}  // namespace

std::string own_token(const types::Url& server, bool is_to_loopback_v4) {
  if (server.is_unix() || server.secure || !is_for_host(server.host)) return {};
  // At another address of loopback another user's server may have the port.
  if (!is_to_loopback_v4) return {};
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string user = std::to_string(platform::user_number());
  const std::array<std::string, 3> folders = {
      runtime == nullptr || *runtime == '\0' ? "" : std::string(runtime) + "/interweave",
      "/run/user/" + user + "/interweave",
      "/tmp/interweave-" + user,
  };
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    const std::string file = folder + "/" + std::to_string(server.port) + ".token";
    if (!platform::is_private_folder(folder)) continue;
    const std::string text = platform::read_private_file(file, most_bytes);
    if (!text.empty()) return text.substr(0, text.find('\n'));
  }
  return {};
}

}  // namespace iw::client
