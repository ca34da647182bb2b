// The calendar in its segment. Each change is one writer section: it happens whole or, when the
// program is refused, interrupted or killed in it, not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <interweave.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "calendar.hpp"
#include "command_line/stop_signal.h"

namespace agenda {

// An appointment as it was under a lock.
struct Entry {
  unsigned number = 0;
  std::int64_t starts_min = 0;
  double hours = 1;
  std::string room, who, title, notes;

  bool operator==(const Entry&) const = default;
  // As `list` and `watch` show it, in every language.
  [[nodiscard]] std::string text() const;
};

// What was asked cannot be done; the text says why, and what can.
struct Refused : std::runtime_error {
  using runtime_error::runtime_error;
};
// Ctrl-C, before anything was changed.
struct Interrupted {};

// Where a writer section can be looked at, stopped and killed; kWaiting: it will be a while until
// it begins.
enum class Point { kWaiting, kLocked, kHalfway, kDone };

class SharedCalendar {
 public:
  // `at` is called at each point of each writer section.
  SharedCalendar(const std::string& url, const command_line::StopSignal& stop,
                 std::function<void(Point)> at);

  // Each gives the appointment as it is now; `remove`, as it was.
  Entry add(const Entry& wanted);  // the number is given
  Entry move(unsigned number, std::int64_t starts_min);
  Entry remove(unsigned number);

  // By their starts. Throws iw::Error, IW_ETIMED_OUT if the server is silent.
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] const iw::Segment& segment() const { return segment_; }

 private:
  [[nodiscard]] iw::WriteLock locked() const;
  [[nodiscard]] calendar* find() const;
  calendar& find_or_make();
  // The link that leads to the appointment.
  appointment*& link_to(unsigned number);
  person* person_named(calendar& shared, const std::string& name);

  iw::Segment segment_;
  std::string url_;
  const command_line::StopSignal& stop_;
  std::function<void(Point)> at_;
};

}  // namespace agenda
