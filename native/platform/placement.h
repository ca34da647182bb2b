// Inside platform: the check of what reserve() and map_file() are asked for.
#pragma once

#include <cstddef>

#include "platform/memory.h"

namespace iw::platform {

// EINVAL: not whole pages, or no address where one is needed.
Status check_placement(const void* wanted, Placement placement, std::size_t size_bytes);

}  // namespace iw::platform
