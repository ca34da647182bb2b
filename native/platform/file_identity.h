// Inside platform: what tells a file from another one of the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace iw::platform {

// Differs, as far as the system says so, after any change of the file and for any file that takes
// its place, also if both have the same size and say that they were written at the same time.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

// Follows symbolic links. none: the system does not say.
std::optional<FileIdentity> identity_of(const std::string& file);

}  // namespace iw::platform
