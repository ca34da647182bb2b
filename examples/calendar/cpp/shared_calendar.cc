#include "cpp/shared_calendar.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cpp/moment.h"

namespace agenda {
namespace {

constexpr double kSlice_s = 0.5;  // after which a wait looks for Ctrl-C
constexpr int kSlicesMax = 60;
constexpr double kReadWait_s = 2;

std::int64_t ends_min(std::int64_t starts_min, double hours) {
  return starts_min + std::llround(hours * 60);
}

Entry entry_of(const appointment& one) {
  return {one.number,
          one.starts_min,
          one.hours,
          one.room,
          one.who != nullptr ? one.who->name : "",
          one.title,
          one.notes != nullptr ? one.notes : ""};
}

// A room is for one appointment at a time; that one itself does not count.
void check_room(const calendar& shared, const Entry& wanted) {
  if (wanted.room.empty()) return;
  for (const appointment* one = shared.first; one != nullptr; one = one->next) {
    if (one->number == wanted.number || wanted.room != one->room) continue;
    if (one->starts_min < ends_min(wanted.starts_min, wanted.hours) &&
        wanted.starts_min < ends_min(one->starts_min, one->hours)) {
      throw Refused("room " + wanted.room + " is taken until " +
                    moment_text(ends_min(one->starts_min, one->hours)) + " by " +
                    std::to_string(one->number) + " '" + one->title +
                    "'; choose another time or another --room");
    }
  }
}

void link_in(calendar& shared, appointment& one) {
  appointment** place = &shared.first;
  while (*place != nullptr && std::pair((*place)->starts_min, (*place)->number) <
                                  std::pair(one.starts_min, one.number)) {
    place = &(*place)->next;
  }
  one.next = *place;
  *place = &one;
}

// Callers have checked that it fits.
template <std::size_t size>
void store(char (&field)[size], const std::string& text) {
  std::snprintf(field, size, "%s", text.c_str());
}

}  // namespace

std::string Entry::text() const {
  char hours_text[32];
  std::snprintf(hours_text, sizeof hours_text, "%gh", hours);
  std::string line = std::to_string(number) + " " + moment_text(starts_min) + " " + hours_text +
                     " " + (room.empty() ? "-" : room) + " " + who + ": " + title;
  if (!notes.empty()) line += " (" + notes + ")";
  return line;
}

SharedCalendar::SharedCalendar(const std::string& url, const command_line::StopSignal& stop,
                               std::function<void(Point)> at)
    : segment_(url), url_(url), stop_(stop), at_(std::move(at)) {}

iw::WriteLock SharedCalendar::locked() const {
  for (int i = 0; i < kSlicesMax; ++i) {
    auto lock = iw::WriteLock::try_for(segment_, kSlice_s);
    if (stop_.requested()) throw Interrupted();
    if (lock) {
      at_(Point::kLocked);
      return std::move(*lock);
    }
    if (i == 0) at_(Point::kWaiting);
  }
  throw Refused(
      "other programs have been writing for 30 s; `interweave ls` shows which program holds the "
      "lock");
}

calendar* SharedCalendar::find() const {
  auto* const found = segment_.find<calendar>("calendar");
  if (found == nullptr) return nullptr;
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment_.handle(), found, &block) != 0) throw iw::Error::last();
  if (block.is_reserved != 0) return nullptr;
  if (block.type != IW_calendar) {
    throw Refused(url_ +
                  " holds something else than a calendar; choose another segment with --url");
  }
  return found;
}

calendar& SharedCalendar::find_or_make() {
  calendar* const found = find();
  return found != nullptr ? *found : *iw::make<calendar>(segment_, "calendar");
}

appointment*& SharedCalendar::link_to(unsigned number) {
  if (calendar* const shared = find()) {
    for (appointment** place = &shared->first; *place != nullptr; place = &(*place)->next) {
      if ((*place)->number == number) return *place;
    }
  }
  throw Refused("the calendar has no appointment " + std::to_string(number) +
                "; `list` shows the numbers");
}

person* SharedCalendar::person_named(calendar& shared, const std::string& name) {
  for (person* one = shared.people; one != nullptr; one = one->next) {
    if (name == one->name) return one;
  }
  auto* const made = iw::make<person>(segment_);
  store(made->name, name);
  made->next = shared.people;
  shared.people = made;
  return made;
}

Entry SharedCalendar::add(const Entry& wanted) {
  iw::WriteLock lock = locked();
  calendar& shared = find_or_make();
  check_room(shared, wanted);
  auto& made = *iw::make<appointment>(segment_);
  made.number = ++shared.last_number;
  made.starts_min = wanted.starts_min;
  made.hours = wanted.hours;
  store(made.room, wanted.room);
  store(made.title, wanted.title);
  if (IW_assign(segment_.handle(), &made.notes, wanted.notes.data(), wanted.notes.size()) != 0) {
    throw iw::Error::last();
  }
  made.who = person_named(shared, wanted.who);
  link_in(shared, made);
  at_(Point::kHalfway);  // it is in the list and not yet counted
  ++shared.count;
  const Entry added = entry_of(made);
  at_(Point::kDone);
  lock.release();
  return added;
}

Entry SharedCalendar::move(unsigned number, std::int64_t starts_min) {
  iw::WriteLock lock = locked();
  appointment*& link = link_to(number);
  appointment& moved = *link;
  calendar& shared = *find();
  Entry wanted = entry_of(moved);
  wanted.starts_min = starts_min;
  check_room(shared, wanted);
  link = moved.next;
  moved.starts_min = starts_min;
  at_(Point::kHalfway);  // it is in no list
  link_in(shared, moved);
  at_(Point::kDone);
  lock.release();
  return wanted;
}

Entry SharedCalendar::remove(unsigned number) {
  iw::WriteLock lock = locked();
  appointment*& link = link_to(number);
  appointment* const removed = link;
  const Entry was = entry_of(*removed);
  link = removed->next;
  at_(Point::kHalfway);  // it is out of the list and still counted
  --find()->count;
  segment_.free(removed);
  at_(Point::kDone);
  lock.release();
  return was;
}

std::vector<Entry> SharedCalendar::entries() const {
  const auto lock = iw::ReadLock::try_for(segment_, kReadWait_s);
  if (!lock) throw iw::Error::last();
  std::vector<Entry> all;
  if (const calendar* const shared = find()) {
    for (const appointment* one = shared->first; one != nullptr; one = one->next) {
      all.push_back(entry_of(*one));
    }
  }
  return all;
}

}  // namespace agenda
