// Windows, where no server writes such files.
#include "platform/private_file.h"

namespace iw::platform {

unsigned long user_number() noexcept { return 0; }

bool is_private_folder(const std::string& /*path*/) { return false; }

std::string read_private_file(const std::string& /*path*/, std::size_t /*most_bytes*/) {
  return {};
}

}  // namespace iw::platform
