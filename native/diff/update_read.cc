// The first pass: checks everything about a diff and notes what the second pass needs.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>

#include "diff/plain_numbers.h"
#include "diff/run_head.h"
#include "diff/unit_checker.h"
#include "diff/update.h"
#include "protocol/descriptor.gen.h"
#include "types/mip.h"

namespace iw::diff {

using types::error_code;

class UpdateReader {
 public:
  UpdateReader(const CachedCopy& copy, const Limits& limits, Update& out)
      : copy_(copy), limits_(limits), out_(out) {}

  Result read(std::span<const std::byte> bytes);

 private:
  Result header(Reader& from);
  Result section(Tag tag, Reader body);
  Result types_section(Reader body);
  Result slots_section(Reader body);
  Result freed_section(Reader body);
  Result live_section(Reader body);
  Result blocks_section(Reader body);
  Result new_block(Reader& body, std::uint64_t& serial);
  Result check_against_copy(const Update::NewBlock& block);
  Result check_name(std::string_view name);
  Result changes_section(Reader body);
  Result block_changes(std::uint64_t serial, Reader body);
  template <typename Check>
  Result runs(Reader body, std::uint64_t units, Check check);
  Result finish();

  // The block as it will be; false if there will be none.
  bool block_after(std::uint64_t serial, const types::Type*& type, std::uint64_t& count);
  bool will_be_freed(std::uint64_t serial) const;
  const types::SegmentTypes& types() const { return out_.types_ ? *out_.types_ : copy_.types; }
  const swizzle::SlotTable& slots() const { return out_.slots_ ? *out_.slots_ : copy_.slots; }

  const CachedCopy& copy_;
  const Limits& limits_;
  Update& out_;
  bool has_freed_ = false;
  std::uint64_t new_bytes_ = 0;
  std::unordered_set<std::string_view> names_;
  std::vector<std::uint64_t> changed_;
  memory::Trail trail_;
  std::optional<UnitChecker> units_;
};

namespace {

Result malformed(const char* why) { return Result::malformed(std::string("diff: ") + why); }

Result truncated() {
  return malformed("it ends in the middle, or a number is not in its shortest form");
}

bool read_serial(Reader& from, std::uint64_t& serial) {
  std::uint64_t zigzag = 0;
  if (!from.varint(zigzag)) return false;
  serial = apply_zigzag(serial, zigzag);
  return true;
}

bool is_serial(std::uint64_t serial) { return serial >= 1 && serial <= memory::kMaxSerial; }

std::string_view text_of(const std::byte* bytes, std::uint64_t count) {
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count)};
}

}  // namespace

bool UpdateReader::will_be_freed(std::uint64_t serial) const {
  if (std::binary_search(out_.freed_.begin(), out_.freed_.end(), serial)) return true;
  if (!out_.has_live_) return false;
  const auto after = std::upper_bound(
      out_.live_.begin(), out_.live_.end(), serial,
      [](std::uint64_t value, const Update::SerialSpan& span) { return value < span.first; });
  return after == out_.live_.begin() || serial >= (after - 1)->end;
}

bool UpdateReader::block_after(std::uint64_t serial, const types::Type*& type,
                               std::uint64_t& count) {
  if (const auto found = out_.new_by_serial_.find(serial); found != out_.new_by_serial_.end()) {
    type = out_.new_blocks_[found->second].type;
    count = out_.new_blocks_[found->second].count;
    return true;
  }
  memory::Block block;
  if (out_.is_complete() || !copy_.heap.find(serial, trail_, block) || block.is_reserved ||
      will_be_freed(serial)) {
    return false;
  }
  type = block.type;
  count = block.count;
  return true;
}

