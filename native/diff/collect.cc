#include "diff/collect.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "diff/large_units.h"
#include "diff/plain_numbers.h"
#include "diff/unit_writer.h"
#include "diff/varint.h"
#include "memory/subsegment.h"
#include "platform/byte_order.h"
#include "protocol/descriptor.gen.h"
#include "types/navigation.h"

namespace iw::diff {

// Longer rows of numbers may be sent from where they lie.
constexpr std::size_t short_row_bytes = 256;

// Builds CHANGES first, since translating pointers may add slots.
class Collector {
 public:
  Collector(const Release& release, Outgoing& out)
      : release_(release),
        out_(out),
        units_(out.changes_, release.swizzler, release.may_send_views, release.options) {}

  Result collect();

 private:
  void parts(const memory::SubsegmentRuns& changed, memory::Trail& trail);
  void part(const memory::BlockPart& part, bool has_gaps);
  void begin_block(const memory::BlockPart& part);
  void pend(types::UnitRange range);
  std::size_t runs_behind(const memory::RunsBehind& behind);
  template <std::size_t number_bytes>
  std::size_t runs_of_numbers(const memory::RunsBehind& behind);
  void begin_runs();
  [[nodiscard]] types::UnitRange units_of(const memory::BlockPart& part) const;
  void flush_run();
  void short_row(std::uint64_t gap, std::uint64_t count);
  void end_block();
  void section(Tag tag, const Pieces& body);
  void types_section();
  void slots_section();
  void freed_section();
  Result blocks_section();
  void head();
  void fail_at_unit();

  const Release& release_;
  Outgoing& out_;
  UnitWriter units_;
  Result error_;

