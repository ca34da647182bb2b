#include "memory/free_extents.h"

#include <bit>

#include "memory/subsegment.h"

namespace iw::memory {

namespace {

constexpr std::size_t exact_bins = 64;  // one for each size up to 1 KiB
constexpr int tries_in_own_bin = 8;     // where extents are found that are too small

}  // namespace

// Above the exact ones, four bins for each doubling.
std::size_t FreeExtents::bin_of(std::size_t size_bytes) {
  const std::size_t places = size_bytes / kPlaceBytes;
  if (places < exact_bins) return places;
  const auto log = static_cast<std::size_t>(std::bit_width(places)) - 1;
  return exact_bins + (log - 6) * 4 + ((places >> (log - 2)) & 3);
}

void FreeExtents::add(RecordId id) {
  Record& record = index_.at(id);
  const std::size_t bin = bin_of(static_cast<std::size_t>(record.count));
  record.type_or_next = first_[bin];
  record.name_or_previous = no_record;
  if (first_[bin] != no_record) index_.at(first_[bin]).name_or_previous = id;
  first_[bin] = id;
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
}

void FreeExtents::remove(RecordId id) {
  const Record& record = index_.at(id);
  const std::size_t bin = bin_of(static_cast<std::size_t>(record.count));
  if (record.name_or_previous == no_record) {
    first_[bin] = record.type_or_next;
  } else {
    index_.at(record.name_or_previous).type_or_next = record.type_or_next;
  }
  if (record.type_or_next != no_record) {
    index_.at(record.type_or_next).name_or_previous = record.name_or_previous;
  }
  if (first_[bin] == no_record) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
}

RecordId FreeExtents::find(std::size_t size_bytes) const {
  const std::size_t own_bin = bin_of(size_bytes);
  RecordId id = first_[own_bin];
  for (int i = 0; i < tries_in_own_bin && id != no_record; ++i) {
    if (index_.at(id).count >= size_bytes) return id;
    id = index_.at(id).type_or_next;
  }
  for (std::size_t bin = own_bin + 1; bin < bin_count; bin = (bin / 64 + 1) * 64) {
    const std::uint64_t larger = filled_[bin / 64] & (~std::uint64_t{0} << (bin % 64));
    if (larger != 0) {
      return first_[bin / 64 * 64 + static_cast<std::size_t>(std::countr_zero(larger))];
    }
  }
  return no_record;
}

}  // namespace iw::memory