Result UpdateReader::header(Reader& from) {
  const std::byte* magic = nullptr;
  std::uint8_t flags = 0;
  if (!from.take(kMagic.size(), magic) || std::memcmp(magic, kMagic.data(), kMagic.size()) != 0) {
    return malformed("it does not begin with IWD1");
  }
  if (!from.u8(flags) || !from.varint(out_.from_) || !from.varint(out_.to_)) return truncated();
  if ((flags & ~kMetadataOnly) != 0) return malformed("unknown flags");
  if (out_.to_ < out_.from_) return malformed("it leads to an earlier version");
  out_.metadata_only_ = (flags & kMetadataOnly) != 0;
  return {};
}

Result UpdateReader::types_section(Reader body) {
  xdr::Reader reader(reinterpret_cast<const std::uint8_t*>(body.at()), body.remaining());
  std::vector<protocol::type_descriptor> descriptors;
  while (reader.remaining() != 0) {
    protocol::type_descriptor one;
    if (!decode(reader, one)) return malformed(reader.error());
    descriptors.push_back(std::move(one));
  }
  out_.types_ = copy_.types;
  return out_.is_complete() ? out_.types_->replace(descriptors)
                            : out_.types_->add_received(descriptors);
}

Result UpdateReader::slots_section(Reader body) {
  std::uint64_t first = 0;
  if (!body.varint(first)) return truncated();
  std::vector<std::string> texts;
  while (body.remaining() != 0) {
    std::uint64_t length = 0;
    const std::byte* bytes = nullptr;
    if (!body.varint(length) || !body.take(length, bytes)) return truncated();
    texts.emplace_back(text_of(bytes, length));
  }
  out_.slots_ = copy_.slots;
  if (!out_.is_complete()) return out_.slots_->add_received(first, texts);
  if (first != 1) return malformed("a complete copy gives the slots from the first one on");
  return out_.slots_->replace(texts);
}

Result UpdateReader::freed_section(Reader body) {
  has_freed_ = true;
  std::uint64_t serial = 0;
  while (body.remaining() != 0) {
    if (!read_serial(body, serial)) return truncated();
    memory::Block block;
    if (out_.is_complete() || !copy_.heap.find(serial, block)) {
      return malformed("a block is freed that does not exist");
    }
    out_.freed_.push_back(serial);
  }
  std::sort(out_.freed_.begin(), out_.freed_.end());
  if (std::adjacent_find(out_.freed_.begin(), out_.freed_.end()) != out_.freed_.end()) {
    return malformed("a block is freed twice");
  }
  return {};
}

Result UpdateReader::live_section(Reader body) {
  if (has_freed_) return malformed("FREED and LIVE occur together");
  out_.has_live_ = true;
  std::uint64_t at = 0;
  while (body.remaining() != 0) {
    std::uint64_t gap = 0;
    std::uint64_t count = 0;
    if (!body.varint(gap) || !body.varint(count)) return truncated();
    constexpr std::uint64_t kEnd = memory::kMaxSerial + 1;
    if (count == 0 || gap > kEnd - at || count > kEnd - at - gap || at + gap == 0) {
      return malformed("a range of live serials is empty or no range of serials");
    }
    out_.live_.push_back({at + gap, at + gap + count});
    at += gap + count;
  }
  return {};
}

Result UpdateReader::check_name(std::string_view name) {
  if (name.empty()) return {};
  const std::string shown(name.substr(0, 64));
  if (!types::is_block_name(name)) {
    return {error_code::BAD_NAME, "diff: \"" + shown + "\" is not a valid block name"};
  }
  memory::Block holder;
  const bool is_taken = !out_.is_complete() && !out_.metadata_only_ &&
                        copy_.heap.find(name, holder) && !holder.is_reserved &&
                        !will_be_freed(holder.serial);
  if (is_taken || !names_.insert(name).second) {
    return {error_code::BAD_NAME, "diff: two blocks have the name \"" + shown + "\""};
  }
  return {};
}

Result UpdateReader::check_against_copy(const Update::NewBlock& block) {
  memory::Block known;
  if (out_.is_complete() || !copy_.heap.find(block.serial, known)) return {};
  if (!known.is_reserved && !out_.metadata_only_) {
    return malformed("a block is created that exists already");
  }
  if (known.count != block.count || !types::same_type(*known.type, *block.type)) {
    return malformed("a block is of another type or length than was announced");
  }
  return {};
}