  // The block being written, and the units of it that are known to have changed but not written.
  memory::Block block_;
  const std::byte* view_ = nullptr;
  types::Step array_;
  std::size_t number_bytes_ = 0;  // of a block of plain numbers, else 0
  bool has_large_units_ = false;  // once searched for
  bool is_searched_for_large_units_ = false;
  bool has_block_ = false;
  bool block_has_runs_ = false;
  types::UnitRange pending_;
  std::uint64_t last_end_ = 0;
  std::uint64_t last_serial_ = 0;
  Pieces::Place body_;
};

void Collector::fail_at_unit() {
  error_ = units_.error();
  error_.text = "block " + std::to_string(block_.serial) + " (" + block_.type->spelled() +
                "), unit " + std::to_string(units_.bad_unit()) + ": " + error_.text;
}

void Collector::begin_runs() {
  if (block_has_runs_) return;
  out_.changes_.append_varint(zigzag_delta(last_serial_, block_.serial));
  body_ = out_.changes_.here();
  last_serial_ = block_.serial;
  block_has_runs_ = true;
  ++out_.statistics_.blocks;
}

// Writes the pending units as one run.
void Collector::flush_run() {
  if (pending_.first == pending_.end || !error_.ok()) return;
  Pieces& out = out_.changes_;
  begin_runs();
  const std::uint64_t count = pending_.end - pending_.first;
  if (number_bytes_ != 0 && count * number_bytes_ <= short_row_bytes) {
    short_row(pending_.first - last_end_, count);
  } else {
    out.append_varint(pending_.first - last_end_);
    out.append_varint(count);
    if (!units_.write(array_, pending_.first, pending_.end, view_)) return fail_at_unit();
  }
  ++out_.statistics_.runs;
  out_.statistics_.units += pending_.end - pending_.first;
  last_end_ = pending_.end;
  pending_ = {};
}

// The pending units: plain numbers.
void Collector::short_row(std::uint64_t gap, std::uint64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * number_bytes_;
  const std::size_t most = 2 * kMaxVarintBytes + bytes;
  std::byte* const begin = out_.changes_.extend(most);
  std::byte* to = begin + put_varint(gap, begin);
  to += put_varint(count, to);
  platform::copy_little_endian(to, view_ + pending_.first * number_bytes_, number_bytes_,
                               static_cast<std::size_t>(count));
  out_.changes_.shrink(most - static_cast<std::size_t>(to + bytes - begin));
}

void Collector::end_block() {
  flush_run();
  if (block_has_runs_ && error_.ok()) out_.changes_.insert_length(body_);
  has_block_ = false;
}

types::UnitRange Collector::units_of(const memory::BlockPart& part) const {
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

void Collector::begin_block(const memory::BlockPart& part) {
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

void Collector::part(const memory::BlockPart& part, bool has_gaps) {
  if (!error_.ok()) return;
  if (!has_block_ || block_.serial != part.block.serial) begin_block(part);
  const types::UnitRange range = units_of(part);
  if (range.first == range.end) return;
  if (has_gaps && !is_searched_for_large_units_) {
    has_large_units_ = has_large_units(array_);
    is_searched_for_large_units_ = true;
  }
  if (!has_gaps || !has_large_units_) return pend(range);
  for_each_without_equal_large_units(array_, range, view_, part.pristine - part.offset_bytes,
                                     [this](types::UnitRange rest) { pend(rest); });
}

// Runs of bytes touch whole units; two runs may touch the same one, or neighbours.
void Collector::pend(types::UnitRange range) {
  if (pending_.first != pending_.end && range.first <= pending_.end) {
    pending_.end = std::max(pending_.end, range.end);
    return;
  }
  flush_run();
  pending_ = range;
}

// Parts come in the order of the runs that they are of.
void Collector::parts(const memory::SubsegmentRuns& changed, memory::Trail& trail) {
  auto run = changed.runs.begin();
  const auto take = [&](const memory::BlockPart& one, const memory::RunsBehind& behind) {
    const std::size_t at = changed.subsegment->offset_of(one.view);
    while (run->offset_bytes + run->length_bytes <= at) ++run;
    part(one, run->has_gaps);
    const std::size_t taken = runs_behind(behind);
    run += static_cast<std::ptrdiff_t>(taken);
    return taken;
  };
  release_.heap.for_each_part(std::span(&changed, 1), trail, take);
}

// Takes many short runs of numbers, as sparse updates have them, and looks at each once. A long row
// is rare and may be sent without a copy, so it is left to flush_run(). Returns how many of the
// runs are done; the units of the last one are pending.
template <std::size_t number_bytes>
std::size_t Collector::runs_of_numbers(const memory::RunsBehind& behind) {
  constexpr std::size_t kTogether = 256;
  constexpr std::size_t kMostRowBytes = 64;
  constexpr std::size_t kMostRunBytes = 2 * kMaxVarintBytes + kMostRowBytes;
  constexpr std::uint64_t kMostUnits = kMostRowBytes / number_bytes;
  const std::size_t room_bytes = std::min(kTogether, behind.runs.size()) * kMostRunBytes;
  const std::byte* const view = view_;
  std::byte* const begin = out_.changes_.extend(room_bytes);
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
    const std::uint64_t count = pending.end - pending.first;
    if (count > kMostUnits) break;
    to += put_varint(pending.first - last_end, to);
    to += put_varint(count, to);
    const std::byte* from = view + pending.first * number_bytes;
    if (platform::is_little_endian && count == 1) {
      std::memcpy(to, from, number_bytes);
    } else {
      platform::copy_little_endian(to, from, number_bytes, static_cast<std::size_t>(count));
    }
    to += count * number_bytes;
    ++runs;
    units += count;
    last_end = pending.end;
    pending = range;
  }
  out_.changes_.shrink(room_bytes - static_cast<std::size_t>(to - begin));
  out_.statistics_.runs += runs;
  out_.statistics_.units += units;
  pending_ = pending;
  last_end_ = last_end;
  return i;
}

std::size_t Collector::runs_behind(const memory::RunsBehind& behind) {
  if (number_bytes_ == 0 || behind.runs.empty() || !error_.ok()) return 0;
  begin_runs();
  switch (number_bytes_) {
    case 1:
      return runs_of_numbers<1>(behind);
    case 2:
      return runs_of_numbers<2>(behind);
    case 4:
      return runs_of_numbers<4>(behind);
    default:
      return runs_of_numbers<8>(behind);
  }
}

void Collector::section(Tag tag, const Pieces& body) {
  if (body.size_bytes() == 0) return;
  std::vector<Pieces::Slice> slices;
  body.slices(slices);
  const auto number = static_cast<std::uint8_t>(tag);
  out_.head_.append(&number, 1);
  out_.head_.append_varint(body.size_bytes());
  for (const Pieces::Slice& slice : slices) out_.head_.append(slice.data(), slice.size());
}

void Collector::types_section() {
  std::vector<std::uint8_t> bytes;
  xdr::Writer writer(bytes);
  for (const protocol::type_descriptor& one : release_.types.uncommitted()) encode(writer, one);
  Pieces body;
  body.append(bytes.data(), bytes.size());
  section(Tag::types, body);
}

void Collector::slots_section() {
  const std::vector<std::string> texts = release_.slots.uncommitted();
  if (texts.empty()) return;
  Pieces body;
  body.append_varint(release_.slots.first_uncommitted());
  for (const std::string& text : texts) {
    body.append_varint(text.size());
    body.append(text.data(), text.size());
  }
  section(Tag::slots, body);
}

void Collector::freed_section() {
  Pieces body;
  std::uint64_t last = 0;
  for (const memory::Block& block : release_.heap.freed()) {
    body.append_varint(zigzag_delta(last, block.serial));
    last = block.serial;
  }
  section(Tag::freed, body);
}

Result Collector::blocks_section() {
  Pieces body;
  std::uint64_t last = 0;
  for (const memory::Block& block : release_.heap.created()) {
    const std::uint32_t type = release_.types.serial_of(*block.type);
    if (type == 0) {
      return {types::error_code::INTERNAL, "block " + std::to_string(block.serial) +
                                               " is of type " + block.type->spelled() +
                                               ", which was not added to the segment's types"};
    }
    const std::string name = block.has_name ? release_.heap.name_of(block.serial) : std::string();
    body.append_varint(zigzag_delta(last, block.serial));
    body.append_varint(type);
    body.append_varint(block.count);
    body.append_varint(name.size());
    body.append(name.data(), name.size());
    last = block.serial;
  }
  section(Tag::blocks, body);
  return {};
}

void Collector::head() {
  out_.head_.append(kMagic.data(), kMagic.size());
  const std::uint8_t flags = 0;
  out_.head_.append(&flags, 1);
  out_.head_.append_varint(release_.from);
  out_.head_.append_varint(release_.from + 1);
}

Result Collector::collect() {
  memory::Trail trail;
  trail.predicts = release_.options.predicts_blocks;
  release_.swizzler.predict_blocks(trail.predicts);
  const std::uint64_t searched_before = release_.swizzler.searched();
  for (const memory::SubsegmentRuns& changed : release_.runs) parts(changed, trail);
  end_block();
  out_.statistics_.searches = trail.searched + release_.swizzler.searched() - searched_before;
  if (!error_.ok()) return error_;
  head();
  const std::uint64_t header_bytes = out_.head_.size_bytes();
  types_section();
  slots_section();
  freed_section();
  Result result = blocks_section();
  if (!result.ok()) return result;
  if (out_.changes_.size_bytes() != 0) {
    const auto tag = static_cast<std::uint8_t>(Tag::changes);
    out_.head_.append(&tag, 1);
    out_.head_.append_varint(out_.changes_.size_bytes());
  }
  out_.is_empty_ = out_.head_.size_bytes() == header_bytes;
  out_.statistics_.bytes = out_.head_.size_bytes() + out_.changes_.size_bytes();
  return {};
}

std::vector<std::span<const std::byte>> Outgoing::slices() const {
  std::vector<std::span<const std::byte>> out;
  head_.slices(out);
  changes_.slices(out);
  return out;
}

std::vector<std::byte> Outgoing::flattened() const {
  std::vector<std::byte> out;
  out.reserve(static_cast<std::size_t>(size_bytes()));
  for (const auto& slice : slices()) out.insert(out.end(), slice.begin(), slice.end());
  return out;
}

Result collect(const Release& release, Outgoing& out) {
  out.clear();
  return Collector(release, out).collect();
}

}  // namespace iw::diff
