#include "cpp/moment.h"

#include <chrono>
#include <cstdio>

namespace agenda {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::sys_days;

std::optional<std::int64_t> minutes_of(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0;
  int used = 0;
  const int fields = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2u:%2u%n", &year, &month, &day, &hour,
                                 &minute, &used);
  if (fields != 5 || static_cast<std::size_t>(used) != text.size()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || year < 1970 || hour > 23 || minute > 59) return std::nullopt;
  return minutes(sys_days(date).time_since_epoch()).count() + hour * 60 + minute;
}

std::string moment_text(std::int64_t count) {
  const minutes since(count);
  const auto midnight = std::chrono::floor<days>(since);
  const std::chrono::year_month_day date{sys_days(midnight)};
  const auto of_day = static_cast<int>((since - midnight).count());
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day / 60,
                of_day % 60);
  return text;
}

}  // namespace agenda