Result UpdateReader::new_block(Reader& body, std::uint64_t& serial) {
  Update::NewBlock block;
  std::uint64_t type = 0;
  std::uint64_t name_bytes = 0;
  const std::byte* name = nullptr;
  if (!read_serial(body, serial) || !body.varint(type) || !body.varint(block.count) ||
      !body.varint(name_bytes) || !body.take(name_bytes, name)) {
    return truncated();
  }
  block.serial = serial;
  block.type = type > UINT32_MAX ? nullptr : types().find(static_cast<std::uint32_t>(type));
  block.name = text_of(name, name_bytes);
  if (!is_serial(serial)) return malformed("a block's serial is not from 1 to 2^48-1");
  if (block.type == nullptr)
    return malformed("a block is of a type that the segment does not have");
  if (block.count == 0 || block.count > types::kMaxUnits / block.type->units) {
    return malformed("a block has no values, or more than 2^40 units");
  }
  if (will_be_freed(serial)) return malformed("a block is freed and created");
  // Counts are below 2^40 and sizes below 2^44, so the quotient keeps the product in range.
  if (block.count > (limits_.new_bytes - new_bytes_) / block.type->size_bytes) {
    return {error_code::TOO_LARGE, "diff: its new blocks are larger than the segment may be"};
  }
  new_bytes_ += block.count * block.type->size_bytes;
  if (!out_.new_by_serial_.emplace(serial, out_.new_blocks_.size()).second) {
    return malformed("a block is created twice");
  }
  Result result = check_name(block.name);
  if (result.ok()) result = check_against_copy(block);
  out_.new_blocks_.push_back(block);
  return result;
}

Result UpdateReader::blocks_section(Reader body) {
  std::uint64_t serial = 0;
  while (body.remaining() != 0) {
    Result result = new_block(body, serial);
    if (!result.ok()) return result;
  }
  return {};
}

// check(body, first, end) takes the units [first, end) from the body. A template, so that runs of
// numbers, which are mostly many short ones, cost no call.
template <typename Check>
Result UpdateReader::runs(Reader body, std::uint64_t units, Check check) {
  std::uint64_t left = units;
  std::uint64_t runs = 0;
  std::uint64_t changed = 0;
  for (; body.remaining() != 0; ++runs) {
    RunHead run;
    if (!run.read(body)) return truncated();
    if (!run.is_within(left)) return malformed("a run is empty or leads beyond its block");
    left -= run.gap + run.count;
    changed += run.count;
    if (!check(body, units - left - run.count, units - left)) {
      return units_->error().ok() ? truncated() : units_->error();
    }
  }
  out_.statistics_.runs += runs;
  out_.statistics_.units += changed;
  return {};
}

Result UpdateReader::block_changes(std::uint64_t serial, Reader body) {
  const types::Type* type = nullptr;
  std::uint64_t count = 0;
  if (!block_after(serial, type, count)) return malformed("a block changes that does not exist");
  const types::Step array = types::array_step(*type, count);
  if (const std::size_t number_bytes = plain_number_bytes(*type); number_bytes != 0) {
    return runs(body, array.end_unit(),
                [number_bytes](Reader& from, std::uint64_t first, std::uint64_t end) {
                  const std::byte* numbers = nullptr;
                  return from.take((end - first) * number_bytes, numbers);
                });
  }
  return runs(body, array.end_unit(), [&](Reader& from, std::uint64_t first, std::uint64_t end) {
    return units_->check(from, array, first, end);
  });
}

