#include "abi/callback_locks.h"

#include "abi/log.h"
#include "abi/segment.h"

namespace iw::abi {
namespace {

void report_left(const Segment& segment, const std::string& callback, const char* what) {
  report(protocol::error_code::NO_LOCK,
         segment.name() + ": a callback of " + callback + " returned with " + what);
}

}  // namespace

Hold LocksBefore::held_before(const Segment* segment) const {
  for (const Hold& hold : before_) {
    if (hold.segment == segment) return hold;
  }
  return {};
}

void LocksBefore::restore(const std::string& callback) const {
  for (const Hold& left : all_holds()) {
    Segment& segment = *left.segment;
    const Hold before = held_before(&segment);
    if (left.writes > before.writes) {
      report_left(segment, callback,
                  before.writes == 0 ? "the writer lock; its changes are undone"
                                     : "a nested writer lock, which is given back");
      if (before.writes == 0) {
        (void)segment.abort_writer();
      } else {
        find_hold(&segment)->writes = before.writes;
      }
    }
    Hold* const reading = find_hold(&segment);
    if (reading == nullptr || reading->reads <= before.reads) continue;
    report_left(segment, callback, "a reader lock, which is given back");
    reading->reads = before.reads + 1;
    (void)segment.release_reader();
  }
}

}  // namespace iw::abi
