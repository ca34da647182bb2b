#include "dsm/protocol/messages.h"

#include <cstring>

namespace iw::dsm {
namespace {

template <typename T>
void append(const T& value, std::vector<std::byte>* to) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to->insert(to->end(), bytes.begin(), bytes.end());
}

template <typename T>
void append_all(std::span<const T> values, std::vector<std::byte>* to) {
  const auto bytes = std::as_bytes(values);
  to->insert(to->end(), bytes.begin(), bytes.end());
}

// REQUIRES: the bytes are there.
template <typename T>
void take_all(std::span<const std::byte>* bytes, std::size_t count, std::vector<T>* values) {
  values->resize(count);
  if (count > 0) std::memcpy(values->data(), bytes->data(), count * sizeof(T));
  *bytes = bytes->subspan(count * sizeof(T));
}

}  // namespace

void append_time(const VectorTime& time, std::vector<std::byte>* to) {
  append_all(std::span(time), to);
}

void append_intervals(std::span<const Interval> intervals, std::vector<std::byte>* to) {
  for (const Interval& each : intervals) {
    append(IntervalHead{each.stamp.sequence, each.stamp.writer,
                        static_cast<std::uint32_t>(each.pages.size())},
           to);
    append_all(std::span(each.pages), to);
  }
}

void append_stamps(std::span<const Stamp> stamps, std::vector<std::byte>* to) {
  for (const Stamp& each : stamps) append(ToldStamp{each.sequence, each.writer, 0}, to);
}

void append_piece(const DiffHead& head, std::span<const std::byte> bytes,
                  FaultVector<std::byte>* to) {
  const std::size_t at = to->size();
  to->resize(at + packed_bytes(bytes.size()));
  std::memcpy(&(*to)[at], &head, sizeof head);
  std::memcpy(&(*to)[at + sizeof head], bytes.data(), bytes.size());
}

bool take_time(const Bounds& bounds, std::span<const std::byte>* bytes, VectorTime* time) {
  if (bytes->size() < bounds.ranks * sizeof(Sequence)) return false;
  take_all(bytes, bounds.ranks, time);
  return true;
}

bool read_intervals(const Bounds& bounds, std::span<const std::byte> bytes,
                    std::vector<Interval>* intervals) {
  intervals->clear();
  while (!bytes.empty()) {
    IntervalHead head;
    if (!fabric::read_first(bytes, &head, &bytes)) return false;
    if (head.writer >= bounds.ranks || bytes.size() / sizeof(PageNumber) < head.pages) return false;
    Interval& interval = intervals->emplace_back();
    interval.stamp = {static_cast<Rank>(head.writer), head.sequence};
    take_all(&bytes, head.pages, &interval.pages);
    const auto is_ours = [&](PageNumber page) { return page < bounds.pages; };
    if (!std::ranges::all_of(interval.pages, is_ours)) return false;
  }
  return true;
}

bool read_stamps(const Bounds& bounds, std::span<const std::byte> bytes,
                 FaultVector<Stamp>* stamps) {
  stamps->clear();
  while (!bytes.empty()) {
    ToldStamp told;
    if (!fabric::read_first(bytes, &told, &bytes) || told.writer >= bounds.ranks) return false;
    stamps->push_back({static_cast<Rank>(told.writer), told.sequence});
  }
  return true;
}

bool read_given_locks(std::span<const std::byte> bytes, std::vector<GivenLock>* locks) {
  locks->clear();
  if (bytes.size() > given_locks_max * sizeof(GivenLock)) return false;
  while (!bytes.empty()) {
    if (!fabric::read_first(bytes, &locks->emplace_back(), &bytes)) return false;
  }
  return true;
}

bool take_piece(const Bounds& bounds, std::size_t page_bytes, std::span<const std::byte>* bytes,
                DiffPiece* piece) {
  DiffHead& head = piece->head;
  if (!fabric::read_first(*bytes, &head, bytes)) return false;
  const bool is_sound = head.page < bounds.pages && head.all_bytes <= diff_bytes_most(page_bytes) &&
                        head.bytes > 0 && head.offset <= head.all_bytes &&
                        head.bytes <= head.all_bytes - head.offset;
  if (!is_sound) return false;
  const std::size_t filled = packed_bytes(head.bytes) - sizeof head;
  if (bytes->size() < filled) return false;
  piece->bytes = bytes->first(head.bytes);
  *bytes = bytes->subspan(filled);
  return true;
}

}  // namespace iw::dsm
