// The only clock: nanoseconds since some fixed moment, never set back, and counting the time that
// the machine was suspended (leases and freshness depend on it).
#pragma once

#include <cstdint>

namespace iw::platform {

std::int64_t now_ns();

inline constexpr std::int64_t never_ns = INT64_MAX;  // a deadline that does not come

}  // namespace iw::platform
