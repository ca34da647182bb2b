#include "client/callback_locks.h"

#include <cstddef>

#include "client/log.h"
#include "client/segment.h"

namespace iw::client {
namespace {

void report_left(const Segment& segment, const std::string& callback, const char* what) noexcept {
  say_if_possible([&] {
    report(protocol::error_code::NO_LOCK,
           segment.name() + ": a callback of " + callback + " returned with " + what);
  });
}

}  // namespace

Hold LocksBefore::held_before(const Segment* segment) const {
  for (const Hold& hold : before_) {
    if (hold.segment == segment) return hold;
  }
  return {};
}

void LocksBefore::restore(const std::string& callback) const noexcept {
  std::size_t index = 0;
  while (Hold* const left = hold_at(index)) {
    index = give_back(*left, callback) ? 0 : index + 1;
  }
}

bool LocksBefore::give_back(Hold& left, const std::string& callback) const {
  Segment& segment = *left.segment;
  const auto kept = segment.weak_from_this().lock();  // another thread may close it meanwhile
  const Hold before = held_before(&segment);
  if (left.writes > before.writes) {
    if (before.writes == 0) {
      report_left(segment, callback, "the writer lock; its changes are undone");
      (void)segment.abort_writer();
    } else {
      report_left(segment, callback, "a nested writer lock, which is given back");
      left.writes = before.writes;
    }
    return true;
  }
  if (left.reads <= before.reads) return false;
  report_left(segment, callback, "a reader lock, which is given back");
  left.reads = before.reads + 1;
  (void)segment.release_reader();
  return true;
}

}  // namespace iw::client
