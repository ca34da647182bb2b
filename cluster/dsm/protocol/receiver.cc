#include "dsm/protocol/receiver.h"

#include <stdexcept>
#include <utility>

namespace iw::dsm {

using fabric::Bytes;
using fabric::read_first;
using fabric::read_whole;

namespace {

// Diffs and acknowledgements may come between the parts of a longer message and its end.
bool can_be_long(Message kind) {
  switch (kind) {
    case Message::ask_lock:
    case Message::forward:
    case Message::grant:
    case Message::arrive:
    case Message::let_go:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Receiver::take(Message kind, Rank from, Bytes header, Bytes payload) {
  if (kind == Message::part) return take_part(from, header, payload);
  std::vector<std::byte> room;
  if (can_be_long(kind)) payload = join(from, payload, &room);
  try {
    return take_whole(kind, from, header, payload);
  } catch (const std::logic_error&) {
    // An interval was left out.
    return false;
  }
}

Bytes Receiver::join(Rank from, Bytes payload, std::vector<std::byte>* room) {
  if (parts_[from].empty()) return payload;
  *room = std::exchange(parts_[from], {});
  room->insert(room->end(), payload.begin(), payload.end());
  return *room;
}

bool Receiver::take_whole(Message kind, Rank from, Bytes header, Bytes payload) {
  switch (kind) {
    case Message::ask_home:
    case Message::tell_home:
    case Message::ask_initial:
    case Message::tell_initial:
      return take_homes(kind, from, header, payload);
    case Message::ask_page:
    case Message::tell_page:
      return take_page(kind, from, header, payload);
    case Message::diffs:
      return take_diffs(from, header, payload);
    case Message::diffs_taken:
      return header.empty() && payload.empty() && diffs_.heard_acknowledge(from);
    case Message::arrive:
    case Message::let_go:
      return take_barrier(kind, from, header, payload);
    case Message::come:
      return take_come(from, header, payload);
    case Message::give_back:
    case Message::take_back:
      return take_given_locks(kind, from, header, payload);
    case Message::ask_diffs:
    case Message::tell_diffs:
      return take_kept_diffs(kind, from, header, payload);
    default:
      return take_lock(kind, from, header, payload);
  }
}

// [DSM-MAIL-2]
bool Receiver::take_part(Rank from, Bytes header, Bytes payload) {
  std::vector<std::byte>& parts = parts_[from];
  if (!header.empty() || parts.size() + payload.size() > parts_bytes_max) return false;
  parts.insert(parts.end(), payload.begin(), payload.end());
  return true;
}

bool Receiver::take_homes(Message kind, Rank from, Bytes header, Bytes payload) {
  if (kind == Message::tell_home) {
    HomeHead told;
    return read_whole(header, &told) && payload.empty() && told.page < bounds_.pages &&
           told.home < bounds_.ranks && told.page % bounds_.ranks == from &&
           pages_.heard_tell_home(told.page, static_cast<Rank>(told.home));
  }
  PageHead head;
  if (!read_whole(header, &head) || head.page >= bounds_.pages) return false;
  if (kind == Message::tell_initial) {
    const bool is_whole = payload.empty() || payload.size() == page_bytes_;
    return from == 0 && is_whole && pages_.heard_tell_initial(head.page, payload);
  }
  if (!payload.empty()) return false;
  if (kind == Message::ask_home) {
    if (head.page % bounds_.ranks != me_) return false;
    pages_.heard_ask_home(from, head.page);
  } else {
    if (me_ != 0) return false;
    pages_.heard_ask_initial(from, head.page);
  }
  return true;
}

bool Receiver::take_page(Message kind, Rank from, Bytes header, Bytes payload) {
  PageHead head;
  if (!read_first(header, &head, &header) || head.page >= bounds_.pages) return false;
  if (kind == Message::ask_page) {
    if (!header.empty() || !read_stamps(bounds_, payload, &stamps_)) return false;
    return pages_.heard_ask_page(from, head.page, stamps_);
  }
  return payload.size() == page_bytes_ && read_stamps(bounds_, header, &stamps_) &&
         pages_.heard_tell_page(from, head.page, stamps_, payload);
}

// Diffs.

bool Receiver::take_diffs(Rank from, Bytes header, Bytes payload) {
  if (!header.empty() || payload.empty()) return false;
  while (!payload.empty()) {
    DiffPiece piece;
    if (!take_piece(bounds_, page_bytes_, &payload, &piece)) return false;
    if (!take_diff_piece(from, piece)) return false;
  }
  diffs_.acknowledge_diffs(from);
  return true;
}

// [DSM-MAIL-3]
bool Receiver::take_diff_piece(Rank from, const DiffPiece& piece) {
  const DiffHead& head = piece.head;
  std::optional<PartialDiff>& partial = partial_[from];
  const bool is_whole = head.bytes == head.all_bytes;
  if (is_whole && !partial) return pages_.heard_diff(from, head.page, head.sequence, piece.bytes);
  if (!partial) partial = PartialDiff{head, {}};
  const DiffHead& first = partial->head;
  const bool is_next = head.page == first.page && head.sequence == first.sequence &&
                       head.all_bytes == first.all_bytes && head.offset == partial->runs.size();
  if (!is_next) return false;
  partial->runs.insert(partial->runs.end(), piece.bytes.begin(), piece.bytes.end());
  if (partial->runs.size() < first.all_bytes) return true;
  const PartialDiff whole = std::move(*partial);
  partial.reset();
  return pages_.heard_diff(from, whole.head.page, whole.head.sequence, whole.runs);
}

bool Receiver::take_kept_diffs(Message kind, Rank from, Bytes header, Bytes payload) {
  if (kind == Message::ask_diffs) {
    AskDiffsHead head;
    const bool is_sound = read_whole(header, &head) && payload.empty() &&
                          head.page < bounds_.pages && head.asker < bounds_.ranks;
    return is_sound && take_ask_diffs(from, head);
  }
  PageHead head;
  if (!read_whole(header, &head) || head.page >= bounds_.pages) return false;
  std::vector<Pages::ToldDiff> diffs;
  while (!payload.empty()) {
    DiffPiece piece;
    const bool is_sound = take_piece(bounds_, page_bytes_, &payload, &piece) &&
                          piece.head.page == head.page && piece.head.bytes == piece.head.all_bytes;
    if (!is_sound) return false;
    diffs.push_back({piece.head.sequence, piece.bytes});
  }
  return pages_.heard_tell_diffs(from, head.page, diffs);
}

bool Receiver::take_ask_diffs(Rank from, const AskDiffsHead& head) {
  if (head.count == 0) {
    return pages_.heard_pull_diffs(from, head.page, head.last, static_cast<Rank>(head.asker));
  }
  pages_.heard_ask_diffs(from, head.page, {head.first, head.last, head.count});
  return true;
}

// Locks and barriers.

bool Receiver::take_given_locks(Message kind, Rank from, Bytes header, Bytes payload) {
  GiveBackHead head;
  const bool is_given = kind == Message::give_back;
  const bool is_sound = is_given ? read_whole(header, &head) : header.empty();
  std::vector<GivenLock> locks;
  if (!is_sound || !read_given_locks(payload, &locks)) return false;
  if (!is_given) return locks_.heard_take_back(from, locks);
  for (const GivenLock& each : locks) {
    if (each.is_taken != 0 || locks_.home_of(each.lock) != me_) return false;
  }
  return locks_.heard_give_back(from, head.epoch, locks);
}

bool Receiver::take_come(Rank from, Bytes header, Bytes payload) {
  ComeHead head;
  if (!read_whole(header, &head) || !payload.empty()) return false;
  attendance_.heard(from, {head.where, head.barriers, head.collectives});
  return true;
}

bool Receiver::take_lock(Message kind, Rank from, Bytes header, Bytes payload) {
  LockHead head;
  if (!read_whole(header, &head)) return false;
  if (kind == Message::ask_lock || kind == Message::forward) {
    return take_lock_request(kind, from, head, payload);
  }
  if (kind == Message::grant) {
    std::vector<Interval> intervals;
    return read_intervals(bounds_, payload, &intervals) &&
           locks_.heard_grant(from, head.lock, head.epoch, std::move(intervals));
  }
  if (!payload.empty()) return false;
  if (kind == Message::refuse) return locks_.heard_refuse(head.lock);
  return kind == Message::tell_tried && locks_.home_of(head.lock) == me_ &&
         locks_.heard_tell_tried(from, head.lock, head.flag != 0);
}

bool Receiver::take_lock_request(Message kind, Rank from, const LockHead& head, Bytes payload) {
  VectorTime known;
  if (!take_time(bounds_, &payload, &known) || !payload.empty()) return false;
  const Rank home = locks_.home_of(head.lock);
  const bool is_try = head.flag != 0;
  if (kind == Message::forward) {
    return home == from && head.asker < bounds_.ranks &&
           locks_.heard_forward(head.lock, static_cast<Rank>(head.asker), is_try, known);
  }
  if (home != me_) return false;
  locks_.heard_ask_lock(from, head.lock, is_try, known);
  return true;
}

bool Receiver::take_barrier(Message kind, Rank from, Bytes header, Bytes payload) {
  BarrierHead head;
  VectorTime time;
  std::vector<Interval> intervals;
  const bool is_sound = read_whole(header, &head) && take_time(bounds_, &payload, &time) &&
                        read_intervals(bounds_, payload, &intervals);
  if (!is_sound) return false;
  if (kind == Message::let_go) {
    return barriers_.heard_let_go(from, time, intervals);
  }
  if (!barriers_.heard_arrive(from, head.barrier, time, intervals)) return false;
  attendance_.heard(from, {Where::barrier, head.barriers, head.collectives});
  return true;
}

}  // namespace iw::dsm
