// Files that belong to this process's user alone.
#pragma once

#include <cstddef>
#include <string>

namespace iw::platform {

// The number of the user as whom the process runs.
unsigned long user_number() noexcept;

// Whether the folder belongs to this user, nobody else may open it, and it is not a symbolic link.
bool is_private_folder(const std::string& path);

// Reads a file that belongs to this user, that nobody else may read, that is not a symbolic link,
// and that has at most `most_bytes`. Returns "" for any other file, and for a
// file that does not exist.
std::string read_private_file(const std::string& path, std::size_t most_bytes);

}  // namespace iw::platform