Result UpdateReader::changes_section(Reader body) {
  if (out_.metadata_only_) return malformed("metadata comes with data");
  out_.changes_ = body;
  units_.emplace(slots().size());
  std::uint64_t serial = 0;
  while (body.remaining() != 0) {
    std::uint64_t bytes = 0;
    Reader changes;
    if (!read_serial(body, serial) || !body.varint(bytes) || !body.take(bytes, changes)) {
      return truncated();
    }
    Result result = block_changes(serial, changes);
    if (!result.ok()) return result;
    changed_.push_back(serial);
  }
  out_.statistics_.blocks = changed_.size();
  std::sort(changed_.begin(), changed_.end());
  if (std::adjacent_find(changed_.begin(), changed_.end()) != changed_.end()) {
    return malformed("a block's changes come twice");
  }
  return {};
}

Result UpdateReader::section(Tag tag, Reader body) {
  switch (tag) {
    case Tag::types:
      return types_section(body);
    case Tag::slots:
      return slots_section(body);
    case Tag::freed:
      return freed_section(body);
    case Tag::live:
      return live_section(body);
    case Tag::blocks:
      return blocks_section(body);
    case Tag::changes:
      return changes_section(body);
  }
  return malformed("an unknown section");
}

// Checks that need the whole diff.
Result UpdateReader::finish() {
  if (out_.metadata_only_ && (out_.has_live_ || !out_.freed_.empty())) {
    return malformed("metadata frees blocks");
  }
  if (!units_) return {};
  for (const std::uint64_t serial : units_->owned()) {
    const auto found = out_.new_by_serial_.find(serial);
    if (found == out_.new_by_serial_.end()) continue;
    Update::NewBlock& block = out_.new_blocks_[found->second];
    block.is_owned = block.name.empty();
  }
  // There may be many: as single numbers they are sorted in half the time.
  std::vector<std::uint64_t> keys;
  keys.reserve(units_->foreign().size());
  for (const swizzle::WirePointer& wire : units_->foreign()) {
    keys.push_back(std::uint64_t{wire.slot} << 48 | wire.serial);
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  out_.foreign_.reserve(keys.size());
  for (const std::uint64_t key : keys) {
    out_.foreign_.push_back({static_cast<std::uint16_t>(key >> 48), key & memory::kMaxSerial});
  }
  return {};
}

Result UpdateReader::read(std::span<const std::byte> bytes) {
  Reader from(bytes);
  Result result = header(from);
  if (!result.ok()) return result;
  out_.statistics_.bytes = bytes.size();
  if (out_.is_complete()) {
    // A complete copy has only the blocks that the diff gives.
    out_.types_ = copy_.types;
    out_.slots_ = copy_.slots;
    result = out_.types_->replace({});
    if (result.ok()) result = out_.slots_->replace({});
  }
  std::uint8_t last = 0;
  while (result.ok() && from.remaining() != 0) {
    std::uint8_t tag = 0;
    std::uint64_t count = 0;
    Reader body;
    if (!from.u8(tag) || !from.varint(count) || !from.take(count, body)) return truncated();
    if (tag <= last) return malformed("a section comes twice or out of order");
    last = tag;
    result = section(static_cast<Tag>(tag), body);
  }
  return result.ok() ? finish() : result;
}

Result Update::read(std::span<const std::byte> bytes, const CachedCopy& copy, const Limits& limits,
                    Update& out) {
  Update update;
  Result result = UpdateReader(copy, limits, update).read(bytes);
  if (result.ok()) out = std::move(update);
  return result;
}

std::uint64_t Update::missing_block(const memory::Heap& heap) const {
  memory::Block here;
  for (std::uint64_t at = 0; heap.next_by_serial(at, here); at = here.serial) {
    if (here.is_reserved || here.is_owned) continue;
    const auto found = new_by_serial_.find(here.serial);
    if (found == new_by_serial_.end()) return here.serial;
    const NewBlock& there = new_blocks_[found->second];
    const bool is_same = there.count == here.count && types::same_type(*there.type, *here.type) &&
                         there.name == heap.name_of(here.serial);
    if (!is_same) return here.serial;
  }
  return 0;
}

}  // namespace iw::diff
