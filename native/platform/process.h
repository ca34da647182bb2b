// This process: its id and names, whether it is a forked child of the one that loaded the library,
// and unpredictable bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "platform/status.h"

namespace iw::platform {

std::int64_t process_id();

// The program's name without its folder, and the host's name; empty if the system does not say.
std::string program_name();
std::string host_name();

// Grows by one in every forked child: an object made under another count belongs to a parent.
unsigned fork_count() noexcept;

// Whether the process is ending and its other threads were stopped wherever they were. Locks that
// those threads held stay locked. Only on Windows, while libraries are unloaded at the end.
bool other_threads_are_gone() noexcept;

// One line of at most 16 pieces to standard error, in one call where the system can: for signal
// handlers, which must not use stdio.
void write_to_stderr(std::span<const std::string_view> pieces) noexcept;

Status random_bytes(std::span<std::byte> out);

}  // namespace iw::platform
