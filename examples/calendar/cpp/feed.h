// What is different between two looks at the calendar, a line each: `+` and `-` before an
// appointment that came and went, `~` before one that was changed.
#pragma once

#include <string>
#include <vector>

#include "cpp/shared_calendar.h"

namespace agenda {

std::vector<std::string> differences(const std::vector<Entry>& before,
                                     const std::vector<Entry>& after);

}  // namespace agenda
