// Times as people write them, 2026-11-21T10:30, and as the calendar keeps them, in minutes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace agenda {

// From 1970 to 9999; nothing if the text is not such a time.
std::optional<std::int64_t> minutes_of(const std::string& text);
std::string moment_text(std::int64_t minutes);

}  // namespace agenda
