#include "diff/block_runs.h"

#include <algorithm>
#include <string>

#include "diff/large_units.h"
#include "diff/plain_numbers.h"
#include "diff/run_head.h"
#include "diff/varint.h"
#include "types/navigation.h"

namespace iw::diff {

// Longer rows of numbers may be sent from where they lie.
constexpr std::size_t short_row_bytes = 256;

void BlockRuns::fail_at_unit() {
  error_ = units_.error();
  error_.text = "block " + std::to_string(block_.serial) + " (" + block_.type->spelled() +
                "), unit " + std::to_string(units_.bad_unit()) + ": " + error_.text;
}

void BlockRuns::begin_runs() {
  if (block_has_runs_) return;
  out_.append_varint(zigzag_delta(last_serial_, block_.serial));
  body_ = out_.begin_body();
  last_serial_ = block_.serial;
  block_has_runs_ = true;
  ++statistics_.blocks;
}

// Writes the pending units as one run.
void BlockRuns::write_pending() {
  if (pending_.first == pending_.end || !error_.ok()) return;
  begin_runs();
  const RunHead run{pending_.first - last_end_, pending_.end - pending_.first};
  if (number_bytes_ != 0 && run.count * number_bytes_ <= short_row_bytes) {
    const std::size_t most = RunHead::kMostBytes + run.count * number_bytes_;
    std::byte* const begin = out_.extend(most);
    const std::byte* const end = with_number_bytes(number_bytes_, [&](auto number_bytes) {
      return write_run_of_numbers<number_bytes>(run, view_, pending_.first, begin);
    });
    out_.shrink(most - static_cast<std::size_t>(end - begin));
  } else {
    std::byte* const head = out_.extend(RunHead::kMostBytes);
    out_.shrink(RunHead::kMostBytes - static_cast<std::size_t>(run.write(head) - head));
    if (!units_.write(array_, pending_.first, pending_.end, view_)) return fail_at_unit();
  }
  ++statistics_.runs;
  statistics_.units += pending_.end - pending_.first;
  last_end_ = pending_.end;
  pending_ = {};
}

void BlockRuns::end_block() {
  write_pending();
  if (block_has_runs_ && error_.ok()) out_.end_body(body_);
  has_block_ = false;
}

types::UnitRange BlockRuns::units_of(const memory::BlockPart& part) const {
  const std::size_t end_byte = part.offset_bytes + part.length_bytes;
  if (number_bytes_ != 0) {
    return {part.offset_bytes / number_bytes_, (end_byte + number_bytes_ - 1) / number_bytes_};
  }
  // Runs are made of whole words, and a string may begin or end within a word. The neighbour that
  // has the rest of the word did not change.
  const auto is_equal = [&](std::size_t at) { return part.view[at] == part.pristine[at]; };
  std::size_t before = 0;
  std::size_t behind = 0;
  while (before < 3 && before < part.length_bytes && is_equal(before)) ++before;
  while (behind < 3 && before + behind < part.length_bytes &&
         is_equal(part.length_bytes - behind - 1)) {
    ++behind;
  }
  return types::units_covering(array_, part.offset_bytes + before, end_byte - behind);
}

void BlockRuns::begin_block(const memory::BlockPart& part) {
  end_block();
  if (part.block.type != block_.type) is_searched_for_large_units_ = false;
  block_ = part.block;
  view_ = part.view - part.offset_bytes;
  array_ = types::array_step(*block_.type, block_.count);
  number_bytes_ = plain_number_bytes(*block_.type);
  has_block_ = true;
  block_has_runs_ = false;
  pending_ = {};
  last_end_ = 0;
}

void BlockRuns::add_part(const memory::BlockPart& part, bool has_gaps) {
  if (!error_.ok()) return;
  if (!has_block_ || block_.serial != part.block.serial) begin_block(part);
  const types::UnitRange range = units_of(part);
  if (range.first == range.end) return;
  if (has_gaps && !is_searched_for_large_units_) {
    has_large_units_ = has_large_units(array_);
    is_searched_for_large_units_ = true;
  }
  if (!has_gaps || !has_large_units_) return add_units(range);
  for_each_without_equal_large_units(array_, range, view_, part.pristine - part.offset_bytes,
                                     [this](types::UnitRange rest) { add_units(rest); });
}

// Runs of bytes touch whole units; two runs may touch the same one, or neighbours.
void BlockRuns::add_units(types::UnitRange range) {
  if (pending_.first != pending_.end && range.first <= pending_.end) {
    pending_.end = std::max(pending_.end, range.end);
    return;
  }
  write_pending();
  pending_ = range;
}

// Takes many short runs of numbers, as sparse updates have them, and looks at each once. A long row
// is rare and may be sent without a copy, so it is left to write_pending(). Returns how many of the
// runs are done; the units of the last one are pending.
template <std::size_t number_bytes>
std::size_t BlockRuns::write_runs_of_numbers(const memory::RunsBehind& behind) {
  constexpr std::size_t kTogether = 256;
  constexpr std::size_t kMostRowBytes = 64;
  constexpr std::size_t kMostRunBytes = RunHead::kMostBytes + kMostRowBytes;
  constexpr std::uint64_t kMostUnits = kMostRowBytes / number_bytes;
  const std::size_t room_bytes = std::min(kTogether, behind.runs.size()) * kMostRunBytes;
  const std::byte* const view = view_;
  std::byte* const begin = out_.extend(room_bytes);
  std::byte* to = begin;
  types::UnitRange pending = pending_;
  std::uint64_t last_end = last_end_;
  std::uint64_t runs = 0;
  std::uint64_t units = 0;
  std::size_t i = 0;
  for (; i < behind.runs.size() && runs < kTogether; ++i) {
    const std::size_t first_byte = behind.runs[i].offset_bytes - behind.block_offset_bytes;
    const std::size_t end_byte = first_byte + behind.runs[i].length_bytes;
    if (end_byte > block_.size_bytes) break;
    const types::UnitRange range{first_byte / number_bytes,
                                 (end_byte + number_bytes - 1) / number_bytes};
    if (range.first <= pending.end) {
      pending.end = std::max(pending.end, range.end);
      continue;
    }
    const RunHead run{pending.first - last_end, pending.end - pending.first};
    if (run.count > kMostUnits) break;
    to = write_run_of_numbers<number_bytes>(run, view, pending.first, to);
    ++runs;
    units += run.count;
    last_end = pending.end;
    pending = range;
  }
  out_.shrink(room_bytes - static_cast<std::size_t>(to - begin));
  statistics_.runs += runs;
  statistics_.units += units;
  pending_ = pending;
  last_end_ = last_end;
  return i;
}

std::size_t BlockRuns::add_runs_behind(const memory::RunsBehind& behind) {
  if (number_bytes_ == 0 || behind.runs.empty() || !error_.ok()) return 0;
  begin_runs();
  return with_number_bytes(number_bytes_, [&](auto number_bytes) {
    return write_runs_of_numbers<number_bytes>(behind);
  });
}

}  // namespace iw::diff
